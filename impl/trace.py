"""Tracing: what operations do to records. Nothing here compiles, runs or waits.

Each function that changes a record first makes sure that it can succeed, so that a refused call
changes nothing. The lock of the context is held by the caller.

Source: torch_xla::XLATensor, XLATensorImpl, tensor_methods.cpp; semantics.md §2.3-2.4.
"""

import math
from typing import Any, Final

import numpy as np

from markstep.impl.aval import Aval, HostArray, aval_of, in_range
from markstep.impl.context import Context
from markstep.impl.errors import ExecutorError, bad_argument, names
from markstep.impl.layout import REPLICATED, Layout
from markstep.impl.loading import load
from markstep.impl.node import Buffer, Node, new_node
from markstep.impl.ops import Op
from markstep.impl.partitioned import hint
from markstep.impl.record import Record
from markstep.impl.table import constant, named
from markstep.spec.vocabulary import ErrorKind

SCALARS_KEPT: Final = 128


def upload_host(ctx: Context, record: Record) -> Buffer:
    """The host copy of a record as a device buffer that nobody owns yet."""
    assert record.host is not None
    return sent(ctx, record, record.host)


def sent(ctx: Context, record: Record, array: HostArray) -> Buffer:
    """Host data as a new buffer, laid out as the record says."""
    buffer = Buffer(record.aval)
    buffer.layout = record.spec
    load(ctx, buffer, array)
    return buffer


def _owned_leaf(ctx: Context, record: Record, array: HostArray) -> Buffer:
    """Host data as a graph parameter that the record owns; on several devices, each has it all."""
    buffer = Buffer(record.aval)
    load(ctx, buffer, array)
    buffer.owner = record.id
    return buffer


def unsent(record: Record, array: HostArray) -> Buffer:
    """Host data as a graph parameter that is sent when a program first takes it."""
    buffer = Buffer(record.aval)
    buffer.layout, buffer.source = record.spec or REPLICATED, array
    return buffer


def from_host(ctx: Context, array: HostArray, *, to_device_now: bool) -> Record:
    """A new record of host data: state LEAF if it is uploaded at once, else HOST.

    Source: XLATensor::Create(at::Tensor), UpdateFromTensor.
    """
    record = ctx.new_record(aval_of(array.shape, array.dtype))
    _hold(ctx, record, array, to_device_now=to_device_now)
    return record


def copy_from_host(ctx: Context, record: Record, array: HostArray, *, to_device_now: bool) -> None:
    """Give a record new contents from the host; it stays the same record."""
    if aval_of(array.shape, array.dtype) is not record.aval:
        given = aval_of(array.shape, array.dtype)
        raise bad_argument(f"cannot copy {given} into tensor {record.id} of {record.aval}")
    _hold(ctx, record, array, to_device_now=to_device_now)
    record.failure = None


def _hold(ctx: Context, record: Record, array: HostArray, *, to_device_now: bool) -> None:
    # what can fail for want of memory comes before the old contents are given up
    to_device_now &= not ctx.spmd  # with several devices the annotation has to be known
    leaf = _owned_leaf(ctx, record, array) if to_device_now else None
    record.host = None if to_device_now else array.copy()
    record.handle, record.ir, record.is_cloned = None, leaf, False
    if to_device_now:
        record.alias_id = record.id


def show_leaf(record: Record, buffer: Buffer) -> None:
    """The record is this data, as handle and as leaf; a host copy of them may stay."""
    buffer.owner = record.alias_id = record.id
    record.handle = record.ir = buffer
    record.is_cloned = False


def placeholder(ctx: Context, aval: Aval) -> Record:
    """A new record with a shape and no data, now or ever (state STUB)."""
    record = ctx.new_record(aval)
    record.handle = stub(ctx, aval)
    return record


