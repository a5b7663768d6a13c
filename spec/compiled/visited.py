"""A set of packed states in arrays: rows of words, and a table of their numbers by hash."""

from typing import Any, TypeAlias

import numpy as np

Words: TypeAlias = "np.ndarray[Any, np.dtype[np.uint64]]"
"""Packed states, one in each row."""
Flags: TypeAlias = "np.ndarray[Any, np.dtype[np.bool_]]"
Hashes: TypeAlias = "np.ndarray[Any, np.dtype[np.uint64]]"

FULL = 0.6
"""The table grows beyond this load."""
ODD = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)


def hashes(states: Words) -> Hashes:
    """A number for each state; different states can have the same."""
    total = np.zeros(len(states), np.uint64)
    for i in range(states.shape[1]):
        total ^= states[:, i] * np.uint64(ODD[i % len(ODD)])
        total ^= total >> np.uint64(29)
        total *= np.uint64(0xBF58476D1CE4E5B9)
    total ^= total >> np.uint64(32)
    return total


def equal(some: Words, others: Words) -> Flags:
    """Which states are those at the same places of another table."""
    same: Flags = some[:, 0] == others[:, 0]
    for i in range(1, some.shape[1]):
        same &= some[:, i] == others[:, i]
    return same


class Visited:
    """States in the order in which they were added, each once."""

    def __init__(self, words: int) -> None:
        self.count = 0
        self.rows: Words = np.empty((1 << 12, words), np.uint64)
        self.slots = np.full(1 << 13, -1, np.int32)

    @property
    def states(self) -> Words:
        """The states."""
        return self.rows[: self.count]

    @property
    def bytes(self) -> int:
        """Memory that the set holds for its states."""
        return self.rows.nbytes + self.slots.nbytes

    def add(self, states: Words) -> Flags:
        """Add states, which may repeat; which of them are new."""
        if not len(states):
            return np.zeros(0, bool)
        self.make_room(len(states))
        start, total = self.count, len(states)
        self.rows[start : start + total] = states
        mask = np.uint64(len(self.slots) - 1)
        place = (hashes(states) & mask).astype(np.int64)
        number = np.arange(start, start + total, dtype=np.int32)
        new = np.zeros(total, bool)
        open_ = np.arange(total)
        while len(open_):
            at, mine = place[open_], number[open_]
            empty = self.slots[at] < 0
            self.slots[at[empty]] = mine[empty]  # of several for one slot, one stays
            there = self.slots[at]
            won = there == mine
            new[open_[won]] = True
            same = won.copy()
            rest = np.flatnonzero(~won)
            same[rest] = equal(self.rows[there[rest]], states[open_[rest]])
            open_ = open_[~same]
            place[open_] = (place[open_] + 1) & int(mask)
        kept = np.flatnonzero(new)
        self.rows[start : start + len(kept)] = states[kept]
        self.slots[place[kept]] = np.arange(start, start + len(kept), dtype=np.int32)
        self.count += len(kept)
        return new

    def make_room(self, more: int) -> None:
        """Enough rows, and slots for as many states as can be new."""
        need = self.count + more
        if need > len(self.rows):
            grown = np.empty((max(need, len(self.rows) * 3 // 2), self.rows.shape[1]), np.uint64)
            grown[: self.count] = self.states
            self.rows = grown
        size = len(self.slots)
        while need > size * FULL:
            size *= 2
        if size > len(self.slots):
            self.rehash(size)

    def rehash(self, size: int) -> None:
        """Put every state into a larger table."""
        self.slots = np.full(size, -1, np.int32)
        place = (hashes(self.states) & np.uint64(size - 1)).astype(np.int64)
        open_ = np.arange(self.count, dtype=np.int32)
        while len(open_):
            at = place[open_]
            empty = self.slots[at] < 0
            self.slots[at[empty]] = open_[empty]
            open_ = open_[self.slots[at] != open_]
            place[open_] = (place[open_] + 1) & (size - 1)

    def has(self, states: Words) -> Flags:
        """Which states were added."""
        return self.numbers(states) >= 0  # type: ignore[no-any-return]

    def numbers(self, states: Words) -> Any:
        """The place of each state in the order of adding; -1: it was not added."""
        place = (hashes(states) & np.uint64(len(self.slots) - 1)).astype(np.int64)
        found = np.full(len(states), -1, np.int32)
        open_ = np.arange(len(states))
        while len(open_):
            there = self.slots[place[open_]]
            open_, there = open_[there >= 0], there[there >= 0]
            same = equal(self.rows[there], states[open_])
            found[open_[same]] = there[same]
            open_ = open_[~same]
            place[open_] = (place[open_] + 1) & (len(self.slots) - 1)
        return found
