"""The form of the law: the very text of a rule runs on values and on symbols.

A rule may branch on control fields only, and only by looking at small integers. So it can be run on
symbolic integers that stand for all values at once: each branch splits a domain, and the paths of
one rule are boxes that cover its whole space. Here two rules are run both ways on every state of a
small space. This is what makes the text searchable and provable; if it breaks, the form is lost.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest

from markstep.spec.design import SOUND, TORCH_XLA_2_9, Design
from markstep.spec.rules.execution import complete_execution
from markstep.spec.rules.sync import Collect, collect
from markstep.spec.sorts import sorts
from markstep.spec.state import Buffer, Call, CallKind, Execution, Phase, Record, State
from markstep.spec.vocabulary import BufferStatus, CompleteExecution

Box = dict[str, tuple[int, ...]]


class Fork:
    """One run of a rule: the decisions taken, those to repeat, and the domains left."""

    def __init__(self, domains: Box, prefix: list[bool]) -> None:
        self.domains = dict(domains)
        self.prefix = prefix
        self.taken: list[bool] = []

    def decide(self, name: str, test: Callable[[int], bool]) -> bool:
        """Split a domain by a test and follow one side."""
        yes = tuple(v for v in self.domains[name] if test(v))
        no = tuple(v for v in self.domains[name] if not test(v))
        if not yes or not no:
            return bool(yes)
        side = self.prefix[len(self.taken)] if len(self.taken) < len(self.prefix) else True
        self.taken.append(side)
        self.domains[name] = yes if side else no
        return side


class Symbol:
    """A control field that stands for every value of its domain."""

    def __init__(self, fork: Fork, name: str) -> None:
        self.fork, self.name = fork, name

    def __index__(self) -> int:
        while len(self.fork.domains[self.name]) > 1:
            value = self.fork.domains[self.name][0]
            self.fork.decide(self.name, lambda v, value=value: v == value)  # type: ignore[misc]
        return self.fork.domains[self.name][0]

    def __bool__(self) -> bool:
        return self.fork.decide(self.name, bool)

    def __eq__(self, other: object) -> Any:
        number = operator.index(other)  # type: ignore[arg-type]
        return self.fork.decide(self.name, lambda v: v == number)

    def __ge__(self, other: int) -> bool:
        return self.fork.decide(self.name, lambda v: v >= other)

    __hash__ = None  # type: ignore[assignment]


def _concretely(name: str) -> Callable[..., Any]:
    def method(self: Symbol, *args: Any) -> Any:
        return getattr(int, name)(self.__index__(), *(operator.index(a) for a in args))

    return method


for _name in ("and", "rand", "or", "ror", "rshift", "rlshift", "invert", "lshift", "rrshift"):
    setattr(Symbol, f"__{_name}__", _concretely(f"__{_name}__"))


def paths(domains: Box, run: Callable[[Fork], Any]) -> Iterator[tuple[Box, Any]]:
    """Every path of a rule: the box of inputs that take it, and its result."""
    todo: list[list[bool]] = [[]]
    while todo:
        fork = Fork(domains, todo.pop())
        result = run(fork)
        yield fork.domains, result
        for i in range(len(fork.prefix), len(fork.taken)):
            todo.append([*fork.taken[:i], not fork.taken[i]])


def control(state: State, values: dict[str, int]) -> list[Any]:
    """The control fields of a state, symbols replaced by values."""
    parts = [*state.records, *state.buffers, state.execution, state.device, state.call]
    fields = [getattr(part, name) for part in parts for name in sorts(type(part))]
    return [values[f.name] if isinstance(f, Symbol) else int(f) for f in fields]


def collecting(get: Callable[[str], Any]) -> State:
    """Two records of unknown state, collected by a call of unknown force."""
    records = [
        Record(
            live=True,
            id=r + 1,
            alias_id=r + 1,
            handle=get(f"handle{r}"),
            ir=get(f"ir{r}"),
            leaf=r,
            host=get(f"host{r}"),
            is_cloned=get(f"cloned{r}"),
        )
        for r in range(2)
    ]
    call = Call(
        kind=CallKind.SYNC, phase=Phase.COLLECT, force=get("force"), members=3, order=(0, 1)
    )
    return State(records, [Buffer(status=BufferStatus.VALUE) for _ in range(2)], call=call)


COLLECT_SPACE: Box = {
    "force": (0, 1),
    **{f"handle{r}": (-1, r) for r in range(2)},
    **{f"ir{r}": (0, 1, 3) for r in range(2)},
    **{f"host{r}": (0, 1) for r in range(2)},
    **{f"cloned{r}": (0, 1) for r in range(2)},
}


def completing(get: Callable[[str], Any]) -> State:
    """An execution with an unknown output and unknown donors ends."""
    execution = Execution(
        running=True, outputs=get("outputs"), donors=get("donors"), right=get("right")
    )
    buffers = [Buffer(status=get(f"status{b}"), recipe=get(f"recipe{b}")) for b in range(3)]
    return State([], buffers, execution=execution)


COMPLETE_SPACE: Box = {
    "outputs": (0, 1, 2, 3),
    "donors": (0, 4, 6),
    "right": (0, 1),
    **{f"status{b}": (1, 2, 3) for b in range(3)},
    **{f"recipe{b}": (0, 3) for b in range(3)},
}


@pytest.mark.parametrize("design", [SOUND, TORCH_XLA_2_9], ids=lambda d: d.name)
@pytest.mark.parametrize(
    ("build", "space", "rule", "action"),
    [
        (collecting, COLLECT_SPACE, collect, Collect()),
        (completing, COMPLETE_SPACE, complete_execution, CompleteExecution()),
    ],
    ids=["collect", "complete"],
)
def test_a_rule_runs_on_symbols_as_on_values(
    build: Callable[[Callable[[str], Any]], State],
    space: Box,
    rule: Callable[[State, Any, Design], None],
    action: Any,
    design: Design,
) -> None:
    def symbolic(fork: Fork) -> State:
        state = build(lambda name: Symbol(fork, name))
        rule(state, action, design)
        return state

    covered = 0
    for box, result in paths(space, symbolic):
        for values in product(*box.values()):
            assignment = dict(zip(box, values, strict=True))
            state = build(assignment.__getitem__)
            rule(state, action, design)
            assert control(result, assignment) == control(state, assignment)
            covered += 1
    total = 1
    for domain in space.values():
        total *= len(domain)
    assert covered == total
