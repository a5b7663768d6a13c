"""The device lock, stored errors, and graphs that cannot run.

Source: semantics.md §1.7 (lockers), §3b (error storage), §5.5 (un-executable graphs).
"""

from markstep.spec.design import Design, ErrorDelivery, Validation
from markstep.spec.rules.eager import conclude
from markstep.spec.state import NONE, Call, CallKind, State, bit, has, rows
from markstep.spec.vocabulary import BufferStatus, ErrorKind, IrKind, Sharding


def finish(s: State, error: ErrorKind = ErrorKind.NONE, value: object = None) -> None:
    """The call returns or raises; what it held is released."""
    if s.call.kind == CallKind.EAGER:
        conclude(s, error)
    s.call = Call()
    s.raised, s.value = error, value


def executes(call: Call) -> bool:
    """Whether the call is one that runs a program, not only compiles or hashes it."""
    return call.kind not in (CallKind.WARM_UP, CallKind.GRAPH_HASH)


def take_lock(s: State, design: Design) -> bool:
    """Locker.lock(): a stored error is thrown to whoever comes, and the lock is not taken.

    Only called when no execution holds the lock. False: the call has raised.
    """
    if s.device.stored_error:
        clear_stored_error(s)
        finish(s, ErrorKind.EXECUTION_FAILED)
        return False
    s.call.holds_lock = True
    return True


def clear_stored_error(s: State) -> None:
    """The stored error has been thrown."""
    s.device.stored_error, s.device.stored_raised, s.device.stored_about = False, False, 0


def deliver(s: State, design: Design) -> bool:
    """ErrorDelivery.OWNER: a member of the call has an undelivered error; the call raises it.

    True: it did. The error is taken off every record, so it is raised once.
    """
    if design.error_delivery != ErrorDelivery.OWNER:
        return False
    oldest = 0
    for r in rows(s.call.members):
        error = s.records[r].error
        if error != 0 and (oldest == 0 or error < oldest):
            oldest = error
    if oldest == 0:
        return False
    for record in s.records:
        if record.error == oldest:
            record.error = 0
    finish(s, ErrorKind.EXECUTION_FAILED)
    return True


def will_be_filled(s: State, row: int) -> bool:
    """Whether a running execution is to fill the buffer record."""
    return s.execution.running and has(s.execution.outputs, row)


def is_stub(s: State, row: int) -> bool:
    """A placeholder that nothing will fill."""
    buffer = s.buffers[row]
    filled_later = buffer.source or will_be_filled(s, row)
    return buffer.status == BufferStatus.PLACEHOLDER and not filled_later


def lacks_value(s: State, row: int) -> bool:
    """A buffer without a value that would not even get one by being executed on."""
    return s.buffers[row].status != BufferStatus.VALUE and not s.buffers[row].source


def unusable(s: State, mask: int) -> ErrorKind:
    """Why a program with these parameters can never run: stubs first, then donated ones."""
    for row in rows(mask):
        if is_stub(s, row):
            return ErrorKind.UNMATERIALIZED
    for row in rows(mask):
        if s.buffers[row].status == BufferStatus.DELETED:
            return ErrorKind.DELETED
    return ErrorKind.NONE


def unexecutable(s: State) -> ErrorKind:
    """Validation.BEFORE_EFFECTS: why the call must be refused before it changes anything (F4)."""
    needed, pending = 0, False
    for r in rows(s.call.members):
        record = s.records[r]
        if record.handle == NONE and is_output(s, r):
            needed |= record.reads
            pending = True
        elif s.call.kind in (CallKind.READ_MANY, CallKind.MARK) and not record.host:
            error = unusable(s, bit(record.handle))
            if error != ErrorKind.NONE:
                return ErrorKind.NO_VALUE if error == ErrorKind.UNMATERIALIZED else error
    error = unusable(s, needed)
    if error == ErrorKind.NONE and pending and not s.device.allow_execution:
        return ErrorKind.REFUSED
    return error


def is_output(s: State, r: int) -> bool:
    """Whether collection would make the record an output: pending work or a borrowed leaf."""
    record = s.records[r]
    own_leaf = record.ir == IrKind.LEAF and not record.is_cloned
    return record.ir != IrKind.NONE and not own_leaf


def crashes(s: State, mask: int, design: Design) -> bool:
    """Validation.AT_DISPATCH: the runtime dereferences a buffer that is not there (H-08)."""
    if design.validation != Validation.AT_DISPATCH:
        return False
    return any([is_absent(s, row) for row in rows(mask)])


def is_absent(s: State, row: int) -> bool:
    """A buffer record behind which there is no device buffer."""
    present = (BufferStatus.VALUE, BufferStatus.DELETED)
    return s.buffers[row].status not in present and not s.buffers[row].source


def has_no_number(s: State, mask: int, design: Design) -> bool:
    """Whether one of these buffers cannot be told from others: it is sharded and has no pieces yet,
    and the process dies of asking (H-09)."""
    if design.sharded_stubs_have_numbers:
        return False
    return any(
        [is_absent(s, row) and s.buffers[row].sharding != Sharding.NONE for row in rows(mask)]
    )


def mixes_kinds(s: State) -> bool:
    """Whether a program for all devices is given a plain buffer, or one for a single device a
    sharded one; the process dies of that (H-11, semantics.md §5.4)."""
    if not s.device.spmd:
        return False
    plain = [s.buffers[row].sharding == Sharding.NONE for row in rows(s.call.params)]
    return any([is_plain != s.call.plain for is_plain in plain])


def donated_away(s: State, mask: int) -> bool:
    """Whether the runtime will refuse a program for a parameter that is deleted: the buffer was
    donated by the execution that ran while the parameters were numbered (docs/findings, F03)."""
    return any([s.buffers[row].status == BufferStatus.DELETED for row in rows(mask)])


def crash(s: State) -> None:
    """The process dies."""
    finish(s, ErrorKind.CRASH)
    s.device.crashed = True
