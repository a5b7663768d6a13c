"""Compiled programs by exact key, the least recently used one leaving first.

Source: torch_xla::runtime::util::Cache, ComputationCache; semantics.md §3 (57).
"""

from collections import OrderedDict

from markstep.impl.graph import Key
from markstep.impl.lower import Program


class ProgramCache:
    """A bounded map from key to program. The caller holds the lock of the device.

    Hashing a key takes time, for it is as long as the graph: a hit does it once, or not at all
    where the same program is run again, and what was used when is known by program.
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 0:
            raise ValueError(f"the cache holds 0 programs or more, not {capacity}")
        self.capacity = capacity
        self._programs: dict[Key, Program] = {}
        self._keys: OrderedDict[Program, Key] = OrderedDict()
        self._pinned: dict[Key, Program] = {}

    def __len__(self) -> int:
        return len(self._programs) + len(self._pinned)

    def __contains__(self, key: Key) -> bool:
        return key in self._programs or key in self._pinned

    def get(self, key: Key) -> Program | None:
        """The program, which is now the most recently used one; None if there is none."""
        if self._keys:
            latest, its_key = next(reversed(self._keys.items()))
            if key == its_key:
                return latest
        program = self._programs.get(key)
        if program is None:
            return self._pinned.get(key)
        self._keys.move_to_end(program)
        return program

    def add(self, key: Key, program: Program) -> None:
        """Keep the program; the least recently used one leaves when there are too many. Without
        room for one, every graph is compiled each time (torch_xla: undefined, H-22)."""
        self._programs[key] = program
        self._keys[program] = key
        if len(self._keys) > self.capacity:
            _, oldest = self._keys.popitem(last=False)
            del self._programs[oldest]

    def latest(self, count: int) -> list[Key]:
        """The keys of the programs that were used last, the latest first."""
        return [key for _, key in zip(range(count), reversed(self._keys.values()), strict=False)]

    def pin(self, key: Key, flag: bool) -> bool:
        """Keep a program whatever comes, or let it age again; False if it is not there.

        Pinned programs are not counted against the capacity, and ``clear`` leaves them.
        """
        there, here = (self._programs, self._pinned) if flag else (self._pinned, self._programs)
        program = there.pop(key, None)
        if program is None:
            return key in here
        if flag:
            del self._keys[program]
            self._pinned[key] = program
        else:
            self.add(key, program)
        return True

    def clear(self) -> None:
        """Forget every program that is not pinned."""
        self._programs.clear()
        self._keys.clear()
