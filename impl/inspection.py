"""Looking without touching: what a tensor is made of, and its pending graph as text.

Source: torch_xla's ``_get_xla_tensor_debug_info`` and DumpUtil; spec/vocabulary.py (TensorView).
"""

from dataclasses import dataclass

from markstep.impl.context import Context
from markstep.impl.graph import post_order
from markstep.impl.layout import Layout
from markstep.impl.node import Buffer, Node
from markstep.impl.record import Record
from markstep.spec.vocabulary import BufferStatus, IrKind


@dataclass(frozen=True, slots=True)
class Description:
    """One tensor between two calls.

    ``data`` and ``buffer`` speak of the handle: its status, and the number of the device buffer
    behind it (None without a handle, for a placeholder and for a deleted buffer). ``stub``: the
    handle is a placeholder that nothing will fill. ``owner``, ``read_only`` and ``donate`` are
    those of the handle or, without one, of the leaf. ``failed``: it carries an untold failure.
    ``spec`` is the annotation; ``layout`` says how the data of the handle lie on several devices.
    """

    record: int
    alias: int
    ir: IrKind
    data: BufferStatus
    buffer: int | None
    host: bool
    shape: tuple[int, ...]
    dtype: str
    is_cloned: bool
    failed: bool
    stub: bool
    owner: int | None
    read_only: bool
    donate: bool
    spec: Layout | None
    layout: Layout | None


def describe(ctx: Context, record: Record) -> Description:
    """What the record is made of right now. Waits for nothing, changes nothing."""
    with ctx.lock:
        handle = record.handle
        status = BufferStatus.NONE if handle is None else handle.status
        shown = handle
        if shown is None and isinstance(record.ir, Buffer):
            shown = record.ir
        return Description(
            record=record.id,
            alias=record.alias_id,
            ir=IrKind.NONE if record.ir is None else record.ir.op.kind,
            data=status,
            buffer=handle.serial if handle and status is BufferStatus.VALUE else None,
            host=record.host is not None,
            shape=record.aval.shape,
            dtype=record.aval.dtype.name,
            is_cloned=record.is_cloned,
            failed=record.failure is not None,
            stub=handle is not None and handle.is_stub,
            owner=None if shown is None else shown.owner,
            read_only=shown is not None and shown.read_only,
            donate=shown is not None and shown.donate,
            spec=record.spec,
            layout=None if handle is None else handle.layout,
        )


def dump_graph(ctx: Context, records: list[Record]) -> str:
    """The pending graphs of the records as text, one node a line. Changes nothing.

    Records that have no graph (host data, device data) are named in the last line only.
    """
    with ctx.lock:
        roots = [record.ir for record in records if record.ir is not None]
        order = post_order(roots)
        place = {node: f"%{number}" for number, node in enumerate(order)}
        parameters = [node for node in order if isinstance(node, Buffer)]
        lines = [_line(place, parameters, node) for node in order]
        lines.append("return " + ", ".join(_result(place, record) for record in records))
        return "\n".join(lines) + "\n"


def _line(place: dict[Node, str], parameters: list[Buffer], node: Node) -> str:
    if isinstance(node, Buffer):
        number = parameters.index(node)
        state = node.status.name.lower()
        return f"{place[node]} = parameter {number}: {node.aval} ({state})"
    operands = ", ".join(place[operand] for operand in node.operands)
    return f"{place[node]} = {node.op}({operands}): {node.aval}"


def _result(place: dict[Node, str], record: Record) -> str:
    if record.ir is not None:
        where = place[record.ir]
    else:
        where = "data" if record.handle is not None else "host"
    return f"tensor {record.id} = {where}"
