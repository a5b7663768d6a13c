"""Generated views: of sizes that their source can be seen in."""

from math import prod

from markstep.conformance.programs.source import Source
from markstep.spec import vocabulary as v
from markstep.spec.state import State
from markstep.spec.vocabulary import Action, TensorName

VIEW_WEIGHTS = ((10, "view"), (2, "look"))
"""Kinds of action for executors with views."""
LARGEST = 64
"""Elements of a tensor that is viewed: that of failing_execute is not."""
OPS = ((6, "slice"), (4, "view"), (3, "reshape"), (3, "transpose"))


def view_action(source: Source, state: State, tensor: TensorName, out: TensorName) -> Action:
    """A view of a tensor. It is not possible for every tensor."""
    op, shape = source.weighted(OPS), state.record_of(tensor).shape
    if op == "transpose" or not shape or not 0 < prod(shape) <= LARGEST:
        return v.ViewOf(out, tensor, op)
    if op == "slice":
        dim = source.below(len(shape))
        begin = source.below(shape[dim])
        end = begin + 1 + source.below(shape[dim] - begin)
        return v.ViewOf(out, tensor, op, (dim, begin, end))
    return v.ViewOf(out, tensor, op, source.pick(shapes_like(shape)))


def shapes_like(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Sizes with as many elements, in one dimension and in two."""
    count = prod(shape)
    return [(count,), *[(n, count // n) for n in range(1, count + 1) if count % n == 0]]
