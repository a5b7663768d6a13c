"""Searching every reachable state within a bound, with the payload erased.

A state is visited once up to renaming (`markstep.spec.canonical`). Paths are ordered by the number
of program actions and failures in them, so the first violation of a claim is a shortest program
that violates it; the steps of a call cost nothing. The search goes on behind a violation.

A state in the middle of a call that has exactly one successor is not stored: all its steps are
judged, and what can be reached from it can be reached from its successor.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from markstep.spec.alphabet import Bound, cost, moves
from markstep.spec.canonical import canonical, renamed, tensors_in_order
from markstep.spec.design import Design
from markstep.spec.invariants import CLAIMS_IN_ORDER, Step
from markstep.spec.machine import AnyAction, step
from markstep.spec.naming import names_given, renamed_action
from markstep.spec.rules.transfer import buffers_in_use
from markstep.spec.schedule import FACTLESS
from markstep.spec.state import State

Path = tuple[AnyAction, ...]
Progress = Callable[["Exploration", int], None]


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
    counterexamples: dict[str, tuple[AnyAction, ...]] = field(default_factory=dict)
    """A shortest violating path per claim, internal steps included."""
    witnessed: set[str] = field(default_factory=set)

    @property
    def unwitnessed(self) -> list[str]:
        """Claims whose premise was never exercised: they hold for no reason."""
        return [claim.id for claim in CLAIMS_IN_ORDER if claim.id not in self.witnessed]


class _Search:
    """The visited states and how each was first reached."""

    def __init__(self, design: Design, bound: Bound) -> None:
        self.result = Exploration(design, bound)
        self.index: dict[bytes, int] = {}
        self.parents: list[int] = []
        self.actions: list[tuple[AnyAction, ...]] = []
        self.pending = list(CLAIMS_IN_ORDER)
        self.unseen = list(CLAIMS_IN_ORDER)

    def add(self, state: State, parent: int, actions: Path) -> tuple[int, State] | None:
        """The canonical state with its number if it is new."""
        form = canonical(state)
        packed = pack(form.key)
        if packed in self.index:
            return None
        number = len(self.parents)
        self.index[packed] = number
        self.parents.append(parent)
        self.actions.append(actions)
        return number, renamed(state, form)

    def path(self, number: int) -> list[AnyAction]:
        """Actions to a state, each in the names of the canonical state before it."""
        actions: list[AnyAction] = []
        while number >= 0:
            actions.extend(reversed(self.actions[number]))
            number = self.parents[number]
        return actions[::-1]

    def judge(self, number: int, before: State, actions: Path, after: State) -> None:
        """Check the claims that are neither violated nor witnessed yet on the last action."""
        seen = Step(before, actions[-1], after, self.result.design)
        violated = [claim for claim in self.pending if not claim.predicate(seen)]
        for claim in violated:
            self.pending.remove(claim)
            path = (*self.path(number), *actions)
            self.result.counterexamples[claim.id] = readable(path, self.result.design)
        for claim in [claim for claim in self.unseen if claim.witness(seen)]:
            self.unseen.remove(claim)
            self.result.witnessed.add(claim.id)


def pack(key: tuple[int, ...]) -> bytes:
    """A key as bytes: every control value within a bound is a small number."""
    return bytes([value + 3 for value in key])


def explore(design: Design, bound: Bound, progress: Progress | None = None) -> Exploration:
    """Visit every state within the bound and judge every step between them."""
    search, started = _Search(design, bound), monotonic()
    result = search.result
    first = search.add(State(), -1, ())
    level = deque([first] if first is not None else [])
    while level and (bound.actions is None or result.depth <= bound.actions):
        level = explore_level(search, level, progress)
        if len(search.parents) > bound.max_states:
            break
        result.depth += 1 if level else 0
    result.exhausted = not level
    result.states, result.seconds = len(search.parents), monotonic() - started
    return result


def explore_level(
    search: _Search, level: deque[tuple[int, State]], progress: Progress | None
) -> deque[tuple[int, State]]:
    """Follow all steps without cost from states of one length; the states of the next length."""
    later: dict[bytes, tuple[State, int, Path]] = {}
    while level:
        number, state = level.popleft()
        for actions, after in successors(search, number, state):
            if cost(actions[0]):
                later.setdefault(pack(canonical(after).key), (after, number, actions))
                continue
            found = search.add(after, number, actions)
            if found is not None:
                level.append(found)
        if progress is not None and number % 1000 == 0:
            progress(search.result, len(search.parents))
        if len(search.parents) > search.result.bound.max_states:
            return deque([(number, state)])
    found_all = (search.add(*reached) for reached in later.values())
    return deque(found for found in found_all if found is not None)


def successors(search: _Search, number: int, state: State) -> list[tuple[Path, State]]:
    """Every step from a state that stays within the bound; each is judged."""
    reached = []
    for action in moves(state, search.result.design, search.result.bound):
        after = step(state, action, search.result.design)
        if after is not None:
            actions, end = follow(search, number, state, action, after)
            if within(end, search.result.bound):
                reached.append((actions, end))
            else:
                search.result.bound_hit = True
    return reached


def follow(
    search: _Search, number: int, before: State, action: AnyAction, after: State
) -> tuple[Path, State]:
    """Go on through the states that have one successor; the actions taken and the last state."""
    path: Path = (action,)
    search.judge(number, before, path, after)
    search.result.transitions += 1
    while after.call.phase in FACTLESS and not after.execution.running:
        before, path = after, (*path, FACTLESS[after.call.phase])
        moved = step(before, path[-1], search.result.design)
        if moved is None:
            raise AssertionError(f"{path[-1]} is not enabled in {before.call}")
        after = moved
        search.judge(number, before, path, after)
        search.result.transitions += 1
    return path, after


def within(state: State, bound: Bound) -> bool:
    """Whether a state is small enough to go on from."""
    if sum(record.live for record in state.records) > bound.records:
        return False
    return buffers_in_use(state).bit_count() <= bound.buffers


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
