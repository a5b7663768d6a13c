"""One state of a search: everything that can happen next, each step judged by the claims."""

from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol, TypeAlias

from markstep.spec.design import Design
from markstep.spec.invariants import CLAIMS, Claim, Step
from markstep.spec.machine import AnyAction, step
from markstep.spec.rules.transfer import buffers_in_use
from markstep.spec.schedule import FACTLESS
from markstep.spec.search.alphabet import (
    Bound,
    cost,
    ends_are_tried,
    middle_room,
    moves,
    partitioned,
    syncs,
)
from markstep.spec.search.canonical import canonical, pack, tensors_in_order, unpack
from markstep.spec.search.naming import names_given, renamed_action
from markstep.spec.state import State

Path: TypeAlias = tuple[AnyAction, ...]


class Searched(Protocol):
    """What an expansion must know of the search that it belongs to."""

    @property
    def design(self) -> Design: ...

    @property
    def bound(self) -> Bound: ...


@dataclass(frozen=True, slots=True)
class Expand:
    """A packed state to expand."""

    key: bytes
    design: Design
    bound: Bound
    pending: tuple[str, ...]
    """Claims without a counterexample so far."""
    unseen: tuple[str, ...]
    """Claims without a witness so far."""
    last: bool = False
    """No further action of the program is within the bound."""
    quiet: bool = False
    """No further call is within the bound."""


@dataclass(slots=True)
class Expansion:
    """What can happen next in one state."""

    successors: list[tuple[int, int, int, bytes]] = field(default_factory=list)
    """(number of the move, its cost, whether it began a call, packed state that it leads to)."""
    transitions: int = 0
    bound_hit: bool = False
    violated: list[tuple[str, int, int, int]] = field(default_factory=list)
    """(claim, number of the move, its cost, how many steps it took)."""
    witnessed: set[str] = field(default_factory=set)


def expand(task: Expand) -> Expansion:
    """Every step from a state that stays within the bound; each is judged."""
    state, found = unpack(task.key), Expansion()
    pending = [CLAIMS[id] for id in task.pending]
    unseen = [CLAIMS[id] for id in task.unseen]
    for number, action in enumerate(moves(state, task.design, task.bound)):
        before, after = state, step(state, action, task.design)
        beyond = (task.last and cost(action)) or (task.quiet and syncs(action))
        if after is not None and beyond:
            found.bound_hit = True
            continue
        path: Path = ()
        while after is not None:
            following = only_move(after, task)
            if not within(after, task, in_the_middle=following is not None):
                found.bound_hit, after = True, None
                break
            path = (*path, action)
            judge(Step(before, action, after, task.design), number, path, found, pending, unseen)
            if following is None:
                break
            before, action = after, following
            after = step(before, action, task.design)
        if after is not None:
            key = pack(canonical(after))
            found.successors.append((number, cost(path[0]), syncs(path[0]), key))
    return found


def within(state: State, search: Searched, in_the_middle: bool) -> bool:
    """Whether a state is small enough to go on from."""
    bound = search.bound
    room = middle_room(bound, search.design) if in_the_middle else bound.buffers
    live = sum(record.live for record in state.records)
    return live <= bound.records and buffers_in_use(state).bit_count() <= room


def only_move(state: State, search: Searched) -> AnyAction | None:
    """The one thing that can happen next, in the middle of a call while nothing can end."""
    if state.execution.running and ends_are_tried(state, search.design, search.bound):
        return None
    return None if partitioned(state) else FACTLESS.get(state.call.phase)


def judge(
    seen: Step,
    move: int,
    path: Path,
    found: Expansion,
    pending: list[Claim],
    unseen: list[Claim],
) -> None:
    """Check the claims that are neither violated nor witnessed yet."""
    found.transitions += 1
    for claim in [claim for claim in pending if not claim.predicate(seen)]:
        pending.remove(claim)
        found.violated.append((claim.id, move, cost(path[0]), len(path)))
    for claim in [claim for claim in unseen if claim.witness(seen)]:
        unseen.remove(claim)
        found.witnessed.add(claim.id)


def continued(state: State, move: int, search: Searched) -> tuple[Path, State]:
    """The steps that a move stands for, and the state after them."""
    action = next(islice(moves(state, search.design, search.bound), move, None))
    path: Path = ()
    following: AnyAction | None = action
    while following is not None:
        after = step(state, following, search.design)
        if after is None:
            raise AssertionError(f"{following} was possible and is not")
        state, path = after, (*path, following)
        following = only_move(state, search)
    return path, state


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
