"""The set of packed states with its loops in C. The arrays are those of the set on numpy."""

import ctypes
from functools import cache
from typing import Any

import numpy as np

from markstep.spec.compiled.on_c import library
from markstep.spec.compiled.visited import ODD, Flags, Visited, Words

TEXT = """
#include <stdint.h>
#include <stddef.h>
#include <string.h>
static const uint64_t ODD[] = {%(odd)s};
#define AHEAD 12
static inline uint64_t hash(const uint64_t *s, size_t words) {
  uint64_t total = 0;
  for (size_t i = 0; i < words; i++) {
    total ^= s[i] * ODD[i %% %(count)d];
    total ^= total >> 29;
    total *= 0xBF58476D1CE4E5B9ull;
  }
  return total ^ total >> 32;
}
static inline int same(const uint64_t *a, const uint64_t *b, size_t words) {
  for (size_t i = 0; i < words; i++) if (a[i] != b[i]) return 0;
  return 1;
}
/* numbers: the place of each state, -1 if it is new; with store = 1 it is stored then */
size_t look(const uint64_t *states, size_t n, size_t words, uint64_t *rows, int32_t *slots,
            uint64_t mask, size_t count, int32_t *numbers, int store) {
  uint64_t places[AHEAD];
  for (size_t i = 0; i < n + AHEAD; i++) {
    uint64_t place = places[i %% AHEAD];
    if (i < n) {
      places[i %% AHEAD] = hash(states + i * words, words) & mask;
      __builtin_prefetch(&slots[places[i %% AHEAD]]);
    }
    if (i >= AHEAD / 2 && i - AHEAD / 2 < n) {
      int32_t there = slots[places[(i - AHEAD / 2) %% AHEAD]];
      if (there >= 0) __builtin_prefetch(rows + there * words);
    }
    if (i < AHEAD) continue;
    const uint64_t *state = states + (i - AHEAD) * words;
    while (slots[place] >= 0 && !same(rows + slots[place] * words, state, words))
      place = (place + 1) & mask;
    numbers[i - AHEAD] = slots[place];
    if (store && slots[place] < 0) {
      memcpy(rows + count * words, state, words * 8);
      slots[place] = count++;
    }
  }
  return count;
}
void place_all(const uint64_t *rows, size_t n, size_t words, int32_t *slots, uint64_t mask) {
  for (size_t i = 0; i < n; i++) {
    uint64_t place = hash(rows + i * words, words) & mask;
    while (slots[place] >= 0) place = (place + 1) & mask;
    slots[place] = i;
  }
}
"""


@cache
def code() -> Any:
    """The C functions."""
    odd = ", ".join(f"{number}ull" for number in ODD)
    loaded = library("visited", TEXT % {"odd": odd, "count": len(ODD)})
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    loaded.look.argtypes = (
        *(pointer, size, size, pointer, pointer),
        *(ctypes.c_uint64, size, pointer, ctypes.c_int),
    )
    loaded.look.restype = size
    loaded.place_all.argtypes = (pointer, size, size, pointer, ctypes.c_uint64)
    return loaded


class CVisited(Visited):
    """States in the order in which they were added, each once."""

    def add(self, states: Words) -> Flags:
        """Add states, which may repeat; which of them are new."""
        self.make_room(len(states))
        numbers, self.count = self.look(states, store=1)
        return numbers < 0  # type: ignore[no-any-return]

    def numbers(self, states: Words) -> Any:
        """The place of each state in the order of adding; -1: it was not added."""
        return self.look(states, store=0)[0]

    def look(self, states: Words, store: int) -> tuple[Any, int]:
        """(the place of each state before this, how many there are then)."""
        states = np.ascontiguousarray(states)
        numbers = np.empty(len(states), np.int32)
        count = code().look(
            *(states.ctypes.data, len(states), states.shape[1], self.rows.ctypes.data),
            *(self.slots.ctypes.data, len(self.slots) - 1, self.count, numbers.ctypes.data, store),
        )
        return numbers, count

    def rehash(self, size: int) -> None:
        """Put every state into a larger table."""
        self.slots = np.full(size, -1, np.int32)
        given = (self.rows.ctypes.data, self.count, self.rows.shape[1])
        code().place_all(*given, self.slots.ctypes.data, size - 1)
