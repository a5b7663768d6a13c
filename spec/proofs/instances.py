"""The actions to prove about: each of the alphabet, on tensors of different records.

Names that stand for the same record are alike, so one name of each record is enough. A call is
given each record at most once, in any order.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import permutations
from typing import Any

from markstep.spec import vocabulary as v
from markstep.spec.design import Design
from markstep.spec.machine import AnyAction
from markstep.spec.proofs.expressions import var
from markstep.spec.proofs.states import NAMES_PER_RECORD, RANDOM, SHARDINGS, Case
from markstep.spec.proofs.symbolic import Symbol
from markstep.spec.rules.execution import Schedule
from markstep.spec.rules.sync import Compile, Lookup
from markstep.spec.schedule import FACTLESS
from markstep.spec.search.alphabet import facts_possible
from markstep.spec.sorts import EAGER, SPMD
from markstep.spec.state import NONE, Phase, State
from markstep.spec.vocabulary import Sharding, TensorName


def cases(records: int, buffers: int, modes: tuple[str, ...] = ()) -> list[Case]:
    """Every state is in one of these."""
    of_a_call = [
        Case(records, buffers, phase, executing, modes=modes)
        for phase in Phase
        for executing in (False, True)
    ]
    return [*of_a_call, Case(records, buffers, None, True, busy=True, modes=modes)]


def actions_in(case: Case) -> Iterator[AnyAction]:
    """Every action that can be enabled in a case, up to the names of tensors."""
    if case.phase == Phase.IDLE:
        yield from program_actions(case)
    elif case.phase == Phase.LOOKUP:
        yield from (Lookup(False), Lookup(True), Lookup(True, foreign=True))
        yield Lookup(True, misfits=True)
    elif case.phase == Phase.COMPILE:
        yield from (Compile(), Compile(fails=True))
    elif case.phase == Phase.SCHEDULE and SPMD in case.modes:
        yield Schedule(tuple([chosen(r) for r in range(case.records)]))
    elif case.phase is not None:
        yield FACTLESS[case.phase]
    if case.executing and case.phase in (None, Phase.IDLE):
        yield from (v.CompleteExecution(spares=spared(case)), v.FailExecution())
        yield v.FailExecution(deletes=True)


def at(action: AnyAction, given: Mapping[str, int]) -> AnyAction:
    """An action whose facts are symbols, with values for them."""
    if isinstance(action, v.CompleteExecution):
        return replace(action, spares=given.get("spares", 0))
    if isinstance(action, Schedule):
        choices = [given.get(f"choice{r}", Sharding.REPLICATED) for r in range(len(action.choice))]
        return Schedule(tuple(map(Sharding, choices)))
    return action


def spared(case: Case) -> Any:
    """Any donors."""
    return Symbol(var("spares", frozenset(range(1 << case.buffers))))


def chosen(place: int) -> Any:
    """Any sharding that the partitioner may give an output."""
    return Symbol(var(f"choice{place}", frozenset(range(Sharding.REPLICATED, SHARDINGS))))


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
    if SPMD in case.modes:
        yield from sharding_actions(names)
    if RANDOM in case.modes:
        yield from numbers(case, names, new)
    if EAGER in case.modes:
        yield from (v.SetEager(flag) for flag in (True, False))
    for n in range(case.records + 1):
        for some in permutations(names, n):
            yield from calls(case, some)
    yield from (v.SyncLive(wait) for wait in (True, False))
    yield from (v.StepBarrier(wait) for wait in (True, False))
    for flag in (True, False):
        yield from (v.SetDonorConfig(flag), v.AllowExecution(flag))
    yield from (v.WaitDevice(), v.ClearPending(), v.EvictCache())


def numbers(case: Case, names: list[TensorName], new: TensorName) -> Iterator[AnyAction]:
    """Numbers as operands, known to the scalar cache or new there, and random ones."""
    yield v.SetSeed(7)
    yield v.Fill(new, (), 1)
    known = [(row, NONE) for row in range(case.buffers)]
    for cached_at, evicts in ((NONE, NONE), *known, *[(NONE, row) for row, _ in known]):
        facts: Any = {"cached_at": cached_at, "evicts": evicts}
        yield from (v.Fill(new, (), 2, **facts), v.Fill(new, (1,), 2, **facts))
        for a in names:
            yield v.AssignInPlace(a, "add_scalar", (), 2, **facts)
            yield v.Random(a, **facts)


def can_be(state: State, action: AnyAction, design: Design) -> bool:
    """Whether the facts of an action can be facts in a state."""
    if isinstance(action, Lookup):
        return facts_possible(state, action, design)
    if isinstance(action, v.Fill | v.Random | v.AssignInPlace):
        known = [row for row in (action.cached_at, action.evicts) if row != NONE]
        return all([state.buffers[row].cached for row in known])
    return True


def sharding_actions(names: list[TensorName]) -> Iterator[AnyAction]:
    """What there is in SPMD mode besides."""
    yield v.UseSpmd()
    for a in names:
        for sharding in (Sharding.REPLICATED, Sharding.TILED):
            yield from (v.MarkSharding(a, sharding, lazy) for lazy in (True, False))
        yield from (v.ClearSharding(a), v.ReadSpec(a))
        yield from (v.BindData(a, (1,)), v.LoadShards(a, (1,)))


def calls(case: Case, some: tuple[TensorName, ...]) -> Iterator[AnyAction]:
    """The calls about some tensors."""
    for flag in (True, False):
        yield v.Sync(some, sync=flag, wait=True)
        yield v.Sync(some, sync=flag, wait=False)
        yield v.WarmUp(some, sync=flag)
    yield from (v.ReadMany(some), v.GraphHash(some), v.DumpGraph(some))
    first = NAMES_PER_RECORD * case.records
    yield v.RunCached(some, tuple(TensorName(first + i) for i in range(len(some))))
