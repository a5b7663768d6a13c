"""Claims that hold the others up: what every state looks like, so that induction works.

They say nothing to a user of tensors. The prover assumes them of the state before a step and shows
them of the state after it; the explorer, lockstep and the log monitor watch them like any other.
"""

from markstep.spec.contract import lost_records
from markstep.spec.design import Design, ErrorDelivery, Truncation, Validation
from markstep.spec.invariants.claim import Kind, Step, claim
from markstep.spec.invariants.placing import unplaced
from markstep.spec.rules.donation import needed_afterwards
from markstep.spec.rules.errors import executes, lacks_value
from markstep.spec.rules.objects import lost
from markstep.spec.state import NONE, Buffer, Call, CallKind, Execution, Phase, Record, State, bit
from markstep.spec.vocabulary import BufferStatus, IrKind, Sharding

READS = (CallKind.READ_ONE, CallKind.READ_MANY, CallKind.MARK)
ABOUT_ONE = (CallKind.READ_ONE, CallKind.MARK, CallKind.EAGER)
MAY_FORCE = (CallKind.SYNC, CallKind.STEP_BARRIER, CallKind.READ_ONE, CallKind.EAGER)
BEFORE_COLLECTION = (Phase.READ, Phase.COLLECT)
WITH_DONORS = (Phase.LOOKUP, Phase.COMPILE, Phase.INSTALL, Phase.LOCK, Phase.SCHEDULE)
WITH_VALUES = (Phase.LOCK, Phase.SCHEDULE)
AFTER_PROGRAM = (Phase.INSTALL, Phase.LOCK, Phase.SCHEDULE, Phase.AWAIT)


def nothing_called(c: Call) -> bool:
    """The call of an idle machine."""
    masks = c.members | c.uploads | c.outputs | c.borrowers | c.params | c.donors
    flags = [c.force, c.sync, c.wait, c.holds_lock, c.foreign, c.doomed, c.failed, not c.right]
    flags += [c.plain, c.sharding != Sharding.NONE]
    rows = c.target == NONE and c.replaces == NONE
    return c.kind == CallKind.NONE and rows and masks == 0 and not any(flags)


def nothing_runs(e: Execution) -> bool:
    """The execution of a free device."""
    masks = e.outputs | e.refills | e.params | e.donors
    return e.id == 0 and masks == 0 and not e.doomed and bool(e.right)


@claim(
    "I93",
    Kind.STATE,
    lambda t: t.returned,
    why="What is left over from one call would steer the next.",
)
def nothing_is_left_over(t: Step) -> bool:
    """An idle machine has the blank call, and a free device the blank execution; no error is
    stored at the device where the records carry it."""
    s = t.after
    if s.device.stored_error and t.design.error_delivery == ErrorDelivery.OWNER:
        return False
    if s.call.phase == Phase.IDLE and not nothing_called(s.call):
        return False
    return bool(s.execution.running) or nothing_runs(s.execution)


def blank(r: Record) -> bool:
    """A row that no record occupies."""
    return (
        [r.id, r.alias_id, r.handle, r.ir, r.leaf] == [0, 0, NONE, IrKind.NONE, NONE]
        and not any([r.deps != 0, r.host, r.is_cloned, r.error != 0, r.host_exposed])
        and unplaced(r)
        and bool(r.defined)
        and bool(r.host_right)
    )


def well_formed(r: Record) -> bool:
    """Each field of a live record has a meaning."""
    leaf = (r.ir == IrKind.LEAF) == (r.leaf != NONE)
    return leaf and (r.deps == 0 or r.ir == IrKind.OP) and r.ir != IrKind.CONST and r.id != 0


@claim(
    "I94",
    Kind.STATE,
    lambda t: any([r.ir == IrKind.OP for r in t.live()]),
    why="Rules read a field only where it has a meaning.",
)
def records_are_well_formed(t: Step) -> bool:
    """A record has a leaf exactly if its ir is one, and reads buffers only as pending work; a row
    without a record is blank."""
    if t.design.read_returns_copy and any([r.host_exposed for r in t.after.records]):
        return False
    return all([well_formed(r) if r.live else blank(r) for r in t.after.records])


def exists(s: State, row: int) -> bool:
    """A row is none, or that of a buffer record."""
    return row == NONE or s.buffers[row].status != BufferStatus.NONE


