"""From a graph to something that runs: one jitted program, or the same program op by op.

Source: LoweringContext, XLAGraphExecutor::Compile; semantics.md §3 (62), §8.2.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from markstep.impl import memory
from markstep.impl.aval import Array, HostArray
from markstep.impl.graph import Graph, post_order
from markstep.impl.layout import Layout
from markstep.impl.node import Buffer, Node
from markstep.impl.ops import Avals, Op, remember

CompileMode: TypeAlias = Literal["xla", "interpret"]
Alias: TypeAlias = tuple[int, int]
"""A donated parameter with the result that takes over its memory."""
Step: TypeAlias = tuple[Callable[..., Any], tuple[int, ...]]
"""A function with the positions of its operands among the parameters and earlier results."""


Run: TypeAlias = Callable[[Sequence[Buffer]], Sequence[Array]]
"""Runs a program: the buffers of its parameters in, fresh results out."""


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A compiled graph. ``run`` maps the buffers of its parameters to fresh results.

    ``mode`` says how it was compiled, ``layouts`` and ``shapes`` how its results lie if
    it runs on several devices. It holds no buffer and no node: programs outlive both.
    ``device`` is the one that it was compiled for (None: the first), ``elsewhere`` gives what runs
    on another: XLA compiles for one device.
    """

    mode: CompileMode
    run: Run
    layouts: Sequence[Layout] = field(default=())
    shapes: Sequence[tuple[int, ...]] = field(default=())
    device: jax.Device | None = None
    elsewhere: Callable[[jax.Device | None], Run] | None = None

    def on(self, device: jax.Device | None) -> Run:
        """What runs on a device."""
        if device is self.device or self.elsewhere is None:
            return self.run
        return self.elsewhere(device)


def compile_graph(
    graph: Graph,
    donors: Sequence[int],
    aliases: Sequence[Alias],
    mode: CompileMode,
    place: jax.Device | None = None,
) -> Program:
    """Compile for parameters of these shapes, giving ``donors`` away. Raises what JAX raises.

    ``aliases`` pairs donors with the results that should take over their memory.
    """
    if mode == "interpret":
        return Program(mode, interpreted(graph))
    lowered = lower_graph(graph, donors, aliases, place)
    return lowered.program(lowered.stages.compile())


@dataclass(frozen=True, slots=True, eq=False)
class Lowered:
    """A graph as one XLA program that is not compiled yet.

    ``arguments`` says which parameter each argument is, ``place`` which of its results each root
    is; ``stages`` is what JAX makes of it.
    """

    stages: Any
    arguments: list[int]
    place: list[int]
    donates: bool
    portable: bool
    """Nothing in it is of this process: it does not call Python."""
    lower: Callable[[jax.Device | None], Any]
    """The stages for a device."""
    device: jax.Device | None

    def program(self, compiled: Any) -> Program:
        """The program, once it is compiled or was found."""
        runs: dict[jax.Device | None, Run] = {}
        bare = replace(self, stages=None)  # the text of the program is not kept

        def elsewhere(device: jax.Device | None) -> Run:
            if device not in runs:
                runs[device] = bare.run_by(bare.lower(device).compile(), device)
            return runs[device]

        run = self.run_by(compiled, self.device)
        return Program("xla", run, device=self.device, elsewhere=elsewhere)

    def run_by(self, compiled: Any, device: jax.Device | None) -> Run:
        """What runs a compiled program on its device."""
        arguments, place = self.arguments, self.place
        size = memory.needed(compiled) if self.donates else 0

        def run(parameters: Sequence[Buffer]) -> Sequence[Array]:
            memory.require(size)
            values = [parameters[number].value for number in arguments]
            if np.ndarray in map(type, values):
                values = [_on_device(parameters[number], device) for number in arguments]
            given: list[jax.Array] = compiled(*values)
            # the results of one execution become ready, or fail, together: one speaks for all
            given[0].block_until_ready()
            return [given[number] for number in place]

        return run


def lower_graph(
    graph: Graph,
    donors: Sequence[int],
    aliases: Sequence[Alias],
    device: jax.Device | None = None,
) -> Lowered:
    """One XLA program.

    JAX pairs donors with results by their order alone, and a wrong pair costs a copy: so paired
    parameters and results come first, in the same order.
    """
    arguments = led_by([donor for donor, _ in aliases], len(graph.parameters))
    results = led_by([result for _, result in aliases], len(graph.roots))
    portable = not calls_python(graph)
    donated = usable(graph, donors, aliases) if portable else ()
    consumed = [place for place, number in enumerate(arguments) if number in donated]
    jitted = jax.jit(_body(graph, arguments, results), donate_argnums=consumed, keep_unused=True)
    avals = [graph.parameters[number].aval for number in arguments]
    structs = [aval.struct() for aval in avals]

    def lower(device: jax.Device | None) -> Any:
        with jax.default_device(device):
            return jitted.lower(*structs)

    place = [results.index(number) for number in range(len(results))]
    return Lowered(lower(device), arguments, place, bool(donated), portable, lower, device)


