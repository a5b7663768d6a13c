"""Kernels on JAX: the same code on whatever device JAX has, compiled when first called."""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from markstep.spec.compiled.kernel import Instruction, Kernel
from markstep.spec.compiled.on_numpy import BLOCK, Bytes

_OPERATIONS: dict[str, Callable[..., Any]] = {
    "and": jnp.logical_and,
    "or": jnp.logical_or,
    "not": jnp.logical_not,
    "add": jnp.add,
    "sub": jnp.subtract,
    "bitand": jnp.bitwise_and,
    "bitor": jnp.bitwise_or,
    "bitxor": jnp.bitwise_xor,
    "invert": jnp.invert,
    "eq": jnp.equal,
    "ite": jnp.where,
}


def result(i: Instruction, columns: Any, known: list[Any], truths: list[bool]) -> Any:
    """What an instruction gives for a block of states."""
    if i.op == "const":
        return jnp.asarray(bool(i.value) if i.truth else np.uint8(i.value & 255))
    if i.op == "byte":
        return columns[i.value] != 0 if i.truth else columns[i.value]
    if i.truth and i.op in ("and", "or", "not", "ite"):
        return _OPERATIONS[i.op](*(known[n] for n in i.args))
    numbers = [known[n].astype(jnp.uint8) if truths[n] else known[n] for n in i.args]
    if i.op == "ite":
        return jnp.where(known[i.args[0]], *numbers[1:])
    if i.op in ("shl", "shr"):
        shift = jnp.left_shift if i.op == "shl" else jnp.right_shift
        return shift(numbers[0], np.uint8(i.value))
    if i.op in ("lt", "le"):
        a, b = (n.astype(jnp.int8) for n in numbers)
        return a < b if i.op == "lt" else a <= b
    return _OPERATIONS[i.op](*numbers)


@cache
def compiled(kernel: Kernel) -> Callable[[Bytes], list[Any]]:
    """A function from the columns of a block of states, (bytes, states), to the outputs."""

    def code(columns: Any) -> list[Any]:
        known: list[Any] = []
        truths = [i.truth for i in kernel.instructions]
        for instruction in kernel.instructions:
            known.append(result(instruction, columns, known, truths))
        return [known[n] for n in kernel.outputs]

    run = jax.jit(code)

    def call(columns: Bytes) -> list[Any]:
        count = columns.shape[1]
        whole = np.zeros((columns.shape[0], BLOCK), np.uint8)  # one shape: compiled once
        whole[:, :count] = columns
        found = [np.asarray(output) for output in run(whole)]
        return [output[:count] if output.ndim else output for output in found]

    return call
