"""From pending nodes to a program: what is reached, the parameters, the exact key, the order.

Source: torch::lazy::Util::ComputePostOrder, LazyGraphExecutor::RunPostOrder; semantics.md §3 (56).
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markstep.impl.aval import Aval
from markstep.impl.layout import Layout
from markstep.impl.node import Buffer, Node
from markstep.impl.ops import Op


class Form(NamedTuple):
    """The whole graph, spelled out: equal forms mean isomorphic graphs, so nothing can collide.

    ``arities`` are the number of roots and the number of operands of each op. ``places`` say what
    the uses are, that is the roots and then those operands, one after the other: n for the n-th
    op, ~n for the n-th parameter. ``layouts``: how the parameters lie on the devices.
    """

    ops: tuple[Op, ...]
    arities: tuple[int, ...]
    places: tuple[int, ...]
    parameters: tuple[Aval, ...]
    layouts: tuple[Layout | None, ...]


class Key(NamedTuple):
    """What decides which program is run: the form of the graph, the parameters given away, and
    whether it runs on all devices (SPMD mode)."""

    ops: tuple[Op, ...]
    arities: tuple[int, ...]
    places: tuple[int, ...]
    parameters: tuple[Aval, ...]
    layouts: tuple[Layout | None, ...]
    donors: tuple[int, ...]
    spmd: bool


@dataclass(slots=True)
class Graph:
    """Some roots with everything below them, each node once, in the order of its discovery.

    ``parameters`` are the buffers, ``nodes`` all others.
    """

    roots: list[Node]
    nodes: list[Node]
    parameters: list[Buffer]
    form: Form

    def key(self, donors: Sequence[int], spmd: bool) -> Key:
        """The key of the program that computes the roots and consumes the donors."""
        return Key(*self.form, tuple(donors), spmd)


def discover(roots: list[Node]) -> Graph:
    """Walk the graph breadth first, each node once: the roots, what they use, what that uses.

    The order depends on the form of the graph alone, which makes it fit for the key; it is not
    an order of evaluation. A loop over a list that grows: a graph may be 10^6 nodes deep.
    """
    nodes: list[Node] = []
    parameters: list[Buffer] = []
    uses: list[Sequence[Node]] = [roots]
    places: list[int] = []
    found: dict[Node, int] = {}
    for used in uses:
        for node in used:
            if node not in found:
                if type(node) is Buffer:
                    found[node] = ~len(parameters)
                    parameters.append(node)
                else:
                    found[node] = len(nodes)
                    nodes.append(node)
                    uses.append(node.operands)
            places.append(found[node])
    form = Form(
        tuple([node.op for node in nodes]),
        tuple(map(len, uses)),
        tuple(places),
        tuple([buffer.aval for buffer in parameters]),
        tuple([buffer.layout for buffer in parameters]),
    )
    return Graph(roots, nodes, parameters, form)


def post_order(roots: list[Node]) -> list[Node]:
    """Every node at or below the roots, once, operands before what uses them.

    Depth first, without recursion: a node waits on the stack below the operands that it lacks.
    """
    done: dict[Node, None] = {}
    stack = roots[::-1]
    while stack:
        node = stack[-1]
        lacking = [operand for operand in node.operands if operand not in done]
        if lacking:
            stack += lacking[::-1]
        else:
            done[stack.pop()] = None
    return list(done)


def reachable(roots: Iterable[Node]) -> Iterable[Node]:
    """Every node at or below the roots, once, in no particular order. Lazy."""
    seen = set(roots)
    stack = list(seen)
    while stack:
        node = stack.pop()
        yield node
        for operand in node.operands:
            if operand not in seen:
                seen.add(operand)
                stack.append(operand)


def digest(key: Key) -> str:
    """128 bits of the key, to print and to compare across calls (``graph_hash``)."""
    # two functions may have one name: then the serial number of the op tells them apart
    ops = tuple(f"{op!r}#{op.serial}" for op in key.ops)
    spelled = repr((ops, *key[1:]))
    return hashlib.blake2b(spelled.encode(), digest_size=16).hexdigest()
