"""Reading: values as numpy arrays that belong to the caller.

Source: XLATensor::ToTensor, XLAGraphExecutor::GetTensors; semantics.md §2.3 (7), §3 (39).
"""

import time

import numpy as np

from markstep.impl.aval import Array, Aval, HostArray
from markstep.impl.context import Context
from markstep.impl.device import finish, wait_idle
from markstep.impl.errors import ExecutorError, names
from markstep.impl.execution import Execution
from markstep.impl.lower import cut_off
from markstep.impl.node import Buffer, Node
from markstep.impl.record import Record
from markstep.impl.syncing import Config, deliver, schedule, sync_records
from markstep.spec.vocabulary import BufferStatus, ErrorKind


def read_one(ctx: Context, record: Record) -> HostArray:
    """The value of one record; pending work becomes data, nothing is donated.

    Raises NO_VALUE for a stub, EXECUTION_FAILED for a failure that the record carries or that
    computing it meets, and what ``sync`` raises.
    """
    while True:
        with ctx.lock:
            deliver(ctx, [record])
            if record.host is not None:
                return _give_up_host(record)
            ctx.regions.require("transfer", f"{names([record.id])} would be fetched")
            wait_idle(ctx)
            deliver(ctx, [record])
            buffer = _buffer_to_show(record)
            if buffer is not None:
                array = download(ctx, record, buffer)
                ctx.count("ReplicateShardedData", _is_gathered(buffer))
                return array
        sync_records(ctx, [record], sync=False, wait=True)


def _give_up_host(record: Record) -> HostArray:
    """The host copy; the record keeps it only if it has nothing else."""
    host = record.host
    assert host is not None
    if record.handle is None and record.ir is None:
        return host.copy()
    if record.handle is not None and record.handle.status is BufferStatus.PLACEHOLDER:
        return host.copy()  # nothing else has it so far
    record.host = None
    return host.copy()


def _buffer_to_show(record: Record) -> Buffer | None:
    """The device data of a record, None if it has to be computed first."""
    if record.handle is None:
        leaf = record.own_leaf()
        if leaf is not None:
            record.set_data(leaf)
        elif type(record.ir) is Buffer and record.ir.source is None:
            return record.ir
    return record.handle


def download(ctx: Context, record: Record, buffer: Buffer) -> HostArray:
    """Device to host. Raises NO_VALUE if there is nothing to download."""
    value = buffer.value
    if buffer.source is not None:
        return buffer.source.copy()
    if value is None:
        what = "was donated away" if buffer.deleted else "will never be filled"
        text = f"the buffer of {names([record.id])} {buffer.gone or what}"
        raise ExecutorError(ErrorKind.NO_VALUE, text)
    return to_host(ctx, value, buffer.aval)


def to_host(ctx: Context, value: Array, aval: Aval) -> HostArray:
    """A private copy: a view would keep the buffer from being donated, and could be written to.

    Pieces are gathered, without what fills them up.
    """
    begin = time.perf_counter_ns()
    array = np.array(cut_off(np.asarray(value), aval.shape), copy=True)
    ctx.metrics.fetched(array.nbytes, time.perf_counter_ns() - begin)
    return array


def read_many(ctx: Context, records: list[Record]) -> list[HostArray]:
    """The values of several records by one execution; pending work stays pending (not force).

    They are the values of one moment, whatever other threads do meanwhile. Raises as
    ``read_one``; a stub is found before anything is computed.
    """
    execution = None
    try:
        with ctx.lock:
            deliver(ctx, records)
            _refuse_stubs(ctx, records)
            away = [record.id for record in records if record.host is None]
            if away:
                ctx.regions.require("transfer", f"{names(away)} would be fetched")
            execution = schedule(ctx, records, Config(force=False, sync=False, wait=True))
            computed = [] if execution is None else execution.outputs
            wanted = [(record.id, record.aval) for record in records]
            # what is not computed is copied now: later it may be updated, or given away
            held = [None if r.id in computed else _value(ctx, r) for r in records]
            shown = [r for r in records if r.host is None and r.id not in computed]
            gathered = sum(_is_gathered(r.handle or r.ir) for r in shown)
    finally:
        if execution is not None:
            finish(ctx, execution)
    results = _results(execution)
    if ctx.spmd:
        with ctx.lock:
            ctx.count("ReplicateShardedData", gathered + sum(array is None for array in held))
    return [
        to_host(ctx, results[number], aval) if array is None else array
        for (number, aval), array in zip(wanted, held, strict=True)
    ]


def _is_gathered(shown: Node | None) -> bool:
    """Whether it lies on several devices, so that reading it puts pieces together."""
    return isinstance(shown, Buffer) and shown.layout is not None and shown.value is not None


def _refuse_stubs(ctx: Context, records: list[Record]) -> None:
    for record in records:
        if record.handle is not None and record.handle.is_stub:
            download(ctx, record, record.handle)


def _results(execution: Execution | None) -> dict[int, Array]:
    if execution is None:
        return {}
    return dict(zip(execution.outputs, execution.results, strict=True))


def _value(ctx: Context, record: Record) -> HostArray:
    if record.host is not None:
        return record.host.copy()
    buffer = _buffer_to_show(record)
    # what was pending is computed
    assert buffer is not None
    return download(ctx, record, buffer)
