"""Eyes for torch_xla: none of these calls executes, uploads, locks or makes ir."""

import time
from collections.abc import Sequence
from typing import Any

import torch
import torch_xla

from markstep.conformance.torch_xla.counters import counters
from markstep.conformance.torch_xla.debuginfo import read_debug_info
from markstep.spec.vocabulary import BufferStatus, DType, IrKind

X = torch_xla._XLAC
SETTLE_S = 0.2
POLL_S = 0.0005
KINDS = {IrKind.LEAF: "device_data", IrKind.CONST: "constant", IrKind.OP: "op"}
STATES = {
    BufferStatus.PLACEHOLDER: "placeholder",
    BufferStatus.VALUE: "value",
    BufferStatus.DELETED: "deleted",
}


class XlaEyes:
    """How torch_xla is looked at."""

    number = staticmethod(X._xla_get_tensor_id)
    counters = staticmethod(counters)

    def settle(self, tensors: Sequence[torch.Tensor]) -> None:
        """Wait for placeholders that were just made."""
        until = time.monotonic() + SETTLE_S
        for tensor in tensors:
            while time.monotonic() < until and _is_placeholder(tensor):
                time.sleep(POLL_S)

    def shows(self, tensor: torch.Tensor) -> dict[str, Any]:
        """What the debug text says, as a line of a log has it."""
        try:
            text = X._get_xla_tensor_debug_info(tensor)
        except RuntimeError as error:
            return {"void": str(error).splitlines()[0]}
        seen = read_debug_info(text, ((), DType.F32))
        shape, state = list(tensor.shape), STATES.get(seen.data)
        data = {"kind": "plain", "state": state, "handle": seen.handle} if state else None
        return {
            "id": seen.record,
            "alias": seen.alias,
            "view": False,
            "ir": {"kind": KINDS[seen.ir]} if seen.ir in KINDS else None,
            "data": data,
            "host": shape if seen.host else None,
            "sharding_spec": None,
            "shape": shape,
            "dtype": str(tensor.dtype).removeprefix("torch."),
        }


def _is_placeholder(tensor: torch.Tensor) -> bool:
    try:
        return "Data Handle: None" in X._get_xla_tensor_debug_info(tensor)
    except RuntimeError:
        return False