def stub(ctx: Context, aval: Aval, layout: Layout | None = None) -> Buffer:
    """A buffer without contents, now or ever; on several devices it is said how they would lie."""
    buffer = Buffer(aval)
    if ctx.spmd:
        buffer.layout = layout or REPLICATED
    return buffer


def get_ir(ctx: Context, record: Record) -> Node:
    """The node that stands for the record in a graph; device or host data become a leaf.

    With SPMD mode host data are not sent here, but by the first execution that takes them, unless
    that was chosen otherwise (``Context.lazy_loading``).
    Source: XLATensor::GetIrValue. Raises LOST if the record has nothing left.
    """
    if record.ir is not None:
        return record.ir
    handle = record.handle
    if handle is not None:
        handle.owner = record.alias_id = record.id
        record.ir = handle
        return handle
    if record.host is None:
        raise ExecutorError(ErrorKind.LOST, f"{names([record.id])} has no value left")
    if ctx.spmd and ctx.lazy_loading != "host":
        buffer = unsent(record, record.host)
        show_leaf(record, buffer)
        return buffer
    record.ir, record.host = _owned_leaf(ctx, record, record.host), None
    return record.ir


def infer(op: Op, avals: tuple[Aval, ...]) -> Aval:
    """The abstract result of an op. Raises BAD_ARGUMENT when the operands do not fit."""
    try:
        return op.signature(avals).aval
    except Exception as cause:
        wanted = ", ".join(map(repr, avals))
        raise bad_argument(f"{op} cannot take ({wanted}): {cause}") from cause


def apply(ctx: Context, op: Op, operands: list[Record]) -> Record:
    """A new pending record: ``op`` of the operands."""
    return pending_record(ctx, make_node(ctx, op, operands))


def pending_record(ctx: Context, node: Node) -> Record:
    """A new record whose value is that of the node."""
    return ctx.new_record(node.aval, node)


def make_node(ctx: Context, op: Op, operands: list[Record], must_be: Aval | None = None) -> Node:
    """The node of an operation; shapes are checked before any operand is touched.

    ``must_be``: the result is to replace a tensor of this shape and dtype.
    """
    aval = infer(op, tuple([record.aval for record in operands]))
    require(aval, must_be)
    return new_node(op, tuple([get_ir(ctx, record) for record in operands]), aval)


def make_node_with_scalar(
    ctx: Context, op: Op, record: Record, value: Any, must_be: Aval | None = None
) -> Node:
    """The node of an operation on a tensor and a scalar of its dtype."""
    operand = scalar(ctx, value, record.aval)
    aval = infer(op, (record.aval, operand.aval))
    require(aval, must_be)
    return new_node(op, (get_ir(ctx, record), operand), aval)


def require(aval: Aval, must_be: Aval | None) -> None:
    """Raises BAD_ARGUMENT if a result cannot take the place of the tensor that it is to replace."""
    if must_be is not None and aval is not must_be:
        raise bad_argument(f"cannot update a tensor of {must_be} with {aval}")


def assign(ctx: Context, record: Record, node: Node) -> None:
    """An in-place update: a new record with a fresh id takes the place of the old one.

    It remembers in ``alias_id`` whose buffer it may reuse. The object stays, so that every tensor
    object that shared the old record shares the new one. ``node`` is an operation, never a leaf.
    """
    if node.aval is not record.aval:
        require(node.aval, record.aval)
    if record.handle is not None or type(record.ir) is Buffer:
        record.alias_id = record.id
    if record.spec is not None:
        node = hint(node, record.spec)
    ctx.created = record.id = ctx.created + 1
    # as ``set_ir`` does it for an operation, without the call: every update comes here
    record.handle = record.host = record.failure = None
    record.ir = node
    record.is_cloned = False


def clone(ctx: Context, source: Record) -> Record:
    """A new record of the same value; device data is borrowed until the next sync (LEAFc)."""
    node = get_ir(ctx, source)
    record = ctx.new_record(source.aval)
    record.set_ir(node)
    record.spec = source.spec
    return record


