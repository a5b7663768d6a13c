"""Operators between lazy tensors, numbers and arrays. Calls are what tracing costs: the frequent
cases are spelled out here, in one frame each.

Source: torch_xla/csrc/tensor_methods.cpp; semantics.md §2.4.
"""

from collections.abc import Callable
from typing import Any, Self, TypeAlias, TypeVar
from weakref import ref

import jax
import numpy as np

from markstep.impl import eager, trace
from markstep.impl.arithmetic import (
    ADD,
    DIV,
    MAXIMUM,
    MINIMUM,
    MUL,
    POW,
    SUB,
    Arithmetic,
    arithmetic,
    binary,
    from_scalar,
    with_scalar,
)
from markstep.impl.aval import Aval, HostArray, host_array, in_range
from markstep.impl.context import Context
from markstep.impl.errors import bad_argument
from markstep.impl.node import Buffer, Node
from markstep.impl.ops import Op
from markstep.impl.record import Record
from markstep.impl.table import named

Operand: TypeAlias = "Operators | int | float | np.number[Any] | HostArray | jax.Array"
AnyTensor = TypeVar("AnyTensor", bound="Operators")


def _infix(form: Arithmetic) -> Callable[[AnyTensor, Operand], AnyTensor]:
    """The method ``tensor op other``.

    Calls are what tracing costs: the frequent cases are spelled out, the others are in ``_node``.
    """
    op, closed = form.plain, form.plain.closed

    def infix(self: AnyTensor, other: Operand) -> AnyTensor:
        ctx, right, kind = self.context, None, type(self)
        with ctx.lock:
            left = self.record
            aval = left.aval
            if closed and aval.numeric:
                if type(other) is kind:
                    if other.record.aval is aval and other.context is ctx:
                        right = other.record.ir or trace.get_ir(ctx, other.record)
                elif type(other) is float or type(other) is int:
                    right = trace.scalar(ctx, other, aval)
            if right is None:
                node = _node(ctx, form, self, other)
                aval = node.aval
            else:
                node = Node()
                node.op = op
                node.operands = (left.ir or trace.get_ir(ctx, left), right)
                node.aval = aval
            ctx.created = number = ctx.created + 1
            record = Record(number, aval, node)
            ctx.live[ref(record, ctx.forget)] = None
            if ctx.eager:
                eager.compute(ctx, record)
            result = kind.__new__(kind)
            result.context = ctx
            result.record = record
            return result

    return infix


def _in_place(form: Arithmetic) -> Callable[[AnyTensor, Operand], AnyTensor]:
    """The method ``tensor op= other``, written like ``_infix``."""
    op, closed = form.plain, form.plain.closed

    def in_place(self: AnyTensor, other: Operand) -> AnyTensor:
        ctx, right, kind = self.context, None, type(self)
        with ctx.lock:
            record = self.record
            aval = record.aval
            if closed and aval.numeric:
                if type(other) is kind:
                    if other.record.aval is aval and other.context is ctx:
                        right = other.record.ir or trace.get_ir(ctx, other.record)
                elif type(other) is float or type(other) is int:
                    right = trace.scalar(ctx, other, aval)
            if right is None:
                node = _node(ctx, form, self, other, aval)
            else:
                node = Node()
                node.op = op
                node.operands = (record.ir or trace.get_ir(ctx, record), right)
                node.aval = aval
            if ctx.eager:
                eager.assign(ctx, record, node)
            else:
                trace.assign(ctx, record, node)
        return self

    return in_place


def _in_place_scaled(form: Arithmetic, op: Op) -> Callable[..., Any]:
    """The method that updates by ``alpha * other``: one operation, as PyTorch's optimisers do."""
    plain = _in_place(form)

    def in_place(self: AnyTensor, other: Operand, *, alpha: float = 1) -> AnyTensor:
        if type(alpha) is int and alpha == 1:
            return plain(self, other)
        ctx, record = self.context, self.record
        aval = record.aval
        if type(other) is not type(self) or other.context is not ctx:
            return plain(self, _scaled(self, other, alpha))
        given = other.record
        if given.aval is not aval or record.spec is not None:
            return plain(self, _scaled(self, other, alpha))
        with ctx.lock:
            last, scale = ctx.last_scalar
            if scale is None or alpha is not last or scale.aval is not aval.scalar:
                scale = trace.scalar(ctx, alpha, aval)
            node = Node()
            node.op = op
            old = record.ir or trace.get_ir(ctx, record)
            node.operands = (old, given.ir or trace.get_ir(ctx, given), scale)
            node.aval = aval
            if ctx.eager:
                eager.assign(ctx, record, node)
                return self
            # as ``trace.assign`` does it, without the call
            if record.handle is not None or type(old) is Buffer:
                record.alias_id = record.id
            ctx.created = record.id = ctx.created + 1
            record.handle = record.host = record.failure = None
            record.ir = node
            record.is_cloned = False
        return self

    return in_place