def all_exist(s: State, mask: int) -> bool:
    """Every row of a mask is that of a buffer record."""
    missing = [b.status == BufferStatus.NONE and mask >> i & 1 for i, b in enumerate(s.buffers)]
    return not any(missing)


@claim(
    "I95",
    Kind.STATE,
    lambda t: any([r.handle != NONE for r in t.live()]),
    why="A reference to nothing is a crash.",
)
def references_exist(t: Step) -> bool:
    """Whatever a live record refers to is a buffer record."""
    s = t.after
    kept = [exists(s, r.handle) and all_exist(s, r.reads) for r in s.records if r.live]
    c, e = s.call, s.execution
    return all(kept) and all_exist(s, c.params | c.donors | e.params | e.outputs)


def living(s: State) -> int:
    """Mask of the rows of live records."""
    mask = 0
    for r, record in enumerate(s.records):
        mask |= bit(r) if record.live else 0
    return mask


def masks_agree(c: Call) -> bool:
    """What a call has sorted is among what it was given."""
    inside = (c.uploads | c.outputs) & ~c.members == 0 and c.borrowers & ~c.outputs == 0
    early = c.phase in BEFORE_COLLECTION and (c.uploads | c.outputs | c.params) != 0
    return inside and c.donors & ~c.params == 0 and not early


def flags_agree(c: Call) -> bool:
    """The flags of a call are those of its kind."""
    if c.force and c.kind not in MAY_FORCE:
        return False
    if (c.uploads != 0 and not c.force) or (c.failed and c.phase != Phase.AWAIT):
        return False
    if (c.kind in ABOUT_ONE) != (c.target != NONE):
        return False
    if c.replaces != NONE and (c.kind != CallKind.EAGER or c.replaces == c.target):
        return False
    return c.kind not in ABOUT_ONE or c.members == bit(c.target)


def phase_agrees(c: Call) -> bool:
    """A call is only where its kind leads."""
    if c.phase == Phase.READ and (c.kind != CallKind.READ_ONE or c.force):
        return False
    if c.phase == Phase.DOWNLOAD and c.kind not in READS:
        return False
    if c.phase in AFTER_PROGRAM and not executes(c):
        return False
    if c.phase in (Phase.LOOKUP, Phase.COMPILE) and c.kind == CallKind.GRAPH_HASH:
        return False
    if c.kind in (CallKind.SYNC, CallKind.STEP_BARRIER, CallKind.EAGER) and not c.force:
        return False
    if c.kind == CallKind.WAIT_DEVICE and c.phase != Phase.BARRIER:
        return False
    return c.kind not in (CallKind.READ_MANY, CallKind.MARK) or not c.force


def sorted_right(s: State, r: int) -> bool:
    """An output is pending work, a queued upload a host copy (Truncation.AT_SCHEDULE)."""
    c, record = s.call, s.records[r]
    if c.phase == Phase.UPLOAD and c.uploads >> r & 1:
        return record.handle == NONE and record.ir == IrKind.NONE and bool(record.host)
    if c.phase in (Phase.AWAIT, Phase.DOWNLOAD) or not c.outputs >> r & 1:
        return True
    return record.handle == NONE and record.ir != IrKind.NONE


def parameter_ready(s: State, row: int) -> bool:
    """A parameter of a program that is to run has a value (Validation.BEFORE_EFFECTS)."""
    c = s.call
    asked = c.params >> row & 1 and c.phase in WITH_DONORS and executes(c)
    return not asked or not lacks_value(s, row)


def read_by_outputs(s: State) -> int:
    """Mask of the buffer records that the outputs of the call read."""
    mask = 0
    for r, record in enumerate(s.records):
        mask |= record.reads if s.call.outputs >> r & 1 else 0
    return mask


def design_agrees(s: State, d: Design) -> bool:
    """What holds of a call only where the design takes care of it."""
    c = s.call
    late = d.truncation == Truncation.AT_SCHEDULE
    if late and c.phase == Phase.INSTALL:
        return False
    if late and not all([sorted_right(s, r) for r in range(len(s.records))]):
        return False
    if c.doomed and not d.run_cached_takes_all_leaves:
        return False
    if d.validation == Validation.AT_DISPATCH or not late or d.run_cached_takes_all_leaves:
        return True
    if bool(c.holds_lock) != (c.phase == Phase.SCHEDULE):
        return False
    if c.phase in WITH_DONORS and executes(c) and c.params & ~read_by_outputs(s) != 0:
        return False
    return all([parameter_ready(s, row) for row in range(len(s.buffers))])


