"""From a graph to its program: the cache first, the compiler if need be.

Source: XLAGraphExecutor::LookupCachedCompile, Compile; semantics.md §3 (57, 58, 62).
"""

from collections.abc import Sequence
from typing import Final

from markstep.impl.context import Context
from markstep.impl.donation import pair
from markstep.impl.errors import ExecutorError, names
from markstep.impl.execution import InjectedFailure
from markstep.impl.explaining import Compilation, nearest, users_line
from markstep.impl.graph import Graph, Key
from markstep.impl.lower import Alias, Program, compile_graph
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
    key = graph.key(donors, ctx.spmd)
    program = ctx.cache.get(key)
    if program is not None:
        ctx.count("CachedCompile", count_hit)
        return program
    ctx.count("UncachedCompile")
    ctx.count("InputOutputAliasCount.n")
    ctx.count("InputOutputAliasCount.sum", len(donors))
    if not ctx.allowed:
        raise refused(outputs)
    ctx.regions.require("compile", f"{names(r.id for r in outputs)} would be compiled")
    because = nearest(key, ctx.cache.latest(COMPARED))
    program = _compile(ctx, graph, key, donors, pair(outputs, graph, donors))
    ctx.count("CreateCompileHandles")
    number, ids = ctx.counters["CreateCompileHandles"], tuple(record.id for record in outputs)
    ctx.compilations.append(Compilation(number, users_line(), ids, because))
    ctx.cache.add(key, program)
    pattern = pattern_of(graph.form)
    if pattern is not None:
        remember(ctx.patterns, len(graph.roots), pattern)
    return program


def refused(outputs: list[Record]) -> ExecutorError:
    """The exception for work that is asked for while execution is not allowed."""
    of = names(record.id for record in outputs)
    return ExecutorError(ErrorKind.REFUSED, f"{of} would be compiled or executed now")


def _compile(
    ctx: Context, graph: Graph, key: Key, donors: Sequence[int], aliases: Sequence[Alias]
) -> Program:
    try:
        if ctx.inject.take_compile():
            raise InjectedFailure("the compilation was made to fail")
        mode = ctx.mode if ctx.mode_for is None else ctx.mode_for(key)
        if ctx.spmd:
            return compile_partitioned(graph, donors, aliases, mode, ctx.devices)
        return compile_graph(graph, donors, aliases, mode)
    except Exception as cause:
        text = f"a program of {len(graph.nodes)} nodes does not compile: {cause}"
        raise ExecutorError(ErrorKind.COMPILE_FAILED, text) from cause
