"""Claims about loading: when what was marked is sent to the devices, how often, and as what.

They say nothing while SPMD mode is off. The numbers up to 86 are those of semantics.md §6 (RFC);
the others are ours.
"""

from markstep.spec.invariants.claim import Kind, Step, claim
from markstep.spec.invariants.sharding import TRACING, kept, lies
from markstep.spec.invariants.sync import COMPILE_ONLY
from markstep.spec.rules.errors import is_stub
from markstep.spec.rules.execution import Schedule
from markstep.spec.rules.transfer import buffers_in_use
from markstep.spec.state import NONE, CallKind, Phase, Record, rows
from markstep.spec.vocabulary import BufferStatus, ErrorKind, MarkSharding, Sharding


def annotated_sends(t: Step) -> bool:
    """A step sends data that the program has asked to lie in some way."""
    if not t.after.device.spmd:
        return False
    if any([b.sends > a.sends and b.asked != Sharding.NONE for a, b in kept(t)]):
        return True
    asked = 0
    for record in t.live():
        if record.asked != Sharding.NONE:
            asked |= record.reads
    pairs = list(zip(t.before.buffers, t.after.buffers, strict=False))
    known = asked & (1 << len(pairs)) - 1
    return any([pairs[row][1].sends > pairs[row][0].sends for row in rows(known)])


def lazy_mark(t: Step) -> bool:
    """The step is a mark that is asked to send nothing."""
    return isinstance(t.action, MarkSharding) and t.action.lazy


def lazy_mark_returned(t: Step) -> bool:
    """The step is such a mark, and was not refused."""
    return lazy_mark(t) and t.after.raised == ErrorKind.NONE


def traced_beside_marked_host_data(t: Step) -> bool:
    """Something is traced while marked data waits on the host."""
    waits = [a.asked != Sharding.NONE and a.host for a, _ in kept(t)]
    return isinstance(t.action, TRACING) and any(waits)


@claim(
    "I78",
    Kind.STEP,
    annotated_sends,
    why="Annotate, trace, hash and compile first; load when something runs.",
    broken=True,
    hazards=("H-14",),
)
def only_executions_load(t: Step) -> bool:
    """What was marked is sent by an execution that reads it, or by a mark that is not lazy, and by
    nothing else."""
    eager = isinstance(t.action, MarkSharding) and not t.action.lazy
    return eager or isinstance(t.action, Schedule) or not annotated_sends(t)


@claim(
    "I79",
    Kind.STATE,
    lambda t: any([b.sends > 0 for b in t.after.buffers]) or any([r.sends > 0 for r in t.live()]),
    why="Bandwidth between host and devices is what loading costs.",
    broken=True,
)
def host_versions_are_sent_once(t: Step) -> bool:
    """No array that the program gave is sent to the devices twice."""
    used = buffers_in_use(t.after)
    twice = [t.after.buffers[row].sends > 1 for row in rows(used)]
    return not any(twice) and not any([r.sends > 1 for r in t.live()])


@claim(
    "I84",
    Kind.STEP,
    annotated_sends,
    why="A full copy for every device is as many times too much.",
    broken=True,
    hazards=("H-14",),
)
def pieces_are_sent_not_copies(t: Step) -> bool:
    """What was marked is sent as the pieces that the mark asks for."""
    if not annotated_sends(t):
        return True
    sent = [b for a, b in kept(t) if b.sends > a.sends and b.asked != Sharding.NONE]
    return all([lies(t.after, place_of(b)) == b.asked for b in sent if place_of(b) != NONE])


def place_of(r: Record) -> int:
    """The buffer row of a record's data."""
    return r.handle if r.handle != NONE else r.leaf


