"""Which actions to try in a state when everything is to be tried.

Used by the explorer. Facts about the payload and choices of the environment are tried all.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations

from markstep.spec import vocabulary as v
from markstep.spec.design import Design, ErrorDelivery, KeyWiring, Truncation, Validation
from markstep.spec.machine import AnyAction, blocked
from markstep.spec.rules.execution import Schedule
from markstep.spec.rules.sync import Compile, Lookup
from markstep.spec.schedule import FACTLESS
from markstep.spec.search.optional import creations as optional_creations
from markstep.spec.search.optional import switches as optional_switches
from markstep.spec.search.optional import updates as optional_updates
from markstep.spec.state import CallKind, Phase, State
from markstep.spec.vocabulary import Sharding, TensorName

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
    reduced: bool = True
    """An execution ends only where the moment can matter (`end_matters`)."""


def middle_room(bound: Bound, design: Design) -> int:
    """Buffer records that may be in use in the middle of a call.

    With placeholders before the lock, a call that raises can there have more of them than before
    and after it.
    """
    early = design.truncation == Truncation.AT_EXTRACT
    return bound.buffers + early * bound.records


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
        if state.device.spmd and not design.key_has_mode and state.call.params == 0:
            yield Lookup(True, plain=True)  # a leaf shows the mode in the key by its sharding
    elif state.call.phase == Phase.COMPILE:
        yield Compile()
        if "faults" in bound.families:
            yield Compile(fails=True)
    elif partitioned(state):
        yield from (Schedule((choice,)) for choice in CHOICES)
    else:
        yield FACTLESS[state.call.phase]
    if state.execution.running and ends_are_tried(state, design, bound):
        yield from environment_moves(state, bound)


CHOICES = (Sharding.REPLICATED, Sharding.TILED)
"""How the partitioner lays outputs that are not annotated: both are tried."""


def partitioned(state: State) -> bool:
    """Whether the next step has a choice of the partitioner as a fact."""
    return state.call.phase == Phase.SCHEDULE and state.device.spmd and not state.call.plain


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


def ends_are_tried(state: State, design: Design, bound: Bound) -> bool:
    """Whether a search within the bound lets the running execution end now."""
    return not bound.reduced or end_matters(state, design)


def end_matters(state: State, design: Design) -> bool:
    """Whether the end of the running execution has to be tried now.

    It is tried between calls, where a call waits for it, and just before a call numbers its
    parameters (A43), which looks at whether they have values. Anywhere else it commutes with a
    neighbouring step, in the sense that both orders lead to the same state, and trying it here
    would only find again what is found from there:

    - where a call begins (READ, COLLECT): beginning one changes nothing that an end looks at or
      changes, so an end here is one before the call;
    - before the uploads (UPLOAD): they make new buffers, which no end is about;
    - before the extraction (EXTRACT): unless it takes the ir it changes no record, so an end here
      is one before A43. If it does (Truncation.AT_EXTRACT), collecting has looked neither at
      buffers nor at errors, so an end here is one before the call; where it has looked at them
      (Validation.BEFORE_EFFECTS, ErrorDelivery.OWNER), an end is tried here too;
    - after A43 (LOOKUP, COMPILE, INSTALL): the cache, the compiler and the placeholders of new
      outputs have nothing to do with what runs, so it is one where the call waits for the lock, or
      after the call where that ends before.

    Price and claims: an end costs the same in both places, so shortest paths keep their length;
    that the same claims break is tested on whole spaces under every design.
    """
    phase = state.call.phase
    looked = (
        design.validation == Validation.BEFORE_EFFECTS
        or design.error_delivery == ErrorDelivery.OWNER
    )
    if phase == Phase.EXTRACT and design.truncation == Truncation.AT_EXTRACT and looked:
        return True
    return phase in (Phase.IDLE, Phase.POST_ORDER) or blocked(state, design)


def environment_moves(state: State, bound: Bound) -> Iterator[AnyAction]:
    """The ends that the running execution can have."""
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
        yield from optional_creations(state, new, bound.families)
    if len(names) < bound.records:
        yield from (v.Detach(new, a) for a in names)
    for a in names:
        yield from updates(a, names, bound)
        yield from optional_updates(state, a, bound.families)
    for some in subsets(names):
        yield from calls(some, new, room, bound)
    if names:
        yield from (v.StepBarrier(wait=True), v.StepBarrier(wait=False), v.WaitDevice())
        yield from switches(state, bound)
    if names or "sharding" in bound.families:
        yield from optional_switches(state, bound.families)


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
    if "cache" in bound.families or "ahead" in bound.families:
        yield v.WarmUp(some, sync=False)
        yield v.WarmUp(some, sync=True)
        yield v.GraphHash(some)
    if "cache" in bound.families and room:
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
