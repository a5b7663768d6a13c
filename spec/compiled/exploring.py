"""Breadth-first search with the generated step: that of `markstep.spec.search.explore`, on arrays.

It visits the same states in the same levels, counts the same steps and judges them by the same
claims. A state has the number of the state before it; the program that leads to a state is found
by taking that way once more with the plain rules (`markstep.spec.compiled.route`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np

from markstep.spec.compiled.judge import Judge
from markstep.spec.compiled.layout import WORD, initial
from markstep.spec.compiled.levels import Limit, Steps, Successors
from markstep.spec.compiled.program import Program
from markstep.spec.compiled.visited import Words
from markstep.spec.search.search import Exploration, memory

WAVE = 1 << 17
"""States that are expanded together."""
FAR = 1 << 30


@dataclass
class Wave:
    """States to expand, each with where it came from."""

    states: Words
    nodes: Any
    """The visited state that they belong to: themselves, or that before, if they are not stored."""
    ways: Any
    """By how many sequences of steps each is reached from there."""
    paid: int
    """What these have cost."""


@dataclass(frozen=True)
class Sighting:
    """A step that breaks a claim."""

    node: int
    """The visited state that it is taken from, or that the call it is in began in."""
    price: int
    """What the move from there costs."""
    length: int
    """Of the program."""


class LevelSearch:
    """The visited states, the level that is searched, and what was found."""

    def __init__(self, program: Program, stepper: Steps, judge: Judge) -> None:
        self.program, self.stepper, self.judge = program, stepper, judge
        self.result = Exploration(program.design, program.bound)
        words = program.layout.size // WORD
        self.visited, self.later = (stepper.set_of_states(words) for _ in range(2))
        self.parents, self.parents_later = Numbers(), Numbers()
        self.rising: list[tuple[Words, Any]] = []
        """Parts of the level that are still to be visited: those with fewer calls come last."""
        self.expanded = 0
        self.broken: dict[str, Sighting] = {}
        self.met: set[str] = set()
        self.twins = 0
        """Visited states that differ from another only in the number of calls before them."""
        self.result.levels.append(0)
        self.visit(np.frombuffer(initial(program.layout), np.uint64).reshape(1, -1), np.array([-1]))

    # ---- the visited states ------------------------------------------------------------------

    def visit(self, states: Words, parents: Any) -> None:
        """Add states of the present level, as far as the bound on states allows."""
        room = self.program.bound.max_states - self.visited.count + self.twins
        new = self.visited.add(states[:room])
        fresh = states[:room][new]
        self.parents.add(parents[:room][new])
        self.result.levels[-1] += len(fresh)
        self.twins += int(np.count_nonzero(self.seen_with(fresh, more=True)))

    def seen_with(self, states: Words, more: bool) -> Any:
        """Which states were visited on a way with fewer calls, or with more."""
        found = np.zeros(len(states), bool)
        if self.program.bound.syncs is None or not len(states):
            return found
        calls = calls_of(states)
        for count in range(self.program.bound.syncs + 1):
            other = states.copy()
            calls_of(other)[:] = count
            differs = calls < count if more else calls > count
            found |= differs & self.visited.has(other)
        return found

    def rise(self) -> bool:
        """Visit the next part of the level, or of the next one; whether there is any."""
        while not self.rising and self.later.count:
            states, parents = self.later.states, self.parents_later.values
            self.later = self.stepper.set_of_states(states.shape[1])
            self.parents_later = Numbers()
            new = ~self.visited.has(states) & ~self.seen_with(states, more=False)
            if new.any():
                self.rising = list(by_calls(states[new], parents[new], self.program))
                self.result.depth += 1
                self.result.levels.append(0)
        if not self.rising:
            return False
        states, parents = self.rising.pop()
        new = ~self.seen_with(states, more=False)
        self.visit(states[new], parents[new])
        return True

    @property
    def nodes(self) -> int:
        """Visited states; with a bound on calls, each with the number of calls before it."""
        return self.visited.count

    @property
    def bytes(self) -> int:
        """Memory of the visited states, and of the way to each."""
        return self.visited.bytes + self.parents.room.nbytes

    @property
    def done(self) -> bool:
        """Nothing is left to expand."""
        return not (self.expanded < self.visited.count or self.rising or self.later.count)

    def note(self, seconds: float) -> None:
        """Bring the result up to date."""
        result = self.result
        result.states, result.seconds = self.visited.count - self.twins, seconds
        result.exhausted = self.done
        result.bound_hit = self.stepper.outside
        waiting = sum(len(states) for states, _ in self.rising)
        result.frontier = self.visited.count - self.expanded + waiting + self.later.count

    def too_much(self) -> bool:
        """A limit of the bound is reached."""
        bound = self.program.bound
        full = self.visited.count - self.twins >= bound.max_states
        return full or memory() > bound.max_memory

    # ---- the steps ---------------------------------------------------------------------------

    def expand(self) -> None:
        """Expand some of the visited states."""
        start, end = self.expanded, min(self.expanded + WAVE, self.visited.count)
        bound, depth = self.program.bound, self.result.depth
        last = bound.actions is not None and depth >= bound.actions
        self.choose()
        nodes = np.arange(start, end)
        for quiet, some in self.quiet(self.visited.states[start:end]):
            states = self.visited.states[start:end][some].copy()
            wave = Wave(states, nodes[some], np.ones(len(states), np.int64), 0)
            self.follow(wave, Limit(last, quiet))
        self.expanded = end

    def choose(self) -> None:
        """Look only for what is not yet known, or not by so short a program."""
        lengths = {id: seen.length for id, seen in self.broken.items()}
        watch, depth = self.program.watch, self.result.depth
        bits = [lengths.get(id, FAR) > depth for id in watch.broken]
        bits += [id not in self.met for id in watch.met]
        self.stepper.wanted = np.packbits(np.array(bits, bool), bitorder="little")
        self.judge.wanted = {id for id in self.judge.claims if lengths.get(id, FAR) > depth}

    def quiet(self, states: Words) -> Iterator[tuple[bool, Any]]:
        """Which states may begin no call any more, and which may."""
        syncs = self.program.bound.syncs
        if syncs is None:
            yield False, slice(None)
            return
        spent = calls_of(states) >= syncs
        yield from ((quiet, some) for quiet, some in ((True, spent), (False, ~spent)) if some.any())

    def follow(self, wave: Wave, limit: Limit) -> None:
        """All steps from some states, and those of the calls that they are in the middle of."""
        todo = [wave]
        while todo:
            wave = todo.pop()
            passed: dict[int, list[Wave]] = {}
            for some in self.stepper.successors(wave.states, limit):
                found = self.taken(wave, some)
                passing = self.stepper.passing(found.states)
                self.keep(part(found, ~passing))
                if passing.any():
                    passed.setdefault(found.paid, []).append(part(found, passing))
            todo += [self.merged(waves) for waves in passed.values()]

    def taken(self, wave: Wave, some: Successors) -> Wave:
        """What some steps lead to, counted and judged."""
        price = wave.paid or some.cost
        ways = wave.ways[some.origins] * some.ways
        self.result.transitions += int(ways.sum())
        watch = self.program.watch
        for bit, origin in some.seen:
            if bit < len(watch.broken):
                self.sight(watch.broken[bit], int(wave.nodes[origin]), price)
            else:
                self.met.add(watch.met[bit - len(watch.broken)])
        states = some.states
        if self.program.bound.syncs is not None:
            calls_of(states)[:] = calls_of(wave.states)[some.origins] + some.calls
        return Wave(states, wave.nodes[some.origins], ways, price)

    def keep(self, found: Wave) -> None:
        """Note successors: those that cost nothing join the level, the others the next one."""
        if not len(found.states):
            return
        new = ~self.seen_with(found.states, more=False)
        if found.paid:
            new &= ~self.visited.has(found.states)
            states, nodes = found.states[new], found.nodes[new]
            fresh = self.later.add(states)
            self.parents_later.add(nodes[fresh])
            self.look(states[fresh], nodes[fresh], 1)
        else:
            states, nodes = found.states[new], found.nodes[new]
            before = self.visited.count
            self.visit(states, nodes)
            added = slice(before, self.visited.count)
            self.look(self.visited.states[added], self.parents.values[added], 0)

    def merged(self, waves: list[Wave]) -> Wave:
        """States in the middle of calls, each once."""
        states = np.concatenate([wave.states for wave in waves])
        nodes = np.concatenate([wave.nodes for wave in waves])
        seen = self.stepper.set_of_states(states.shape[1])
        new = seen.add(states)
        ways = np.zeros(seen.count, np.int64)
        np.add.at(ways, seen.numbers(states), np.concatenate([wave.ways for wave in waves]))
        self.look(states[new], nodes[new], waves[0].paid)
        return Wave(states[new], nodes[new], ways, waves[0].paid)

    def look(self, states: Words, nodes: Any, price: int) -> None:
        """Judge states that are met for the first time."""
        for claim, position in self.judge(states):
            self.sight(claim, int(nodes[position]), price)

    def sight(self, claim: str, node: int, price: int) -> None:
        """Remember a step that breaks a claim, if no shorter program is known to."""
        length = self.result.depth + price
        if claim not in self.broken or length < self.broken[claim].length:
            self.broken[claim] = Sighting(node, price, length)


def part(wave: Wave, some: Any) -> Wave:
    """Some of the states of a wave."""
    return Wave(wave.states[some], wave.nodes[some], wave.ways[some], wave.paid)


def calls_of(states: Words) -> Any:
    """The byte of each state that counts calls, to be read and written."""
    return states.view(np.uint8)[:, -1]


def by_calls(states: Words, parents: Any, program: Program) -> Iterator[tuple[Words, Any]]:
    """States in parts by how many calls came before, those with most calls first."""
    if program.bound.syncs is None:
        yield states, parents
        return
    calls = calls_of(states)
    for count in reversed(np.unique(calls)):
        yield states[calls == count], parents[calls == count]


class Numbers:
    """A table of numbers that grows."""

    def __init__(self) -> None:
        self.room = np.empty(1 << 12, np.int32)
        self.count = 0

    @property
    def values(self) -> Any:
        """The numbers."""
        return self.room[: self.count]

    def add(self, more: Any) -> None:
        """Add numbers at the end."""
        need = self.count + len(more)
        if need > len(self.room):
            grown = np.empty(max(need, len(self.room) * 3 // 2), np.int32)
            grown[: self.count] = self.values
            self.room = grown
        self.room[self.count : need] = more
        self.count = need


Watcher = Callable[[LevelSearch], bool]
"""Called between waves; the search stops when it says so."""


def go_on(search: LevelSearch, watch: Watcher | None = None) -> None:
    """Expand what is left of a search, until nothing is, a limit is reached, or ``watch`` stops."""
    started = monotonic()
    while not search.done:
        if search.expanded >= search.visited.count:
            search.rise()
        if search.too_much() and not search.done:
            break
        search.expand()
        search.note(monotonic() - started)
        if watch is not None and watch(search):
            break
    search.note(monotonic() - started)
