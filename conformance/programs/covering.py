"""Few programs that take every move of a space that was searched, for any executor.

The law runs each program with the real payload while it is made, and what it really goes through is
looked up in the space: only that counts as covered. A program walks to the nearest move that is
not covered yet. What a program cannot choose is left out, and counted by reason (`Reason`).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from markstep.conformance.programs.playing import Play, agreement, played
from markstep.spec.machine import ENVIRONMENT, AnyAction, blocked
from markstep.spec.rules.sync import Compile, Lookup
from markstep.spec.search.space import Edge, Space
from markstep.spec.state import Phase
from markstep.spec.vocabulary import Apply, AssignInPlace, CompleteExecution, FailExecution

LENGTH = 120
"""Actions after which a program ends."""
TRIES = 3
"""Ways that may miss a move before it is given up, or tried by itself."""


class Reason(StrEnum):
    """Why no program takes a move."""

    MIDDLE = "an execution ends in the middle of a call that does not wait for it"
    CACHE = "the cache answers with another program than the graph's own"
    DONORS = "the runtime spares or loses donors as the programs here do not make it"
    FAULT = "an execution or a compilation fails, and no op that fails can stand there"
    MISSED = "no program was found that makes it happen"
    BEHIND = "only such moves lead there"


@dataclass
class Cover:
    """Programs, and what they cover."""

    programs: list[tuple[AnyAction, ...]] = field(default_factory=list)
    moves: int = 0
    """Moves of the space."""
    covered: int = 0
    left_out: Counter[Reason] = field(default_factory=Counter)
    """Moves that no program takes, by reason."""


def cover(space: Space, tell: Callable[[int, int], None] = lambda done, total: None) -> Cover:
    """Programs for every move that a program can be made to take."""
    walker = Walker(space, tell)
    walker.walk()
    walker.visit()
    return Cover(walker.programs, len(space.edges), len(walker.covered), walker.left_out())


def unplayable(space: Space, edge: Edge) -> Reason | None:
    """Why no program can take a move, if that is clear from the move itself."""
    action, state = space.action(edge), space.state(edge[0])
    if isinstance(action, Lookup) and (action.foreign or action.misfits):
        return Reason.CACHE
    if isinstance(action, ENVIRONMENT):
        if state.call.phase != Phase.IDLE and not blocked(state, space.design):
            return Reason.MIDDLE
        if isinstance(action, CompleteExecution) and action.spares:
            return Reason.DONORS
        if isinstance(action, FailExecution) and action.deletes:
            return Reason.DONORS
    return None


def is_fault(space: Space, edge: Edge) -> bool:
    """The move happens only to a program with an op that fails."""
    action = space.action(edge)
    waiting = space.state(edge[0]).call.phase != Phase.IDLE
    failing = isinstance(action, FailExecution) and waiting
    return failing or (isinstance(action, Compile) and action.fails)


class Walker:
    """Makes programs, one action at a time."""

    def __init__(self, space: Space, tell: Callable[[int, int], None]) -> None:
        self.space, self.tell = space, tell
        self.reasons = {e: why for e in space.edges if (why := unplayable(space, e)) is not None}
        self.faults = {edge for edge in space.edges if is_fault(space, edge)}
        self.hits = {e for e in space.edges if space.action(e) == Lookup(True)}
        self.playable = set(space.edges) - self.reasons.keys() - self.faults
        self.covered: set[Edge] = set()
        self.missed: Counter[Edge] = Counter()
        self.programs: list[tuple[AnyAction, ...]] = []

    def walk(self) -> None:
        """From where a program is to the nearest open move, again and again."""
        play = Play.begun(self.space)
        while way := self.way(play):
            after = self.next_part(play, way)
            if after is None or len(after.actions) >= LENGTH:
                play = self.finished(after or play)
            elif self.way(after):
                play = after
            else:
                play = after.returned(keep_cache=True) or self.finished(after)
        if play.actions:
            self.finished(play)

    def way(self, play: Play) -> list[Edge] | None:
        """From where a program is to the nearest open move."""
        if play.at is None:
            return None
        return self.space.path(play.at, self.is_open, self.playable.__contains__)

    def next_part(self, play: Play, way: Sequence[Edge]) -> Play | None:
        """The first action of a way, taken; whether it went as wanted is noted."""
        after = played(play, way)
        if after is None or not follows(after.edges[len(play.edges) :], way):
            self.missed[way[-1]] += 1
        if after is not None:
            self.note(after)
        return after

    def visit(self) -> None:
        """Moves that were missed, one by one from the start: with failing ops, or once more with a
        full cache."""
        play = Play.begun(self.space)
        for edge in self.space.edges:
            if edge in self.covered or edge in self.reasons:
                continue
            way = self.way_from_start(edge)
            chunk = self.first_hit(play, way) if way is not None else None
            if chunk is None and way is not None and play.actions:
                chunk = self.first_hit(Play.begun(self.space), way)
                play = self.finished(play) if chunk is not None else play
            if chunk is not None:
                self.note(chunk)
                play = self.finished(chunk) if len(chunk.actions) >= LENGTH else chunk
        if play.actions:
            self.finished(play)

    def way_from_start(self, goal: Edge) -> list[Edge] | None:
        """A way to a move; if possible one on which everything is compiled for the first time."""
        for usable in (self.playable - self.hits, self.playable):
            ways = usable | {goal}
            if way := self.space.path(0, goal.__eq__, ways.__contains__):
                return way
        return None

    def first_hit(self, play: Play, way: list[Edge]) -> Play | None:
        """The program that goes on with a way from the start and ends with its last move."""
        for twice, faulty in self.manners(way):
            start = play.returned()
            if twice and start is not None:
                start = through(start, way, {})
                start = start.returned(keep_cache=True) if start is not None else None
            chunk = through(start, way, faulty) if start is not None else None
            if chunk is not None and way[-1] in chunk.edges[len(play.edges) :]:
                return chunk
        return None

    def manners(self, way: list[Edge]) -> Iterator[tuple[bool, dict[int, str]]]:
        """Ways to go a way: (twice or once, ops that take the place of others)."""
        if way[-1] not in self.faults:
            yield from ((False, {}), (True, {}))
            return
        op = "failing_compile" if isinstance(self.space.action(way[-1]), Compile) else None
        for i in reversed(range(len(way))):
            action = self.space.action(way[i])
            if isinstance(action, Apply | AssignInPlace) and action.op == "neg":
                yield False, {i: op or "failing_execute"}

    def finished(self, play: Play) -> Play:
        """A program is done; the next one begins."""
        self.programs.append(tuple(play.actions))
        return Play.begun(self.space)

    def note(self, play: Play) -> None:
        """What a program has gone through is covered."""
        self.covered.update(play.edges)
        self.tell(len(self.covered), len(self.space.edges))

    def is_open(self, edge: Edge) -> bool:
        """The move is not covered, and may be yet."""
        return edge not in self.covered and self.missed[edge] < TRIES

    def left_out(self) -> Counter[Reason]:
        """The moves that no program takes, by reason."""
        reached, todo = {0}, [0]
        while todo:
            number = todo.pop()
            for move, target in self.space.targets[number].items():
                if (number, move) not in self.reasons and target not in reached:
                    reached.add(target)
                    todo.append(target)
        left = [edge for edge in self.space.edges if edge not in self.covered]
        return Counter(self.reasons.get(edge) or self.why(edge, reached) for edge in left)

    def why(self, edge: Edge, reached: set[int]) -> Reason:
        """Why a move that looks possible is not covered."""
        if edge[0] not in reached:
            return Reason.BEHIND
        return Reason.FAULT if edge in self.faults else Reason.MISSED


def through(play: Play, way: Sequence[Edge], faulty: dict[int, str]) -> Play | None:
    """A whole way, or as far as it goes as wanted; None when it does not."""
    done = 0
    while done < len(way):
        after = played(play, way[done:], faulty.get(done))
        if after is None:
            return None
        new = after.edges[len(play.edges) :]
        play, rest, done = after, way[done:], done + len(new)
        if not follows(new, rest):
            return play
    return play


def follows(edges: Sequence[Edge], way: Sequence[Edge]) -> bool:
    """Whether moves are the first ones of a way."""
    return agreement(edges, way) == min(len(edges), len(way))
