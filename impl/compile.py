"""From a graph to its program: the cache first, the compiler if need be.

Source: XLAGraphExecutor::LookupCachedCompile, Compile; semantics.md §3 (57, 58, 62).
"""

from collections.abc import Sequence
from typing import Final

from markstep.impl.context import Context
from markstep.impl.donation import pair
from markstep.impl.errors import ExecutorError, bad_argument, names
from markstep.impl.execution import InjectedFailure
from markstep.impl.explaining import Compilation, nearest, users_line
from markstep.impl.graph import Graph, Key
from markstep.impl.lower import Program, compile_graph, lower_graph
from markstep.impl.ops import remember
from markstep.impl.partitioned import compile_partitioned
from markstep.impl.pattern import pattern_of
from markstep.impl.record import Record
from markstep.spec.vocabulary import ErrorKind

COMPARED: Final = 16
"""Programs in the cache that a new one is compared with, to say why it is new."""


def look_up(
    ctx: Context,
    outputs: list[Record],
    graph: Graph,
    donors: Sequence[int],
    *,
    count_hit: bool = True,
) -> Program:
    """The program of the outputs' graph and its donors, compiled if it is not in the cache.

    Raises REFUSED and COMPILE_FAILED, with nothing changed but the counters of the miss.
    """
    if ctx.compiling:
        raise bad_argument("an executor cannot evaluate inside a function that it compiles")
    key = graph.key(donors, ctx.spmd)
    program = ctx.cache.get(key) or _stored(ctx, outputs, graph, key, donors)
    if program is not None:
        ctx.count("CachedCompile", count_hit)
        _measure(ctx, graph)
        return program
    ctx.count("UncachedCompile")
    ctx.count("InputOutputAliasCount.n")
    ctx.count("InputOutputAliasCount.sum", len(donors))
    ctx.metrics.add("InputOutputAliasCount", len(donors))
    if not ctx.allowed:
        raise refused(outputs)
    ctx.regions.require("compile", f"{names(r.id for r in outputs)} would be compiled")
    because = nearest(key, ctx.cache.latest(COMPARED))
    program = _compile(ctx, outputs, graph, key, donors)
    ctx.count("CreateCompileHandles")
    _measure(ctx, graph)
    number, ids = ctx.counters["CreateCompileHandles"], tuple(record.id for record in outputs)
    ctx.compilations.append(Compilation(number, users_line(), ids, because))
    ctx.cache.add(key, program)
    _recognise_again(ctx, graph)
    return program


def _recognise_again(ctx: Context, graph: Graph) -> None:
    pattern = pattern_of(graph.form)
    if pattern is not None:
        remember(ctx.patterns, len(graph.roots), pattern)


def _measure(ctx: Context, graph: Graph) -> None:
    ctx.metrics.add("TensorsGraphSize", len(graph.nodes) + len(graph.parameters))


def _stored(
    ctx: Context, outputs: list[Record], graph: Graph, key: Key, donors: Sequence[int]
) -> Program | None:
    """The program as the directory of programs has it, if there is one. What cannot be lowered is
    found out again where it is to be compiled."""
    if ctx.stored is None or ctx.spmd or not ctx.allowed or ctx.mode != "xla" or ctx.place:
        return None
    try:
        program = ctx.stored.find(key, lower_graph(graph, donors, pair(outputs, graph, donors)))
    except Exception:
        return None
    if program is not None:
        ctx.cache.add(key, program)
        _recognise_again(ctx, graph)
    return program


def refused(outputs: list[Record]) -> ExecutorError:
    """The exception for work that is asked for while execution is not allowed."""
    of = names(record.id for record in outputs)
    return ExecutorError(ErrorKind.REFUSED, f"{of} would be compiled or executed now")


def _compile(
    ctx: Context, outputs: list[Record], graph: Graph, key: Key, donors: Sequence[int]
) -> Program:
    aliases = pair(outputs, graph, donors)
    ctx.compiling = True
    try:
        with ctx.metrics.timed("EagerOpCompileTime" if ctx.eager else "CompileTime"):
            if ctx.inject.take_compile():
                raise InjectedFailure("the compilation was made to fail")
            mode = ctx.mode if ctx.mode_for is None else ctx.mode_for(key)
            if ctx.spmd:
                return compile_partitioned(graph, donors, aliases, mode, ctx.devices)
            program = None if ctx.stored is None or ctx.place else ctx.stored.compile(key)
            return program or compile_graph(graph, donors, aliases, mode, ctx.place)
    except Exception as cause:
        of = names(record.id for record in outputs)
        text = f"a program of {len(graph.nodes)} nodes, for {of}, does not compile: {cause}"
        raise ExecutorError(ErrorKind.COMPILE_FAILED, text) from cause
    finally:
        ctx.compiling = False
