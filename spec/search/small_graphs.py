"""All small graphs, for the claims of the graph law.

Up to two buffers, up to three ops that do not commute (`sub`) or are unary (`neg`), one or two
roots, every sharing pattern. Source: design.md §3 (what is about payload has its own small law).
"""

from collections.abc import Iterator
from itertools import combinations, product

from markstep.spec.ir import Node, Roots, constant_node, leaf_node, op_node
from markstep.spec.vocabulary import DType


def small_graphs(ops: int = 3, buffers: int = 2) -> list[Roots]:
    """Every graph with at most the given numbers of ops and buffers, deterministic order."""
    leaves = [leaf_node(b, (), DType.F32) for b in range(buffers)]
    twin = leaf_node(0, (), DType.F32)
    graphs: list[Roots] = []
    for nodes in _grow([*leaves, twin], ops):
        made = nodes[len(leaves) + 1 :]
        graphs.extend((root,) for root in made[-1:])
        graphs.extend(pair for pair in combinations(made, 2) if made[-1] in pair)
    return graphs


def _grow(nodes: list[Node], ops: int) -> Iterator[list[Node]]:
    if ops == 0:
        return
    for node in _one_op(nodes):
        grown = [*nodes, node]
        yield grown
        yield from _grow(grown, ops - 1)


def _one_op(nodes: list[Node]) -> Iterator[Node]:
    for a in nodes:
        yield op_node("neg", (a,))
    for a, b in product(nodes, repeat=2):
        yield op_node("sub", (a, b, constant_node(1, DType.F32)))
