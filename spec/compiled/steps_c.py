"""The generated step in C, behind the interface of the one on numpy."""

import ctypes
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from markstep.spec.compiled.levels import Passing, Successors
from markstep.spec.compiled.moves import SPARE, Case
from markstep.spec.compiled.on_c import case_text, forms_text, library
from markstep.spec.compiled.program import Program
from markstep.spec.compiled.visited import Visited, Words
from markstep.spec.compiled.visited_c import CVisited

CHUNK = 1 << 12
"""States that are handed over together."""
COSTS = 2


class Pile(ctypes.Structure):
    """Where steps of one cost go."""

    _fields_ = (
        ("rows", ctypes.c_void_p),
        ("origins", ctypes.c_void_p),
        ("moves", ctypes.c_void_p),
        ("count", ctypes.c_size_t),
    )


@dataclass
class CaseInC:
    """The moves of a case as a C function."""

    expand: Any
    room: tuple[int, int]
    """How many moves there are of each cost."""


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
        spares = sorted({0, *(spare(program.layout) for spare in SPARE.values())})
        forms = {spare: program.canonical(spare) for spare in spares}
        text = forms_text(program.layout.size, forms, program.turns)
        self.forms = library(f"forms{id(self)}", text)
        emits = [getattr(self.forms, f"emit{n}", None) for n in range(max(spares) + 1)]
        pointers = [ctypes.cast(emit, ctypes.c_void_p) if emit else None for emit in emits]
        self.emits = (ctypes.c_void_p * len(pointers))(*pointers)
        self.pool = ThreadPoolExecutor(self.threads)

    def case(self, case: Case) -> CaseInC:
        """The C function of a case, compiled when it is first needed."""
        if case not in self.cases:
            code = self.program.code(case)
            spares = [move.spare for move in code.moves]
            size = self.program.layout.size
            text = case_text(size, code.guards, code.steps, spares, code.costs)
            name = f"case{id(self)}_{case.phase}_{case.running:d}"
            expand = library(name, text).expand
            expand.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_void_p] * 3)
            room = (list(code.costs).count(0), list(code.costs).count(1))
            self.cases[case] = CaseInC(expand, room)
        return self.cases[case]

    def successors(self, states: Words) -> Iterator[Successors]:
        """Everything that can come next, a chunk of it at a time."""
        control = states.view(np.uint8)[:, 0]
        tasks = []
        for value in np.unique(control):
            case = self.program.case_of(int(value))
            if case is None:
                continue
            here, where = self.case(case), np.flatnonzero(control == value)
            for start in range(0, len(where), CHUNK):
                tasks.append((here, where[start : start + CHUNK], states))
        run = self.pool.map if self.threads > 1 else map
        for found, left_out in run(self.chunk, tasks):
            self.outside |= left_out
            yield from found

    def chunk(self, task: tuple[CaseInC, Any, Words]) -> tuple[list[Successors], bool]:
        """The successors of a chunk of states of one case, and whether some were left out."""
        case, where, states = task
        rows, passing = states[where], self.passing.always
        piles = (Pile * COSTS)()
        tables = []
        for cost in range(COSTS):
            room = len(where) * case.room[cost]
            table = np.empty((room, states.shape[1]), np.uint64)
            origins, moves = np.empty(room, np.uint32), np.empty(room, np.uint32)
            tables.append((table, origins, moves))
            piles[cost] = Pile(table.ctypes.data, origins.ctypes.data, moves.ctypes.data, 0)
        given = (rows.ctypes.data, len(rows), passing.ctypes.data, self.emits, piles)
        left_out = case.expand(*given)
        found = []
        for cost, (table, origins, moves) in enumerate(tables):
            n = piles[cost].count
            if n:
                found.append(Successors(cost, moves[:n], where[origins[:n]], table[:n]))
        return found, bool(left_out)
