"""The generated step in C, behind the interface of the one on numpy."""

import ctypes
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from markstep.spec.compiled.levels import NO_LIMIT, Limit, Passing, Successors
from markstep.spec.compiled.moves import Case, most_spare
from markstep.spec.compiled.on_c import case_text, forms_text, library
from markstep.spec.compiled.program import CaseCode, Program
from markstep.spec.compiled.visited import Flags, Visited, Words
from markstep.spec.compiled.visited_c import CVisited

CHUNK = 1 << 12
"""States that are handed over together."""
COSTS = 2
COMPILERS = 2
"""C compilers that run at a time."""


class Pile(ctypes.Structure):
    """Where steps of one cost go."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("rows", "ways", "wanted")),
        *((name, ctypes.c_void_p) for name in ("origins", "moves", "sights")),
        *((name, ctypes.c_size_t) for name in ("count", "sighted")),
    )


@dataclass
class CaseInC:
    """The moves of a case as a C function."""

    expand: Any
    code: CaseCode
    room: tuple[int, int]
    """How many moves there are of each cost."""

    def __post_init__(self) -> None:
        self.calls = np.array([move.calls for move in self.code.moves], np.uint8)


@dataclass
class CStepper:
    """Runs the generated step on packed states, in so many threads."""

    program: Program
    threads: int = 1
    cases: dict[Case, CaseInC] = field(default_factory=dict)
    outside: bool = False
    set_of_states: type[Visited] = CVisited

    def __post_init__(self) -> None:
        program = self.program
        self.passing = Passing(program)
        most = most_spare(program.layout, program.bound.families)
        forms = {spare: program.canonical(spare) for spare in range(most + 1)}
        self.size, seen = program.layout.size, program.watch.size
        text = forms_text(self.size, seen, forms, program.turns)
        self.forms = library(f"forms{id(self)}", text)
        emits = [getattr(self.forms, f"emit{spare}") for spare in forms]
        pointers = [ctypes.cast(emit, ctypes.c_void_p) for emit in emits]
        self.emits = (ctypes.c_void_p * len(pointers))(*pointers)
        self.pool = ThreadPoolExecutor(max(self.threads, COMPILERS))
        self.wanted = np.full(seen, 255, np.uint8)
        self.stays = self.passing.always.copy()
        """By first byte: 0, if a state with more buffers than the bound allows is left out."""
        self.stays[list(self.passing.sometimes)] = 1
        self.extra = program.layout.buffers > program.bound.buffers

    def prepare(self, control: Any) -> None:
        """Compile the cases of some first bytes that are needed for the first time, together."""
        found = {self.program.case_of(int(value)) for value in np.unique(control)}
        new = [case for case in found if case is not None and case not in self.cases]
        texts = [
            (case, case_text(self.size, self.program.watch.size, self.program.code(case)))
            for case in sorted(new, key=str)
        ]
        for case, made in zip([c for c, _ in texts], self.pool.map(self.made, texts), strict=True):
            self.cases[case] = made

    def made(self, given: tuple[Case, str]) -> CaseInC:
        """The C function of a case."""
        case, text = given
        code, pointer = self.program.code(case), ctypes.c_void_p
        expand = library(f"case{id(self)}_{case.phase}_{case.running:d}", text).expand
        expand.argtypes = (pointer, ctypes.c_size_t, *[pointer] * 4)
        costs = [move.cost for move in code.moves]
        return CaseInC(expand, code, (costs.count(0), costs.count(1)))

    def successors(self, states: Words, limit: Limit = NO_LIMIT) -> Iterator[Successors]:
        """Everything that can come next, a chunk of it at a time."""
        control = states.view(np.uint8)[:, 0]
        tasks = []
        self.prepare(control)
        for value in np.unique(control):
            case = self.program.case_of(int(value))
            if case is None:
                continue
            here, where = self.cases[case], np.flatnonzero(control == value)
            left = np.array(limit.leaves_out(here.code), np.uint8)
            for start in range(0, len(where), CHUNK):
                tasks.append((here, left, where[start : start + CHUNK], states))
        run = self.pool.map if self.threads > 1 and len(tasks) > 1 else map
        for found, left_out in run(self.chunk, tasks):
            self.outside |= left_out
            yield from found

    def chunk(self, task: tuple[CaseInC, Any, Any, Words]) -> tuple[list[Successors], bool]:
        """The successors of a chunk of states of one case, and whether some were left out."""
        case, left, where, states = task
        rows = states[where]
        piles = (Pile * COSTS)()
        tables = []
        for cost in range(COSTS):
            room = len(where) * case.room[cost]
            table, ways = np.empty((room, states.shape[1]), np.uint64), np.empty(room, np.uint8)
            origins, moves = np.empty(room, np.uint32), np.empty(room, np.uint32)
            wanted, sights = self.wanted.copy(), np.empty((8 * len(self.wanted), 2), np.uint32)
            arrays = (table, ways, wanted, origins, moves, sights)
            tables.append(arrays)
            piles[cost] = Pile(*(array.ctypes.data for array in arrays), 0, 0)
        given = (rows.ctypes.data, len(rows), self.stays.ctypes.data, left.ctypes.data)
        left_out = case.expand(*given, self.emits, piles)
        found = []
        for cost, (table, ways, _, origins, moves, sights) in enumerate(tables):
            n = piles[cost].count
            if n:
                seen = [(bit, int(where[i])) for bit, i in sights[: piles[cost].sighted].tolist()]
                kept: Any = slice(n)
                if self.extra and self.passing.sometimes:
                    kept = np.flatnonzero(self.has_room(table[:n]))
                    left_out |= len(kept) < n
                before, number = where[origins[kept]], moves[kept]
                rest = (table[kept], ways[kept], case.calls[number], seen)
                found.append(Successors(cost, number, before, *rest))
        return found, bool(left_out)

    def has_room(self, states: Words) -> Flags:
        """Which states are not stored, or have no more buffers than the bound allows."""
        place = self.program.layout.places[f"buffer{self.program.bound.buffers}.status"]
        status = states.view(np.uint8)[:, place.byte] >> place.shift & (1 << place.bits) - 1
        kept: Flags = status == 0
        kept[~kept] = self.passing(states[~kept])
        return kept