def _comparison(form: Arithmetic) -> Callable[..., Any]:
    """The method ``tensor op other``, element by element; only with what can be an operand."""

    def compare(self: AnyTensor, other: Any) -> Any:
        if not isinstance(other, Operators | np.ndarray | jax.Array | np.number | int | float):
            return NotImplemented
        return _result(self.context, form, self, other)

    return compare


class Operators:
    """A lazy tensor as far as operators go: its record, and the device that it is on."""

    __slots__ = ("__weakref__", "context", "record")
    __array_ufunc__ = None  # numpy arrays leave ``array + tensor`` to the tensor

    def __init__(self, context: Context, record: Record) -> None:
        self.context = context
        self.record = record

    # -- arithmetic: only traced --------------------------------------------------------------

    __add__ = _infix(ADD)

    def __radd__(self, other: Operand) -> Self:
        return _reverse(self.context, ADD, other, self)

    __sub__ = _infix(SUB)

    def __rsub__(self, other: Operand) -> Self:
        return _reverse(self.context, SUB, other, self)

    __mul__ = _infix(MUL)

    def __rmul__(self, other: Operand) -> Self:
        return _reverse(self.context, MUL, other, self)

    __truediv__ = _infix(DIV)

    def __rtruediv__(self, other: Operand) -> Self:
        return _reverse(self.context, DIV, other, self)

    __pow__ = _infix(POW)

    def maximum(self, other: Operand) -> Self:
        """The larger of two values, element by element."""
        return _result(self.context, MAXIMUM, self, other)

    def minimum(self, other: Operand) -> Self:
        """The smaller of two values, element by element."""
        return _result(self.context, MINIMUM, self, other)

    # -- comparison: only traced, element by element; a tensor as a key is the object itself --

    __eq__ = _comparison(arithmetic("eq"))
    __ne__ = _comparison(arithmetic("ne"))
    __lt__ = _comparison(arithmetic("lt"))
    __le__ = _comparison(arithmetic("le"))
    __gt__ = _comparison(arithmetic("gt"))
    __ge__ = _comparison(arithmetic("ge"))
    __hash__ = object.__hash__

    # -- in place: the tensor shows a new record ----------------------------------------------

    __iadd__ = _in_place(ADD)

    __isub__ = _in_place(SUB)

    __imul__ = _in_place(MUL)

    __itruediv__ = _in_place(DIV)

    add_ = _in_place_scaled(ADD, named("add_scaled"))
    sub_ = _in_place_scaled(SUB, named("sub_scaled"))
    mul_ = __imul__
    div_ = __itruediv__


def _node(
    ctx: Context, form: Arithmetic, left: Operators, other: Operand, must_be: Aval | None = None
) -> Node:
    if isinstance(other, Operators) and other.context is ctx:
        return binary(ctx, form, left.record, other.record, must_be)
    # a plain number is frequent, and asking whether something is a jax.Array is slow
    plain = type(other) is float or type(other) is int
    if not plain and isinstance(other, Operators | np.ndarray | jax.Array):
        return binary(ctx, form, left.record, as_tensor(left, other).record, must_be)
    return with_scalar(ctx, form, left.record, other)


def _scaled(like: Operators, other: Operand, alpha: float) -> Any:
    """``alpha * other``, for what is not a tensor like the one that it is to update."""
    number = trace.number(alpha)
    if isinstance(other, Operators | np.ndarray | jax.Array):
        return as_tensor(like, other) * number
    return trace.number(other) * number


def _result(ctx: Context, form: Arithmetic, left: AnyTensor, other: Operand) -> AnyTensor:
    with ctx.lock:
        node = _node(ctx, form, left, other)
        return type(left)(ctx, eager.computed(ctx, node))


def _reverse(ctx: Context, form: Arithmetic, other: Operand, right: AnyTensor) -> AnyTensor:
    if isinstance(other, np.ndarray | jax.Array):
        return _result(ctx, form, as_tensor(right, other), right)
    with ctx.lock:
        node = from_scalar(ctx, form, other, right.record)
        return type(right)(ctx, eager.computed(ctx, node))


def own(ctx: Context, tensor: Operators) -> Record:
    """The record of a tensor that must belong to this executor."""
    if not isinstance(tensor, Operators):
        raise bad_argument(f"expected a tensor, not {tensor!r}")
    if tensor.context is not ctx:
        raise bad_argument(f"tensor {tensor.record.id} belongs to another executor")
    return tensor.record


def as_tensor(like: AnyTensor, value: Operand) -> AnyTensor:
    """An operand as a tensor on the device of another; a plain number gets its dtype."""
    if isinstance(value, Operators):
        return type(like)(like.context, own(like.context, value))
    if isinstance(value, np.ndarray | jax.Array):
        array = host_array(value)
    else:
        array = in_range(trace.number(value), like.record.aval.dtype)
    ctx = like.context
    with ctx.lock:
        return type(like)(ctx, trace.from_host(ctx, array, to_device_now=True))
