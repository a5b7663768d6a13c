"""Lazy IR as payload: nodes, post-order, parameter numbers, keys, and what a program computes.

Nodes are shared and immutable; two nodes are the same only if they are one object. The *graph law*
is stated here: how the parameters of a graph are numbered, and what its key covers.
Source: semantics.md §1.4, §3.56 (RunPostOrder), §3.63 and the hash recipe after it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import TypeAlias
from weakref import WeakValueDictionary

from markstep.spec.design import Design, KeyWiring
from markstep.spec.evaluator import Value, evaluate, result_shape
from markstep.spec.randomness import draw
from markstep.spec.strides import WRITERS, Step, gathered, scattered, seen_by
from markstep.spec.vocabulary import DType, Number, Sharding

DEVICE_DATA = "device_data"
CONSTANT = "constant"
EXPAND = "expand"
RANDOM = "random"
"""Random numbers of which nobody knows which they are."""
THREEFRY = "threefry"
"""Random numbers from 0 to a bound, for a seed."""
HINT = "sharding"
"""The value of its operand, with a hint how it lies."""
SPECIAL_SCALARS = (0, 1, -1)
"""Scalars that are inlined into the program instead of being parameters (semantics.md §1.4)."""


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """One node of a pending graph (C++: XlaNode)."""

    op: str
    operands: tuple["Node", ...]
    shape: tuple[int, ...]
    dtype: DType
    structure: object
    """What the hash of torch_xla sees of this node: ops, constants, shapes; never a buffer."""
    buffer: int = -1
    """The buffer row of a device_data node."""
    value: Number | None = None
    """The scalar of a constant node; the sharding of a hint."""
    hints: tuple[Sharding, ...] = ()
    """The shardings that were on the operands when the node was made; none: no operand had one."""
    view: Step | None = None
    """What a node of a view shows of its operand, or writes back into it."""


Roots: TypeAlias = tuple[Node, ...]


def leaf_node(buffer: int, shape: tuple[int, ...], dtype: DType) -> Node:
    """A device_data node: it becomes a parameter of the program."""
    return Node(DEVICE_DATA, (), shape, dtype, (DEVICE_DATA, shape, dtype.value), buffer=buffer)


def constant_node(value: Number, dtype: DType) -> Node:
    """An inlined 0-d scalar."""
    return Node(CONSTANT, (), (), dtype, (CONSTANT, value, dtype.value), value=value)


def op_node(op: str, operands: tuple[Node, ...], hints: tuple[Sharding, ...] = ()) -> Node:
    """A pending op. Raises ValueError when the operand shapes do not fit."""
    shape = result_shape(op, tuple(o.shape for o in operands))
    dtype = operands[0].dtype
    hints = hints if any(hints) else ()
    structure = structure_of(op, shape, dtype.value, *[o.structure for o in operands], *hints)
    return Node(op, operands, shape, dtype, structure, hints=hints)


def hint_node(node: Node, hint: Sharding, sharding: Sharding) -> Node:
    """A value that is to lie in another way (C++: CustomSharding)."""
    hints = (hint,) if hint else ()
    structure = structure_of(HINT, node.structure, *hints)
    return Node(HINT, (node,), node.shape, node.dtype, structure, value=int(sharding), hints=hints)


def sized_node(op: str, operands: tuple[Node, ...], shape: tuple[int, ...], dtype: DType) -> Node:
    """A pending op whose result does not have its shape or dtype from its operands."""
    structure = structure_of(op, shape, dtype.value, *[o.structure for o in operands])
    return Node(op, operands, shape, dtype, structure)


def view_node(operands: tuple[Node, ...], step: Step) -> Node:
    """What a view shows of a value; of a value and a part: the value with that part in it."""
    base, written = operands[0], len(operands) == 2
    op, shape = (WRITERS[step.kind], base.shape) if written else (step.kind, step.shape)
    structure = structure_of(op, shape, step.args, *[o.structure for o in operands])
    return Node(op, operands, shape, base.dtype, structure, view=step)


class Structure:
    """What the hash of torch_xla sees of a graph: equal structures are one object.

    So graphs of any depth are compared at once, and never by recursion.
    """

    __slots__ = ("__weakref__", "parts")

    def __init__(self, parts: tuple[object, ...]) -> None:
        self.parts = parts


_STRUCTURES: WeakValueDictionary[tuple[object, ...], Structure] = WeakValueDictionary()


def structure_of(*parts: object) -> Structure:
    """The one structure with these parts."""
    found = _STRUCTURES.get(parts)
    if found is None:
        found = _STRUCTURES[parts] = Structure(parts)
    return found


def post_order(roots: Iterable[Node]) -> list[Node]:
    """Every node once, operands before users; operands are explored from the last to the first.

    Source: torch::lazy::Util::ComputePostOrder, semantics.md §3.56. Iterative: graphs are deep.
    """
    order: list[Node] = []
    done: dict[Node, bool] = {}
    stack = list(reversed(list(roots)))
    while stack:
        node = stack[-1]
        if node not in done:
            done[node] = False
            stack.extend([o for o in node.operands if o not in done])
        else:
            stack.pop()
            if not done[node]:
                done[node] = True
                order.append(node)
    return order


@lru_cache(maxsize=256)
def ordered(roots: Roots) -> tuple[Node, ...]:
    """`post_order`, remembered: the phases of a sync ask for the same graph again and again."""
    return tuple(post_order(roots))


def number_parameters(order: Iterable[Node]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(buffer rows in order of their parameter numbers, parameter number of each leaf in order).

    Leaves over one buffer share one parameter. Source: semantics.md §3.56.
    """
    numbers: dict[int, int] = {}
    sequence = [
        numbers.setdefault(node.buffer, len(numbers)) for node in order if node.op == DEVICE_DATA
    ]
    return tuple(numbers), tuple(sequence)


