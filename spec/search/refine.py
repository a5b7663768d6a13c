"""Whether one design behaves as another: the same programs, run under both.

X refines Y if whatever a user sees under X, for some choice of the environment, could also have
been seen under Y, for some choice of its own. What the device does between calls is not seen. The
search keeps, beside each state of X, all states in which Y may be after the same observations; a
program on which that set becomes empty shows a difference, and the first one found is a shortest.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from markstep.spec.design import Design
from markstep.spec.machine import ENVIRONMENT, AnyAction
from markstep.spec.search.alphabet import Bound, cost, moves
from markstep.spec.search.canonical import canonical, pack, unpack
from markstep.spec.search.naming import with_names
from markstep.spec.search.outcomes import Outcome, Seen, outcomes, program_of
from markstep.spec.state import State
from markstep.spec.vocabulary import TensorName

Places: TypeAlias = tuple[int, ...]
"""For each tensor of Y its place in the state of X."""
Node: TypeAlias = tuple[bytes, frozenset[tuple[bytes, Places]]]


@dataclass
class Difference:
    """A program on which X shows what Y cannot."""

    program: tuple[AnyAction, ...]
    """With the steps of its calls under X."""
    seen: Seen
    possible: tuple[Seen, ...]
    """What could have been seen under Y."""
    words: frozenset[str]
    length: int
    """Actions of the program, and failures between them."""


@dataclass
class Refinement:
    """What a comparison of two designs has found."""

    x: Design
    y: Design
    bound: Bound
    never: frozenset[str]
    difference: Difference | None = None
    pairs: int = 0
    """States of X with what Y may be in."""
    depth: int = 0
    bound_hit: bool = False
    """Some step led out of the bound and was not followed."""
    exhausted: bool = False
    """Every program within the bound was tried, up to the first difference."""


class Known:
    """Outcomes by design, state and action: comparisons under different conditions share them."""

    def __init__(self, bound: Bound) -> None:
        self.bound = bound
        self.found: dict[tuple[str, bytes, AnyAction], list[Outcome]] = {}
        self.tried: dict[tuple[str, bytes], list[AnyAction]] = {}

    def outcomes(self, design: Design, key: bytes, action: AnyAction) -> list[Outcome]:
        """Every way in which an action can end."""
        where = (design.name, key, action)
        if where not in self.found:
            self.found[where] = outcomes(key, action, design, self.bound)
        return self.found[where]

    def actions(self, design: Design, key: bytes) -> list[AnyAction]:
        """Everything that can be tried in a state between calls."""
        if (design.name, key) not in self.tried:
            self.tried[design.name, key] = list(moves(unpack(key), design, self.bound))
        return self.tried[design.name, key]


@dataclass
class Comparison:
    """A search over programs, under X and Y together."""

    result: Refinement
    known: Known
    tell: Callable[[int], bool] = lambda pairs: False
    parents: dict[Node, tuple[Node, Outcome] | None] = field(default_factory=dict)

    def run(self) -> None:
        """Try every program, shorter ones first, until a difference shows."""
        start = pack(canonical(State()))
        level = deque([self.joined(start, [(start, ())])])
        self.parents[level[0]] = None
        bound = self.result.bound
        while level:
            later: dict[Node, tuple[Node, Outcome]] = {}
            while level:
                node = level.popleft()
                for outcome, after in self.successors(node):
                    price = cost(outcome.steps[0])
                    if after in self.parents:
                        continue
                    if price:
                        later.setdefault(after, (node, outcome))
                    else:
                        self.parents[after] = (node, outcome)
                        level.append(after)
                self.result.pairs = len(self.parents)
                if self.result.difference is not None or self.tell(len(self.parents)):
                    return
                if len(self.parents) >= bound.max_states:
                    return
            if bound.actions is not None and self.result.depth + 1 >= bound.actions:
                break
            self.result.depth += 1
            level = deque(after for after in later if after not in self.parents)
            self.parents.update((after, later[after]) for after in level)
        self.result.exhausted = True

    def successors(self, node: Node) -> Iterator[tuple[Outcome, Node]]:
        """What X can do next, with what Y may be in after the same; stops at a difference."""
        result, (key, others) = self.result, node
        for action in self.known.actions(result.x, key):
            for outcome in self.allowed(result.x, key, action):
                after = self.matched(outcome, action, others)
                if not after:
                    self.note(node, outcome, action)
                    return
                if self.inside(outcome) and all(other for other, _ in after):
                    yield outcome, self.joined(outcome.key, after)
                else:
                    result.bound_hit = True

    def allowed(self, design: Design, key: bytes, action: AnyAction) -> list[Outcome]:
        """The ways in which an action can end without what is never to happen."""
        found = self.known.outcomes(design, key, action)
        return [outcome for outcome in found if not outcome.words & self.result.never]

    def matched(
        self, outcome: Outcome, action: AnyAction, others: frozenset[tuple[bytes, Places]]
    ) -> list[tuple[bytes, Places]]:
        """What Y may be in after it has shown the same."""
        if outcome.seen is None:
            return [(key, placed(places, outcome.names)) for key, places in others]
        return [
            (end.key, placed(old_places(end.names, places), outcome.names))
            for key, places in others
            for end in self.allowed(self.result.y, key, translated(action, places))
            if end.seen == outcome.seen
        ]

    def inside(self, outcome: Outcome) -> bool:
        """Whether the state afterwards is within the bound."""
        bound = self.result.bound
        return outcome.records <= bound.records and outcome.buffers <= bound.buffers

    def joined(self, key: bytes, others: list[tuple[bytes, Places]]) -> Node:
        """A state of X with what Y may be in, also after its device has acted unseen."""
        seen, todo = set(others), list(others)
        while todo:
            other, places = todo.pop()
            for action in self.known.actions(self.result.y, other):
                if isinstance(action, ENVIRONMENT):
                    ends = self.allowed(self.result.y, other, action)
                    new = {(end.key, old_places(end.names, places)) for end in ends} - seen
                    seen |= new
                    todo += new
        return key, frozenset(seen)

    def note(self, node: Node, outcome: Outcome, action: AnyAction) -> None:
        """A difference: the program that leads to it, and what Y could have shown."""
        pieces, said, length = [outcome.steps], set(outcome.words), cost(action)
        at = self.parents[node]
        while at is not None:
            pieces.append(at[1].steps)
            said |= at[1].words
            length += cost(at[1].steps[0])
            at = self.parents[at[0]]
        possible = {
            other.seen
            for key, places in node[1]
            for other in self.allowed(self.result.y, key, translated(action, places))
            if other.seen is not None
        }
        program = program_of(pieces[::-1], self.result.x)
        if outcome.seen is None:
            raise AssertionError("what is not seen makes no difference")
        self.result.difference = Difference(
            program, outcome.seen, tuple(sorted(possible, key=repr)), frozenset(said), length
        )


def translated(action: AnyAction, places: Places) -> AnyAction:
    """An action about the tensors of X as one about those of Y; new names are the same."""
    tensor = {place: TensorName(name) for name, place in enumerate(places)}
    return with_names(action, tensor.__getitem__, lambda name: name)


def old_places(names: tuple[TensorName, ...], places: Places) -> Places:
    """The places of tensors after a step of Y, by the names they had before: new ones have theirs
    as place."""
    return tuple(places[name] if name < len(places) else name for name in names)


def placed(places: Places, names: tuple[TensorName, ...]) -> Places:
    """Places in the state of X before its step as those after it."""
    return tuple(names.index(TensorName(place)) for place in places)


def refine(
    x: Design,
    y: Design,
    known: Known,
    never: frozenset[str] = frozenset(),
    tell: Callable[[int], bool] = lambda pairs: False,
) -> Refinement:
    """Look for a shortest program on which X shows what Y cannot."""
    result = Refinement(x, y, known.bound, never)
    Comparison(result, known, tell).run()
    return result
