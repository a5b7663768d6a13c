"""Giving a tensor up: its buffer may be consumed by whatever reads it next, and it is gone itself.

A mark (``set_donation``) leaves the tensor alive, so that nothing can be consumed before it is
dropped; who gives a tensor up says that at once, and is told later where it was.

Source: users of torch_xla (pytorch/xla#8711, #8982); semantics.md §2.4.
"""

from markstep.impl.context import Context
from markstep.impl.donation import mark
from markstep.impl.errors import bad_argument, names
from markstep.impl.explaining import users_line
from markstep.impl.node import Buffer
from markstep.impl.record import Record


def give(ctx: Context, record: Record, *, strict: bool) -> None:
    """The record has no value any more; its buffer is marked. ``strict``: nobody else may show it.

    Raises BAD_ARGUMENT, with nothing changed, if there is no buffer of its own to give.
    """
    buffer = record.handle or record.own_leaf()
    what = names([record.id])
    if buffer is None or buffer.is_stub or buffer.deleted:
        raise bad_argument(f"{what} has no buffer of its own to give away: it is {_lack(record)}")
    others = [r.id for r in ctx.live_records() if r is not record and buffer in (r.handle, r.ir)]
    if strict and others:
        raise bad_argument(f"{what} cannot be given away: {names(others)} shows its buffer, too")
    away = Buffer(record.aval)
    away.deleted = True
    away.gone = f"was given away at {users_line()} in step {ctx.counters['MarkStep']}"
    mark(ctx, record, True)
    record.set_data(away)


def _lack(record: Record) -> str:
    """Why a record has no buffer to give."""
    if record.handle is not None:
        return record.handle.gone or "a placeholder that was never filled"
    if record.is_cloned:
        return "borrowed from another tensor"
    return "still to be computed" if record.ir is not None else "on the host"
