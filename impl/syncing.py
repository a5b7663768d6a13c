"""A sync, phase by phase: collect, order, donors, key, look up, compile, lock, schedule, install.

Nothing that can fail comes after the first change to an output: a record keeps its pending work
until an execution runs that will replace it (semantics.md §8.3, F1).

Source: XLAGraphExecutor::SyncTensorsGraphInternal; semantics.md §3 (34-36, 45-63), §4.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markstep.impl.compile import look_up, refused
from markstep.impl.context import Context, by_id
from markstep.impl.device import finish, start, wait_idle
from markstep.impl.donation import Survey, find_donors, survey
from markstep.impl.errors import ExecutorError, names
from markstep.impl.execution import Execution
from markstep.impl.graph import Graph, discover
from markstep.impl.layout import Layout
from markstep.impl.loading import make_ready
from markstep.impl.lower import Program
from markstep.impl.node import Buffer
from markstep.impl.pattern import recognise
from markstep.impl.record import Record
from markstep.impl.recovery import give_back
from markstep.impl.trace import upload_host
from markstep.spec.vocabulary import ErrorKind


@dataclass(frozen=True, slots=True)
class Config:
    """How to sync: ``force`` replaces pending work by its data, ``sync`` allows donation of what
    in-place updates made obsolete, ``wait`` waits for the end (and takes the error)."""

    force: bool
    sync: bool
    wait: bool


@dataclass(slots=True)
class Work:
    """What a sync has to compute: pending records, their graph, what it gives away, its program."""

    outputs: list[Record]
    graph: Graph
    donors: list[int]
    program: Program


def sync_records(ctx: Context, records: list[Record], *, sync: bool, wait: bool) -> None:
    """Evaluate the records; their pending work becomes placeholders, then data.

    Raises UNMATERIALIZED, DELETED or REFUSED before anything changes; COMPILE_FAILED with at most
    uploads done; EXECUTION_FAILED for an earlier failure of one of them, or of this one if waited.
    """
    _sync(ctx, records, Config(force=True, sync=sync, wait=wait))


def sync_live(ctx: Context, *, wait: bool) -> None:
    """Evaluate every live record, in order of id. Raises what ``sync_records`` raises."""
    _sync(ctx, None, Config(force=True, sync=True, wait=wait))


def _sync(ctx: Context, chosen: list[Record] | None, config: Config) -> None:
    with ctx.lock:
        execution = schedule(ctx, chosen, config)
    if execution is not None and config.wait:
        finish(ctx, execution)


def schedule(ctx: Context, chosen: list[Record] | None, config: Config) -> Execution | None:
    """All phases up to the start of an execution; None if there was nothing to compute.

    ``chosen``: what is to be evaluated; None: all that lives. Whenever it had to wait, other
    threads may have moved on: then it looks again.
    """
    while True:
        records = ctx.unsorted_records() if chosen is None else chosen
        deliver(ctx, records)
        seen = survey(records)
        found = gather(ctx, seen.bare, live=chosen is None)
        if found is None or len(found[0]) < len(seen.bare):
            collect(ctx, seen.bare, force=config.force)
        if found is None:
            if not wait_idle(ctx):
                deliver(ctx, records)
                return None
            # what ran may have failed: then its outputs are pending again, and somebody else,
            # who waited for it too, may have been told
            deliver(ctx, records)
            continue
        outputs, graph = found
        if _wait_for_parameters(ctx, graph):
            deliver(ctx, records)
            continue
        work = _prepare(ctx, outputs, graph, config, seen if chosen is None else None)
        if wait_idle(ctx):
            deliver(ctx, records)
            if not _still_safe(ctx, records, work, config):
                continue
        return _launch(ctx, work, config)


def deliver(ctx: Context, records: list[Record]) -> None:
    """Raise the oldest failure that some of the records carries, and forget it everywhere."""
    if not ctx.failures:
        return
    carried = [record.failure for record in records if record.failure is not None]
    if not carried:
        return
    oldest = min(carried, key=lambda failure: failure.number)
    for record in ctx.live_records():
        if record.failure is oldest:
            record.failure = None
    raise oldest.error()


def pending(records: list[Record]) -> list[Record]:
    """Those of the records that have to be computed, in the given order."""
    return [
        record
        for record in records
        if record.handle is None
        and (ir := record.ir) is not None
        and (type(ir) is not Buffer or record.is_cloned)
    ]


def gather(
    ctx: Context, records: list[Record], *, live: bool = False
) -> tuple[list[Record], Graph] | None:
    """What is pending with its graph, or None; every reason to refuse is found here.

    ``live``: the records are those that live, and the outputs come in order of id; else once each
    in the given order. Changes nothing.
    """
    outputs = pending(records)
    if not outputs:
        return None
    outputs = sorted(outputs, key=by_id) if live else list(dict.fromkeys(outputs))
    roots = [record.ir for record in outputs if record.ir is not None]
    graph = recognise(ctx.patterns, roots) or discover(roots)
    require_values(outputs, graph)
    if not ctx.allowed:
        raise refused(outputs)
    if ctx.regions.entered:
        ctx.regions.require("execute", f"{names(r.id for r in outputs)} would be computed")
    return outputs, graph


def require_values(outputs: list[Record], graph: Graph) -> None:
    """Each parameter has a value or will have one. Raises UNMATERIALIZED, else DELETED."""
    lacking = [b for b in graph.parameters if b.value is None and b.lacks_contents]
    if not lacking:
        return
    what = f"{names(record.id for record in outputs)} cannot be computed: a parameter"
    for buffer in lacking:
        if buffer.is_stub:
            text = f"{what} {buffer.aval} will never have a value"
            raise ExecutorError(ErrorKind.UNMATERIALIZED, text)
    gone = lacking[0].gone or "was donated away"
    raise ExecutorError(ErrorKind.DELETED, f"{what} {lacking[0].aval} {gone}")


def collect(ctx: Context, records: list[Record], *, force: bool) -> None:
    """Leaves become handles again; with ``force``, host data are uploaded (the copy is kept).

    Not on several devices: what no program takes stays on the host.
    Source: XLAGraphExecutor::CollectSyncTensors; semantics.md §3 (45).
    """
    for record in records:
        if record.handle is not None:
            continue
        ir = record.ir
        if type(ir) is Buffer:
            if not record.is_cloned:
                ir.owner = record.id
                record.set_data(ir)
        elif force and record.ir is None and record.host is not None and not ctx.spmd:
            record.set_data(upload_host(ctx, record))
            ctx.count("SyncTensorsToData")


def _wait_for_parameters(ctx: Context, graph: Graph) -> bool:
    """Wait for the running execution if it fills one of the parameters; whether it did."""
    if ctx.running is None:
        return False
    return any(buffer.filling for buffer in graph.parameters) and wait_idle(ctx)


def _prepare(
    ctx: Context,
    outputs: list[Record],
    graph: Graph,
    config: Config,
    live: Survey | None,
) -> Work:
    donors = []
    if config.force:
        donors = find_donors(ctx, outputs, graph, sync=config.sync, live=live)
    return Work(outputs, graph, donors, look_up(ctx, outputs, graph, donors))


def _current(outputs: list[Record], graph: Graph) -> bool:
    """Whether the records are still pending with the graph that was walked."""
    return all(
        record.ir is root and record.is_pending()
        for record, root in zip(outputs, graph.roots, strict=True)
    )


def _still_safe(ctx: Context, records: list[Record], work: Work, config: Config) -> bool:
    """After waiting for the device: nothing else of the records has become pending, and nothing
    has begun to need what is given away."""
    if not _current(work.outputs, work.graph) or set(pending(records)) != set(work.outputs):
        return False
    if not work.donors:
        return True
    now = find_donors(ctx, work.outputs, work.graph, sync=config.sync)
    return set(work.donors) <= set(now)


def _launch(ctx: Context, work: Work, config: Config) -> Execution:
    """Schedule, and only then install the placeholders.

    Source: XLAGraphExecutor::ScheduleSyncTensorsGraph, SetTensorData; semantics.md §3 (51-55).
    """
    parameters = work.graph.parameters
    execution = Execution(
        work.program,
        make_ready(ctx, parameters),
        [record.id for record in work.outputs],
        [parameters[donor] for donor in work.donors],
        waited=config.wait,
    )
    try:
        if config.force:
            install(execution, work.outputs, work.program.layouts)
        start(ctx, execution)
    except BaseException:
        # an interrupt, or no memory for a placeholder: nothing runs, so nothing may wait for it
        if ctx.running is not execution:
            give_back(work.outputs, execution)
        raise
    return execution


def install(execution: Execution, outputs: list[Record], layouts: Sequence[Layout]) -> None:
    """Replace the pending work of each output by a placeholder that remembers it."""
    execution.placeholders = [Buffer(record.aval, None, record.ir) for record in outputs]
    for record, layout in zip(outputs, layouts, strict=False):
        record.spec, record.alias_id = layout, record.id
    lay_out(execution.placeholders, layouts)
    for record, placeholder in zip(outputs, execution.placeholders, strict=True):
        record.handle = placeholder
        record.ir = record.host = None
        record.is_cloned = False


def lay_out(placeholders: Sequence[Buffer], layouts: Sequence[Layout]) -> None:
    """Say how the results of a program will lie; nothing to say without SPMD mode."""
    for placeholder, layout in zip(placeholders, layouts, strict=False):
        placeholder.layout = layout
