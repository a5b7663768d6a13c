"""Adapters of executors whose tensors are values by name: what is common to them.

It knows which names live and refuses what no program can mean: unknown or taken names, operands
whose number, shapes or dtypes do not fit. What is then computed, copied and written, and into what,
is the business of the executor alone.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from markstep.spec import vocabulary as v
from markstep.spec.evaluator import result_shape
from markstep.spec.ops import OPS
from markstep.spec.vocabulary import DType, ErrorKind, Observation, TensorName, View

T = TypeVar("T")


class BadArgument(Exception):
    """An action that no program can mean."""


@dataclass(eq=False)
class Cell(Generic[T]):
    """What several tensor objects may share: the value that they mean now."""

    value: T
    shape: tuple[int, ...]
    dtype: DType


class ByName(ABC, Generic[T]):
    """An adapter whose tensors are values of any type ``T``.

    Subclasses say how a value is made, computed, copied, written and read. With more capabilities
    they do more actions (``more``).
    """

    name: ClassVar[str]
    version: ClassVar[str] = ""
    capabilities: ClassVar[frozenset[str]] = frozenset()

    def __init__(self) -> None:
        self.reset()

    # ---- the executor -----------------------------------------------------------------------

    @abstractmethod
    def create(self, values: v.Nested, shape: tuple[int, ...], dtype: str) -> T:
        """A tensor of host data, which are given flat; ``dtype`` as numpy calls it."""

    @abstractmethod
    def compute(self, op: str, tensors: list[T], number: v.Number | None) -> T:
        """The result of ``neg``, ``add``, ``sub``, ``mul`` or ``matmul``; a number is the second
        operand."""

    @abstractmethod
    def copy(self, tensor: T) -> T:
        """A tensor of its own with the same value."""

    @abstractmethod
    def assign(self, old: T, new: T) -> T:
        """What a tensor is after an update in place from old to new."""

    @abstractmethod
    def read(self, tensor: T) -> Sequence[v.Number]:
        """The value, flat, as numbers of Python."""

    def sync(self, tensors: list[T]) -> None:
        """Evaluate what is pending of these; nothing is, unless the executor is lazy."""

    def more(self, action: v.Action) -> object:
        """Actions that need a capability. Raises BadArgument."""
        raise BadArgument(f"unknown action {action}")

    # ---- the protocol -----------------------------------------------------------------------

    def reset(self) -> None:
        """No tensors."""
        self.cells: dict[TensorName, Cell[T]] = {}

    def apply(self, action: v.Action) -> Observation:
        """One action; what the executor refuses to do with its arguments no program can mean."""
        try:
            return Observation(value=self._do(action))
        except (BadArgument, TypeError, ValueError, OverflowError) as error:
            return Observation(ErrorKind.BAD_ARGUMENT, message=str(error))

    def observe(self) -> View:
        """Nothing that has the law's form."""
        return View({})

    def close(self) -> None:
        """Nothing is held."""

    # ---- names ------------------------------------------------------------------------------

    def cell(self, name: TensorName) -> Cell[T]:
        """What a name means. Raises BadArgument."""
        if name not in self.cells:
            raise BadArgument(f"there is no tensor t{name}")
        return self.cells[name]

    def all(self, names: Sequence[TensorName]) -> list[Cell[T]]:
        """What some names mean. Raises BadArgument."""
        return [self.cell(name) for name in names]

    def keep(self, name: TensorName, cell: Cell[T]) -> None:
        """Give a new tensor a name. Raises BadArgument if it is taken."""
        if name in self.cells:
            raise BadArgument(f"the name t{name} is taken")
        self.cells[name] = cell

    def write(self, target: Cell[T], new: Cell[T]) -> None:
        """Update in place. Raises BadArgument if the new value does not fit."""
        if (new.shape, new.dtype) != (target.shape, target.dtype):
            raise BadArgument("the result has another shape or dtype than its target")
        target.value = self.assign(target.value, new.value)

    # ---- actions ----------------------------------------------------------------------------

    def _do(self, action: v.Action) -> object:
        match action:
            case v.CreateFromHost():
                made = self.made(action.value, action.shape, action.dtype)
                self.keep(action.out, made)
            case v.Apply():
                self.keep(action.out, self._result(action.op, action.inputs, action.scalar))
            case v.AssignInPlace():
                operands = (action.target, *action.others)
                self.write(self.cell(operands[0]), self._result(action.op, operands, action.scalar))
            case v.Clone():
                self.keep(action.out, self.copied(self.cell(action.source)))
            case v.CopyInto():
                self.write(self.cell(action.target), self.copied(self.cell(action.source)))
            case v.Drop():
                self.cell(action.tensor)
                del self.cells[action.tensor]
            case v.ReadOne():
                return tuple(self.read(self.cell(action.tensor).value))
            case v.Sync():
                self.sync([cell.value for cell in self.all(action.tensors)])
            case v.SyncLive() | v.StepBarrier() | v.WaitDevice():
                self.sync([cell.value for cell in self.cells.values()])
            case _:
                return self.more(action)
        return None

    def made(self, values: v.Nested, shape: tuple[int, ...], dtype: DType) -> Cell[T]:
        """A tensor of host data. Raises BadArgument if they do not fill it."""
        if len(values) != math.prod(shape):
            raise BadArgument(f"{len(values)} values do not fill the shape {shape}")
        return Cell(self.create(values, shape, dtype.value), shape, dtype)

    def copied(self, source: Cell[T]) -> Cell[T]:
        """A tensor with the same value."""
        return Cell(self.copy(source.value), source.shape, source.dtype)

    def _result(self, op: str, names: Sequence[TensorName], number: v.Number | None) -> Cell[T]:
        """The result of an op; numpy and others would broadcast and promote more than it does."""
        operands, known = self.all(names), OPS.get(op)
        if known is None or op in v.FAULTY_OPS or known.tensors != len(operands):
            raise BadArgument(f"{op} of {len(operands)} tensors")
        if (number is None) == known.number or len({cell.dtype for cell in operands}) != 1:
            raise BadArgument(f"{op}: a number too many or too few, or several dtypes")
        plain = op.removesuffix("_scalar")
        shapes = [cell.shape for cell in operands] + ([()] if known.number else [])
        shape = result_shape(plain, tuple(shapes))
        value = self.compute(plain, [cell.value for cell in operands], number)
        return Cell(value, shape, operands[0].dtype)
