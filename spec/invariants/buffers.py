"""Claims about buffer records: when they have a value, who fills them, what may be read.

Source: semantics.md §6, Buffers.
"""

from markstep.spec.invariants.claim import Kind, Step, claim
from markstep.spec.rules.errors import executes, is_stub, lacks_value, will_be_filled
from markstep.spec.rules.execution import Schedule
from markstep.spec.rules.reading import Download
from markstep.spec.rules.transfer import buffers_in_use
from markstep.spec.state import NONE, Phase, State, rows
from markstep.spec.vocabulary import BufferStatus, CompleteExecution

NUMBERED = (Phase.LOOKUP, Phase.COMPILE, Phase.INSTALL, Phase.LOCK, Phase.SCHEDULE)
"""Phases in which the parameters of the running call have numbers."""


def numbered(t: Step) -> bool:
    """The running call executes, and its parameters have numbers."""
    return t.after.call.phase in NUMBERED and executes(t.after.call)


@claim(
    "I20",
    Kind.STATE,
    lambda t: numbered(t) and t.after.call.params != 0,
    why="The number of a parameter is the identity of its buffer; filling changes it.",
)
def parameter_numbers_are_stable(t: Step) -> bool:
    """Once its parameters are numbered, no parameter of a call that runs is still to be filled."""
    if not numbered(t):
        return True
    return not any([will_be_filled(t.after, row) for row in rows(t.after.call.params)])


@claim(
    "I21",
    Kind.STATE,
    lambda t: sum([b.number != 0 for b in t.after.buffers]) > 1,
    why="Parameters with equal numbers are merged.",
)
def buffer_numbers_are_injective(t: Step) -> bool:
    """Different device buffers have different numbers."""
    used = buffers_in_use(t.after)
    numbers = [b.number for row, b in enumerate(t.after.buffers) if used >> row & 1 and b.number]
    return len(numbers) == len(set(numbers))


@claim(
    "I22",
    Kind.STATE,
    lambda t: isinstance(t.action, Schedule | Download),
    why="A null buffer is dereferenced and the process dies instead of raising.",
    broken=True,
    hazards=("H-08",),
)
def nothing_reads_a_missing_value(t: Step) -> bool:
    """No download and no execution meets a buffer without a value."""
    if t.after.device.crashed:
        return False
    if not isinstance(t.action, Schedule) or not t.after.execution.running:
        return True
    return not any([lacks_value(t.before, row) for row in rows(t.before.call.params)])


@claim(
    "I26",
    Kind.STEP,
    lambda t: isinstance(t.action, CompleteExecution),
    why="A buffer that changes under its readers is no value.",
)
def placeholders_are_filled_once(t: Step) -> bool:
    """An execution fills only buffer records that have no value yet."""
    if not isinstance(t.action, CompleteExecution):
        return True
    targets = [t.before.buffers[row].status for row in rows(t.before.execution.outputs)]
    return all([status == BufferStatus.PLACEHOLDER for status in targets])


def promised(s: State) -> list[int]:
    """Rows of the placeholders that are handles of tensors which have their value nowhere else."""
    return [
        record.handle
        for record in s.records
        if record.live
        and record.defined
        and record.handle != NONE
        and not record.host
        and not s.buffers[record.handle].source
        and s.buffers[record.handle].status == BufferStatus.PLACEHOLDER
    ]


@claim(
    "I27",
    Kind.STATE,
    lambda t: t.after.idle and bool(promised(t.after)),
    why="Otherwise the value is lost.",
    broken=True,
    hazards=("H-07",),
)
def placeholders_are_filled_eventually(t: Step) -> bool:
    """Between calls the placeholder of a tensor with a value has an execution that fills it."""
    if t.after.call.phase != Phase.IDLE:
        return True
    return not any([is_stub(t.after, row) for row in promised(t.after)])


@claim(
    "I28",
    Kind.STATE,
    lambda t: bool(promised(t.after)),
    why="A reader blocks on the lock; without it, it meets an empty buffer.",
    broken=True,
    hazards=("H-07",),
)
def visible_placeholders_are_locked(t: Step) -> bool:
    """While a placeholder of a tensor with a value is visible, the device lock is held."""
    held = t.after.execution.running or t.after.call.holds_lock
    return held or not promised(t.after)


@claim(
    "I29",
    Kind.STATE,
    lambda t: any([b.cached for b in t.after.buffers]),
    why="Every graph that uses the number shares the buffer.",
)
def cached_scalars_are_read_only(t: Step) -> bool:
    """A buffer of the scalar cache is read-only."""
    return all([not b.cached or b.read_only for b in t.after.buffers])


@claim(
    "I30",
    Kind.STATE,
    lambda t: any([b.cached for b in t.after.buffers]),
    why="Else every later use of that number fails.",
    broken=True,
    hazards=("H-06",),
)
def cached_scalars_stay_alive(t: Step) -> bool:
    """A buffer of the scalar cache is never donated."""
    return all([not b.cached or b.status == BufferStatus.VALUE for b in t.after.buffers])
