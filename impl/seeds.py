"""The seed of one device: 64 bits, as two words where the device computes with it.

Source: torch_xla::DeviceContext (seed, running_seed, seed_ir_value); semantics.md §1.6.
"""

from typing import Any, Final

import jax.numpy as jnp
import numpy as np

from markstep.impl.aval import HostArray, aval_of
from markstep.impl.node import Node
from markstep.impl.ops import intern
from markstep.impl.shapes import same

SEED: Final = aval_of((2,), np.uint32)
MODULUS: Final = 2**64
MULTIPLIER: Final = 214013
INCREMENT: Final = 2531011


class Seeds:
    """``step``: the seed of this step; ``running``: after all uses so far; ``node``: its graph,
    None while nothing has used it."""

    __slots__ = ("node", "running", "step")

    def __init__(self) -> None:
        self.set(101, 101)

    def set(self, step: int, running: int) -> None:
        """Begin again; what was traced keeps its seeds."""
        self.step, self.running = step, running
        self.node: Node | None = None

    def advance(self) -> None:
        """The seed was used once more."""
        self.running = after(self.running)

    def begin_step(self) -> None:
        """The seed of the next step (MarkStep)."""
        seed = (1012031 + 7012063 * self.step) % MODULUS
        self.set(seed, seed)


def after(seed: int) -> int:
    """A seed that was used once more."""
    return (INCREMENT + MULTIPLIER * seed) % MODULUS


def halves(seed: int) -> HostArray:
    """The high and the low word."""
    return np.array([seed >> 32, seed % 2**32], np.uint32)


def _advance(seed: Any, xp: Any = jnp) -> Any:
    """``Seeds.advance`` on the device: a product of 64 bits, made of words."""
    low, carry = _product(seed[1], xp.uint32(MULTIPLIER), xp)
    high = seed[0] * xp.uint32(MULTIPLIER) + carry
    total = low + xp.uint32(INCREMENT)
    return xp.stack([high + (total < low).astype(xp.uint32), total])


def _product(a: Any, b: Any, xp: Any) -> tuple[Any, Any]:
    """The low and the high word of the product of two words."""
    half, mask = xp.uint32(16), xp.uint32(0xFFFF)
    low, left = (a & mask) * (b & mask), (a & mask) * (b >> half)
    right, high = (a >> half) * (b & mask), (a >> half) * (b >> half)
    middle = (low >> half) + (left & mask) + (right & mask)
    carry = high + (left >> half) + (right >> half) + (middle >> half)
    return (low & mask) | (middle << half), carry


def _advance_on_host(seed: Any) -> Any:
    with np.errstate(over="ignore"):
        return _advance(seed, np)


ADVANCE: Final = intern(
    "advance_seed", _advance, {}, rule=same, on_host=_advance_on_host, unique=True
)
