"""Views: tensors that show elements of other tensors, and what is known of them beside the records.

A tensor object that is related to others by views has an entry here. The records are those of the
law; which object shows which of them, what keeps one alive and what is out of date is said here.
`Layout` is how eager execution lays a tensor in its storage, a ghost but for whether torch calls
it viewable; `Step` is what one view shows of its operand. No search makes views, so none of this is
part of a control state: there, `State.views` is none.
Source: semantics.md §1.5; ATen's FunctionalTensorWrapper and FunctionalStorageImpl.
"""

from dataclasses import dataclass, field, replace
from itertools import product
from math import prod

from markstep.spec.evaluator import Shape, Value
from markstep.spec.vocabulary import TensorName

VIEW, PERMUTE, SELECT, AS_STRIDED = "view", "permute", "select", "as_strided"
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


@dataclass(frozen=True, slots=True)
class Shown:
    """One tensor object that is related to others by views."""

    storage: int
    """Objects of one storage see each other's updates (C++: FunctionalStorageImpl)."""
    path: tuple[Step, ...]
    """How its value comes from the base of the storage; empty: it is the base."""
    wrapper: Layout
    """The sizes and strides that torch believes in: whether it can be viewed depends on them."""
    memory: int
    layout: Layout
    """Ghosts: the storage of eager execution, and where in it the elements lie."""
    holds: tuple[TensorName, ...] = ()
    """What it was made of, kept alive by its way back (autograd's view functions)."""
    stale: bool = False
    """The storage was written to since it was brought up to date."""


@dataclass(slots=True)
class Views:
    """All that is known of views in one process."""

    objects: dict[TensorName, Shown] = field(default_factory=dict)
    hidden: dict[TensorName, int] = field(default_factory=dict)
    """Objects that the program has dropped and another one holds: the record that each shows.
    Nobody brings them up to date."""
    bases: dict[int, int] = field(default_factory=dict)
    """Storage → the record that is its base."""
    written: frozenset[int] = frozenset()
    """Storages that were ever written to; a view that is made of one begins out of date."""
    touched: frozenset[int] = frozenset()
    """The same of records whose tensors have no views, by row."""
    keeps: dict[int, int] = field(default_factory=dict)
    """Record → the record that it keeps alive (C++: XLATensor::base_)."""
    memory: dict[int, Value | None] = field(default_factory=dict)
    """Ghost: the contents of the storages of eager execution."""
    made: int = 0

    def draft(self) -> "Views":
        """A copy that a rule may change."""
        return replace(
            self,
            objects=self.objects.copy(),
            hidden=self.hidden.copy(),
            bases=self.bases.copy(),
            keeps=self.keeps.copy(),
            memory=self.memory.copy(),
        )

    def number(self) -> int:
        """A new name for a storage."""
        self.made += 1
        return self.made

    def is_view(self, name: TensorName) -> bool:
        """Whether an object is made of the base of its storage by some steps."""
        return name in self.objects and self.objects[name].path != ()

    def is_stale(self, name: TensorName) -> bool:
        """Whether an object is made anew when somebody looks at it."""
        return name in self.objects and self.objects[name].stale

    def members(self, storage: int) -> list[TensorName]:
        """The objects of a storage, in order of creation."""
        return sorted(n for n, shown in self.objects.items() if shown.storage == storage)

    def loose(self) -> list[TensorName]:
        """The hidden objects that no other one holds any more."""
        held = {name for shown in self.objects.values() for name in shown.holds}
        return [name for name in self.hidden if name not in held]

    def kept(self, named: set[int]) -> set[int]:
        """The records that live, given those that named objects show: besides these the bases of
        storages, what hidden objects show, and what any of them keeps."""
        needed = {*named, *self.hidden.values(), *self.bases.values()}
        while more := {self.keeps[row] for row in needed if row in self.keeps} - needed:
            needed |= more
        return needed
