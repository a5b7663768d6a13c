"""The lazy tensor: a Python object that looks at a record and writes graphs when you compute.

Nothing is computed before a value is read or a sync is asked for. Indexing, ``reshape`` and the
like give new values, not views: later updates of one tensor are not seen by another, except
through ``detach``.

Source: torch_xla::XLATensor as PyTorch shows it; semantics.md §1.2, §2.4.
"""

from collections.abc import Hashable, Iterator, Sequence
from operator import index
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from markstep.impl import eager, trace
from markstep.impl.aval import HostArray, element_type, host_array
from markstep.impl.errors import bad_argument
from markstep.impl.operators import Operand, Operators, as_tensor, own
from markstep.impl.randomness import integers
from markstep.impl.reading import read_one
from markstep.impl.table import encode_index, named

Axis: TypeAlias = int | tuple[int, ...] | None
AnyTensor = TypeVar("AnyTensor", bound="Tensor")


class Tensor(Operators):
    """A lazy array on one executor; made by ``executor.tensor`` and by operations."""

    __slots__ = ()

    # -- looking: never executes --------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.record.aval.shape

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The element type."""
        return self.record.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.record.aval.shape)

    @property
    def id(self) -> int:
        """The id of the record, as error messages name it; an in-place update gives a new one."""
        return self.record.id

    def __repr__(self) -> str:
        return f"Tensor({self.record.id}, {self.record.aval})"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a 0-d tensor has no length")
        return self.shape[0]

    def __iter__(self) -> "Iterator[Tensor]":
        return (self[index] for index in range(len(self)))

    # -- reading: executes as needed ----------------------------------------------------------

    def numpy(self) -> HostArray:
        """The value as an array of your own; computes and waits as needed."""
        return read_one(self.context, self.record)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> HostArray:
        if copy is False:
            raise ValueError("the value of a lazy tensor can't be had without a copy")
        return self.numpy().astype(self.dtype if dtype is None else dtype, copy=False)

    def item(self) -> Any:
        """The value of a tensor of one element, as a Python number."""
        return self.numpy().item()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __matmul__(self, other: "Tensor") -> "Tensor":
        return _call("matmul", self, other)

    def __neg__(self) -> "Tensor":
        return _call("neg", self)

    def neg_(self) -> Self:
        """Negate in place."""
        return _call_in_place("neg", self)

    def random_(self, high: int) -> Self:
        """Random whole numbers from 0 to ``high`` - 1 in place of what it holds."""
        ctx = self.context
        with ctx.lock:
            eager.assign(ctx, self.record, integers(ctx, self.record.aval, high))
        return self

    def __setitem__(self, index: Any, value: Operand) -> None:
        place = _index(self, index)
        _call_in_place("setitem", self, as_tensor(self, value), index=place)

    def copy_(self, source: "Tensor | npt.ArrayLike", *, upload: bool = True) -> Self:
        """Take over the value of another tensor, or host data; shape and dtype must agree."""
        ctx = self.context
        if isinstance(source, Tensor):
            if source.context is not ctx and source.context.cache is ctx.cache:
                return self._copy_from_elsewhere(source)
            given = own(ctx, source)
            with ctx.lock:
                trace.copy_into(ctx, self.record, given)
            return self
        array = host_array(source)
        with ctx.lock:
            trace.copy_from_host(ctx, self.record, array, to_device_now=upload)
        return self

    def _copy_from_elsewhere(self, source: "Tensor") -> Self:
        """From another device of the process: through the host, where the data stay until they are
        needed. Source: XLANativeFunctions::_copy_from."""
        trace.require(source.record.aval, self.record.aval)
        return self.copy_(read_one(source.context, source.record), upload=False)

    # -- other tensors of the same value ------------------------------------------------------

    def clone(self) -> "Tensor":
        """A copy that later updates of this tensor do not reach."""
        ctx = self.context
        with ctx.lock:
            return Tensor(ctx, trace.clone(ctx, self.record))

    def detach(self) -> "Tensor":
        """Another tensor object over the same record: updates of either are seen by both."""
        return Tensor(self.context, self.record)

    def astype(self, dtype: npt.DTypeLike) -> "Tensor":
        """The values converted to another element type."""
        return _call("astype", self, new_dtype=element_type(dtype))

    # -- shapes and reductions ----------------------------------------------------------------

    def __getitem__(self, index: Any) -> "Tensor":
        return _call("getitem", self, index=_index(self, index))

    def reshape(self, *shape: int | tuple[int, ...]) -> "Tensor":
        """The same elements in another shape; one length may be -1."""
        return _call("reshape", self, shape=_lengths(shape))

    def transpose(self, *axes: int | tuple[int, ...]) -> "Tensor":
        """The axes in another order; reversed if none is given."""
        return _call("transpose", self, axes=_lengths(axes) or None)

    @property
    def T(self) -> "Tensor":
        """The axes in reverse order."""
        return self.transpose()

    def sum(self, axis: Axis = None, *, keepdims: bool = False) -> "Tensor":
        """The sum over the axes (all of them by default)."""
        return _call("sum", self, axis=axis, keepdims=keepdims)

    def mean(self, axis: Axis = None, *, keepdims: bool = False) -> "Tensor":
        """The mean over the axes (all of them by default)."""
        return _call("mean", self, axis=axis, keepdims=keepdims)

    def max(self, axis: Axis = None, *, keepdims: bool = False) -> "Tensor":
        """The largest element over the axes (all of them by default)."""
        return _call("max", self, axis=axis, keepdims=keepdims)

    def min(self, axis: Axis = None, *, keepdims: bool = False) -> "Tensor":
        """The smallest element over the axes (all of them by default)."""
        return _call("min", self, axis=axis, keepdims=keepdims)


def _call(name: str, *tensors: Tensor, **attrs: Hashable) -> Tensor:
    ctx = tensors[0].context
    records = [own(ctx, tensor) for tensor in tensors]
    with ctx.lock:
        return Tensor(ctx, eager.computed(ctx, trace.make_node(ctx, named(name, **attrs), records)))


def _call_in_place(name: str, target: AnyTensor, *others: Tensor, **attrs: Hashable) -> AnyTensor:
    ctx = target.context
    records = [target.record, *(own(ctx, tensor) for tensor in others)]
    with ctx.lock:
        node = trace.make_node(ctx, named(name, **attrs), records, records[0].aval)
        eager.assign(ctx, records[0], node)
    return target


def _index(tensor: Tensor, index: Any) -> tuple[Hashable, ...]:
    try:
        return encode_index(index, tensor.shape)
    except (TypeError, IndexError) as cause:
        raise bad_argument(f"{tensor!r} cannot be indexed: {cause}") from cause


def _lengths(given: tuple[int | tuple[int, ...], ...]) -> tuple[int, ...]:
    """``reshape(2, 3)`` and ``reshape((2, 3))`` mean the same."""
    inside: tuple[Any, ...] = given
    if len(given) == 1 and isinstance(given[0], Sequence):
        inside = tuple(given[0])
    try:
        return tuple([index(length) for length in inside])
    except TypeError:
        raise bad_argument(f"{inside} are not whole numbers") from None