@claim(
    "I96",
    Kind.STATE,
    lambda t: t.after.call.outputs != 0,
    why="The phases of a call hand each other masks.",
)
def calls_are_consistent(t: Step) -> bool:
    """What a call works on are live records, sorted as its kind, flags and phase allow."""
    c = t.after.call
    if c.phase == Phase.IDLE:
        return True
    if c.kind == CallKind.EAGER and not t.after.device.eager:
        return False
    return (
        c.members & ~living(t.after) == 0
        and masks_agree(c)
        and flags_agree(c)
        and phase_agrees(c)
        and c.kind != CallKind.NONE
        and design_agrees(t.after, t.design)
    )


def recipe_in_order(s: State, row: int) -> bool:
    """A recipe belongs to a placeholder that the running execution fills, and can be evaluated."""
    b: Buffer = s.buffers[row]
    if b.recipe == IrKind.NONE:
        return b.recipe_leaf == NONE and b.recipe_deps == 0
    filled = b.status == BufferStatus.PLACEHOLDER and s.execution.outputs >> row & 1
    leaf = (b.recipe == IrKind.LEAF) == (b.recipe_leaf != NONE)
    kind = leaf and (b.recipe_deps == 0 or b.recipe == IrKind.OP) and b.recipe != IrKind.CONST
    return bool(filled) and kind and b.recipe_reads & ~s.execution.params == 0


@claim(
    "I97",
    Kind.STATE,
    lambda t: t.after.execution.outputs != 0,
    why="After a failure the recipes are all that is left.",
)
def recipes_are_in_order(t: Step) -> bool:
    """A recipe belongs to a placeholder that the running execution fills, and reads only buffers
    that this execution reads."""
    return all([recipe_in_order(t.after, row) for row in range(len(t.after.buffers))])


def output_in_order(s: State, row: int) -> bool:
    """An output of the running execution is a placeholder, no input; an input has a value."""
    e, status = s.execution, s.buffers[row].status
    if e.outputs >> row & 1 and (status != BufferStatus.PLACEHOLDER or e.params >> row & 1):
        return False
    return not e.params >> row & 1 or not lacks_value(s, row)


def held(s: State) -> int:
    """Mask of the buffer records that live records or the scalar cache refer to."""
    mask = 0
    for record in s.records:
        mask |= bit(record.handle) | record.reads if record.live else 0
    for row, buffer in enumerate(s.buffers):
        mask |= bit(row) if buffer.cached else 0
    return mask


def recipe_kept(s: State, row: int) -> bool:
    """An output of the running execution has a recipe."""
    return not s.execution.outputs >> row & 1 or s.buffers[row].recipe != IrKind.NONE


@claim(
    "I98",
    Kind.STATE,
    lambda t: t.after.execution.running and t.after.execution.donors != 0,
    why="What runs now may fail or end at any moment.",
    broken=True,
)
def executions_are_in_order(t: Step) -> bool:
    """The running execution fills placeholders, reads values, and donates nothing needed."""
    s, c = t.after, t.after.call
    if s.execution.donors & (~s.execution.params | held(s)) != 0:
        return False
    rows = range(len(s.buffers))
    if t.design.keeps_recipe and not all([recipe_kept(s, row) for row in rows]):
        return False
    if c.phase in WITH_DONORS and executes(c) and c.donors & needed_afterwards(s) != 0:
        return False
    return all([output_in_order(s, row) for row in rows])


def contents_right(s: State) -> bool:
    """Every ghost of correctness says yes."""
    buffers = [bool(b.right) for b in s.buffers]
    hosts = [bool(r.host_right) for r in s.records]
    return all(buffers) and all(hosts) and bool(s.execution.right) and bool(s.call.right)


def device_agrees(s: State, r: Record) -> bool:
    """A host copy beside a handle is a copy of its value, or of what it will be loaded with."""
    return not (r.live and r.host and r.handle != NONE) or not lacks_value(s, r.handle)


@claim(
    "I99",
    Kind.STATE,
    lambda t: t.after.call.phase == Phase.LOCK,
    why="An error, another thread or the device can come between any two phases.",
    broken=True,
    hazards=("H-01",),
)
def values_stay_within_reach(t: Step) -> bool:
    """Also in the middle of a call every record has a source and every value can be obtained."""
    s = t.after
    if any([(r.live and lost(r)) or not device_agrees(s, r) for r in s.records]):
        return False
    return contents_right(s) and lost_records(s) == 0
