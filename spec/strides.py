"""Where the elements of a tensor lie, and what one step of a view shows of its operand.

`Layout` is how eager execution lays a tensor in its storage; whether torch can make a view depends
on it. Source: ATen's computeStride; torch_xla's ViewInfo.
"""

from dataclasses import dataclass, replace
from itertools import product
from math import prod

from markstep.spec.evaluator import Shape, Value

NO_OP, VIEW, PERMUTE, SELECT, AS_STRIDED = "no_op", "view", "permute", "select", "as_strided"
"""Kinds of steps, by the names of their nodes."""
WRITERS = {SELECT: "unselect", AS_STRIDED: "as_strided_update"}
"""Kind of a step that shows a part → name of the node that writes the part back."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the elements of a tensor lie in a storage; strides and offset count elements."""

    shape: Shape
    strides: tuple[int, ...]
    offset: int = 0

    def indices(self) -> tuple[int, ...]:
        """The place in the storage of each element, row-major."""
        places = product(*map(range, self.shape))
        return tuple(
            self.offset + sum(i * s for i, s in zip(place, self.strides, strict=True))
            for place in places
        )


@dataclass(frozen=True, slots=True)
class Step:
    """What a view shows of its operand. ``args``: dimension, begin and end of a SELECT; the
    permutation of a PERMUTE; strides and offset of an AS_STRIDED."""

    kind: str
    shape: Shape
    args: tuple[int, ...] = ()


def dense(shape: Shape) -> Layout:
    """Row-major without gaps, as every new tensor lies."""
    return Layout(shape, tuple(prod(shape[d + 1 :]) for d in range(len(shape))))


def shown(layout: Layout, step: Step) -> Layout | None:
    """Where the elements that a step shows lie; none: they cannot be shown without a copy."""
    if step.kind == VIEW:
        return viewed(layout, step.shape)
    if step.kind == PERMUTE:
        return replace(layout, shape=step.shape, strides=permuted(layout.strides, step.args))
    if step.kind == SELECT:
        dim, begin, _ = step.args
        return Layout(step.shape, layout.strides, layout.offset + begin * layout.strides[dim])
    return Layout(step.shape, step.args[:-1], step.args[-1])


def permuted(sizes: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes in another order."""
    return tuple(sizes[d] for d in order)


def viewed(layout: Layout, shape: Shape) -> Layout | None:
    """The same elements in the same order under other sizes (ATen: computeStride), or none: then
    the new dimensions cut across old ones that do not lie one in the other."""
    wanted = list(shape)
    strides: list[int] = []
    whole, step = 1, 0
    olds = [(n, s) for n, s in zip(layout.shape, layout.strides, strict=True) if n != 1]
    for i, (size, stride) in reversed(list(enumerate(olds))):
        step = stride if whole == 1 else step
        whole *= size
        if i > 0 and olds[i - 1][1] == size * stride:
            continue
        inner = 1
        while wanted and (inner < whole or wanted[-1] == 1):
            strides.append(inner * step)
            inner *= wanted.pop()
        if inner != whole:
            return None
        whole = 1
    strides += [step] * len(wanted)
    return Layout(shape, tuple(reversed(strides)), layout.offset)


def seen_by(step: Step, source: Shape) -> tuple[int, ...]:
    """Which elements of a dense operand a step shows, in order."""
    layout = shown(dense(source), step)
    assert layout is not None  # a dense tensor can be shown in any way
    return layout.indices()


def gathered(value: Value | None, indices: tuple[int, ...]) -> Value | None:
    """Some elements of a value."""
    return None if value is None else tuple(value[i] for i in indices)


def scattered(value: Value | None, indices: tuple[int, ...], part: Value | None) -> Value | None:
    """A value in which some elements are others."""
    if value is None or part is None:
        return None
    elements = list(value)
    for i, element in zip(indices, part, strict=True):
        elements[i] = element
    return tuple(elements)
