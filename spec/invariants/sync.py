"""Claims about calls: what a sync may change, what it gives, what it leaves behind when it raises.

Source: semantics.md §6, Sync protocol.
"""

from markstep.spec.invariants.calls import left_on_host
from markstep.spec.invariants.claim import Kind, Step, claim
from markstep.spec.rules.execution import Await, Barrier, Schedule
from markstep.spec.rules.reading import Download, Read
from markstep.spec.rules.sync import Collect
from markstep.spec.state import NONE, CallKind, Record, has, rows
from markstep.spec.vocabulary import BufferStatus, ErrorKind, FailExecution, IrKind

FORCED = (CallKind.SYNC, CallKind.STEP_BARRIER)
KEEPING = (CallKind.READ_MANY, CallKind.WARM_UP, CallKind.GRAPH_HASH, CallKind.RUN_CACHED)
COMPILE_ONLY = (CallKind.WARM_UP, CallKind.GRAPH_HASH)


def returned_well(t: Step) -> bool:
    """A call has ended without an error."""
    return t.returned and t.after.raised == ErrorKind.NONE


def raised(t: Step) -> bool:
    """A call has ended with an error."""
    return t.returned and t.after.raised != ErrorKind.NONE


def source_of(record: Record) -> tuple[int, int, int, bool, int]:
    """Where a record's value is; an own leaf and a handle over the same buffer are one source."""
    own_leaf = record.ir == IrKind.LEAF and not record.is_cloned
    if record.handle != NONE or own_leaf:
        row = record.handle if record.handle != NONE else record.leaf
        return (row, IrKind.NONE, 0, record.host, NONE)
    return (NONE, record.ir, record.deps, record.host, record.leaf)


def same_source(a: Record, b: Record) -> bool:
    """Whether two records have their value at the same place; a source that is loaded stays it."""
    loaded = a.handle != NONE and a.handle == b.handle and a.sends != b.sends
    return loaded or source_of(a) == source_of(b)


def sources_unchanged(t: Step) -> bool:
    """No live record's value has moved in this step."""
    pairs = zip(t.before.records, t.after.records, strict=False)
    return all([same_source(a, b) for a, b in pairs if a.live and b.live])


@claim(
    "I54",
    Kind.STEP,
    lambda t: isinstance(t.action, Collect) and t.after.call.outputs != 0,
    why="Results are matched to tensors by position.",
)
def outputs_are_distinct_members(t: Step) -> bool:
    """The outputs of a collection are members of the call, each once."""
    call = t.after.call
    once = len(call.output_order) == len(set(call.output_order))
    return once and call.outputs & ~call.members == 0


@claim(
    "I56",
    Kind.STEP,
    returned_well,
    why="The refinement: lazy execution never changes a value.",
    broken=True,
    hazards=("H-03", "H-04", "H-05", "H-06"),
)
def values_survive_calls_that_return(t: Step) -> bool:
    """No tensor loses its value, or gets a wrong one, by anything that does not raise or fail."""
    if isinstance(t.action, FailExecution) or t.after.raised != ErrorKind.NONE:
        return True
    return t.newly_lost == 0


@claim(
    "I57",
    Kind.STEP,
    lambda t: isinstance(t.action, Schedule | Collect) and t.before.call.kind in KEEPING,
    why="Printing must not change state.",
    broken=True,
    hazards=("H-16",),
)
def only_forced_syncs_truncate(t: Step) -> bool:
    """Reading a list, warming up, hashing and running by key leave all pending work and the sources
    of all records as they are."""
    if t.before.call.kind not in KEEPING or isinstance(t.action, FailExecution):
        return True
    return sources_unchanged(t)


@claim(
    "I58",
    Kind.STEP,
    lambda t: raised(t) or isinstance(t.action, FailExecution),
    why="A refused or failed call must leave everything as obtainable as it was.",
    broken=True,
    hazards=("H-01", "H-06", "H-07"),
)
def values_survive_errors(t: Step) -> bool:
    """No tensor loses its value by a call that raises or an execution that fails."""
    if not (raised(t) or isinstance(t.action, FailExecution)):
        return True
    return t.newly_lost == 0


@claim(
    "I59",
    Kind.STEP,
    lambda t: isinstance(t.action, Collect) and t.before.call.kind == CallKind.STEP_BARRIER,
    why="One lost tensor makes every later barrier raise: the device is wedged.",
    broken=True,
    hazards=("H-02",),
)
def barriers_recover(t: Step) -> bool:
    """No barrier raises because an earlier failure left a tensor without any source."""
    return not (isinstance(t.action, Collect) and t.after.raised == ErrorKind.LOST and t.returned)