def graph_key(design: Design, force: bool, roots: Roots, donors: tuple[int, ...]) -> object:
    """The key under which the program of a graph is cached. ``donors``: parameter numbers.

    Equal keys must mean interchangeable programs; under KeyWiring.LEAF_SEQUENCE they do not.
    """
    order = ordered(roots)
    if design.key_wiring == KeyWiring.LEAF_SEQUENCE:
        _, sequence = number_parameters(order)
        wiring: object = (tuple(root.structure for root in roots), sequence)
    else:
        wiring = exact_wiring(order, roots)
    return (force if design.key_has_force else None, wiring, donors)


def exact_wiring(order: Iterable[Node], roots: Roots) -> object:
    """The graph itself up to the names of nodes and buffers: ops, positions, sharing, roots.

    Leaves over one buffer are one parameter, so they are one node here.
    """
    position: dict[Node, int] = {}
    parameters: dict[int, int] = {}
    lines: list[object] = []
    for node in order:
        known = parameters.get(node.buffer) if node.op == DEVICE_DATA else None
        position[node] = known if known is not None else len(lines)
        if node.op == DEVICE_DATA:
            parameters[node.buffer] = position[node]
        if known is None:
            operands = tuple([position[o] for o in node.operands])
            line = (node.op, node.value, node.shape, node.dtype.value, operands, node.view)
            lines.append((*line, hints_on_ops(node.hints, node.operands)) if node.hints else line)
    return tuple(lines), tuple([position[root] for root in roots])


def hints_on_ops(
    hints: tuple[Sharding, ...], nodes: tuple[Node | None, ...]
) -> tuple[Sharding, ...]:
    """The hints on nodes that are ops; how a leaf lies is known from its buffer."""
    pairs = zip(hints, nodes, strict=False)
    return tuple([Sharding.NONE if n and n.op == DEVICE_DATA else hint for hint, n in pairs])


@dataclass(frozen=True, eq=False, slots=True)
class Program:
    """A compiled graph: it no longer knows any buffer, only parameter numbers."""

    order: tuple[Node, ...]
    roots: Roots
    layouts: tuple[tuple[tuple[int, ...], DType], ...]
    """Shape and dtype of each parameter, in order."""
    parameter_of: dict[int, int]
    """Buffer row at compile time → parameter number."""
    shardings: tuple[Sharding, ...] = ()
    """How each parameter lies, in SPMD mode."""
    spmd: bool = False
    """It was compiled in SPMD mode, for all devices."""

    def run(self, contents: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
        """The value of each output for given parameter contents; None where nobody knows."""
        values: dict[Node, Value | None] = {}
        for node in self.order:
            if node.op == DEVICE_DATA:
                number = self.parameter_of[node.buffer]
                values[node] = contents[number] if number < len(contents) else None
            elif node.op == CONSTANT:
                values[node] = (node.value,) if node.value is not None else None
            else:
                values[node] = value_of(node, tuple(values[o] for o in node.operands))
        return tuple(values[root] for root in self.roots)


def value_of(node: Node, values: tuple[Value | None, ...]) -> Value | None:
    """The value of an op for its operands' values; None where nobody knows."""
    known = [value for value in values if value is not None]
    if node.op == RANDOM or len(known) < len(values):
        return None
    if node.op == EXPAND:
        return known[0] * prod(node.shape)
    if node.op == HINT:
        return known[0]
    if node.op == THREEFRY:
        _, (bound,), (seed,) = known
        return draw(int(seed), int(bound), prod(node.shape))
    if node.view is not None:
        places = seen_by(node.view, node.operands[0].shape)
        return scattered(known[0], places, known[-1]) if known[1:] else gathered(known[0], places)
    return evaluate(node.op, values, tuple(o.shape for o in node.operands))


def program_of(roots: Roots) -> Program:
    """What a correct compiler makes of a graph."""
    order = ordered(roots)
    buffers, _ = number_parameters(order)
    layout = {node.buffer: (node.shape, node.dtype) for node in order if node.op == DEVICE_DATA}
    layouts = tuple([layout[buffer] for buffer in buffers])
    return Program(order, roots, layouts, {b: i for i, b in enumerate(buffers)})


def over(node: Node, operands: tuple[Node, ...]) -> Node:
    """The same op over other operands."""
    if node.op == HINT:
        hint = node.hints[0] if node.hints else Sharding.NONE
        return hint_node(operands[0], hint, Sharding(int(node.value or 0)))
    if node.view is not None:
        return view_node(operands, node.view)
    made = sized_node(node.op, operands, node.shape, node.dtype)
    return replace(made, hints=node.hints) if node.hints else made


def graft(roots: Roots, buffer: int, recipe: Node) -> Roots:
    """The graphs of ``roots`` with every leaf over ``buffer`` replaced by ``recipe``.

    What they share they still share: two records of one node are two records of one new node.
    """
    new: dict[Node, Node] = {}
    for node in post_order(roots):
        if node.op == DEVICE_DATA and node.buffer == buffer:
            new[node] = recipe
        elif any(new[o] is not o for o in node.operands):
            new[node] = over(node, tuple(new[o] for o in node.operands))
        else:
            new[node] = node
    return tuple([new[root] for root in roots])