@claim(
    "I85",
    Kind.STEP,
    lazy_mark_returned,
    why="Otherwise an annotation is a transfer.",
    broken=True,
)
def lazy_marks_keep_the_host_copy(t: Step) -> bool:
    """A lazy mark leaves the host copy of a tensor where it is."""
    if not (isinstance(t.action, MarkSharding) and t.action.lazy):
        return True
    return not t.before.record_of(t.action.tensor).host or bool(
        t.after.record_of(t.action.tensor).host
    )


@claim(
    "I86",
    Kind.STEP,
    lambda t: isinstance(t.action, MarkSharding) and marks_a_stub(t),
    why="A model can be laid out before its weights are there.",
    broken=True,
)
def stubs_can_be_marked(t: Step) -> bool:
    """Marking a tensor without data gives a sharded tensor without data."""
    if not (isinstance(t.action, MarkSharding) and marks_a_stub(t)):
        return True
    record = t.after.record_of(t.action.tensor)
    return t.after.raised == ErrorKind.CONFLICT or lies(t.after, record.handle) == t.action.sharding


def marks_a_stub(t: Step) -> bool:
    """A mark is about a tensor without data."""
    if not isinstance(t.action, MarkSharding) or t.action.sharding == Sharding.NONE:
        return False
    record = t.before.record_of(t.action.tensor)
    empty = record.handle != NONE and is_stub(t.before, record.handle)
    return bool(t.before.device.spmd) and empty and not record.host


@claim(
    "I120",
    Kind.STEP,
    lazy_mark_returned,
    why="The first thing that the RFC asks for.",
    broken=True,
)
def lazy_marks_send_nothing(t: Step) -> bool:
    """A lazy mark of data that is on the host sends nothing."""
    return not (lazy_mark(t) and annotated_sends(t))


@claim(
    "I127",
    Kind.STEP,
    lambda t: isinstance(t.action, MarkSharding) and t.after.raised == ErrorKind.NONE,
    why="A round trip through the host waits for the device, and sends everything twice.",
    broken=True,
)
def marks_fetch_nothing(t: Step) -> bool:
    """Marking data that is on the devices does not bring it to the host."""
    return not isinstance(t.action, MarkSharding) or t.after.call.kind != CallKind.MARK


@claim(
    "I121",
    Kind.STEP,
    traced_beside_marked_host_data,
    why="A model is traced before it is loaded.",
    broken=True,
    hazards=("H-14",),
)
def tracing_sends_nothing(t: Step) -> bool:
    """Tracing over what was marked sends nothing."""
    return not isinstance(t.action, TRACING) or not annotated_sends(t)


@claim(
    "I122",
    Kind.STEP,
    lambda t: t.before.device.spmd and t.before.call.kind in COMPILE_ONLY and t.returned,
    why="Programs are compiled before the model is loaded.",
)
def compiling_sends_nothing(t: Step) -> bool:
    """Hashing and warming up send nothing that was marked."""
    return t.before.call.kind not in COMPILE_ONLY or not annotated_sends(t)


@claim(
    "I125",
    Kind.STATE,
    lambda t: any([b.sends > 0 for b in t.after.buffers]),
    why="A model that is on the devices need not be in the memory of the host, too.",
    broken=True,
)
def loaded_host_copies_are_released(t: Step) -> bool:
    """Between calls, a marked tensor that has its data on the devices has no host copy."""
    if t.after.call.phase != Phase.IDLE:
        return True
    both = [r for r in t.live() if r.asked != Sharding.NONE and r.host and r.handle != NONE]
    return not any([t.after.buffers[r.handle].status == BufferStatus.VALUE for r in both])


@claim(
    "I126",
    Kind.STATE,
    lambda t: any([r.asked != Sharding.NONE and r.host for r in t.live()]),
    why="Data that is there must not be asked for.",
)
def what_has_data_can_be_executed(t: Step) -> bool:
    """No tensor that has its data on the host is a placeholder that nothing will fill."""
    with_host = [r for r in t.live() if r.host and r.handle != NONE]
    return not any([is_stub(t.after, r.handle) for r in with_host])
