"""Two operands: scalars become literals or parameters, shapes are broadcast as in numpy.

Source: torch_xla/csrc/tensor_methods.cpp; semantics.md §3 (18-25).
"""

from typing import Any, Final, NamedTuple

import numpy as np

from markstep.impl import trace
from markstep.impl.aval import Aval, aval_of
from markstep.impl.context import Context
from markstep.impl.errors import bad_argument
from markstep.impl.node import Node, new_node
from markstep.impl.ops import Op
from markstep.impl.record import Record
from markstep.impl.table import named


class Arithmetic(NamedTuple):
    """One binary operation: between tensors, tensor with scalar, scalar with tensor."""

    plain: Op
    scalar: Op
    reverse: Op


def arithmetic(name: str) -> Arithmetic:
    """The three forms of a named operation."""
    return Arithmetic(named(name), named(f"{name}_scalar"), named(f"r{name}_scalar"))


ADD: Final = arithmetic("add")
SUB: Final = arithmetic("sub")
MUL: Final = arithmetic("mul")
DIV: Final = arithmetic("div")
POW: Final = arithmetic("pow")
MAXIMUM: Final = arithmetic("maximum")
MINIMUM: Final = arithmetic("minimum")


def binary(
    ctx: Context, form: Arithmetic, left: Record, right: Record, must_be: Aval | None = None
) -> Node:
    """The node of ``left op right``; operands of different shapes are broadcast first."""
    if left.aval.shape == right.aval.shape or () in (left.aval.shape, right.aval.shape):
        return trace.make_node(ctx, form.plain, [left, right], must_be)
    return _broadcast(ctx, form.plain, left, right, must_be)


def _broadcast(ctx: Context, op: Op, left: Record, right: Record, must_be: Aval | None) -> Node:
    try:
        shape = np.broadcast_shapes(left.aval.shape, right.aval.shape)
    except ValueError as cause:
        raise bad_argument(f"{op} cannot take ({left.aval}, {right.aval})") from cause
    avals = tuple(aval_of(shape, record.aval.dtype) for record in (left, right))
    aval = trace.infer(op, avals)
    trace.require(aval, must_be)
    nodes = []
    for record, wanted in zip((left, right), avals, strict=True):
        node = trace.get_ir(ctx, record)
        if wanted is not record.aval:
            node = new_node(named("broadcast_to", shape=shape), (node,), wanted)
        nodes.append(node)
    return new_node(op, tuple(nodes), aval)


def with_scalar(ctx: Context, form: Arithmetic, left: Record, value: Any) -> Node:
    """The node of ``left op value``. Raises BAD_ARGUMENT for a power of whole numbers that none
    of them has."""
    if form is POW and left.aval.dtype.kind in "iu" and trace.number(value) < 0:
        raise bad_argument(f"whole numbers ({left.aval}) have no power of {value!r}")
    return trace.make_node_with_scalar(ctx, form.scalar, left, value)


def from_scalar(ctx: Context, form: Arithmetic, value: Any, right: Record) -> Node:
    """The node of ``value op right``."""
    scalar = trace.scalar(ctx, value, right.aval)
    aval = trace.infer(form.reverse, (scalar.aval, right.aval))
    return new_node(form.reverse, (scalar, trace.get_ir(ctx, right)), aval)