def _body(graph: Graph, arguments: list[int], results: list[int]) -> Callable[..., Any]:
    """The graph as a function for JAX to trace, with its arguments and results in that order."""
    steps, found = steps_of(graph, lambda op, _: op.call)
    place = {number: place for place, number in enumerate(arguments)}

    def lazy_step(*given: Any) -> list[Any]:
        values = evaluate(steps, [given[place[number]] for number in range(len(given))])
        return [values[found[number]] for number in results]

    return lazy_step


def function_of(graph: Graph) -> Callable[..., Any]:
    """The graph as a function of its parameters, as it is compiled without donors."""
    return _body(graph, list(range(len(graph.parameters))), list(range(len(graph.roots))))


def led_by(first: list[int], count: int) -> list[int]:
    """The numbers below ``count``, some of them first."""
    return list(dict.fromkeys([*first, *range(count)]))


def interpreted(graph: Graph) -> Callable[..., Sequence[Array]]:
    """Run the steps one by one: slower than one program, but nothing has to be compiled."""
    steps, found = steps_of(graph, _executable)

    def run(parameters: Sequence[Buffer]) -> Sequence[Array]:
        with np.errstate(all="ignore"):
            values = evaluate(steps, [on_host(buffer) for buffer in parameters])
        # results must be buffers of their own, even of a parameter or of one another
        return [np.array(values[position]) for position in found]

    return run


def steps_of(
    graph: Graph, function: Callable[[Op, Avals], Callable[..., Any]]
) -> tuple[list[Step], list[int]]:
    """What to do in order of evaluation, and the positions of the roots."""
    position: dict[Node, int] = {buffer: n for n, buffer in enumerate(graph.parameters)}
    steps: list[Step] = []
    for node in post_order(graph.roots):
        if node not in position:
            position[node] = len(position)
            avals = tuple(operand.aval for operand in node.operands)
            operands = tuple(position[operand] for operand in node.operands)
            steps.append((function(node.op, avals), operands))
    return steps, [position[root] for root in graph.roots]


def evaluate(steps: list[Step], arguments: Sequence[Any]) -> list[Any]:
    values = list(arguments)
    for function, operands in steps:
        values.append(function(*[values[operand] for operand in operands]))
    return values


def _executable(op: Op, avals: Avals) -> Callable[..., Any]:
    """One op compiled alone, once for each shape; numpy where the op has a numpy form."""
    if op.on_host is not None:
        return op.on_host
    found = op.executables.get(avals)
    if found is None:
        found = jax.jit(op.call).lower(*(aval.struct() for aval in avals)).compile()
        remember(op.executables, avals, found)
    return found


def calls_python(graph: Graph) -> bool:
    """Whether the program may fail after its donors are consumed.

    A program that does is compiled without donation, and its donors are deleted when it has
    succeeded: a failure must lose nothing.
    """
    return any(
        node.op.signature(tuple(operand.aval for operand in node.operands)).calls_python
        for node in graph.nodes
    )


def usable(graph: Graph, donors: Sequence[int], aliases: Sequence[Alias]) -> set[int]:
    """The donors whose memory some result can take over, as XLA matches them: by shape."""
    wanted = Counter([root.aval for root in graph.roots])
    found = set()
    for donor in dict.fromkeys([*(donor for donor, _ in aliases), *donors]):
        aval = graph.parameters[donor].aval
        if wanted[aval] > 0:
            wanted[aval] -= 1
            found.add(donor)
    return found


def _on_device(buffer: Buffer, device: jax.Device | None) -> jax.Array:
    """The contents as a device array; numpy contents (interpreted programs) are moved there."""
    value = buffer.value
    if type(value) is np.ndarray:
        value = buffer.value = upload(value, device).block_until_ready()
    return value  # type: ignore[return-value]


def on_host(buffer: Buffer) -> Array:
    """The contents as one array of their own shape, gathered if they lie on several devices."""
    value = buffer.value
    assert value is not None
    if buffer.layout is None or isinstance(value, np.ndarray):
        return value
    return np.asarray(cut_off(np.asarray(value), buffer.aval.shape))


def cut_off(value: Any, shape: tuple[int, ...]) -> Any:
    """An array without the zeros that fill up its pieces."""
    return value if value.shape == shape else value[tuple(map(slice, shape))]


def upload(array: Any, device: jax.Device | None = None) -> jax.Array:
    """Host to a device, the first one if none is given, into memory of the device's own.

    ``device_put`` shares aligned numpy memory on CPU even when told not to (JAX 0.10); such a
    buffer cannot be reused by a program that it is donated to.
    """
    return jnp.array(array, copy=True) if device is None else upload_to(array, device)


def upload_to(array: HostArray, device: jax.Device) -> jax.Array:
    """Host to one of several devices, into memory of its own.

    ``jnp.array`` would compile a copy for every shape and device.
    """
    own = _unshareable(array) if device.platform == "cpu" else array
    sent: jax.Array = jax.device_put(own, device)
    return sent


ALIGNED: Final = 64
"""XLA shares only memory that begins at a multiple of this."""


def _unshareable(array: HostArray) -> HostArray:
    """A copy that begins where XLA cannot share it."""
    block = np.empty(array.nbytes + 2 * ALIGNED, np.uint8)
    begin = -block.ctypes.data % ALIGNED + array.itemsize % ALIGNED
    copied = block[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
    copied[...] = array
    return copied
