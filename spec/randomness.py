"""Random numbers as payload: the two streams of seeds, and what a seed gives.

Seeds are 64-bit numbers. Source: semantics.md §1.6 (DevCtx), §3.6 (GetRngSeed), §3.36 (MarkStep).
"""

from collections.abc import Iterator

MODULUS = 2**64
MULTIPLIER, INCREMENT = 214013, 2531011
"""From one use of the seed to the next, within a step."""
STEP_MULTIPLIER, STEP_INCREMENT = 7012063, 1012031
"""From one step to the next."""
FIRST_SEED = 101
"""Of a process that sets none."""
MAX_BOUND = 2**24
"""Whole numbers up to here are values of float32."""
_WORD = 2**32 - 1
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def next_seed(seed: int) -> int:
    """The running seed after one use."""
    return (INCREMENT + MULTIPLIER * seed) % MODULUS


def next_step_seed(seed: int) -> int:
    """The seed after a step barrier (I76)."""
    return (STEP_INCREMENT + STEP_MULTIPLIER * seed) % MODULUS


def draw(seed: int, bound: int, count: int) -> tuple[int, ...]:
    """``count`` whole numbers below ``bound``: 32 bits of Threefry-2x32 for each, and the rest of
    their division by ``bound`` (Generator.THREEFRY, as `jax.random.bits` gives them)."""
    return tuple(bits % bound for bits in threefry(seed, count))


def threefry(seed: int, count: int) -> Iterator[int]:
    """The first 32-bit words of the generator with this seed as key.

    Source: Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3; 20 rounds. Word i is the
    exclusive or of both halves of block i, as JAX has it.
    """
    high, low = seed >> 32, seed & _WORD
    keys = (high, low, high ^ low ^ 0x1BD11BDA)
    for counter in range(count):
        x, y = keys[0], (counter + keys[1]) & _WORD
        for group in range(5):
            for rotation in _ROTATIONS[group % 2]:
                x = (x + y) & _WORD
                y = ((y << rotation) | (y >> (32 - rotation))) & _WORD ^ x
            x = (x + keys[(group + 1) % 3]) & _WORD
            y = (y + keys[(group + 2) % 3] + group + 1) & _WORD
        yield x ^ y
