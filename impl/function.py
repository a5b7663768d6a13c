"""Any JAX function as an operation, also one with several results.

Source: torch_xla's custom ops and ``xla::Value`` (node, index); semantics.md §1.4, §3 (47).
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import jax

from markstep.impl import shapes, trace
from markstep.impl.aval import Aval, TupleAval
from markstep.impl.context import Context
from markstep.impl.errors import bad_argument
from markstep.impl.node import new_node
from markstep.impl.ops import Op, intern
from markstep.impl.record import Record


def function_op(function: Callable[..., Any], static: Mapping[str, Hashable]) -> Op:
    """The op of a function with its static arguments. Raises BAD_ARGUMENT if not hashable.

    The function's identity is part of the key: a lambda made anew for each call is a new op, and
    is compiled anew.
    """
    name = getattr(function, "__name__", type(function).__name__)
    try:
        return intern(name, function, static)
    except TypeError as cause:
        raise bad_argument(f"{name} or a static argument cannot be hashed: {cause}") from cause


def apply_function(ctx: Context, op: Op, operands: list[Record]) -> tuple[list[Record], Any]:
    """Records of all results of ``op``, and the JAX tree that they nest in."""
    avals = tuple(record.aval for record in operands)
    aval = trace.infer(op, avals)
    node = trace.make_node(ctx, op, operands)
    if not isinstance(aval, TupleAval):
        return [trace.pending_record(ctx, node)], op.tree(avals)
    items = [
        trace.pending_record(ctx, new_node(item(index), (node,), element))
        for index, element in enumerate(aval.elements)
    ]
    return items, op.tree(avals)


def item(index: int) -> Op:
    """The op that takes one result of an op with several."""
    return intern("item", _item, {"index": index}, rule=_rules(index), on_host=_item)


def _item(values: Any, index: int) -> Any:
    return jax.tree.leaves(values)[index]


def _rules(index: int) -> shapes.Rule:
    def element(avals: tuple[Aval, ...]) -> Aval:
        several = avals[0]
        assert isinstance(several, TupleAval)
        return several.elements[index]

    return element