def copy_into(ctx: Context, target: Record, source: Record) -> None:
    """``target.copy_(source)``: the same record with the value of another, borrowed as in clone.

    A tensor copied into itself borrows nothing: its device data become its own leaf.
    """
    if target.aval is not source.aval:
        raise bad_argument(
            f"cannot copy tensor {source.id} of {source.aval} into {target.id} of {target.aval}"
        )
    borrowed = target is not source or target.is_cloned
    node = get_ir(ctx, source)
    target.spec = target.spec or source.spec
    target.set_ir(node if target.spec is None else hint(node, target.spec))
    target.is_cloned &= borrowed
    if type(node) is Buffer:
        target.alias_id = target.id
    if target is not source:
        target.failure = None


def scalar(ctx: Context, value: Any, like: Aval) -> Node:
    """A scalar operand: 0, 1 and -1 are inlined (``Context.inline_scalars``), others are parameters
    shared by equal scalars.

    It has the dtype of ``like``. Raises BAD_ARGUMENT for what is not exactly a number of it.
    Source: LazyGraphExecutor::GetIrValueForScalar, GetDeviceData; semantics.md §3 (18-25).
    """
    last, known = ctx.last_scalar
    if value is last and known is not None and known.aval is like.scalar:
        return known  # the very same object as last time, as in a loop: nothing to look up
    node = _find_scalar(ctx, value, like.scalar)
    ctx.last_scalar = (value, node)
    return node


def _find_scalar(ctx: Context, value: Any, aval: Aval) -> Node:
    if type(value) is not float and type(value) is not int:
        value = number(value)
    key: object = (aval, value)
    if not value or value != value:
        # -0.0 equals 0.0 and nan does not equal itself: they are known by how they are written
        key = (aval, repr(float(value)))
    leaf = ctx.scalars.get(key)
    if leaf is not None:
        ctx.scalars.move_to_end(key)
        return leaf
    node = ctx.constants.get(key)
    return _new_scalar(ctx, value, aval, key) if node is None else node


def _inlined(ctx: Context, value: float) -> bool:
    """Whether a number becomes a constant; -0.0 is not one of the special ones."""
    if ctx.inline_scalars == "special":
        return value in (0, 1, -1) and (bool(value) or math.copysign(1, value) > 0)
    return ctx.inline_scalars == "all"


def filled(ctx: Context, aval: Aval, value: Any) -> Record:
    """A new record of one number: the scalar operand itself, or its expansion.

    A parameter is borrowed from the scalar cache: the record gets data of its own when it is
    synced. Source: XLAGraphExecutor::GetIrValueForScalar; semantics.md §3 (19-25).
    """
    node = scalar(ctx, value, aval)
    if aval.shape:
        node = new_node(named("broadcast_to", shape=aval.shape), (node,), aval)
    record = ctx.new_record(aval)
    record.set_ir(node)
    return record


def number(value: Any) -> int | float:
    """A scalar operand as a Python number. Raises BAD_ARGUMENT for anything but a real number."""
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        plain = value.item() if isinstance(value, np.number) else value
        if isinstance(plain, int | float):
            return plain
    raise bad_argument(f"a scalar operand is a real number, not {value!r}")


def _new_scalar(ctx: Context, value: float, aval: Aval, key: object) -> Node:
    dtype = aval.dtype
    array = in_range(value, dtype)
    if _inlined(ctx, value):
        special = value in (0, 1, -1) and (value or math.copysign(1, value) > 0)
        op = constant(int(value) if special else value, dtype)
        node = ctx.constants[key] = new_node(op, (), aval)
        return node
    ctx.count("DeviceDataCacheMiss")
    buffer = Buffer(aval)
    load(ctx, buffer, array)
    buffer.read_only = True
    ctx.scalars[key] = buffer
    if len(ctx.scalars) > SCALARS_KEPT:
        ctx.scalars.popitem(last=False)
    return buffer
