"""The actions to prove about: each of the alphabet, on tensors of different records.

Names that stand for the same record are alike, so one name of each record is enough. A call is
given each record at most once, in any order.
"""

from collections.abc import Iterator
from itertools import permutations
from typing import Any

from markstep.spec import vocabulary as v
from markstep.spec.machine import AnyAction
from markstep.spec.proofs.expressions import var
from markstep.spec.proofs.states import NAMES_PER_RECORD, Case
from markstep.spec.proofs.symbolic import Symbol
from markstep.spec.rules.sync import Compile, Lookup
from markstep.spec.schedule import FACTLESS
from markstep.spec.state import Phase
from markstep.spec.vocabulary import TensorName


def cases(records: int, buffers: int) -> list[Case]:
    """Every state is in one of these."""
    of_a_call = [
        Case(records, buffers, phase, executing) for phase in Phase for executing in (False, True)
    ]
    return [*of_a_call, Case(records, buffers, None, True, busy=True)]


def actions_in(case: Case) -> Iterator[AnyAction]:
    """Every action that can be enabled in a case, up to the names of tensors."""
    if case.phase == Phase.IDLE:
        yield from program_actions(case)
    elif case.phase == Phase.LOOKUP:
        yield from (Lookup(False), Lookup(True), Lookup(True, foreign=True))
        yield Lookup(True, misfits=True)
    elif case.phase == Phase.COMPILE:
        yield from (Compile(), Compile(fails=True))
    elif case.phase is not None:
        yield FACTLESS[case.phase]
    if case.executing and case.phase in (None, Phase.IDLE):
        yield from (v.CompleteExecution(spares=spared(case)), v.FailExecution())
        yield v.FailExecution(deletes=True)


def spared(case: Case) -> Any:
    """Any donors."""
    return Symbol(var("spares", frozenset(range(1 << case.buffers))))


def program_actions(case: Case) -> Iterator[AnyAction]:
    """Everything that a program can do between calls."""
    names = [TensorName(NAMES_PER_RECORD * r) for r in range(case.records)]
    new = TensorName(NAMES_PER_RECORD * case.records)
    yield v.CreateFromHost(new, (1,), (1,))
    yield v.CreateFromHost(new, (1,), (1,), upload=False)
    yield v.CreatePlaceholder(new, (1,))
    for a in names:
        yield v.Apply(new, "neg", (a,))
        yield v.Apply(new, "add_scalar", (a,), 2)
        yield v.Clone(new, a)
        yield v.Detach(new, a)
        yield v.AssignInPlace(a, "neg")
        yield v.CopyFromHost(a, (1,))
        yield v.CopyFromHost(a, (1,), upload=False)
        yield from (v.Drop(a), v.ReadOne(a), v.WriteToResult(a))
        yield from (v.SetDonation(a, True), v.SetDonation(a, False))
        for b in names:
            yield v.Apply(new, "sub", (a, b))
            yield v.AssignInPlace(a, "sub", (b,))
            yield v.CopyInto(a, b)
    for n in range(case.records + 1):
        for some in permutations(names, n):
            yield from calls(case, some)
    yield from (v.SyncLive(wait) for wait in (True, False))
    yield from (v.StepBarrier(wait) for wait in (True, False))
    for flag in (True, False):
        yield from (v.SetDonorConfig(flag), v.AllowExecution(flag))
    yield from (v.WaitDevice(), v.ClearPending(), v.EvictCache())


def calls(case: Case, some: tuple[TensorName, ...]) -> Iterator[AnyAction]:
    """The calls about some tensors."""
    for flag in (True, False):
        yield v.Sync(some, sync=flag, wait=True)
        yield v.Sync(some, sync=flag, wait=False)
        yield v.WarmUp(some, sync=flag)
    yield from (v.ReadMany(some), v.GraphHash(some), v.DumpGraph(some))
    first = NAMES_PER_RECORD * case.records
    yield v.RunCached(some, tuple(TensorName(first + i) for i in range(len(some))))
