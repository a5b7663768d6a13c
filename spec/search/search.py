"""The state of a search: what it has visited, what it has still to expand, what it has found.

A node is a state with the number of calls on the way to it. A state is visited again only on a way
with fewer calls, since then more of them are left; without a bound on calls each state is one node.
"""

import resource
from array import array
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from markstep.spec.design import Design
from markstep.spec.invariants import CLAIMS_IN_ORDER
from markstep.spec.machine import AnyAction
from markstep.spec.search.alphabet import Bound, cost
from markstep.spec.search.canonical import canonical, pack, unpack
from markstep.spec.search.expand import Expand, Expansion, continued, readable
from markstep.spec.search.expand import Path as Steps
from markstep.spec.state import State

FAR = 1 << 30
PAGES = Path("/proc/self/statm")


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
    """Some step led out of the bound and was not followed."""
    seconds: float = 0.0
    frontier: int = 0
    """States known and still to expand."""
    levels: list[int] = field(default_factory=list)
    """How many nodes have a shortest path of each length."""
    counterexamples: dict[str, tuple[AnyAction, ...]] = field(default_factory=dict)
    """A shortest violating path per claim, internal steps included."""
    witnessed: set[str] = field(default_factory=set)

    @property
    def unwitnessed(self) -> list[str]:
        """Claims whose premise was never exercised: they hold for no reason."""
        return [claim.id for claim in CLAIMS_IN_ORDER if claim.id not in self.witnessed]


class Search:
    """The visited states, how each was first reached, and those still to expand."""

    def __init__(self, design: Design, bound: Bound) -> None:
        self.result = Exploration(design, bound)
        self.numbers: dict[bytes, int] = {}
        """The last node of each visited state: that with the fewest calls."""
        self.keys: list[bytes] = []
        self.parents = array("q")
        self.taken = array("H")
        self.calls = bytearray()
        self.now: deque[int] = deque()
        """Nodes to expand whose paths have the present length."""
        self.rising: dict[tuple[bytes, int], tuple[int, int]] = {}
        """(state, calls) that paths of the present length lead to: (node before, move)."""
        self.later: dict[tuple[bytes, int], tuple[int, int]] = {}
        """As ``rising``, for paths that are longer by one."""
        self.edges: list[tuple[int, int, bytes]] | None = None
        """(node, move, state that it leads to) for every move, where somebody wants to know."""

    @classmethod
    def begun(cls, design: Design, bound: Bound) -> "Search":
        """A search that knows the first state only."""
        search = cls(design, bound)
        search.rising[pack(canonical(State())), 0] = (-1, 0)
        search.result.levels.append(0)
        search.rise()
        return search

    def add(self, key: bytes, calls: int, parent: int, move: int) -> None:
        """Note a node, unless its state is known with as few calls."""
        old = self.numbers.get(key)
        if old is not None and self.calls[old] <= calls:
            return
        number = self.numbers[key] = len(self.keys)
        self.keys.append(key if old is None else self.keys[old])
        self.parents.append(parent)
        self.taken.append(move)
        self.calls.append(calls)
        self.now.append(number)
        self.result.levels[-1] += 1

    def known(self, key: bytes, calls: int) -> bool:
        """Whether a state was visited with as few calls."""
        old = self.numbers.get(key)
        return old is not None and self.calls[old] <= calls

    def rise(self) -> None:
        """Visit what paths of the present length lead to, as far as the bound on states allows.

        Those with fewer calls come first, and all that they lead to: so nothing is visited that is
        also reached by as short a path with fewer calls.
        """
        if self.now:
            return
        fewest = min((calls for _, calls in self.rising), default=0)
        for entry in [entry for entry in self.rising if entry[1] == fewest]:
            if not self.known(*entry):
                if self.full():
                    return
                self.add(*entry, *self.rising[entry])
            del self.rising[entry]

    def next_level(self) -> None:
        """Go on with paths that are longer by one."""
        new = {entry: how for entry, how in self.later.items() if not self.known(*entry)}
        self.rising, self.later = new, {}
        if new:
            self.result.depth += 1
            self.result.levels.append(0)

    @property
    def done(self) -> bool:
        """Nothing is left to expand."""
        return not (self.now or self.rising or self.later)

    @property
    def nodes(self) -> int:
        """Nodes that were visited."""
        return len(self.keys)

    @property
    def expanded(self) -> int:
        """Nodes that were expanded."""
        return len(self.keys) - len(self.now)

    def note(self, seconds: float) -> None:
        """Bring the result up to date."""
        result = self.result
        result.states, result.seconds, result.exhausted = len(self.numbers), seconds, self.done
        result.frontier = len(self.now) + len(self.rising) + len(self.later)

    def full(self) -> bool:
        """As many states were visited as the bound allows."""
        return len(self.numbers) >= self.result.bound.max_states

    def too_much(self) -> bool:
        """A limit of the bound is reached."""
        return self.full() or memory() > self.result.bound.max_memory

    def tasks(self, numbers: list[int]) -> list[Expand]:
        """The nodes to expand, and the claims that still have to be looked at."""
        result, bound = self.result, self.result.bound
        shortest = {id: sum(map(cost, path)) for id, path in result.counterexamples.items()}
        # A move that costs nothing may show the same by a shorter program.
        pending = tuple(c.id for c in CLAIMS_IN_ORDER if shortest.get(c.id, FAR) > result.depth)
        unseen = tuple(result.unwitnessed)
        last = bound.actions is not None and result.depth >= bound.actions
        common = (result.design, bound, pending, unseen, last)
        quiet = [bound.syncs is not None and self.calls[n] >= bound.syncs for n in numbers]
        return [Expand(self.keys[n], *common, q) for n, q in zip(numbers, quiet, strict=True)]

    def merge(self, number: int, found: Expansion) -> None:
        """Add what the expansion of one node has found."""
        result = self.result
        result.transitions += found.transitions
        result.bound_hit = result.bound_hit or found.bound_hit
        result.witnessed.update(found.witnessed)
        for id, move, price, steps in found.violated:
            known = result.counterexamples.get(id)
            if known is None or result.depth + price < sum(map(cost, known)):
                path = (*self.path(number), *self.steps(number, move)[:steps])
                result.counterexamples[id] = readable(path, result.design)
        limited = result.bound.syncs is not None
        for move, price, begun, key in found.successors:
            calls = self.calls[number] + begun if limited else 0
            if self.edges is not None:
                self.edges.append((number, move, key))
            if price:
                self.later.setdefault((key, calls), (number, move))
            else:
                self.add(key, calls, number, move)

    def steps(self, number: int, move: int) -> Steps:
        """The steps of a move, in the names of the canonical state of its node."""
        return continued(unpack(self.keys[number]), move, self.result)[0]

    def path(self, number: int) -> list[AnyAction]:
        """Actions to a node, each in the names of the canonical state before it."""
        pieces: list[Steps] = []
        while self.parents[number] >= 0:
            pieces.append(self.steps(self.parents[number], self.taken[number]))
            number = self.parents[number]
        return [action for piece in reversed(pieces) for action in piece]


def memory() -> int:
    """MiB that this process holds; where the system does not say it, the most that it ever held."""
    try:
        return int(PAGES.read_text().split()[1]) * resource.getpagesize() >> 20
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
