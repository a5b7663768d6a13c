"""Claims about tensors on several devices: what is annotated, how data lies, when it is sent.

They say nothing while SPMD mode is off. The numbers up to 86 are those of semantics.md §6 (Records,
Buffers, RFC); the others are ours.
"""

from markstep.spec.invariants.claim import Kind, Step, claim
from markstep.spec.rules.errors import mixes_kinds
from markstep.spec.rules.execution import Schedule
from markstep.spec.rules.sync import PostOrder
from markstep.spec.state import NONE, Phase, Record, State
from markstep.spec.vocabulary import (
    Apply,
    AssignInPlace,
    BufferStatus,
    Clone,
    CopyInto,
    DumpGraph,
    ErrorKind,
    IrKind,
    MarkSharding,
    ReadSpec,
    Sharding,
)

TRACING = (Apply, AssignInPlace, Clone, CopyInto)
"""Actions that read tensors as operands."""
SAME_PLACE = ("handle", "leaf", "ir", "deps", "host", "spec")


def kept(t: Step) -> list[tuple[Record, Record]]:
    """The records that live before and after, in both states."""
    pairs = zip(t.before.records, t.after.records, strict=False)
    return [(a, b) for a, b in pairs if a.live and b.live and a.id == b.id]


@claim(
    "I08",
    Kind.STATE,
    lambda t: t.after.device.spmd and any([r.handle != NONE for r in t.live()]),
    why="The executor picks the runtime by the device of the tensor.",
    broken=True,
    hazards=("H-11",),
)
def data_is_where_the_mode_says(t: Step) -> bool:
    """In SPMD mode every tensor that has data has it on all devices."""
    if not t.after.device.spmd:
        return True
    rows_of_data = [r.handle for r in t.live() if r.handle != NONE]
    return not any([plain_value(t.after, row) for row in rows_of_data])


def plain_value(s: State, row: int) -> bool:
    """A buffer with a value that lies on one device only."""
    buffer = s.buffers[row]
    return buffer.status == BufferStatus.VALUE and buffer.sharding == Sharding.NONE


@claim(
    "I10",
    Kind.STATE,
    lambda t: any([r.spec != Sharding.NONE and r.handle != NONE for r in t.live()]),
    why="Data is gathered and scattered by the annotation.",
    broken=True,
    hazards=("H-14", "H-15"),
)
def annotation_and_data_agree(t: Step) -> bool:
    """Between calls, data lies as the annotation of its tensor says."""
    if t.after.call.phase != Phase.IDLE:
        return True
    both = [r for r in t.live() if r.spec != Sharding.NONE and r.handle != NONE]
    return all([lies(t.after, r.handle) in (Sharding.NONE, r.spec) for r in both])


def lies(s: State, row: int) -> Sharding:
    """How the data of a buffer record lies."""
    return s.buffers[row].sharding


@claim(
    "I11",
    Kind.STEP,
    lambda t: isinstance(t.action, ReadSpec) and t.after.value != Sharding.NONE,
    why="The caller acts on what it is told.",
    broken=True,
    hazards=("H-14",),
)
def annotations_are_told_as_they_are(t: Step) -> bool:
    """Reading an annotation gives the annotation that the tensor has afterwards."""
    if not isinstance(t.action, ReadSpec) or t.after.raised != ErrorKind.NONE:
        return True
    return bool(t.after.value == t.after.record_of(t.action.tensor).spec)


@claim(
    "I12",
    Kind.STEP,
    lambda t: isinstance(t.action, TRACING) and any([a.spec != 0 for a, _ in kept(t)]),
    why="It is what the user wants; tracing only looks.",
    broken=True,
    hazards=("H-14",),
)
def annotations_survive_tracing(t: Step) -> bool:
    """Using a tensor as an operand leaves its annotation, and puts no other on its node."""
    if not isinstance(t.action, TRACING):
        return True
    target = t.after.tensors[t.action.target] if isinstance(t.action, CopyInto) else NONE
    others = [(a, b) for a, b in kept(t) if target == NONE or b.id != t.after.records[target].id]
    return all([still_annotated(a, b) for a, b in others])


def still_annotated(a: Record, b: Record) -> bool:
    """A record has the annotation that it had; its node, if it is new, has it too."""
    if a.spec == Sharding.NONE:
        return True
    new_node = a.ir == IrKind.NONE and b.ir != IrKind.NONE
    return b.spec == a.spec and (not new_node or b.hint in (Sharding.NONE, a.spec))


@claim(
    "I23",
    Kind.STEP,
    lambda t: (
        isinstance(t.action, DumpGraph | PostOrder)
        and any([b.sharding != 0 and b.status == 1 for b in t.before.buffers])
    ),
    why="A placeholder can be a leaf before it is filled.",
    broken=True,
    hazards=("H-09",),
)
def sharded_placeholders_can_be_leaves(t: Step) -> bool:
    """Dumping and hashing a graph never kills the process, whatever its leaves hold."""
    return not (isinstance(t.action, DumpGraph | PostOrder) and t.after.device.crashed)


@claim(
    "I25",
    Kind.STEP,
    lambda t: isinstance(t.action, Schedule) and t.before.device.spmd and t.before.call.params != 0,
    why="A program for all devices takes a piece on each of them.",
    broken=True,
    hazards=("H-11",),
)
def programs_and_arguments_are_of_one_kind(t: Step) -> bool:
    """A program for all devices is given sharded arguments only, one for a single device plain
    ones."""
    return not (isinstance(t.action, Schedule) and mixes_kinds(t.before))


@claim(
    "I80",
    Kind.STATE,
    lambda t: any([r.asked != 0 and r.handle != NONE for r in t.live()]),
    why="Lazy loading must be a drop-in: whoever looks afterwards sees what an eager mark gives.",
    broken=True,
    hazards=("H-14", "H-15"),
)
def data_lies_as_asked(t: Step) -> bool:
    """Between calls, a tensor that was marked and has data lies and is annotated as marked."""
    if t.after.call.phase != Phase.IDLE:
        return True
    return all([as_asked(t.after, r) for r in t.live() if r.asked != Sharding.NONE])


def as_asked(s: State, r: Record) -> bool:
    """A record that was marked: its data, if it has some, and its annotation."""
    if r.handle == NONE or s.buffers[r.handle].status != BufferStatus.VALUE:
        return True
    return r.spec == r.asked and lies(s, r.handle) == r.asked


@claim(
    "I123",
    Kind.STEP,
    lambda t: isinstance(t.action, CopyInto) and t.before.record_of(t.action.target).spec != 0,
    why="Assigning a value must not move a tensor.",
    broken=True,
)
def copies_keep_the_annotation_of_the_target(t: Step) -> bool:
    """Copying into an annotated tensor leaves its annotation."""
    if not isinstance(t.action, CopyInto) or t.after.raised != ErrorKind.NONE:
        return True
    before = t.before.record_of(t.action.target).spec
    return before == Sharding.NONE or t.after.record_of(t.action.target).spec == before


@claim(
    "I124",
    Kind.STEP,
    lambda t: isinstance(t.action, MarkSharding) and t.after.raised == ErrorKind.CONFLICT,
    why="What is refused must not have happened.",
    broken=True,
    hazards=("H-15",),
)
def refused_marks_change_nothing(t: Step) -> bool:
    """A mark that raises leaves the tensor as it was."""
    if not isinstance(t.action, MarkSharding) or t.after.raised == ErrorKind.NONE:
        return True
    a, b = t.before.record_of(t.action.tensor), t.after.record_of(t.action.tensor)
    return all([getattr(a, name) == getattr(b, name) for name in SAME_PLACE])
