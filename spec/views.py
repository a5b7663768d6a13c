"""Views: tensors that show elements of other tensors, and what is known of them beside the records.

A tensor object that is related to others by views has an entry here. The records are those of the
law; which object shows which of them, what keeps one alive and what is out of date is said here. No
search makes views, so none of this is part of a control state: there, `State.views` is none.
Source: semantics.md §1.5; ATen's FunctionalTensorWrapper and FunctionalStorageImpl.
"""

from dataclasses import dataclass, field, replace
from typing import TypeAlias

from markstep.spec.evaluator import Shape, Value
from markstep.spec.ir import Node
from markstep.spec.strides import Layout, Step
from markstep.spec.vocabulary import IrKind, TensorName


@dataclass(frozen=True, slots=True)
class Shown:
    """One tensor object that is related to others by views."""

    storage: int
    """Objects of one storage see each other's updates (C++: FunctionalStorageImpl)."""
    path: tuple[Step, ...]
    """How its value comes from the base of the storage; empty: it is the base."""
    memory: int
    layout: Layout
    """The storage of eager execution, a ghost, and where in it the elements lie (D44)."""
    holds: tuple[TensorName, ...] = ()
    """What it was made of, kept alive by its way back (autograd's view functions)."""
    stale: bool = False
    """The storage was written to since it was brought up to date."""


Path: TypeAlias = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Ir:
    """The pending graph of a view, apart from a record."""

    kind: IrKind
    leaf: int
    deps: int
    node: Node | None
    shape: Shape
    defined: bool

    @property
    def reads(self) -> int:
        """Mask of the buffer records that evaluating it reads."""
        return 1 << self.leaf if self.kind == IrKind.LEAF else self.deps


@dataclass(frozen=True, slots=True)
class Alias:
    """Without functionalization: what several records are views of (C++: Alias)."""

    root: Ir
    updates: tuple[tuple[Ir, Path], ...] = ()
    """New values of what a path shows, still to be written into the root, in order."""
    generation: int = 0


@dataclass(frozen=True, slots=True)
class AliasView:
    """Without functionalization: that a record is a view (C++: View). Its ir is what the view
    showed when it was last brought up to date."""

    alias: int
    path: Path
    generation: int = 0


@dataclass(slots=True)
class Views:
    """All that is known of views in one process."""

    functional: bool = True
    """Updates are ops on new records; without it (XLA_DISABLE_FUNCTIONALIZATION) they replace the
    ir of the record, or go to its alias."""
    aliases: dict[int, Alias] = field(default_factory=dict)

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
            aliases=self.aliases.copy(),
        )

    @property
    def reads(self) -> int:
        """Mask of the buffer records that the aliases read."""
        used = 0
        for alias in self.aliases.values():
            for ir in (alias.root, *[value for value, _ in alias.updates]):
                used |= ir.reads
        return used

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
