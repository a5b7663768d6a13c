"""The debug text of a tensor of torch_xla as a view.

Source: XLATensor debug info (`_get_xla_tensor_debug_info`): TensorID, AliasID, IR, XLAData, host.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from markstep.spec.vocabulary import BufferStatus, DType, IrKind, TensorView

IDS = re.compile(r"TensorID: (\d+)[\s\S]*AliasID: (\d+)")
IR = re.compile(r"^\s*IR: (.*)$", re.MULTILINE)
OP = re.compile(r"([a-z_]+::\w+)")
HANDLE = re.compile(r"Data Handle: (\S+)")
HOST = re.compile(r"Tensor on host: (.*)")

LEAVES = {"xla::device_data": IrKind.LEAF, "prim::Constant": IrKind.CONST}
STATES = {"None": BufferStatus.PLACEHOLDER, "Deleted": BufferStatus.DELETED}


@dataclass(frozen=True, slots=True)
class Seen:
    """What is seen of one tensor."""

    record: int
    alias: int
    ir: IrKind
    data: BufferStatus
    handle: str | None
    """The address of the buffer, if the handle has one."""
    host: bool
    shape: tuple[int, ...]
    dtype: DType

    def lost(self) -> "Seen":
        """The same record, with nothing left in it: of such a one there is no text."""
        return replace(self, ir=IrKind.NONE, data=BufferStatus.NONE, handle=None, host=False)

    def view(self, numbers: Mapping[str, int]) -> TensorView:
        """The view, with buffers by number."""
        buffer = None if self.handle is None else numbers[self.handle]
        return TensorView(
            self.record,
            self.alias,
            self.ir,
            self.data,
            buffer,
            self.host,
            self.shape,
            self.dtype,
        )


def read_debug_info(text: str, layout: tuple[tuple[int, ...], DType]) -> Seen:
    """What a debug text says of a tensor of a known layout. Raises ValueError."""
    ids = IDS.search(text)
    if ids is None:
        raise ValueError(f"no ids in the debug text {text[:60]!r}")
    handle = HANDLE.search(text)
    told = handle.group(1) if handle else None
    data = BufferStatus.NONE if told is None else STATES.get(told, BufferStatus.VALUE)
    host = HOST.search(text)
    return Seen(
        int(ids.group(1)),
        int(ids.group(2)),
        ir_kind(text),
        data,
        told if data == BufferStatus.VALUE else None,
        host is not None and "None" not in host.group(1),
        *layout,
    )


def ir_kind(text: str) -> IrKind:
    """The kind of the root node, by its name."""
    root = IR.search(text)
    if root is None or root.group(1).startswith("None"):
        return IrKind.NONE
    op = OP.search(root.group(1))
    return LEAVES.get(op.group(1), IrKind.OP) if op else IrKind.OP
