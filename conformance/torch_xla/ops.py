"""The ops and values of the alphabet as calls of PyTorch."""

import math
from typing import Any

import torch
import torch_xla

from markstep.spec.vocabulary import DType, Fill, Nested, Number, ViewOf

X = torch_xla._XLAC
DEVICE = "xla:0"


class BadArgument(Exception):
    """An action that no program can mean."""


def op_result(
    op: str, inputs: list[torch.Tensor], scalar: Number | None, shape: Any, dtype: DType
) -> torch.Tensor:
    kind = getattr(torch, dtype.value)
    match op:
        case "neg":
            return -inputs[0]
        case "add" | "sub" | "mul" | "matmul":
            made: torch.Tensor = getattr(torch, op)(*inputs)
            return made
        case "add_scalar":
            return inputs[0] + scalar
        case "mul_scalar":
            return inputs[0] * scalar
        case "failing_compile":
            results = X._xla_custom_call(
                [inputs[0]], "no_such_target", [list(shape)], [kind], False, "", 1, {}
            )
            failing: torch.Tensor = results[0]
            return failing
        case "failing_execute":
            return torch.zeros(shape, dtype=kind, device=DEVICE) + inputs[0].sum(dtype=kind)
    raise BadArgument(f"unknown op {op}")


def seen(source: torch.Tensor, action: ViewOf) -> torch.Tensor:
    """A view of a tensor."""
    match action.op:
        case "slice":
            dim, begin, end = action.sizes
            return source.narrow(dim, begin, end - begin)  # indexing makes all of it an alias
        case "transpose":
            return source.transpose(0, 1)
        case "view" | "reshape":
            shaped: torch.Tensor = getattr(source, action.op)(action.sizes)
            return shaped
    raise BadArgument(f"unknown view {action.op}")


def full(action: Fill) -> torch.Tensor:
    if action.dtype == DType.S32 and action.scalar != int(action.scalar):
        raise BadArgument(f"{action.scalar} is no {action.dtype}")
    kind = getattr(torch, action.dtype.value)
    return torch.full(action.shape, action.scalar, dtype=kind, device=DEVICE)


def host_array(value: Nested, shape: tuple[int, ...], dtype: DType) -> torch.Tensor:
    if len(value) != math.prod(shape):
        raise BadArgument(f"{len(value)} values do not fill the shape {shape}")
    return torch.tensor(value, dtype=getattr(torch, dtype.value)).reshape(shape)


def flat(tensor: torch.Tensor) -> Nested:
    return tuple(tensor.flatten().tolist())
