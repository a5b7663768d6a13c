"""Eager mode: every operation is run as soon as it is traced, each as a program of its own.

What was pending before stays pending; clones and copies borrow, as in lazy mode. Nothing is
donated but what the user marked. An operation that cannot run raises, and changes nothing.

Source: XLAGraphExecutor::ApplyEagerSync, XLATensor::Create; semantics.md §3 (17).
"""

from markstep.impl import trace
from markstep.impl.context import Context
from markstep.impl.node import Node
from markstep.impl.record import Record
from markstep.impl.syncing import Config, schedule

AT_ONCE = Config(force=True, sync=False, wait=False)


def compute(ctx: Context, *records: Record) -> None:
    """Run what has just been traced, in eager mode. Raises what ``sync`` raises."""
    if ctx.eager:
        schedule(ctx, list(records), AT_ONCE)


def computed(ctx: Context, node: Node) -> Record:
    """A new record whose value is that of the node; in eager mode it is run."""
    record = trace.pending_record(ctx, node)
    if ctx.eager:
        schedule(ctx, [record], AT_ONCE)
    return record


def assign(ctx: Context, record: Record, node: Node) -> None:
    """An in-place update, as ``trace.assign``; in eager mode it is run first, so that a record
    whose update cannot run keeps what it holds."""
    if not ctx.eager:
        trace.assign(ctx, record, node)
        return
    trace.require(node.aval, record.aval)
    alias = record.id if record.shows_buffer() else record.alias_id
    result = computed(ctx, node)
    assert result.handle is not None
    record.id, record.alias_id = result.id, alias
    record.set_data(result.handle)
    record.host = record.failure = None
