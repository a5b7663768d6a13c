"""Eager JAX as an executor: nothing is traced or pending, every op is dispatched at once.

An executor of another family than those that the law is about. It has no records, leaves or handles
to show, so that only values and errors are compared; a sync has nothing to do but to wait.
"""

import math
from collections.abc import Iterable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from markstep.conformance import adapter
from markstep.spec import vocabulary as v
from markstep.spec.ops import OPS
from markstep.spec.vocabulary import Action, DType, ErrorKind, Observation, TensorName, View

CAPABILITIES = frozenset(
    {
        adapter.ANY_OP_IN_PLACE,
        adapter.SCALAR_TENSORS,
        adapter.UPLOAD_ON_COPY,
        "copy_from_host",
        "detach",
        "fill",
        "read_many",
        "write_to_result",
    }
)
DTYPES = {DType.F32: jnp.float32, DType.S32: jnp.int32}


class BadArgument(Exception):
    """An action that no program can mean."""


class Tensor:
    """What several tensor objects may share: the array that they mean now."""

    def __init__(self, array: jax.Array) -> None:
        self.array = array

    @property
    def layout(self) -> tuple[tuple[int, ...], object]:
        """Shape and element type."""
        return self.array.shape, self.array.dtype


class JaxEagerAdapter:
    """Arrays of JAX by name; an update in place lets the name mean a new array."""

    name = "jax_eager"
    version = jax.__version__
    capabilities = CAPABILITIES

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """No tensors."""
        self._tensors: dict[TensorName, Tensor] = {}
        self._results: dict[TensorName, np.ndarray] = {}

    def apply(self, action: Action) -> Observation:
        """One action; what JAX refuses to do with its arguments no program can mean."""
        try:
            return Observation(value=self._call(action))
        except (BadArgument, TypeError, OverflowError) as error:
            return Observation(ErrorKind.BAD_ARGUMENT, message=str(error))

    def observe(self) -> View:
        """Nothing that has the law's form."""
        return View({})

    def close(self) -> None:
        """Nothing is held."""

    # ---- names ------------------------------------------------------------------------------

    def _get(self, name: TensorName) -> Tensor:
        if name not in self._tensors:
            raise BadArgument(f"there is no tensor t{name}")
        return self._tensors[name]

    def _all(self, names: Sequence[TensorName]) -> list[Tensor]:
        return [self._get(name) for name in names]

    def _keep(self, name: TensorName, tensor: Tensor) -> None:
        if name in self._tensors:
            raise BadArgument(f"the name t{name} is taken")
        self._tensors[name] = tensor

    # ---- actions ----------------------------------------------------------------------------

    def _call(self, action: Action) -> object:
        match action:
            case v.CreateFromHost():
                array = _from_host(action.value, action.shape, action.dtype)
                self._keep(action.out, Tensor(array))
            case v.Fill():
                if action.dtype == DType.S32 and action.scalar != int(action.scalar):
                    raise BadArgument(f"{action.scalar} is no {action.dtype}")
                filled = jnp.full(action.shape, action.scalar, DTYPES[action.dtype])
                self._keep(action.out, Tensor(filled))
            case v.Apply():
                result = _op(action.op, self._all(action.inputs), action.scalar)
                self._keep(action.out, Tensor(result))
            case v.AssignInPlace():
                operands = self._all((action.target, *action.others))
                self._assign(operands[0], _op(action.op, operands, action.scalar))
            case v.Clone():
                self._keep(action.out, Tensor(jnp.copy(self._get(action.source).array)))
            case v.Detach():
                self._keep(action.out, self._get(action.source))
            case v.CopyInto():
                target, source = self._all((action.target, action.source))
                self._assign(target, jnp.copy(source.array))
            case v.CopyFromHost():
                target = self._get(action.target)
                dtype = next(d for d, known in DTYPES.items() if known == target.array.dtype)
                self._assign(target, _from_host(action.value, target.array.shape, dtype))
            case v.Drop():
                self._get(action.tensor)
                del self._tensors[action.tensor]
            case _:
                return self._evaluate(action)
        return None

    def _assign(self, target: Tensor, array: jax.Array) -> None:
        if target.layout != Tensor(array).layout:
            raise BadArgument("the result has another shape or dtype than its target")
        target.array = array

    def _evaluate(self, action: Action) -> object:
        """Actions about what is pending or running: at most there is something to wait for."""
        match action:
            case v.ReadOne():
                return _flat(np.asarray(self._get(action.tensor).array))
            case v.ReadMany():
                arrays = [np.array(tensor.array) for tensor in self._all(action.tensors)]
                self._results.update(zip(action.tensors, arrays, strict=True))
                return tuple([_flat(array) for array in arrays])
            case v.WriteToResult():
                self._get(action.tensor)
                if action.tensor in self._results:
                    self._results[action.tensor] += 1
            case v.Sync():
                _wait(self._all(action.tensors))
            case v.SyncLive() | v.StepBarrier() | v.WaitDevice():
                _wait(self._tensors.values())
            case _:
                raise BadArgument(f"unknown action {action}")
        return None


def _wait(tensors: Iterable[Tensor]) -> None:
    for tensor in tensors:
        tensor.array.block_until_ready()


def _from_host(value: v.Nested, shape: tuple[int, ...], dtype: DType) -> jax.Array:
    if len(value) != math.prod(shape):
        raise BadArgument(f"{len(value)} values do not fill the shape {shape}")
    made: jax.Array = jax.device_put(np.array(value, DTYPES[dtype]).reshape(shape))
    return made


def _op(op: str, operands: list[Tensor], scalar: v.Number | None) -> jax.Array:
    """The result of an op; JAX would broadcast and promote more than the alphabet does."""
    known = OPS.get(op)
    if known is None or op in v.FAULTY_OPS or known.tensors != len(operands):
        raise BadArgument(f"{op} of {len(operands)} tensors")
    if (scalar is None) == known.number or len({t.array.dtype for t in operands}) != 1:
        raise BadArgument(f"{op}: a number too many or too few, or several dtypes")
    arrays = [tensor.array for tensor in operands]
    if op == "neg":
        return -arrays[0]
    if op == "matmul":
        a, b = (array.shape for array in arrays)
        if len(a) not in (1, 2) or len(b) not in (1, 2) or a[-1] != b[0]:
            raise BadArgument(f"matmul of {a} and {b}")
        return jnp.matmul(*arrays)
    other = arrays[1] if scalar is None else jnp.asarray(scalar, arrays[0].dtype)
    if arrays[0].shape != other.shape and arrays[0].shape != () and other.shape != ():
        raise BadArgument(f"{op} of {arrays[0].shape} and {other.shape}")
    match op.removesuffix("_scalar"):
        case "add":
            return arrays[0] + other
        case "sub":
            return arrays[0] - other
        case _:
            return arrays[0] * other


def _flat(array: np.ndarray) -> v.Nested:
    return tuple(array.flatten().tolist())
