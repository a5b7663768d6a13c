"""The generated step on blocks of packed states: everything that can come next, with numpy."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from markstep.spec.compiled import on_numpy
from markstep.spec.compiled.kernel import Kernel
from markstep.spec.compiled.layout import WORD
from markstep.spec.compiled.moves import Case
from markstep.spec.compiled.on_numpy import BLOCK, Bytes
from markstep.spec.compiled.program import CaseCode, Program
from markstep.spec.compiled.visited import Flags, Visited, Words

Columns = Callable[[Bytes], list[Any]]


@dataclass(frozen=True)
class Limit:
    """Moves that are not made any more."""

    last: bool = False
    """Those that make programs longer."""
    quiet: bool = False
    """Those that begin a call."""

    def leaves_out(self, code: CaseCode) -> list[bool]:
        """For each move whether it is not made."""
        costs = [self.last and move.cost > 0 for move in code.moves]
        calls = [self.quiet and move.calls > 0 for move in code.moves]
        return [a or b for a, b in zip(costs, calls, strict=True)]


NO_LIMIT = Limit()


@dataclass
class CaseRun:
    """The kernels of a case, ready to run."""

    code: CaseCode
    ways: Columns
    steps: list[Columns]


@dataclass
class Pile:
    """What moves of one cost have led to, before it is renamed."""

    fields: list[Bytes] = field(default_factory=list)
    """Every field, then what is watched."""
    calls: list[Any] = field(default_factory=list)
    ways: list[Any] = field(default_factory=list)
    moves: list[Any] = field(default_factory=list)
    origins: list[Any] = field(default_factory=list)

    def put(self, number: int, calls: int, ways: Any, origins: Any, fields: list[Any]) -> bool:
        """Add what one move leads to. Whether some of it needs more rows than there are."""
        *fields, outside = fields
        table = np.empty((len(fields), len(origins)), np.uint8)
        for i, values in enumerate(fields):
            table[i] = values
        out = bool(np.any(outside))
        if out:
            inside = np.logical_not(np.broadcast_to(outside, len(origins)))
            table, origins, ways = table[:, inside], origins[inside], ways[inside]
        self.fields.append(table)
        self.ways.append(ways)
        self.calls.append(np.full(len(origins), calls, np.uint8))
        self.moves.append(np.full(len(origins), number, np.uint32))
        self.origins.append(origins)
        return out

    def together(self) -> tuple[Bytes, tuple[Any, Any, Any, Any]]:
        """(fields, (numbers of moves, positions of the states before, ways, calls))."""
        lists = (self.moves, self.origins, self.ways, self.calls)
        if len(self.fields) == 1:
            return self.fields[0], (lists[0][0], lists[1][0], lists[2][0], lists[3][0])
        rest = [np.concatenate(some) for some in lists]
        return np.concatenate(self.fields, axis=1), (rest[0], rest[1], rest[2], rest[3])


@dataclass(frozen=True)
class Successors:
    """Some steps of one cost."""

    cost: int
    moves: Any
    """The number of the move of each step."""
    origins: Any
    """The position of the state before."""
    states: Words
    """The state after."""
    ways: Any
    """How many actions of the alphabet are this step."""
    calls: Any
    """How many calls each step begins."""
    seen: list[tuple[int, int]]
    """For each bit that is watched and still wanted, a step that shows it: (bit, position of the
    state before)."""


class Passing:
    """Which states are not stored, because they have one successor (`Program.passing`)."""

    def __init__(self, program: Program) -> None:
        self.always = np.zeros(256, np.uint8)
        """By first byte; where that does not tell, 0."""
        self.sometimes: dict[int, Columns] = {}
        for control in controls(program):
            answer = program.passing(control)
            if isinstance(answer, bool):
                self.always[control] = answer
            else:
                self.sometimes[control] = on_numpy.compiled(answer)

    def __call__(self, states: Words) -> Flags:
        """Which of some states are not stored."""
        control = states.view(np.uint8)[:, 0]
        flags: Flags = self.always[control].view(bool)
        for value, run in self.sometimes.items():
            where = np.flatnonzero(control == value)
            for start in range(0, len(where), BLOCK):
                some = where[start : start + BLOCK]
                flags[some] = run(columns_of(states[some]))[0]
        return flags


class Steps(Protocol):
    """Runs the generated step on packed states."""

    passing: Passing
    outside: bool
    """Some step has led out of the bound."""
    wanted: Any
    """The bits of what is watched that are still of interest."""
    set_of_states: type[Visited]
    """What keeps the states."""

    def successors(self, states: Words, limit: Limit = NO_LIMIT) -> Iterator[Successors]:
        """Everything that can come next."""


@dataclass
class Stepper:
    """Runs the generated step on blocks of packed states."""

    program: Program
    compiled: Callable[[Kernel], Columns] = on_numpy.compiled
    """Makes a kernel code: on numpy, or on JAX."""
    cases: dict[Case, CaseRun] = field(default_factory=dict)
    set_of_states: type[Visited] = Visited
    forms: dict[int, Columns] = field(default_factory=dict)
    turns: list[Columns] | None = None

    def __post_init__(self) -> None:
        self.passing = Passing(self.program)
        self.outside = False
        self.wanted = np.full(self.program.watch.size, 255, np.uint8)

    def case(self, case: Case) -> CaseRun:
        """The kernels of a case."""
        if case not in self.cases:
            code = self.program.code(case)
            steps = [self.compiled(step) for step in code.steps]
            self.cases[case] = CaseRun(code, self.compiled(code.ways), steps)
        return self.cases[case]

    def successors(self, states: Words, limit: Limit = NO_LIMIT) -> Iterator[Successors]:
        """Everything that can come next, a block of it at a time."""
        control = states.view(np.uint8)[:, 0]
        for value in np.unique(control):
            case = self.program.case_of(int(value))
            if case is None:
                continue
            where = np.flatnonzero(control == value)
            for start in range(0, len(where), BLOCK):
                yield from self.block(case, where[start : start + BLOCK], states, limit)

    def block(self, case: Case, where: Any, states: Words, limit: Limit) -> Iterator[Successors]:
        """The successors of some states of a case, those of like moves together."""
        run = self.case(case)
        columns = columns_of(states[where])
        # The next kernel writes over what this one gives.
        every = [np.array(np.broadcast_to(ways, len(where))) for ways in run.ways(columns)]
        piles: dict[tuple[int, int], Pile] = {}
        left_out = limit.leaves_out(run.code)
        for n, (move, ways) in enumerate(zip(run.code.moves, every, strict=True)):
            picked = np.flatnonzero(ways)
            if not len(picked) or left_out[n]:
                self.outside |= bool(len(picked))
                continue
            chosen = columns if len(picked) == len(where) else columns[:, picked]
            pile = piles.setdefault((move.spare, move.cost), Pile())
            self.outside |= pile.put(
                n, move.calls, ways[picked], where[picked], run.steps[n](chosen)
            )
        for (spare, price), pile in piles.items():
            yield self.canonical(pile, spare, price)

    def canonical(self, pile: "Pile", spare: int, price: int) -> Successors:
        """The canonical states of a pile; those outside of the bound are left out."""
        if spare not in self.forms:
            self.forms[spare] = self.compiled(self.program.canonical(spare))
        fields, rest = pile.together()
        count, watched = fields.shape[1], self.program.watch.size
        seen, fields = fields[len(fields) - watched :], fields[: len(fields) - watched]
        after = np.empty((count, self.program.layout.size // WORD), np.uint64)
        kept = np.ones(count, bool)
        for start in range(0, count, BLOCK):
            part = slice(start, min(start + BLOCK, count))
            *parts, tie, outside, full = self.forms[spare](fields[:, part])
            rows = rows_of(parts, part.stop - start)
            crowded = np.logical_and(full, ~self.passing(rows)) if np.any(full) else full
            kept[part] = ~np.logical_or(outside, crowded)
            tied = np.flatnonzero(np.broadcast_to(tie, len(rows)))
            if len(tied):
                self.settle(rows, tied)
            after[part] = rows
        if not kept.all():
            self.outside = True
            after, seen = after[kept], seen[:, kept]
            rest = (rest[0][kept], rest[1][kept], rest[2][kept], rest[3][kept])
        moves, origins, ways, calls = rest
        return Successors(price, moves, origins, after, ways, calls, self.sights(seen, origins))

    def sights(self, seen: Bytes, origins: Any) -> list[tuple[int, int]]:
        """A step for each bit that is of interest and occurs."""
        found = []
        for number, (values, wanted) in enumerate(zip(seen, self.wanted, strict=True)):
            union = int(np.bitwise_or.reduce(values)) & int(wanted) if len(values) else 0
            for bit in [bit for bit in range(8) if union >> bit & 1]:
                first = int(np.argmax(values >> bit & 1))
                found.append((8 * number + bit, int(origins[first])))
        return found

    def settle(self, states: Words, where: Any) -> None:
        """Of all orders of records that tie, take the least state."""
        if self.turns is None:
            self.turns = [self.compiled(turn) for turn in self.program.turns]
        columns = columns_of(states[where])
        for turn in self.turns:
            other = rows_of(turn(columns), len(where))
            mine = states[where]
            states[where] = np.where(less(other, mine)[:, None], other, mine)


def controls(program: Program) -> Iterator[int]:
    """Every first byte that a state can have: one that none has may name no phase."""
    for control in range(256):
        try:
            program.case_of(control)
        except ValueError:
            continue
        yield control


def less(a: Words, b: Words) -> Any:
    """Which rows are before those of another table."""
    smaller = np.zeros(len(a), bool)
    for i in reversed(range(a.shape[1])):
        smaller = (a[:, i] < b[:, i]) | ((a[:, i] == b[:, i]) & smaller)
    return smaller


def columns_of(states: Words) -> Bytes:
    """The bytes of some states: one row for each byte."""
    return np.ascontiguousarray(states.view(np.uint8).T)


def rows_of(parts: list[Any], count: int) -> Words:
    """States of which the bytes are given."""
    table = np.empty((count, len(parts)), np.uint8)
    for i, part in enumerate(parts):
        table[:, i] = part
    return table.view(np.uint64)


def distinct(states: Words, kind: type[Visited] = Visited) -> Words:
    """The states, each once."""
    seen = kind(states.shape[1])
    return states[seen.add(states)]
