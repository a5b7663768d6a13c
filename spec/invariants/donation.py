"""Claims about donation: who may lose a buffer, and when.

Source: semantics.md §6, Donation. They look at the step that schedules a program with donors.
"""

from markstep.spec.invariants.claim import Kind, Step, claim
from markstep.spec.rules.donation import needed_afterwards
from markstep.spec.rules.execution import Schedule
from markstep.spec.rules.sync import PostOrder
from markstep.spec.state import NO_OWNER, CallKind, Phase, bit, has, rows
from markstep.spec.vocabulary import BufferStatus, CompleteExecution, FailExecution, IrKind


def donates(t: Step) -> bool:
    """A program with donors is handed to the device."""
    return isinstance(t.action, Schedule) and t.before.call.donors != 0


def deleted_now(t: Step) -> int:
    """Mask of the buffer records that an execution consumed in this step."""
    if not isinstance(t.action, CompleteExecution | FailExecution):
        return 0
    mask = 0
    for row in rows(t.before.execution.donors):
        if t.after.buffers[row].status == BufferStatus.DELETED:
            mask |= bit(row)
    return mask


@claim(
    "I32",
    Kind.STEP,
    lambda t: deleted_now(t) != 0,
    why="A live value would read a deleted buffer.",
    broken=True,
    hazards=("H-03", "H-04", "H-05"),
)
def donated_buffers_are_unused(t: Step) -> bool:
    """When an execution consumes a buffer, no live record refers to it any more."""
    deleted = deleted_now(t)
    return not any([(bit(r.handle) | r.reads) & deleted for r in t.live()])


@claim(
    "I33",
    Kind.STEP,
    donates,
    why="Pending work outside the sync still needs the old buffers.",
    broken=True,
    hazards=("H-05",),
)
def pending_work_outside_keeps_its_inputs(t: Step) -> bool:
    """A sync donates no buffer that pending work outside its outputs reads."""
    if not donates(t):
        return True
    call = t.before.call
    return not any(
        [
            record.live
            and record.ir == IrKind.OP
            and not has(call.outputs, r)
            and record.reads & call.donors
            for r, record in enumerate(t.before.records)
        ]
    )


@claim(
    "I34",
    Kind.STEP,
    donates,
    why="The root cause of lost tensors: the info slot names somebody who does not own the buffer.",
    broken=True,
    hazards=("H-03", "H-04"),
)
def donors_have_no_other_holder(t: Step) -> bool:
    """No record outside the outputs of a sync holds a donor of it as handle or leaf."""
    if not donates(t):
        return True
    call = t.before.call
    return not any(
        [
            record.live
            and not has(call.outputs, r)
            and (bit(record.handle) | bit(record.leaf)) & call.donors
            for r, record in enumerate(t.before.records)
        ]
    )


@claim(
    "I35",
    Kind.STEP,
    donates,
    why="Donation is compiled into the program by parameter number.",
)
def donors_are_parameters(t: Step) -> bool:
    """The donors of a program are among its parameters."""
    return not donates(t) or t.before.call.donors & ~t.before.call.params == 0


@claim(
    "I37",
    Kind.STEP,
    lambda t: donates(t) and any([b.read_only for b in t.before.buffers]),
    why="Read-only buffers are shared constants.",
)
def read_only_buffers_are_not_donated(t: Step) -> bool:
    """A read-only buffer is a donor only where the user marked it."""
    if not donates(t):
        return True
    donors = [t.before.buffers[row] for row in rows(t.before.call.donors)]
    return all([not buffer.read_only or buffer.donate for buffer in donors])


@claim(
    "I39",
    Kind.STEP,
    lambda t: isinstance(t.action, Schedule) and not t.before.call.force,
    why="The kept ir would be evaluated again on a deleted buffer.",
    broken=True,
    hazards=("H-06",),
)
def evaluation_that_keeps_the_ir_donates_nothing(t: Step) -> bool:
    """A program whose outputs keep their pending ir has no donors."""
    return not donates(t) or t.before.call.force


@claim(
    "I40",
    Kind.STEP,
    lambda t: isinstance(t.action, Schedule) and t.before.call.params != 0,
    why="The safety net under every donation rule.",
    broken=True,
)
def deleted_buffers_are_never_parameters(t: Step) -> bool:
    """No program is scheduled with a parameter that was donated away."""
    if not isinstance(t.action, Schedule):
        return True
    params = [t.before.buffers[row].status for row in rows(t.before.call.params)]
    return not any([status == BufferStatus.DELETED for status in params])


@claim(
    "I41",
    Kind.STEP,
    lambda t: isinstance(t.action, Schedule) and t.after.execution.outputs != 0,
    why="A mark that spreads donates by surprise.",
)
def results_do_not_inherit_the_mark(t: Step) -> bool:
    """A placeholder that an execution will fill is not marked for donation."""
    if not isinstance(t.action, Schedule):
        return True
    return not any([t.after.buffers[row].donate for row in rows(t.after.execution.outputs)])


@claim(
    "I88",
    Kind.STEP,
    lambda t: donates(t) and t.before.call.kind == CallKind.STEP_BARRIER,
    why="A missed donation doubles the memory of a training step.",
)
def updates_at_a_barrier_donate(t: Step) -> bool:
    """A step barrier donates each owned buffer that an update replaces and nobody needs then."""
    call = t.after.call
    chosen = isinstance(t.action, PostOrder) and call.phase == Phase.LOOKUP
    if not chosen or call.kind != CallKind.STEP_BARRIER:
        return True
    aliases = [t.after.records[r].alias_id for r in rows(call.outputs)]
    needed = needed_afterwards(t.after)
    for row in rows(call.params & ~call.donors & ~needed):
        buffer = t.after.buffers[row]
        if buffer.owner != NO_OWNER and buffer.owner in aliases and not buffer.read_only:
            return False
    return True
