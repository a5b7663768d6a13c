"""Which actions to try in a state when everything is to be tried.

Used by the explorer. Facts about the payload and choices of the environment are tried all.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations

from markstep.spec import vocabulary as v
from markstep.spec.design import Design, KeyWiring
from markstep.spec.machine import AnyAction
from markstep.spec.rules.sync import Compile, Lookup
from markstep.spec.schedule import FACTLESS
from markstep.spec.state import CallKind, Phase, State
from markstep.spec.vocabulary import TensorName

FAMILIES = ("core", "host", "placeholder", "donation", "faults", "cache")
"""Groups of actions that an exploration can include."""


@dataclass(frozen=True, slots=True)
class Bound:
    """How far an exploration goes."""

    records: int = 2
    """Live records at a time."""
    buffers: int = 3
    """Buffer records in use at a time."""
    actions: int | None = None
    """Program actions and failures on a path; None: no limit."""
    syncs: int | None = None
    """Of them, actions that begin a call (SYNCING); None: no limit."""
    families: tuple[str, ...] = FAMILIES
    max_states: int = 2_000_000
    """Stop here; the exploration is then inconclusive."""
    max_memory: int = 8_000
    """Stop when the search holds this many MiB; likewise."""
    processes: int = 1
    """Processes that expand states; the result does not depend on it."""


SYNCING = (
    v.Sync,
    v.SyncLive,
    v.StepBarrier,
    v.WarmUp,
    v.ReadOne,
    v.ReadMany,
    v.GraphHash,
    v.RunCached,
    v.WaitDevice,
)
"""Actions that begin a call: what happens in them takes steps of its own."""


def moves(state: State, design: Design, bound: Bound) -> Iterator[AnyAction]:
    """Every action worth trying; `step` still decides which are enabled."""
    if state.call.phase == Phase.IDLE:
        yield from program_moves(state, bound)
    elif state.call.phase == Phase.LOOKUP:
        answers = (Lookup(False), Lookup(True), Lookup(True, True), Lookup(True, misfits=True))
        yield from [answer for answer in answers if facts_possible(state, answer, design)]
    elif state.call.phase == Phase.COMPILE:
        yield Compile()
        if "faults" in bound.families:
            yield Compile(fails=True)
    else:
        yield FACTLESS[state.call.phase]
    yield from environment_moves(state, bound)


def facts_possible(state: State, action: Lookup, design: Design) -> bool:
    """Which answers of the cache to try.

    A sound key and the graph's own leaves rule out another meaning and arguments that misfit;
    that they do is the graph law. Nobody compiles a graph without outputs: it is never cached.
    """
    if not action.hit:
        return not (action.foreign or action.misfits)
    other_leaves = state.call.kind == CallKind.RUN_CACHED and design.run_cached_takes_all_leaves
    if action.foreign and design.key_wiring == KeyWiring.OPERANDS and not other_leaves:
        return False
    return state.call.outputs != 0 and (other_leaves or not action.misfits)


def environment_moves(state: State, bound: Bound) -> Iterator[AnyAction]:
    """The ends that a running execution can have."""
    if not state.execution.running:
        return
    yield v.CompleteExecution()
    if state.execution.donors:
        yield v.CompleteExecution(spares=state.execution.donors)
    if "faults" in bound.families:
        yield v.FailExecution()
        if state.execution.donors:
            yield v.FailExecution(deletes=True)


def program_moves(state: State, bound: Bound) -> Iterator[AnyAction]:
    """Everything that a program can do between calls."""
    names = sorted(state.tensors)
    room = sum(record.live for record in state.records) < bound.records
    new = TensorName(max(names, default=-1) + 1)
    if room:
        yield from creations(names, new, bound)
    if len(names) < bound.records:
        yield from (v.Detach(new, a) for a in names)
    for a in names:
        yield from updates(a, names, bound)
    for some in subsets(names):
        yield from calls(some, new, room, bound)
    if names:
        yield from (v.StepBarrier(wait=True), v.StepBarrier(wait=False), v.WaitDevice())
        yield from switches(state, bound)


def creations(names: list[TensorName], new: TensorName, bound: Bound) -> Iterator[AnyAction]:
    """Actions that make a record."""
    yield v.CreateFromHost(new, (1,), (1,))
    if "host" in bound.families:
        yield v.CreateFromHost(new, (1,), (1,), upload=False)
    if "placeholder" in bound.families:
        yield v.CreatePlaceholder(new, (1,))
    for a in names:
        yield v.Apply(new, "neg", (a,))
        yield v.Clone(new, a)
    yield from (v.Apply(new, "sub", (a, b)) for a, b in combinations(names, 2))


def updates(a: TensorName, names: list[TensorName], bound: Bound) -> Iterator[AnyAction]:
    """Actions on one tensor."""
    yield v.AssignInPlace(a, "neg")
    for b in names:
        if a != b:
            yield v.AssignInPlace(a, "sub", (b,))
            yield v.CopyInto(a, b)
    yield v.ReadOne(a)
    yield v.Drop(a)
    if "host" in bound.families:
        yield v.CopyFromHost(a, (1,), upload=False)
        yield v.WriteToResult(a)
    if "donation" in bound.families:
        yield v.SetDonation(a, True)


def calls(
    some: tuple[TensorName, ...], new: TensorName, room: bool, bound: Bound
) -> Iterator[AnyAction]:
    """Actions on a subset of the tensors."""
    for flag in (True, False):
        yield v.Sync(some, sync=flag, wait=True)
        yield v.Sync(some, sync=flag, wait=False)
    yield v.ReadMany(some)
    if "cache" in bound.families:
        yield v.WarmUp(some, sync=False)
        yield v.WarmUp(some, sync=True)
        yield v.GraphHash(some)
        if room:
            outs = tuple(TensorName(new + i) for i in range(len(some)))
            yield v.RunCached(some, outs)


def switches(state: State, bound: Bound) -> Iterator[AnyAction]:
    """Process-wide actions."""
    if "placeholder" in bound.families:
        yield v.ClearPending()
    if "donation" in bound.families:
        yield v.SetDonorConfig(not state.device.donor_config)
    if "faults" in bound.families:
        yield v.AllowExecution(not state.device.allow_execution)


def subsets(names: list[TensorName]) -> Iterator[tuple[TensorName, ...]]:
    """Every non-empty subset."""
    return chain.from_iterable(combinations(names, n) for n in range(1, len(names) + 1))


def cost(action: AnyAction) -> int:
    """What an action adds to the length of a counterexample: steps of a call cost nothing."""
    counted = isinstance(action, v.FailExecution)
    return int(counted or type(action).__module__ == v.__name__) and int(
        not isinstance(action, v.CompleteExecution)
    )


def syncs(action: AnyAction) -> int:
    """What an action takes of the bound on calls."""
    return int(isinstance(action, SYNCING))
