"""Programs without syncs: compile ahead, name a program, run it by name, forget pending work.

Source: XLAGraphExecutor::GetGraphHash, ExecuteComputationWithBarrier, ClearPendingIrs;
semantics.md §3 (34, 40, 44, 47), §4.
"""

from markstep.impl.compile import look_up
from markstep.impl.context import Context
from markstep.impl.device import start, wait_idle
from markstep.impl.donation import find_donors
from markstep.impl.execution import Execution
from markstep.impl.graph import Graph, Key, digest, discover
from markstep.impl.loading import make_ready
from markstep.impl.lower import Program
from markstep.impl.node import Buffer
from markstep.impl.record import Record
from markstep.impl.syncing import collect, deliver, gather, lay_out, pending
from markstep.impl.trace import get_ir, stub


def walk(records: list[Record]) -> tuple[list[Record], Graph]:
    """Those of the records that are pending, each once, and their graph."""
    outputs = list(dict.fromkeys(pending(records)))
    return outputs, discover([record.ir for record in outputs if record.ir is not None])


def warm_up(ctx: Context, records: list[Record], *, sync: bool) -> None:
    """Compile what a sync of the records would run, and run nothing.

    With ``sync`` it is the program of a step barrier, donors included. Never waits, uploads
    nothing. Raises COMPILE_FAILED; REFUSED only if it would have to compile.
    """
    with ctx.lock:
        outputs, graph = walk(records)
        donors = find_donors(ctx, outputs, graph, sync=True) if sync and outputs else []
        collect(ctx, records, force=False)
        if outputs:
            look_up(ctx, outputs, graph, donors)


def key(ctx: Context, records: list[Record]) -> Key:
    """The key of the program that ``warm_up`` would compile. Changes nothing."""
    with ctx.lock:
        return walk(records)[1].key((), ctx.spmd)


def graph_hash(ctx: Context, records: list[Record]) -> str:
    """The name of the program that ``warm_up`` would compile: 32 hexadecimal digits."""
    with ctx.lock:
        _, graph = walk(records)
        collect(ctx, records, force=False)
        return digest(graph.key((), ctx.spmd))


def run_cached(ctx: Context, records: list[Record]) -> list[Record]:
    """Run the program of ``graph_hash`` on the leaves of the records; they stay as they are.

    One new record for each pending one, in order; not waited for, nothing donated. Raises what
    ``sync`` raises before anything changes, and COMPILE_FAILED.
    """
    with ctx.lock:
        while True:
            deliver(ctx, records)
            found = gather(ctx, records)
            collect(ctx, records, force=False)
            if found is None:
                if not wait_idle(ctx):
                    deliver(ctx, records)
                    return []
                deliver(ctx, records)
                continue
            outputs, graph = found
            if any(buffer.filling for buffer in graph.parameters) and wait_idle(ctx):
                deliver(ctx, records)
                continue
            program = look_up(ctx, outputs, graph, [], count_hit=False)
            if wait_idle(ctx):
                deliver(ctx, records)
                if [record.ir for record in outputs] != graph.roots:
                    continue
            return _launch(ctx, program, graph)


def _launch(ctx: Context, program: Program, graph: Graph) -> list[Record]:
    """A fresh record for each result: a placeholder that can give its recipe back."""
    execution = Execution(program, make_ready(ctx, graph.parameters), [], [], waited=False)
    execution.counted = False
    results = []
    for root in graph.roots:
        record = ctx.new_record(root.aval)
        placeholder = Buffer(root.aval, None, root)
        execution.placeholders.append(placeholder)
        execution.outputs.append(record.id)
        record.handle = placeholder
        results.append(record)
    lay_out(execution.placeholders, program.layouts)
    for record, layout in zip(results, program.layouts, strict=False):
        record.spec = layout
        get_ir(ctx, record)
    start(ctx, execution)
    return results


def clear_pending(ctx: Context) -> None:
    """Forget all pending work: what was to be computed becomes a stub that nothing will fill.

    Leaves become handles; borrowed leaves and host data stay as they are.
    """
    with ctx.lock:
        for record in ctx.live_records():
            if record.handle is not None or record.ir is None:
                continue
            leaf = record.own_leaf()
            if leaf is not None:
                record.set_data(leaf)
            elif type(record.ir) is not Buffer:
                record.set_data(stub(ctx, record.aval, record.spec))
                record.host = None
                record.failure = None
