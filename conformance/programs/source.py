"""Choices read from bytes: the one source of randomness of generated programs."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Source:
    """Choices read from bytes. Without bytes left every choice is the first alternative."""

    def __init__(self, data: bytes) -> None:
        self._data, self._next = data, 0

    @property
    def exhausted(self) -> bool:
        """All bytes are used."""
        return self._next >= len(self._data)

    def below(self, n: int) -> int:
        """A number from 0 to n-1; the smaller the byte, the smaller the number."""
        if self.exhausted:
            return 0
        self._next += 1
        return self._data[self._next - 1] * n >> 8

    def percent(self, chance: int) -> bool:
        """True with about this chance; False when the bytes are used up."""
        return self.below(100) >= 100 - chance

    def pick(self, alternatives: Sequence[T]) -> T:
        """One of a few alternatives; the first is the simplest."""
        return alternatives[self.below(len(alternatives))]

    def weighted(self, alternatives: Sequence[tuple[int, T]]) -> T:
        """One of the alternatives, in proportion to its weight."""
        position = self.below(sum(weight for weight, _ in alternatives))
        for weight, alternative in alternatives:
            if position < weight:
                return alternative
            position -= weight
        raise AssertionError("weights must be positive")


def program_bytes(seed: int, number: int) -> bytes:
    """The bytes of one program of a seeded run."""
    random = Random(f"{seed}:{number}")
    return random.randbytes(random.choice((24, 48, 96)))
