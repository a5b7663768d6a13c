"""Random tensors: real JAX random ops that read the seed as a parameter of the program.

The seed is uploaded at its first use in a step; later uses compose more of the graph on it. So a
program that draws as often since the last barrier is the same program, whatever the seed.

Source: torch_xla's DeviceContextArena (GetRngSeed, MarkStep), aten::random; semantics.md §3 (6,
26-29, 36).
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from markstep.impl import trace
from markstep.impl.aval import Aval, aval_of
from markstep.impl.context import Context
from markstep.impl.errors import bad_argument
from markstep.impl.loading import load
from markstep.impl.node import Buffer, Node, new_node
from markstep.impl.ops import Op, intern
from markstep.impl.seeds import ADVANCE, SEED, after, halves

MAX_BOUND: Final = 2**24
"""Whole numbers up to here are values of float32."""


@dataclass(frozen=True, slots=True)
class RngState:
    """All that decides about the random numbers to come: the seed of the step, and how far it is
    used. Made by ``Executor.rng_state``."""

    step: int
    running: int


def set_seed(ctx: Context, seed: int) -> None:
    """Begin again with a seed of 64 bits; graphs that are traced already keep the old one."""
    if type(seed) is not int or not 0 <= seed < 2**64:
        raise bad_argument(f"a seed is a whole number from 0 to 2**64 - 1, not {seed!r}")
    ctx.seeds.set(seed, seed)


def next_seed(ctx: Context) -> Node:
    """The seed for one use (GetRngSeed)."""
    if ctx.eager:
        return _seed_of_its_own(ctx)
    seeds = ctx.seeds
    if seeds.node is None:
        seeds.node = Buffer(SEED)
        load(ctx, seeds.node, halves(seeds.running))
    seeds.node = new_node(ADVANCE, (seeds.node,), SEED)
    seeds.advance()
    return seeds.node


def _seed_of_its_own(ctx: Context) -> Node:
    """The same seed as a parameter: in eager mode every draw is the same program."""
    node = Buffer(SEED)
    load(ctx, node, halves(after(ctx.seeds.running)))
    ctx.seeds.advance()
    ctx.seeds.node = node
    return node


def integers(ctx: Context, aval: Aval, bound: int) -> Node:
    """Whole numbers from 0 to ``bound`` - 1, as float32."""
    if aval.dtype != np.float32:
        raise bad_argument(f"random numbers are float32, not {aval}")
    if type(bound) is not int or not 0 < bound <= MAX_BOUND:
        raise bad_argument(f"a bound is a whole number from 1 to {MAX_BOUND}, not {bound!r}")
    number = trace.scalar(ctx, bound, aval_of((), np.uint32))
    return new_node(_op("integers", aval.shape), (number, next_seed(ctx)), aval)


def floats(ctx: Context, aval: Aval, name: str) -> Node:
    """Numbers in [0, 1) ("uniform"), or "normal" ones."""
    return new_node(_op(name, aval.shape), (next_seed(ctx),), aval)


def _op(name: str, shape: tuple[int, ...]) -> Op:
    attrs: dict[str, Hashable] = {"shape": shape}

    def result(avals: tuple[Aval, ...]) -> Aval:
        return aval_of(shape, np.float32)

    return intern(name, _DRAWS[name], attrs, rule=result, unique=True)


def _key(seed: jax.Array) -> Any:
    return jax.random.wrap_key_data(seed, impl="threefry2x32")


def _integers(bound: jax.Array, seed: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    with jax.threefry_partitionable(True):
        bits = jax.random.bits(_key(seed), shape, jnp.uint32)
    return (bits % bound).astype(jnp.float32)


def _uniform(seed: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    with jax.threefry_partitionable(True):
        return jax.random.uniform(_key(seed), shape, jnp.float32)


def _normal(seed: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    with jax.threefry_partitionable(True):
        return jax.random.normal(_key(seed), shape, jnp.float32)


_DRAWS: Final[dict[str, Callable[..., Any]]] = {
    "integers": _integers,
    "uniform": _uniform,
    "normal": _normal,
}
