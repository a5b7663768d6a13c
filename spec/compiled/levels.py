"""Breadth-first search with the generated step on numpy: levels of packed states.

It visits the same states in the same levels as `markstep.spec.explore`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Protocol

import numpy as np

from markstep.spec.compiled import on_numpy
from markstep.spec.compiled.kernel import Kernel
from markstep.spec.compiled.layout import WORD, initial
from markstep.spec.compiled.moves import Case
from markstep.spec.compiled.on_numpy import BLOCK, Bytes
from markstep.spec.compiled.program import Program
from markstep.spec.compiled.visited import Flags, Visited, Words

Columns = Callable[[Bytes], list[Any]]


@dataclass
class Found:
    """What a search has seen."""

    states: int = 0
    transitions: int = 0
    """Steps between different packed states; steps that end in the same way count once."""
    depth: int = 0
    exhausted: bool = False
    bound_hit: bool = False
    seconds: float = 0.0
    bytes: int = 0
    """Memory of the set of states."""


@dataclass
class CaseRun:
    """The kernels of a case, ready to run."""

    guards: Columns
    steps: list[Columns]
    costs: list[int]
    spare: list[int]


@dataclass
class Pile:
    """What moves have led to, before it is renamed."""

    fields: list[Bytes] = field(default_factory=list)
    moves: list[Any] = field(default_factory=list)
    origins: list[Any] = field(default_factory=list)

    def put(self, number: int, origin: Any, fields: list[Any], outside: Any) -> None:
        """Add what one move leads to, but what needs more rows than there are."""
        table = np.empty((len(fields), len(origin)), np.uint8)
        for i, values in enumerate(fields):
            table[i] = values
        if np.any(outside):
            inside = np.logical_not(np.broadcast_to(outside, len(origin)))
            table, origin = table[:, inside], origin[inside]
        self.fields.append(table)
        self.moves.append(np.full(len(origin), number))
        self.origins.append(origin)

    def together(self) -> tuple[Bytes, Any, Any]:
        """(fields, numbers of moves, positions of the states before)."""
        if len(self.fields) == 1:
            return self.fields[0], self.moves[0], self.origins[0]
        table = np.concatenate(self.fields, axis=1)
        return table, np.concatenate(self.moves), np.concatenate(self.origins)


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
    set_of_states: type[Visited]
    """What keeps the states."""

    def successors(self, states: Words) -> Iterator[Successors]:
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

    def case(self, case: Case) -> CaseRun:
        """The kernels of a case."""
        if case not in self.cases:
            code = self.program.code(case)
            spare = [move.spare for move in code.moves]
            steps = [self.compiled(step) for step in code.steps]
            self.cases[case] = CaseRun(self.compiled(code.guards), steps, list(code.costs), spare)
        return self.cases[case]

    def successors(self, states: Words) -> Iterator[Successors]:
        """Everything that can come next, a block of it at a time."""
        control = states.view(np.uint8)[:, 0]
        for value in np.unique(control):
            case = self.program.case_of(int(value))
            if case is None:
                continue
            where = np.flatnonzero(control == value)
            for start in range(0, len(where), BLOCK):
                yield from self.block(case, where[start : start + BLOCK], states)

    def block(self, case: Case, where: Any, states: Words) -> Iterator[Successors]:
        """The successors of some states of a case, those of like moves together."""
        run = self.case(case)
        columns = columns_of(states[where])
        # The next kernel writes over what this one gives.
        guards = [np.array(guard, bool) for guard in run.guards(columns)]
        piles: dict[tuple[int, int], Pile] = {}
        for n, guard in enumerate(guards):
            picked = np.flatnonzero(np.broadcast_to(guard, len(where)))
            if not len(picked):
                continue
            chosen = columns if len(picked) == len(where) else columns[:, picked]
            *fields, outside = run.steps[n](chosen)
            pile = piles.setdefault((run.spare[n], run.costs[n]), Pile())
            pile.put(n, where[picked], fields, outside)
            self.outside |= bool(np.any(outside))
        for (spare, price), pile in piles.items():
            yield self.canonical(pile, spare, price)

    def canonical(self, pile: "Pile", spare: int, price: int) -> Successors:
        """The canonical states of a pile; those outside of the bound are left out."""
        if spare not in self.forms:
            self.forms[spare] = self.compiled(self.program.canonical(spare))
        fields, moves, origin = pile.together()
        after = np.empty((len(origin), self.program.layout.size // WORD), np.uint64)
        kept = np.ones(len(origin), bool)
        for start in range(0, len(origin), BLOCK):
            part = slice(start, min(start + BLOCK, len(origin)))
            *parts, tie, outside, full = self.forms[spare](fields[:, part])
            rows = rows_of(parts, part.stop - start)
            crowded = np.logical_and(full, ~self.passing(rows))
            kept[part] = ~np.logical_or(outside, crowded)
            tied = np.flatnonzero(np.broadcast_to(tie, len(rows)))
            if len(tied):
                self.settle(rows, tied)
            after[part] = rows
        if not kept.all():
            self.outside = True
            after, moves, origin = after[kept], moves[kept], origin[kept]
        return Successors(price, moves, origin, after)

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


def search(
    program: Program,
    max_states: int | None = None,
    stepper: Steps | None = None,
    judge: Callable[[Words], None] = lambda states: None,
) -> tuple[Found, Visited]:
    """Visit every state within the bound; the judge sees each, and those that are not stored."""
    if program.bound.actions is not None or program.bound.syncs is not None:
        raise ValueError("this search knows no bound on the length of paths")
    found, started = Found(), monotonic()
    stepper = stepper or Stepper(program)
    first = np.frombuffer(initial(program.layout), np.uint64).reshape(1, -1)
    visited = stepper.set_of_states(program.layout.size // WORD)
    visited.add(first)
    judge(first)
    level = [first]
    while level:
        later: list[Words] = []
        while level:
            wave = np.concatenate(level)
            level = []
            for start in range(0, len(wave), 8 * BLOCK):
                expand_wave(
                    stepper, wave[start : start + 8 * BLOCK], visited, level, later, found, judge
                )
        if later:
            fresh = np.concatenate(later)
            fresh = fresh[visited.add(fresh)]
            judge(fresh)
            level = [fresh] if len(fresh) else []
        found.depth += bool(level)
        if max_states is not None and visited.count > max_states:
            break
    found.exhausted = not level
    found.states, found.bytes = visited.count, visited.bytes
    found.seconds = monotonic() - started
    found.bound_hit = stepper.outside
    return found, visited


def expand_wave(
    stepper: Steps,
    states: Words,
    visited: Visited,
    level: list[Words],
    later: list[Words],
    found: Found,
    judge: Callable[[Words], None],
) -> None:
    """All successors of some states: those that cost nothing join the level, others the next."""
    todo = [(0, states)]
    while todo:
        paid, wave = todo.pop()
        by_cost: dict[int, list[Words]] = {}
        for some in stepper.successors(wave):
            by_cost.setdefault(paid or some.cost, []).append(some.states)
        for price, parts in by_cost.items():
            after = np.concatenate(parts)
            found.transitions += len(after)
            passing = stepper.passing(after)
            if passing.any():
                unstored = distinct(after[passing], type(visited))
                judge(unstored)
                todo.append((price, unstored))
            stored = after[~passing]
            if price:
                stored = distinct(stored, type(visited))
                later.append(stored[~visited.has(stored)])
            else:
                fresh = stored[visited.add(stored)]
                judge(fresh)
                if len(fresh):
                    level.append(fresh)
