"""Claims about the device lock and about errors that come late.

Source: semantics.md §6, Locks and errors.
"""

from markstep.spec.invariants.claim import Kind, Step, claim
from markstep.spec.rules.execution import Schedule
from markstep.spec.rules.reading import Read
from markstep.spec.state import CallKind, Phase, bit, rows
from markstep.spec.vocabulary import ErrorKind, FailExecution


def delivers_stored_error(t: Step) -> bool:
    """The device's stored error is thrown to a call."""
    return t.before.device.stored_error and not t.after.device.stored_error and t.returned


def delivers_carried_error(t: Step) -> bool:
    """An error carried by a member of the call is thrown to the call."""
    taken = [
        a.live and a.error != 0 and b.error == 0
        for a, b in zip(t.before.records, t.after.records, strict=False)
    ]
    return t.returned and t.after.raised == ErrorKind.EXECUTION_FAILED and any(taken)


def delivers(t: Step) -> bool:
    """An asynchronous error is thrown to a call that comes after the failure."""
    return delivers_stored_error(t) or delivers_carried_error(t)


@claim(
    "I67",
    Kind.STEP,
    lambda t: isinstance(t.action, Schedule),
    why="Placeholders have one producer at a time.",
)
def one_execution_at_a_time(t: Step) -> bool:
    """An execution starts only when none is running on the device."""
    return not isinstance(t.action, Schedule) or not t.before.execution.running


@claim(
    "I69",
    Kind.STATE,
    lambda t: t.returned and t.before.call.holds_lock,
    why="A lock that is never released hangs the next call.",
)
def locks_are_released(t: Step) -> bool:
    """Between calls only a running execution holds the device lock."""
    return t.after.call.phase != Phase.IDLE or not t.after.call.holds_lock


@claim(
    "I70",
    Kind.STATE,
    lambda t: t.after.call.holds_lock,
    why="Waiting for a lock that one holds is a deadlock.",
)
def nobody_waits_for_its_own_lock(t: Step) -> bool:
    """A call that holds the device lock never finds the device busy."""
    return not (t.after.call.holds_lock and t.after.execution.running)


@claim(
    "I71",
    Kind.STEP,
    delivers,
    why="An error that comes twice makes an innocent call fail.",
    broken=True,
    hazards=("H-07",),
)
def errors_are_raised_once(t: Step) -> bool:
    """The failure of an execution is not raised again after the call that waited for it."""
    if delivers_carried_error(t):
        return still_carried(t) == []
    if isinstance(t.action, FailExecution) and t.before.call.phase == Phase.AWAIT:
        return not any([record.error == t.before.execution.id for record in t.live()])
    return not (delivers_stored_error(t) and t.before.device.stored_raised)


def still_carried(t: Step) -> list[int]:
    """The errors that the call has raised and that some record carries none the less."""
    told = [
        a.error
        for a, b in zip(t.before.records, t.after.records, strict=False)
        if a.live and a.error != 0 and b.error == 0
    ]
    return [record.error for record in t.live() if any([record.error == id for id in told])]


@claim(
    "I72",
    Kind.STEP,
    delivers,
    why="The caller cannot act on somebody else's error.",
    broken=True,
    hazards=("H-07",),
)
def errors_go_to_the_failed_work(t: Step) -> bool:
    """The failure of an execution is raised only to a call about tensors of that execution."""
    call = t.before.call
    if isinstance(t.action, FailExecution):
        return all([concerned(t, r) for r in range(len(t.after.records)) if newly_told(t, r)])
    if delivers_carried_error(t):
        return any([t.before.records[r].error != 0 for r in rows(call.members)])
    if not delivers_stored_error(t) or call.kind == CallKind.WAIT_DEVICE:
        return True
    return call.members & t.before.device.stored_about != 0


def newly_told(t: Step, r: int) -> bool:
    """The record carries the error of the execution that has just failed."""
    return t.after.records[r].live and t.after.records[r].error == t.before.execution.id


def concerned(t: Step, r: int) -> bool:
    """The record's value was to come from the execution that has just failed."""
    record = t.before.records[r]
    return bool((bit(record.handle) | record.reads) & t.before.execution.outputs)


@claim(
    "I73",
    Kind.STEP,
    delivers,
    why="The receiving call did nothing wrong.",
    broken=True,
    hazards=("H-07",),
)
def delivery_is_harmless(t: Step) -> bool:
    """A call that is thrown an old error loses no value."""
    return not delivers(t) or t.newly_lost == 0


@claim(
    "I74",
    Kind.STEP,
    lambda t: isinstance(t.action, Read) and t.before.records[t.before.call.target].defined,
    why="Reading after a sync that does not wait is the normal case.",
    broken=True,
    hazards=("H-03", "H-04", "H-07"),
)
def tensors_with_a_value_can_be_read(t: Step) -> bool:
    """Reading a tensor that has a value never says that there is none."""
    if not isinstance(t.action, Read) or not t.returned:
        return True
    missing = t.after.raised in (ErrorKind.NO_VALUE, ErrorKind.LOST)
    return not (missing and t.before.records[t.before.call.target].defined)


@claim(
    "I91",
    Kind.STEP,
    lambda t: isinstance(t.action, FailExecution) and t.before.call.phase == Phase.AWAIT,
    why="A waiting caller must hear of the failure it waited for.",
)
def waiting_calls_hear_of_failures(t: Step) -> bool:
    """When an execution fails while its call waits, that call will raise."""
    if not isinstance(t.action, FailExecution) or t.before.call.phase != Phase.AWAIT:
        return True
    return t.after.call.failed


@claim(
    "I92",
    Kind.STEP,
    lambda t: isinstance(t.action, FailExecution) and t.before.call.phase != Phase.AWAIT,
    why="A failure that nobody hears of is silent corruption.",
)
def failures_are_not_swallowed(t: Step) -> bool:
    """When an execution fails and nobody waits, the error is kept for whoever has to be told."""
    if not isinstance(t.action, FailExecution) or t.before.call.phase == Phase.AWAIT:
        return True
    carried = any([record.error != 0 for record in t.live()])
    outputs = t.before.execution.outputs
    concerned = any([(bit(r.handle) | r.reads) & outputs for r in t.before.records if r.live])
    return t.after.device.stored_error or carried or not concerned
