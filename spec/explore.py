"""Searching every reachable state within a bound, with the payload erased.

A state is visited once up to renaming (`markstep.spec.canonical`). Paths are ordered by the number
of program actions and failures in them, so the first violation of a claim is a shortest program
that violates it; the steps of a call cost nothing. The search goes on behind a violation.

A state in the middle of a call that has exactly one successor is not stored: all its steps are
judged, and what can be reached from it can be reached from its successor.

The frontier is expanded in batches, by several processes if wanted, and the results are merged in
the order of the frontier: they do not depend on the number of processes.
"""

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from time import monotonic

from markstep.spec.alphabet import Bound
from markstep.spec.canonical import canonical, pack, tensors_in_order, unpack
from markstep.spec.design import Design
from markstep.spec.expand import Expand, Expansion, Path, continued, expand
from markstep.spec.invariants import CLAIMS_IN_ORDER
from markstep.spec.machine import AnyAction, step
from markstep.spec.naming import names_given, renamed_action
from markstep.spec.state import State

Progress = Callable[["Exploration", int], None]
"""Called after every batch with what was found so far and the number of states."""
Batches = Callable[[list[Expand]], Iterator[Expansion]]

BATCH = 64
"""States that are expanded together."""


@dataclass
class Exploration:
    """What a search has found."""

    design: Design
    bound: Bound
    states: int = 0
    transitions: int = 0
    depth: int = 0
    """Length of the longest of the shortest paths, in program actions and failures."""
    exhausted: bool = False
    """Every state within the bound was visited; otherwise the search was cut short."""
    bound_hit: bool = False
    """Some step led out of the bound in records or buffers and was not followed."""
    seconds: float = 0.0
    frontier: int = 0
    """States still to expand when the search stopped, or now."""
    counterexamples: dict[str, tuple[AnyAction, ...]] = field(default_factory=dict)
    """A shortest violating path per claim, internal steps included."""
    witnessed: set[str] = field(default_factory=set)

    @property
    def unwitnessed(self) -> list[str]:
        """Claims whose premise was never exercised: they hold for no reason."""
        return [claim.id for claim in CLAIMS_IN_ORDER if claim.id not in self.witnessed]


class _Search:
    """The visited states, and how each was first reached."""

    def __init__(self, design: Design, bound: Bound, progress: Progress | None) -> None:
        self.result = Exploration(design, bound)
        self.progress = progress
        self.numbers: dict[bytes, int] = {}
        self.keys: list[bytes] = []
        self.parents: list[int] = []
        self.taken: list[int] = []
        self.cut = False
        """Some state was not visited for lack of room."""

    def add(self, key: bytes, parent: int, move: int) -> int | None:
        """The number of a state if it is new."""
        if key in self.numbers:
            return None
        number = self.numbers[key] = len(self.keys)
        self.keys.append(key)
        self.parents.append(parent)
        self.taken.append(move)
        return number

    def path(self, number: int) -> list[AnyAction]:
        """Actions to a state, each in the names of the canonical state before it."""
        pieces: list[Path] = []
        while self.parents[number] >= 0:
            before = unpack(self.keys[self.parents[number]])
            pieces.append(continued(before, self.taken[number], self.result)[0])
            number = self.parents[number]
        return [action for piece in reversed(pieces) for action in piece]

    def full(self) -> bool:
        """As many states were visited as the bound allows."""
        return len(self.keys) >= self.result.bound.max_states

    def too_much(self) -> bool:
        """A limit of the bound is reached."""
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        return self.full() or used > self.result.bound.max_memory


def explore(design: Design, bound: Bound, progress: Progress | None = None) -> Exploration:
    """Visit every state within the bound and judge every step between them."""
    search, started = _Search(design, bound, progress), monotonic()
    result = search.result
    first = search.add(pack(canonical(State())), -1, 0)
    level = [first] if first is not None else []
    with batches(bound.processes) as run:
        while level:
            level = explore_level(search, level, run)
            result.seconds = monotonic() - started
            if search.too_much():
                break
            result.depth += 1 if level else 0
    result.exhausted = not level and not search.cut
    result.states, result.frontier = len(search.keys), len(level)
    result.seconds = monotonic() - started
    return result


def explore_level(search: _Search, level: list[int], run: Batches) -> list[int]:
    """Follow all steps without cost from states of one length; the states of the next length."""
    later: dict[bytes, tuple[int, int]] = {}
    while level:
        wave, level = level, []
        for start in range(0, len(wave), BATCH):
            numbers = wave[start : start + BATCH]
            for number, found in zip(numbers, run(tasks(search, numbers)), strict=True):
                merge(search, number, found)
                for move, price, key in found.successors:
                    if price:
                        later.setdefault(key, (number, move))
                    elif (new := search.add(key, number, move)) is not None:
                        level.append(new)
            search.result.frontier = len(wave) - start + len(level) + len(later)
            if search.progress is not None:
                search.progress(search.result, len(search.keys))
            if search.too_much():
                return wave[start:]
    level = []
    for key, how in later.items():
        if search.full():
            search.cut = search.cut or key not in search.numbers
        elif (new := search.add(key, *how)) is not None:
            level.append(new)
    return level


def tasks(search: _Search, numbers: list[int]) -> list[Expand]:
    """The states to expand, and the claims that still have to be looked at."""
    result = search.result
    pending = tuple(c.id for c in CLAIMS_IN_ORDER if c.id not in result.counterexamples)
    unseen = tuple(result.unwitnessed)
    last = result.bound.actions is not None and result.depth >= result.bound.actions
    common = (result.design, result.bound, pending, unseen, last)
    return [Expand(search.keys[n], *common) for n in numbers]


def merge(search: _Search, number: int, found: Expansion) -> None:
    """Add what the expansion of one state has found to the result."""
    result = search.result
    result.transitions += found.transitions
    result.bound_hit = result.bound_hit or found.bound_hit
    result.witnessed.update(found.witnessed)
    for id, move, length in found.violated:
        if id not in result.counterexamples:
            last = continued(unpack(search.keys[number]), move, result)[0][:length]
            path = (*search.path(number), *last)
            result.counterexamples[id] = readable(path, result.design)


@contextmanager
def batches(processes: int) -> Iterator[Batches]:
    """A way to expand a batch of states, in order: here, or in other processes."""
    if processes <= 1:
        yield lambda batch: map(expand, batch)
        return
    with get_context("forkserver").Pool(processes) as pool:
        yield lambda batch: pool.imap(expand, batch, chunksize=BATCH // (2 * processes))


def readable(path: tuple[AnyAction, ...], design: Design) -> tuple[AnyAction, ...]:
    """A path in the names of its canonical states as one program with names of its own."""
    program: list[AnyAction] = []
    state = State()
    for action in path:
        form = canonical(state)
        names = tensors_in_order(state, form.record_order)
        named = renamed_action(action, names, form.buffer_order, taken=len(names_given(program)))
        program.append(named)
        after = step(state, named, design)
        if after is None:
            raise AssertionError(f"{named} does not continue the path")
        state = after
    return tuple(program)
