"""The graph that a search has found: its stored states and the moves between them."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from markstep.spec.design import Design
from markstep.spec.machine import AnyAction
from markstep.spec.search.alphabet import Bound, moves
from markstep.spec.search.canonical import unpack
from markstep.spec.search.search import Search
from markstep.spec.state import State

Edge: TypeAlias = tuple[int, int]
"""(number of a state, number of a move in it)"""


@dataclass
class Space:
    """States by number, the first being the initial one, and where each move of each leads."""

    design: Design
    bound: Bound
    keys: list[bytes]
    numbers: dict[bytes, int]
    targets: list[dict[int, int]]
    """For each state: its moves within the bound, and the state that each leads to."""
    _actions: dict[int, list[AnyAction]] = field(default_factory=dict)

    @classmethod
    def of(cls, search: Search) -> "Space":
        """What a search that kept its edges has visited."""
        keys = list(search.numbers)
        numbers = {key: number for number, key in enumerate(keys)}
        targets: list[dict[int, int]] = [{} for _ in keys]
        for node, move, key in search.edges or ():
            if key in numbers:
                targets[numbers[search.keys[node]]][move] = numbers[key]
        return cls(search.result.design, search.result.bound, keys, numbers, targets)

    def state(self, number: int) -> State:
        """The canonical state of a number."""
        return unpack(self.keys[number])

    def actions(self, number: int) -> list[AnyAction]:
        """The actions of the moves of a state, by their numbers."""
        if number not in self._actions:
            state = self.state(number)
            self._actions[number] = list(moves(state, self.design, self.bound))
        return self._actions[number]

    def action(self, edge: Edge) -> AnyAction:
        """The action of a move, in the names of the canonical state."""
        return self.actions(edge[0])[edge[1]]

    @property
    def edges(self) -> list[Edge]:
        """Every move of every state."""
        return [(number, move) for number, out in enumerate(self.targets) for move in sorted(out)]

    def path(
        self, start: int, wanted: Callable[[Edge], bool], usable: Callable[[Edge], bool]
    ) -> list[Edge] | None:
        """A shortest way over usable moves whose last move is wanted."""
        came: dict[int, Edge | None] = {start: None}
        todo = deque([start])
        while todo:
            number = todo.popleft()
            for move, target in self.targets[number].items():
                if not usable((number, move)):
                    continue
                if wanted((number, move)):
                    return [*self._back(number, came), (number, move)]
                if target not in came:
                    came[target] = (number, move)
                    todo.append(target)
        return None

    def _back(self, number: int, came: dict[int, Edge | None]) -> list[Edge]:
        way: list[Edge] = []
        while (edge := came[number]) is not None:
            way.append(edge)
            number = edge[0]
        return way[::-1]
