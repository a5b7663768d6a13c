"""What an operation gives back: closed rules where they are easy, JAX's own tracing elsewhere.

Source: torch_xla/csrc/ops/infer_output_shape.cpp; semantics.md §1.10 (shape cache).
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr

from markstep.impl.aval import Aval, TupleAval, aval_of

Rule: TypeAlias = Callable[[tuple[Aval, ...]], Aval | None]
"""Abstract result for abstract operands; None: trace and see; ValueError: they do not fit."""


class Signature(NamedTuple):
    """The abstract result of an op, and whether running it may call back into Python."""

    aval: Aval
    calls_python: bool


def same(avals: tuple[Aval, ...]) -> Aval:
    """Elementwise: all operands have one shape and dtype, and so has the result."""
    first = avals[0]
    for other in avals:
        if other is not first:
            raise ValueError(f"operands differ: {first} and {other}")
    return first


def same_or_scalar(avals: tuple[Aval, ...]) -> Aval:
    """Elementwise with 0-d operands stretched: one dtype, and one shape but for ()."""
    same_dtype(avals)
    return same(tuple(aval for aval in avals if aval.shape) or avals)


def compared(avals: tuple[Aval, ...]) -> Aval:
    """Elementwise comparison: as ``same_or_scalar``, and the results are truth values."""
    return aval_of(same_or_scalar(avals).shape, np.bool_)


def same_dtype(avals: tuple[Aval, ...]) -> None:
    """All operands have one dtype; their shapes are JAX's business."""
    for other in avals:
        if other.dtype != avals[0].dtype:
            raise ValueError(f"operands differ: {avals[0]} and {other}")


def product(avals: tuple[Aval, ...]) -> Aval | None:
    """Matrix product; two matrices are the frequent case and need no tracing."""
    same_dtype(avals)
    left, right = avals
    if len(left.shape) != 2 or len(right.shape) != 2:
        return None
    if left.shape[1] != right.shape[0]:
        raise ValueError(f"operands do not fit: {left} and {right}")
    return aval_of((left.shape[0], right.shape[1]), left.dtype)


def trace(call: Callable[..., Any], avals: tuple[Aval, ...]) -> tuple[Signature, Any]:
    """Trace ``call`` once: its signature and the tree of its results.

    Raises whatever ``call`` raises on operands that it cannot take.
    """
    structs = [aval.struct() for aval in avals]
    closed, shapes = jax.make_jaxpr(call, return_shape=True)(*structs)
    leaves, tree = jax.tree.flatten(shapes)
    if not leaves:
        raise ValueError("it gives no array")
    results = tuple(aval_of(tuple(leaf.shape), leaf.dtype) for leaf in leaves)
    single = jax.tree_util.treedef_is_leaf(tree)
    aval = results[0] if single else TupleAval(results)
    return Signature(aval, _calls_python(closed.jaxpr)), tree


def _calls_python(jaxpr: Jaxpr) -> bool:
    """Whether some primitive, however deep, runs Python code while the program runs."""
    stack = [jaxpr]
    while stack:
        for equation in stack.pop().eqns:
            if "callback" in equation.primitive.name:
                return True
            for value in jax.tree.leaves(equation.params, is_leaf=_is_jaxpr):
                if _is_jaxpr(value):
                    stack.append(value.jaxpr if isinstance(value, ClosedJaxpr) else value)
    return False


def _is_jaxpr(value: object) -> bool:
    return isinstance(value, ClosedJaxpr | Jaxpr)
