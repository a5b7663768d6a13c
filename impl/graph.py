"""From pending nodes to a program: order of evaluation, parameters and the exact key.

Source: torch::lazy::Util::ComputePostOrder, LazyGraphExecutor::RunPostOrder; semantics.md §3 (56).
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from markstep.impl.aval import Aval
from markstep.impl.node import Buffer, Leaf, Node
from markstep.impl.ops import Op

Word: TypeAlias = Op | Aval | int | str
Key: TypeAlias = tuple[Word, ...]
"""The whole graph, spelled out: equal keys mean isomorphic graphs, so nothing can collide."""

ROOTS: Final = "roots"
DONORS: Final = "donors"


@dataclass(slots=True)
class Graph:
    """Some roots with everything below them, in order of evaluation.

    ``order`` has each node once, operands first, leaves merged by buffer. ``code`` is the key
    without donors. ``position`` is where the value of a node is found in ``order``.
    """

    roots: list[Node]
    order: list[Node]
    position: dict[Node, int]
    parameters: list[Buffer]
    code: list[Word]

    def key(self, donors: Sequence[int]) -> Key:
        """What decides which program is run: the graph and the parameters given away."""
        return (*self.code, DONORS, *donors)


def post_order(roots: list[Node]) -> Graph:
    """Walk the graph depth first, operands from the last to the first, each node once.

    The code of a node is its op followed by how far back each operand lies; the code of a leaf
    is its shape and its parameter number. Never recurses: a graph may be 10^6 nodes deep.
    """
    graph = Graph(roots, [], {}, [], [])
    position, order, code, parameters = graph.position, graph.order, graph.code, graph.parameters
    spell = code.append
    places: dict[Buffer, int] = {}
    path: list[Node] = []
    # one iterator for each node on the path, and one for the roots
    rest: list[Iterator[Node]] = [iter(roots)]
    here = 0
    while rest:
        for node in rest[-1]:
            if node in position:
                continue
            if type(node) is Leaf:
                place = position[node] = places.setdefault(node.buffer, here)
                if place == here:
                    spell(node.aval)
                    spell(len(parameters))
                    parameters.append(node.buffer)
                    order.append(node)
                    here += 1
                continue
            path.append(node)
            rest.append(reversed(node.operands))
            break
        else:
            rest.pop()
            if path:
                node = path.pop()
                spell(node.op)
                for operand in node.operands:
                    spell(here - position[operand])
                position[node] = here
                order.append(node)
                here += 1
    spell(ROOTS)
    code.extend([position[root] for root in roots])
    return graph


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
    spelled = hashlib.blake2b(digest_size=16)
    for word in key:
        spelled.update(_spell(word).encode())
    return spelled.hexdigest()


def _spell(word: Word) -> str:
    # two functions may have one name: the serial number of the op tells them apart
    return f"{word!r}#{word.serial};" if isinstance(word, Op) else f"{word!r};"
