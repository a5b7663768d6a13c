"""The alphabet of actions as calls of `torch._lazy`.

The backend shows neither handles nor ir but as text, so that only values and errors are compared.
Keys and runs by key are left out: a clone has no mark here that makes it an output of its own, and
the multiplier alpha of an addition is a parameter, where the law has a constant (finding F06).
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch._lazy
import torch._lazy.ts_backend

from markstep.conformance import adapter
from markstep.spec import vocabulary as v
from markstep.spec.evaluator import result_shape
from markstep.spec.ops import OPS
from markstep.spec.vocabulary import DType, ErrorKind, Nested, Number, Observation, TensorName

LAZY = torch._C._lazy
DEVICE = "lazy:0"

CAPABILITIES = frozenset(
    {
        adapter.SCALAR_TENSORS,
        adapter.UPLOAD_ON_COPY,
        "copy_from_host",
        "detach",
        "fill",
    }
)


class BadArgument(Exception):
    """An action that no program can mean."""


def about() -> tuple[str, str, frozenset[str], str]:
    """Name, version and capabilities."""
    return "torch_lazy", str(torch.__version__), CAPABILITIES, "torch_lazy_2_9"


class TorchLazy:
    """One process of the backend, from its first action on."""

    def __init__(self) -> None:
        self.name, self.version, self.capabilities, _ = about()
        torch._lazy.ts_backend.init()
        self._tensors: dict[TensorName, torch.Tensor] = {}

    def reset(self) -> None:
        """A fork is fresh. Raises RuntimeError if it has begun: it does not begin twice."""
        if self._tensors:
            raise RuntimeError("a fork runs one program; the next one needs another fork")

    def close(self) -> None:
        """The fork ends."""

    def observe(self) -> v.View:
        """Nothing that has the law's form."""
        return v.View({})

    def apply(self, action: v.Action) -> Observation:
        """One action."""
        try:
            return Observation(value=self._call(action))
        except BadArgument as error:
            return Observation(ErrorKind.BAD_ARGUMENT, message=str(error))

    # ---- names ------------------------------------------------------------------------------

    def _get(self, name: TensorName) -> torch.Tensor:
        if name not in self._tensors:
            raise BadArgument(f"there is no tensor t{name}")
        return self._tensors[name]

    def _all(self, names: Sequence[TensorName]) -> list[torch.Tensor]:
        return [self._get(name) for name in names]

    def _new(self, name: TensorName) -> TensorName:
        if name in self._tensors:
            raise BadArgument(f"the name t{name} is taken")
        return name

    # ---- actions ----------------------------------------------------------------------------

    def _call(self, action: v.Action) -> object:
        match action:
            case v.CreateFromHost():
                array = host_array(action.value, action.shape, action.dtype)
                self._tensors[self._new(action.out)] = array.to(DEVICE)
            case v.Fill():
                self._fill(action)
            case v.Apply():
                new, inputs = self._new(action.out), self._all(action.inputs)
                check_op(action.op, inputs, action.scalar)
                self._tensors[new] = op_result(action.op, inputs, action.scalar)
            case v.AssignInPlace():
                self._assign(action)
            case v.Clone():
                new, source = self._new(action.out), self._get(action.source)
                self._tensors[new] = source.clone()
            case v.Detach():
                new, source = self._new(action.out), self._get(action.source)
                self._tensors[new] = source.detach()
            case v.CopyInto():
                target, source = self._all((action.target, action.source))
                if layout(target) != layout(source):
                    raise BadArgument("the layouts differ")
                target.copy_(source)
            case v.CopyFromHost():
                target = self._get(action.target)
                shape, dtype = tuple(target.shape), str(target.dtype).removeprefix("torch.")
                target.copy_(host_array(action.value, shape, DType(dtype)))
            case v.Drop():
                self._get(action.tensor)
                del self._tensors[action.tensor]
            case _:
                return self._evaluate(action)
        return None

    def _fill(self, action: v.Fill) -> None:
        if action.dtype == DType.S32 and action.scalar != int(action.scalar):
            raise BadArgument(f"{action.scalar} is no {action.dtype}")
        kind = getattr(torch, action.dtype.value)
        made = torch.full(action.shape, action.scalar, dtype=kind, device=DEVICE)
        self._tensors[self._new(action.out)] = made

    def _assign(self, action: v.AssignInPlace) -> None:
        target, *others = self._all((action.target, *action.others))
        shape = check_op(action.op, [target, *others], action.scalar)
        if shape != tuple(target.shape):
            raise BadArgument("the result has another shape than its target")
        match action.op.removesuffix("_scalar"), action.scalar:
            case "neg", None:
                target.neg_()
            case ("add" | "sub" | "mul") as op, scalar:
                getattr(target, f"{op}_")(others[0] if scalar is None else scalar)
            case _:
                raise BadArgument(f"{action.op} in place")

    def _evaluate(self, action: v.Action) -> object:
        match action:
            case v.Sync():
                LAZY._sync_multi(self._all(action.tensors), [], action.wait, action.sync)
            case v.SyncLive() | v.StepBarrier():
                LAZY._mark_step(DEVICE, [], action.wait)
            case v.WaitDevice():
                LAZY._wait_device_ops([])
            case v.ReadOne():
                return tuple(self._get(action.tensor).cpu().flatten().tolist())
            case _:
                raise BadArgument(f"unknown action {action}")
        return None


def host_array(value: Nested, shape: tuple[int, ...], dtype: DType) -> torch.Tensor:
    """An array on the host."""
    if len(value) != math.prod(shape):
        raise BadArgument(f"{len(value)} values do not fill the shape {shape}")
    return torch.tensor(value, dtype=getattr(torch, dtype.value)).reshape(shape)


def layout(tensor: torch.Tensor) -> tuple[Any, Any]:
    """Shape and element type."""
    return tuple(tensor.shape), tensor.dtype


def check_op(op: str, inputs: list[torch.Tensor], scalar: Number | None) -> tuple[int, ...]:
    """The shape of a result: torch would broadcast and promote more than the alphabet does."""
    known = OPS.get(op)
    if known is None or op in v.FAULTY_OPS or known.tensors != len(inputs):
        raise BadArgument(f"{op} of {len(inputs)} tensors")
    if (scalar is None) == known.number or len({t.dtype for t in inputs}) != 1:
        raise BadArgument(f"{op}: a number too many or too few, or several dtypes")
    shapes = [tuple(t.shape) for t in inputs] + ([] if scalar is None else [()])
    try:
        return result_shape(op.removesuffix("_scalar"), tuple(shapes))
    except ValueError as error:
        raise BadArgument(str(error)) from error


def op_result(op: str, inputs: list[torch.Tensor], scalar: Number | None) -> torch.Tensor:
    """The op, traced."""
    if op == "neg":
        return -inputs[0]
    made: torch.Tensor = getattr(torch, op.removesuffix("_scalar"))(
        inputs[0], *inputs[1:], *([] if scalar is None else [scalar])
    )
    return made
