"""A program that is being made, and where in a space that was searched it is."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from markstep.conformance.programs.exactness import LARGEST
from markstep.spec import vocabulary as v
from markstep.spec.machine import AnyAction
from markstep.spec.schedule import end_of_execution, initial_state, perform
from markstep.spec.search.canonical import canonical, pack, tensors_in_order
from markstep.spec.search.expand import only_move
from markstep.spec.search.naming import names_given, renamed_action
from markstep.spec.search.space import Edge, Space
from markstep.spec.state import State

SmallStep: TypeAlias = tuple[State, AnyAction, State]
VALUES = 7
"""Tensors start from so many different values, so that mixed-up operands show."""


@dataclass(frozen=True)
class Play:
    """A program so far."""

    space: Space
    state: State
    actions: tuple[AnyAction, ...] = ()
    edges: tuple[Edge, ...] = ()
    """The moves of the space that the program took."""
    at: int | None = 0
    """The state of the space that it is in; None: it has left the space."""

    @classmethod
    def begun(cls, space: Space) -> "Play":
        """A program without actions."""
        return cls(space, initial_state())

    def then(self, action: AnyAction) -> "Play | None":
        """The program with one more action that is no move of the space."""
        after = perform(self.state, action, self.space.design)
        if after is None:
            return None
        at = self.space.numbers.get(pack(canonical(after)))
        return replace(self, state=after, actions=(*self.actions, action), at=at)

    def returned(self, keep_cache: bool = False) -> "Play | None":
        """The program taken back to where nothing lives and nothing runs."""
        play: Play | None = self
        device, way = self.state.device, list[AnyAction]()
        if self.state.tensors:
            way.append(v.WaitDevice())
        if device.donor_config:
            way.append(v.SetDonorConfig(False))
        if device.eager:
            way.append(v.SetEager(False))
        if not device.allow_execution:
            way.append(v.AllowExecution(True))
        way += [v.Drop(name) for name in self.state.tensors]
        if self.actions and not keep_cache:
            way.append(v.EvictCache())
        for action in way:
            play = play.then(action) if play is not None else None
        return play if play is not None and play.at == 0 else None


def played(play: Play, way: Sequence[Edge], op: str | None = None) -> Play | None:
    """A program with the first action of a way, and ``op`` in the place of its op; the cache is
    emptied before if that leads further along the way. None: the action is impossible there, or
    leads out of the space."""
    action = concrete(play, play.space.action(way[0]), op)
    if action is None:
        return None
    emptied = play.then(v.EvictCache())
    starts = [play] if emptied is None else [play, emptied]
    ends = [end for start in starts if (end := acted(start, action, way[0])) is not None]
    return max(ends, key=lambda end: agreement(end.edges[len(play.edges) :], way), default=None)


def agreement(edges: Sequence[Edge], way: Sequence[Edge]) -> int:
    """How many moves from the first on are as wanted."""
    pairs = zip(edges, way, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(edges), len(way)))


def concrete(play: Play, action: AnyAction, op: str | None) -> AnyAction | None:
    """An action of the space in the names of the program, with a value or op of its own."""
    if isinstance(action, v.CompleteExecution):
        end = end_of_execution(play.state, play.space.design)
        return end if isinstance(end, v.CompleteExecution) else None
    form, taken = canonical(play.state), len(names_given(play.actions))
    names = tensors_in_order(play.state, form.record_order)
    named = renamed_action(action, names, form.buffer_order, taken)
    if isinstance(named, v.CreateFromHost | v.CopyFromHost):
        return replace(named, value=(len(play.actions) % VALUES + 1,))
    if op is not None and isinstance(named, v.Apply | v.AssignInPlace):
        return replace(named, op=op)
    return named


def acted(play: Play, action: AnyAction, first: Edge) -> Play | None:
    """A program with one more action, and the moves that its small steps are."""
    steps: list[SmallStep] = []
    after = perform(play.state, action, play.space.design, lambda *step: steps.append(step))
    if after is None or not exact(after):
        return None
    edges: list[Edge] = []
    edge: Edge | None = first
    for i, (*_, reached) in enumerate(steps):
        if edge is None:
            return None
        if only_move(reached, play.space) is not None:
            continue
        at = play.space.numbers.get(pack(canonical(reached)))
        if at is None or play.space.targets[edge[0]].get(edge[1]) != at:
            return None
        edges.append(edge)
        if i + 1 < len(steps):
            edge = move_of(play.space, at, *steps[i + 1][:2])
    return replace(
        play, state=after, actions=(*play.actions, action), edges=(*play.edges, *edges), at=at
    )


def exact(state: State) -> bool:
    """Whether the numbers that the program means are small enough for any executor."""
    truths = [record.truth for record in state.records if record.live]
    return all(abs(number) <= LARGEST for truth in truths for number in truth or ())


def move_of(space: Space, at: int, state: State, action: AnyAction) -> Edge | None:
    """The move of a state that an action in the middle of a call is."""
    for number, move in enumerate(space.actions(at)):
        if isinstance(move, v.CompleteExecution) and isinstance(action, v.CompleteExecution):
            spared = state.execution.donors if move.spares else 0
            if action.spares == spared:
                return at, number
        elif move == action:
            return at, number
    return None
