"""From pending nodes to a program: order of evaluation, parameters and the exact key.

Source: torch::lazy::Util::ComputePostOrder, LazyGraphExecutor::RunPostOrder; semantics.md §3 (56).
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from markstep.impl.aval import Aval
from markstep.impl.node import Buffer, Node
from markstep.impl.ops import Op

Word: TypeAlias = Op | Aval | int | str
Key: TypeAlias = tuple[Word, ...]
"""The whole graph, spelled out: equal keys mean isomorphic graphs, so nothing can collide."""

ROOTS: Final = "roots"
DONORS: Final = "donors"


@dataclass(slots=True)
class Graph:
    """Some roots with everything below them, operands before what uses them.

    ``position`` has each node once, in order of evaluation, and says where its value is found.
    ``parameters`` are the buffers among them. ``code`` is the key without donors.
    """

    roots: list[Node]
    position: dict[Node, int]
    parameters: list[Buffer]
    code: list[Word]

    def key(self, donors: Sequence[int]) -> Key:
        """What decides which program is run: the graph and the parameters given away."""
        return (*self.code, DONORS, *donors)


def post_order(roots: list[Node]) -> Graph:
    """Walk the graph depth first, each node once.

    The code of a node is its op followed by the positions of its operands; that of a buffer is
    its shape. Never recurses: a graph may be 10^6 nodes deep. A node with pending operands waits
    below them on the stack and is looked at twice; buffers never go there, unless as roots.
    """
    position: dict[Node, int] = {}
    parameters: list[Buffer] = []
    code: list[Word] = []
    spell = code.append
    here = 0
    stack = roots[::-1]
    while stack:
        node = stack.pop()
        if node in position:
            continue
        waits = False
        for operand in node.operands:
            if operand not in position:
                if type(operand) is Buffer:
                    position[operand] = here
                    here += 1
                    parameters.append(operand)
                    spell(operand.aval)
                else:
                    if not waits:
                        waits = True
                        stack.append(node)
                    stack.append(operand)
        if waits:
            continue
        if type(node) is Buffer:
            parameters.append(node)
            spell(node.aval)
        else:
            spell(node.op)
            for operand in node.operands:
                spell(position[operand])
        position[node] = here
        here += 1
    spell(ROOTS)
    code.extend([position[root] for root in roots])
    return Graph(roots, position, parameters, code)


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
