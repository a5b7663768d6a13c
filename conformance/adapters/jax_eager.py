"""Eager JAX as an executor: nothing is traced or pending, every op is dispatched at once.

An executor of another family than those that the law is about. It has no records, leaves or handles
to show, so that only values and errors are compared; a sync has nothing to do but to wait.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from markstep.conformance import adapter
from markstep.conformance.adapters.by_name import BadArgument, ByName, Cell
from markstep.spec import vocabulary as v
from markstep.spec.vocabulary import DType, TensorName

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
OPS: dict[str, Callable[..., Any]] = {
    "neg": jnp.negative,
    "add": jnp.add,
    "sub": jnp.subtract,
    "mul": jnp.multiply,
    "matmul": jnp.matmul,
}


class JaxEagerAdapter(ByName[jax.Array]):
    """Arrays of JAX by name; an update in place lets the name mean a new array."""

    name = "jax_eager"
    version = jax.__version__
    capabilities = CAPABILITIES

    def reset(self) -> None:
        """No tensors."""
        super().reset()
        self._results: dict[TensorName, np.ndarray] = {}

    def create(self, values: v.Nested, shape: tuple[int, ...], dtype: str) -> jax.Array:
        """Sent to the device."""
        made: jax.Array = jax.device_put(np.array(values, dtype).reshape(shape))
        return made

    def compute(self, op: str, tensors: list[jax.Array], number: v.Number | None) -> jax.Array:
        """One op of jax.numpy."""
        numbers = [] if number is None else [jnp.asarray(number, tensors[0].dtype)]
        result: jax.Array = OPS[op](*tensors, *numbers)
        return result

    def copy(self, tensor: jax.Array) -> jax.Array:
        """Another array."""
        return jnp.copy(tensor)

    def assign(self, old: jax.Array, new: jax.Array) -> jax.Array:
        """Arrays never change."""
        return new

    def read(self, tensor: jax.Array) -> Sequence[v.Number]:
        """Downloaded."""
        return _flat(np.asarray(tensor))

    def sync(self, tensors: list[jax.Array]) -> None:
        """There is nothing to do but to wait."""
        for tensor in tensors:
            tensor.block_until_ready()

    def more(self, action: v.Action) -> object:
        """What it can do besides."""
        match action:
            case v.Fill():
                if action.dtype == DType.S32 and action.scalar != int(action.scalar):
                    raise BadArgument(f"{action.scalar} is no {action.dtype}")
                filled = jnp.full(action.shape, action.scalar, action.dtype.value)
                self.keep(action.out, Cell(filled, action.shape, action.dtype))
            case v.Detach():
                self.keep(action.out, self.cell(action.source))
            case v.CopyFromHost():
                target = self.cell(action.target)
                self.write(target, self.made(action.value, target.shape, target.dtype))
            case v.ReadMany():
                arrays = [np.array(cell.value) for cell in self.all(action.tensors)]
                self._results.update(zip(action.tensors, arrays, strict=True))
                return tuple([_flat(array) for array in arrays])
            case v.WriteToResult():
                self.cell(action.tensor)
                if action.tensor in self._results:
                    self._results[action.tensor] += 1
            case _:
                return super().more(action)
        return None


def _flat(array: np.ndarray) -> v.Nested:
    return tuple(array.flatten().tolist())
