"""The contract: what any tensor library means, lazy or not.

A tensor denotes a value, the one that eager execution gives: the ghost ⟦t⟧. That is `Record.truth`
where the payload is real, and `Record.defined` with the `right` flags where it is erased. As long
as the tensor lives, that value can be obtained, and reading gives it. The machine must refine this.

Source: semantics.md §6 invariants 1, 56, 58; design.md §2 (the contract layer).
"""

from markstep.spec.state import NONE, Record, State, bit, has, rows
from markstep.spec.vocabulary import BufferStatus, IrKind


def lost_records(s: State) -> int:
    """Mask of the live records whose value cannot be obtained any more, or would be wrong.

    Tensors that never had a value (placeholders, work that the program itself cleared) are not
    lost: for them nothing is promised.
    """
    mask = 0
    for r, record in enumerate(s.records):
        if record.live and record.defined and not keeps_value(s, record):
            mask |= bit(r)
    return mask


def keeps_value(s: State, record: Record) -> bool:
    """Whether a reader would get the right value of the record, now or after waiting."""
    if record.host:
        return record.host_right
    if record.handle != NONE:
        return buffer_keeps_value(s, record.handle)
    if record.ir == IrKind.NONE:
        return False
    return all([buffer_keeps_value(s, row) for row in rows(record.reads)])


def buffer_keeps_value(s: State, row: int) -> bool:
    """Whether a buffer has the right contents, or the running execution will give them."""
    buffer = s.buffers[row]
    if buffer.status == BufferStatus.VALUE or buffer.source:
        return buffer.right
    filling = s.execution.running and has(s.execution.outputs, row)
    return buffer.status == BufferStatus.PLACEHOLDER and filling and s.execution.right
