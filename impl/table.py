"""The named operations: elementwise, reductions, matrix product, reshape, slice, transpose.

A scalar operand is a 0-d array of the tensor's dtype; ``add_scalar`` and its like take it second,
``radd_scalar`` and its like first.

Source: torch_xla/csrc/ops/ops.cpp; spec/vocabulary.py (the conformance alphabet).
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from markstep.impl import shapes
from markstep.impl.aval import Aval, aval_of
from markstep.impl.ops import Op, intern
from markstep.impl.shapes import Rule
from markstep.spec.vocabulary import IrKind

HUGE: Final = 2**42
"""Elements in the result of ``failing_execute``: more than any device can hold."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the table: the JAX function, and what spares us calling it.

    It takes ``tensors`` tensors, and a scalar if its name says so.
    """

    function: Callable[..., Any]
    tensors: int = 1
    rule: Rule | None = None
    on_host: Callable[..., Any] | None = None
    calls_python: bool = False
    is_really: str = ""


def _matching(avals: tuple[Aval, ...]) -> None:
    """Operands agree as elementwise ones must; the dtype of the result is JAX's business."""
    shapes.same_or_scalar(avals)


def _huge(avals: tuple[Aval, ...]) -> Aval:
    return aval_of((HUGE,), avals[0].dtype)


def _getitem(x: jax.Array, index: tuple[Any, ...]) -> jax.Array:
    return x[decode_index(index)]


def _setitem(x: jax.Array, update: jax.Array, index: tuple[Any, ...]) -> jax.Array:
    place = x.at[decode_index(index)]
    wanted = jax.eval_shape(lambda v: v[decode_index(index)], x)
    if wanted.dtype != update.dtype:
        raise TypeError(f"cannot write {update.dtype} into {wanted.dtype}")
    return place.set(jnp.broadcast_to(update, wanted.shape))


def decode_index(index: tuple[Any, ...]) -> tuple[Any, ...]:
    """Undo ``encode_index``."""
    return tuple(slice(*item[1:]) if isinstance(item, tuple) else item for item in index)


def encode_index(index: Any, shape: tuple[int, ...]) -> tuple[Hashable, ...]:
    """A basic index as a hashable value: slices become tuples.

    Raises TypeError for anything but integers, slices, ``...`` and None; IndexError for an
    integer outside of its axis (JAX would move it inside).
    """
    items = index if isinstance(index, tuple) else (index,)
    encoded = tuple(map(_encode_item, items))
    # numpy checks the bounds on an array that takes no memory
    np.broadcast_to(np.False_, shape)[decode_index(encoded)]
    return encoded


def _encode_item(item: Any) -> Hashable:
    if isinstance(item, slice):
        bounds = (item.start, item.stop, item.step)
        return ("slice", *(bound if bound is None else int(bound) for bound in bounds))
    if item is None or item is Ellipsis:
        return item
    if isinstance(item, bool) or not isinstance(item, int | np.integer):
        raise TypeError(f"only integers, slices, ... and None index a lazy tensor, not {item!r}")
    return int(item)


def _failing_compile(x: jax.Array) -> jax.Array:
    # the fault that the op is there for: tracing it is what fails, as for an unknown custom call
    raise ValueError("failing_compile has no lowering")


def _failing_execute(x: jax.Array) -> jax.Array:
    # asks for more memory than there is; should the system promise it all the same, the callback
    # fails before it is touched: an answer of the wrong shape fails without JAX logging it
    total = jnp.sum(x)
    answer = jax.pure_callback(lambda _: np.zeros(3, x.dtype), jax.typeof(total), total)
    return jnp.broadcast_to(answer, (HUGE,))


def _failing_on_host(x: Any) -> Any:
    raise FloatingPointError("failing_execute fails whenever it runs")


def _add(x: Any, y: Any) -> Any:
    return x + y


def _sub(x: Any, y: Any) -> Any:
    return x - y


def _mul(x: Any, y: Any) -> Any:
    return x * y


def _pow(x: Any, y: Any) -> Any:
    """As in PyTorch, also for whole numbers with negative exponents, of which XLA makes nothing
    sensible: the fraction is cut off."""
    if not jnp.issubdtype(jnp.result_type(y), jnp.signedinteger):
        return jnp.power(x, y)
    one = jnp.where(x == -1, jnp.where(y % 2 == 0, 1, -1), jnp.where(x == 1, 1, 0))
    return jnp.where(y < 0, one.astype(jnp.result_type(x)), jnp.power(x, jnp.maximum(y, 0)))