@claim(
    "I60",
    Kind.STEP,
    lambda t: t.before.call.kind in COMPILE_ONLY and returned_well(t),
    why="Compiling ahead must have no price.",
)
def compiling_ahead_changes_nothing(t: Step) -> bool:
    """A warm-up or graph hash transfers nothing, runs nothing and moves no value."""
    if t.before.call.kind not in COMPILE_ONLY or isinstance(t.action, FailExecution):
        return True
    started = t.after.execution.running and not t.before.execution.running
    return not started and t.before.call.uploads == 0 and sources_unchanged(t)


@claim(
    "I61",
    Kind.STEP,
    lambda t: (
        isinstance(t.action, Collect)
        and not t.before.call.force
        and any([r.host and r.handle == NONE for r in t.live()])
    ),
    why="Evaluation without force must leave host data on the host.",
)
def only_force_uploads(t: Step) -> bool:
    """A collection without force queues no upload."""
    return t.after.call.force or t.after.call.uploads == 0


@claim(
    "I62",
    Kind.STEP,
    lambda t: isinstance(t.action, Await) and returned_well(t),
    why="That is what waiting is for.",
)
def waiting_means_done(t: Step) -> bool:
    """When a forced sync that waits returns, its outputs have values."""
    if not (isinstance(t.action, Await) and returned_well(t) and t.before.call.force):
        return True
    outputs = [t.after.records[r] for r in rows(t.before.call.outputs)]
    return all([has_value(t, record) for record in outputs if record.live])


def has_value(t: Step, record: Record) -> bool:
    """The record's handle has a value."""
    row = record.handle
    return row != NONE and t.after.buffers[row].status == BufferStatus.VALUE


@claim(
    "I63",
    Kind.STEP,
    lambda t: isinstance(t.action, Barrier),
    why="A reader relies on it.",
)
def an_empty_sync_is_a_barrier(t: Step) -> bool:
    """A sync with nothing to evaluate returns only when nothing runs on the device."""
    return not isinstance(t.action, Barrier) or not t.before.execution.running


@claim(
    "I64",
    Kind.STEP,
    lambda t: isinstance(t.action, Schedule) and len(t.after.execution.results) > 0,
    why="Results are assigned to outputs by position.",
)
def results_match_outputs(t: Step) -> bool:
    """A program gives one result for each output."""
    if not isinstance(t.action, Schedule) or not t.after.execution.results:
        return True
    return len(t.after.execution.results) == len(t.before.call.output_order)


@claim(
    "I65",
    Kind.STEP,
    lambda t: isinstance(t.action, Download) and returned_well(t),
    why="Gather and fetch walk the list separately and must agree.",
)
def every_requested_value_is_returned(t: Step) -> bool:
    """Reading a list gives one value per requested tensor, repeats included."""
    if t.before.call.kind != CallKind.READ_MANY or not isinstance(t.after.value, tuple):
        return True
    return not returned_well(t) or len(t.after.value) == len(t.before.call.order)


@claim(
    "I66",
    Kind.STEP,
    lambda t: returned_well(t) and t.before.call.kind in FORCED,
    why="A tensor skipped in silence would stay pending for ever.",
)
def forced_syncs_skip_nobody(t: Step) -> bool:
    """When a forced sync returns, every member has a handle, or in SPMD mode is on the host."""
    if not returned_well(t) or t.before.call.kind not in FORCED:
        return True
    members = [t.after.records[r] for r in rows(t.before.call.members)]
    return all([record.handle != NONE or left_on_host(t.after, record) for record in members])


@claim(
    "I87",
    Kind.STEP,
    lambda t: isinstance(t.action, Download | Read) and returned_well(t),
    why="The whole point of a tensor.",
    broken=True,
)
def reading_gives_the_value(t: Step) -> bool:
    """What a read returns is the value that eager execution gives."""
    call = t.before.call
    if not (isinstance(t.action, Download | Read) and returned_well(t)):
        return True
    right = all([read_right(t, r) for r in rows(call.members)])
    return right and (call.right or call.outputs == 0) and values_meant(t)


def values_meant(t: Step) -> bool:
    """Where the payload is real: each value returned is the one that eager execution gives."""
    call, value = t.before.call, t.after.value
    values = (value,) if call.kind == CallKind.READ_ONE else value
    if not isinstance(values, tuple) or len(values) != len(call.order):
        return True
    meant = [t.before.records[r].truth for r in call.order]
    return all([a is None or b is None or a == b for a, b in zip(values, meant, strict=True)])


def read_right(t: Step, r: int) -> bool:
    """Whether the source that the read used for a record has the right contents."""
    record = t.before.records[r]
    if not record.defined or (has(t.before.call.outputs, r) and not t.before.call.force):
        return True
    if record.host:
        return record.host_right
    row = record.handle if record.handle != NONE else record.leaf
    return row == NONE or t.before.buffers[row].right
