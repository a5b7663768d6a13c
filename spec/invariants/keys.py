"""The graph law: claims about keys, checked by enumeration over all small graphs.

Keys are payload, so the explorer does not see them; what must hold of them is stated here about
single graphs and about sets of graphs. Source: semantics.md §6, Hash and cache.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from markstep.spec.design import Design
from markstep.spec.ir import (
    DEVICE_DATA,
    Node,
    Roots,
    constant_node,
    graph_key,
    leaf_node,
    number_parameters,
    op_node,
    post_order,
    program_of,
)

Violation: TypeAlias = tuple[Roots, ...]
Check: TypeAlias = Callable[[Design, list[Roots]], Violation | None]


@dataclass(frozen=True, slots=True)
class GraphClaim:
    """One claim of the graph law."""

    id: str
    name: str
    statement: str
    why: str
    find_violation: Check
    broken_by_torch_xla: bool = False
    hazards: tuple[str, ...] = ()
    premise: Callable[[Roots], bool] = lambda roots: True
    """Witness: whether a graph exercises the claim."""


GRAPH_CLAIMS: dict[str, GraphClaim] = {}


def graph_claim(
    id: str,
    why: str,
    broken: bool = False,
    hazards: tuple[str, ...] = (),
    premise: Callable[[Roots], bool] = lambda roots: True,
) -> Callable[[Check], GraphClaim]:
    """Make a check a claim of the graph law; its docstring is the statement."""

    def register(check: Check) -> GraphClaim:
        statement = " ".join((check.__doc__ or "").split())
        name = getattr(check, "__name__", id)
        GRAPH_CLAIMS[id] = GraphClaim(id, name, statement, why, check, broken, hazards, premise)
        return GRAPH_CLAIMS[id]

    return register


def key(design: Design, roots: Roots, donors: tuple[int, ...] = (), force: bool = True) -> object:
    """The key of a graph."""
    return graph_key(design, force, roots, donors)


def first(violations: Iterable[Violation]) -> Violation | None:
    """The first violation, if any."""
    return next(iter(violations), None)


def rebuilt(roots: Roots, rename: Callable[[int], int]) -> Roots:
    """The same graph of fresh nodes, over renamed buffers."""
    new: dict[Node, Node] = {}
    for node in post_order(roots):
        if node.op == DEVICE_DATA:
            new[node] = leaf_node(rename(node.buffer), node.shape, node.dtype)
        elif node.value is not None:
            new[node] = constant_node(node.value, node.dtype)
        else:
            new[node] = op_node(node.op, tuple(new[o] for o in node.operands))
    return tuple(new[root] for root in roots)


def buffers_of(roots: Roots) -> tuple[int, ...]:
    """The buffers of a graph in order of their parameter numbers."""
    return number_parameters(post_order(roots))[0]


@graph_claim(
    "I36",
    why="Donation is compiled into the program.",
    premise=lambda roots: len(buffers_of(roots)) > 0,
)
def donors_are_in_the_key(design: Design, graphs: list[Roots]) -> Violation | None:
    """Programs of one graph that donate different parameters have different keys."""
    for roots in graphs:
        positions = range(len(buffers_of(roots)))
        donors = [(), *[(i,) for i in positions], tuple(positions)]
        keys = [key(design, roots, some) for some in dict.fromkeys(donors)]
        if len(keys) != len(set(keys)):
            return (roots,)
    return None


@graph_claim("I42", why="Otherwise the cache never hits.")
def keys_are_deterministic(design: Design, graphs: list[Roots]) -> Violation | None:
    """The same graph built again has the same key."""
    return first(
        (roots,)
        for roots in graphs
        if key(design, roots) != key(design, rebuilt(roots, lambda b: b))
    )


@graph_claim("I43g", why="A hit runs the program of another graph.", broken=True)
def equal_keys_mean_interchangeable_programs(
    design: Design, graphs: list[Roots]
) -> Violation | None:
    """Graphs with equal keys compute the same function of their parameters."""
    seen: dict[object, Roots] = {}
    for roots in graphs:
        other = seen.setdefault(key(design, roots), roots)
        contents = tuple((7 + 3 * i * i,) for i in range(len(buffers_of(roots))))
        if program_of(other).run(contents) != program_of(roots).run(contents):
            return other, roots
    return None


@graph_claim("I45", why="The next step of a training loop must hit.")
def keys_ignore_which_buffers(design: Design, graphs: list[Roots]) -> Violation | None:
    """Renaming the buffers of a graph injectively keeps its key."""
    return first(
        (roots,)
        for roots in graphs
        if key(design, roots) != key(design, rebuilt(roots, lambda b: 10 - b))
    )


@graph_claim(
    "I46",
    why="Merged parameters make a program with fewer arguments.",
    premise=lambda roots: len(buffers_of(roots)) > 1,
)
def keys_see_shared_buffers(design: Design, graphs: list[Roots]) -> Violation | None:
    """Graphs that differ in which leaves share a buffer have different keys."""
    return first(
        (roots,)
        for roots in graphs
        if len(buffers_of(roots)) > 1
        and key(design, roots) == key(design, rebuilt(roots, lambda _: 0))
    )


@graph_claim("I48", why="Compile first, run later.", broken=True)
def warm_up_keys_are_barrier_keys(design: Design, graphs: list[Roots]) -> Violation | None:
    """A graph has one key, whether it is compiled ahead or for a barrier (with equal donors)."""
    return first(
        (roots,)
        for roots in graphs
        if key(design, roots, force=True) != key(design, roots, force=False)
    )