def _neg(x: Any) -> Any:
    return -x


def _add_scaled(x: Any, y: Any, scale: Any) -> Any:
    return x + y * scale


def _sub_scaled(x: Any, y: Any, scale: Any) -> Any:
    return x - y * scale


TABLE: Final[dict[str, Entry]] = {
    "add": Entry(_add, 2, shapes.same_or_scalar, _add),
    "sub": Entry(_sub, 2, shapes.same_or_scalar, _sub),
    "mul": Entry(_mul, 2, shapes.same_or_scalar, _mul),
    "div": Entry(jnp.divide, 2, _matching),
    "pow": Entry(_pow, 2, _matching),
    "maximum": Entry(jnp.maximum, 2, shapes.same_or_scalar, np.maximum),
    "minimum": Entry(jnp.minimum, 2, shapes.same_or_scalar, np.minimum),
    "add_scaled": Entry(_add_scaled, 3, shapes.same_or_scalar, _add_scaled),
    "sub_scaled": Entry(_sub_scaled, 3, shapes.same_or_scalar, _sub_scaled),
    "eq": Entry(jnp.equal, 2, shapes.compared, np.equal),
    "ne": Entry(jnp.not_equal, 2, shapes.compared, np.not_equal),
    "lt": Entry(jnp.less, 2, shapes.compared, np.less),
    "le": Entry(jnp.less_equal, 2, shapes.compared, np.less_equal),
    "gt": Entry(jnp.greater, 2, shapes.compared, np.greater),
    "ge": Entry(jnp.greater_equal, 2, shapes.compared, np.greater_equal),
    "neg": Entry(_neg, 1, shapes.same, _neg),
    "abs": Entry(jnp.abs),
    "exp": Entry(jnp.exp),
    "log": Entry(jnp.log),
    "sqrt": Entry(jnp.sqrt),
    "tanh": Entry(jnp.tanh),
    "sin": Entry(jnp.sin),
    "cos": Entry(jnp.cos),
    "relu": Entry(jax.nn.relu, 1, shapes.same),
    "sigmoid": Entry(jax.nn.sigmoid),
    "matmul": Entry(jnp.matmul, 2, shapes.product, np.matmul),
    "sum": Entry(jnp.sum),
    "mean": Entry(jnp.mean),
    "max": Entry(jnp.max),
    "min": Entry(jnp.min),
    "reshape": Entry(jnp.reshape),
    "transpose": Entry(jnp.transpose),
    "broadcast_to": Entry(jnp.broadcast_to, on_host=np.broadcast_to),
    "astype": Entry(jax.lax.convert_element_type),
    "getitem": Entry(_getitem),
    "setitem": Entry(_setitem, 2),
    "failing_compile": Entry(_failing_compile, 1, shapes.same),
    "failing_execute": Entry(_failing_execute, 1, _huge, _failing_on_host, calls_python=True),
}

BINARY: Final = ("add", "sub", "mul", "div", "pow", "maximum", "minimum")
COMPARISONS: Final = ("eq", "ne", "lt", "le", "gt", "ge")

for _name in BINARY + COMPARISONS:
    _entry = TABLE[_name]
    _closed = _entry.on_host is not None
    for _form in (f"{_name}_scalar", f"r{_name}_scalar"):
        # where the rule allows it the form is the operation itself: graphs of equal meaning
        # have equal keys, however they were written
        _rule, _same = (_entry.rule, _name) if _closed else (shapes.same_dtype, "")
        TABLE[_form] = Entry(_entry.function, 1, _rule, _entry.on_host, is_really=_same)


def named(name: str, **attrs: Hashable) -> Op:
    """The named operation with these static arguments; KeyError if there is none."""
    entry = TABLE[name]
    return intern(
        entry.is_really or name,
        entry.function,
        attrs,
        rule=entry.rule,
        on_host=entry.on_host,
        calls_python=entry.calls_python,
        unique=True,
    )


def constant(value: float, dtype: np.dtype[np.generic]) -> Op:
    """An inlined literal of shape () (``prim::Constant``)."""
    attrs = {"value": value, "dtype": dtype.name}
    more = {"on_host": _host_constant, "kind": IrKind.CONST, "unique": True}
    return intern("constant", _constant, attrs, **more)


def _constant(value: float, dtype: str) -> jax.Array:
    return jnp.asarray(value, dtype)


def _host_constant(value: float, dtype: str) -> Any:
    return np.array(value, dtype)
