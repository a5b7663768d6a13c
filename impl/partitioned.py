"""Programs that run on all devices: XLA partitions them, by what lies where and by hints.

The shardings of the results are XLA's choice, except where a result is a hint or a parameter.
JAX takes and gives no uneven pieces; so such arrays go in and out with zeros behind their elements,
and the program itself cuts them off and adds them.

Source: XLAGraphExecutor::Compile (is_sharded), ShardingUtil::GetOutputSharding; semantics.md §3
(55, 62), §8.2.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from markstep.impl import memory
from markstep.impl.aval import Array, Aval, aval_of
from markstep.impl.graph import Graph
from markstep.impl.layout import REPLICATED, Layout, chosen, common_mesh
from markstep.impl.loading import spread
from markstep.impl.lower import (
    Alias,
    CompileMode,
    Program,
    calls_python,
    cut_off,
    evaluate,
    interpreted,
    led_by,
    steps_of,
)
from markstep.impl.mesh import Mesh
from markstep.impl.node import Buffer, Node, new_node
from markstep.impl.ops import Avals, Op, intern
from markstep.impl.shapes import same
from markstep.spec.vocabulary import IrKind

Devices = tuple[jax.Device, ...]
HINT: Final = "sharding_hint"
PROMISE: Final = "promised_sharding"
PROMISED_CONSTANT: Final = "promised_sharding_of_constant"
LAID_OUT: Final = (HINT, PROMISE, PROMISED_CONSTANT)
NO_HINT: Final = "cleared_sharding_hint"


def hint(node: Node, layout: Layout) -> Node:
    """The same value, asked to lie on the devices like this (``ShardHint``)."""
    return _unchanged(HINT, node, layout)


def as_promised(node: Node, layout: Layout) -> Node:
    """The same value, which has been said to lie like this and still is to; a leaf lies as it lies.

    Not the hint of a user: forgetting it leaves no trace.
    """
    if isinstance(node, Buffer) or wanted_layout(node) is layout:
        return node
    constant = node.op.kind is IrKind.CONST
    return _unchanged(PROMISED_CONSTANT if constant else PROMISE, node, layout, node.op.kind)


def without_hint(node: Node) -> Node:
    """The same value, which may lie as XLA likes; a hint leaves a trace in the key."""
    if node.op.name in (PROMISE, PROMISED_CONSTANT):
        return node.operands[0]
    layout = wanted_layout(node)
    if isinstance(node, Buffer) or layout is None:
        return node
    return _unchanged(NO_HINT, node.operands[0], layout)


def _unchanged(name: str, node: Node, layout: Layout, kind: IrKind = IrKind.OP) -> Node:
    more: dict[str, Any] = {"rule": same, "on_host": _same_value, "kind": kind, "unique": True}
    op = intern(name, _same_value, {"layout": layout}, **more)
    return new_node(op, (node,), node.aval)


def _same_value(x: Any, layout: Layout) -> Any:
    return x


def wanted_layout(node: Node) -> Layout | None:
    """How a result is to lie, if that is not left to XLA."""
    if isinstance(node, Buffer):
        return node.layout or REPLICATED
    found = node.op.attrs.get("layout") if node.op.name in LAID_OUT else None
    return found if isinstance(found, Layout) else None


def compile_partitioned(
    graph: Graph,
    donors: Sequence[int],
    aliases: Sequence[Alias],
    mode: CompileMode,
    devices: Devices,
) -> Program:
    """As ``compile_graph``, for all devices."""
    wanted = [wanted_layout(root) for root in graph.roots]
    if mode == "interpret":
        # nothing is partitioned: where it is asked for, that is what we say, elsewhere we copy
        layouts = [found or REPLICATED for found in wanted]
        return Program(mode, interpreted(graph), layouts, _shapes(graph))
    return _partitioned(graph, donors, aliases, devices, wanted)


def _shapes(graph: Graph) -> list[tuple[int, ...]]:
    return [root.aval.shape for root in graph.roots]


def _partitioned(
    graph: Graph,
    donors: Sequence[int],
    aliases: Sequence[Alias],
    devices: Devices,
    wanted: list[Layout | None],
) -> Program:
    arguments = led_by([donor for donor, _ in aliases], len(graph.parameters))
    results = led_by([result for _, result in aliases], len(graph.roots))
    layouts = [buffer.layout or REPLICATED for buffer in graph.parameters]
    donated = () if calls_python(graph) else _consumable(graph, donors, aliases, wanted)
    jitted, structs = _jitted(graph, arguments, results, donated, devices)
    compiled = jitted.lower(*structs).compile()
    # virtual devices of a CPU share one memory
    share = len(devices) if devices[0].platform == "cpu" else 1
    size = share * memory.needed(compiled) if donated else 0
    place = [results.index(number) for number in range(len(results))]
    shardings = [compiled.output_shardings[number] for number in place]

    def run(parameters: Sequence[Buffer]) -> Sequence[Array]:
        memory.require(size)
        values = [_placed(parameters[n], layouts[n], devices) for n in arguments]
        given: list[jax.Array] = compiled(*values)
        for result in given:
            result.block_until_ready()
        return [given[number] for number in place]

    return Program("xla", run, _layouts(graph, wanted, shardings, devices), _shapes(graph))


def whole_program(graph: Graph, devices: Devices) -> tuple[Any, list[jax.ShapeDtypeStruct]]:
    """The program for all devices before it is compiled, which takes every parameter and gives
    every root in their order, and the arguments that it is made for, with their shardings."""
    everything = list(range(len(graph.parameters))), list(range(len(graph.roots)))
    return _jitted(graph, *everything, (), devices)


def _jitted(
    graph: Graph,
    arguments: list[int],
    results: list[int],
    donated: Collection[int],
    devices: Devices,
) -> tuple[Any, list[jax.ShapeDtypeStruct]]:
    wanted = [wanted_layout(root) for root in graph.roots]
    layouts = [buffer.layout or REPLICATED for buffer in graph.parameters]
    hints = [found for node in graph.nodes if (found := wanted_layout(node)) is not None]
    meshes = common_mesh([*layouts, *hints], len(devices))

    def asked(layout: Layout | None) -> Any:
        return None if layout is None else layout.sharding(meshes[layout], devices)

    jitted = jax.jit(
        _body(graph, arguments, results, wanted, meshes, devices),
        donate_argnums=[place for place, number in enumerate(arguments) if number in donated],
        out_shardings=[asked(wanted[number]) for number in results],
        keep_unused=True,
    )
    structs = [
        jax.ShapeDtypeStruct(  # type: ignore[no-untyped-call]
            layouts[n].padded(graph.parameters[n].aval.shape),
            graph.parameters[n].aval.dtype,
            sharding=asked(layouts[n]),
        )
        for n in arguments
    ]
    return jitted, structs


def _layouts(
    graph: Graph, wanted: list[Layout | None], found: list[Any], devices: Devices
) -> list[Layout]:
    return [
        chosen(sharding, root.aval.shape, devices) if layout is None else layout
        for root, layout, sharding in zip(graph.roots, wanted, found, strict=True)
    ]


def _placed(buffer: Buffer, layout: Layout, devices: Devices) -> Array:
    """The contents of a parameter where the program expects them."""
    value = buffer.value
    if isinstance(value, np.ndarray):
        value = buffer.value = spread(value, layout, devices)
    assert value is not None
    return value


def _body(
    graph: Graph,
    arguments: list[int],
    results: list[int],
    wanted: list[Layout | None],
    meshes: dict[Layout, Mesh],
    devices: Devices,
) -> Callable[..., Any]:
    """The graph as a function of padded arrays."""

    def constrained(x: Any, layout: Layout) -> Any:
        where = layout.sharding(meshes[layout], devices)
        return jax.lax.with_sharding_constraint(x, where)  # type: ignore[no-untyped-call]

    def function(op: Op, _: Avals) -> Callable[..., Any]:
        if op.name in LAID_OUT:
            layout: Any = op.attrs["layout"]
            return lambda x: constrained(x, layout)
        return op.call

    steps, found = steps_of(graph, function)
    place = {number: place for place, number in enumerate(arguments)}
    shapes = [buffer.aval.shape for buffer in graph.parameters]

    def result(values: list[Any], number: int) -> Any:
        value, layout = values[found[number]], wanted[number]
        if layout is None:
            return value
        return constrained(_filled_up(value, layout.padded(value.shape)), layout)

    def lazy_step(*given: Any) -> list[Any]:
        whole = [cut_off(given[place[n]], shape) for n, shape in enumerate(shapes)]
        values = evaluate(steps, whole)
        return [result(values, number) for number in results]

    return lazy_step


def _filled_up(value: Any, shape: tuple[int, ...]) -> Any:
    if value.shape == shape:
        return value
    return jnp.pad(value, [(0, to - there) for to, there in zip(shape, value.shape, strict=True)])


def _consumable(
    graph: Graph, donors: Sequence[int], aliases: Sequence[Alias], wanted: list[Layout | None]
) -> set[int]:
    """The donors whose memory some result can take over: by the shape that they really have, and
    by their layout where that of the result is given."""
    pairs = zip(graph.roots, wanted, strict=True)
    results = Counter([(_real(root.aval, layout), layout) for root, layout in pairs])
    found = set()
    for donor in dict.fromkeys([*(donor for donor, _ in aliases), *donors]):
        aval, layout = graph.parameters[donor].aval, graph.parameters[donor].layout or REPLICATED
        real = _real(aval, layout)
        match = next((key for key in ((real, layout), (real, None)) if results[key] > 0), None)
        if match is not None:
            results[match] -= 1
            found.add(donor)
    return found


def _real(aval: Aval, layout: Layout | None) -> Aval:
    return aval if layout is None else aval_of(layout.padded(aval.shape), aval.dtype)
