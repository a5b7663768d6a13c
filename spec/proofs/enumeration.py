"""The same obligations without symbols and without z3: every state that matters is tried.

A field gets a value when the plain rule, or a claim, first reads it; every value is tried in turn.
What nobody reads is never chosen, so a run stands for all states that agree on what it has read. It
shares with the proofs by z3 the actions and the meaning of the fields, and nothing else.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from time import monotonic
from typing import Any

from markstep.spec import machine
from markstep.spec.design import Design
from markstep.spec.invariants import CLAIMS, Claim, Kind
from markstep.spec.machine import AnyAction
from markstep.spec.proofs.instances import actions_in, can_be
from markstep.spec.proofs.obligations import Finding, Gap
from markstep.spec.proofs.states import CONTROL, SHARDINGS, TYPES, Case, build, copied, rows_of
from markstep.spec.proofs.symbolic import ERRORS, OutOfBound, lift
from markstep.spec.rules.execution import Schedule
from markstep.spec.sorts import SPMD
from markstep.spec.state import State
from markstep.spec.vocabulary import CompleteExecution, EvictCache, Sharding

ENOUGH = 20_000
"""So many runs are tried for one claim and one action; beyond that nothing is said."""

FIRST = ("I100", "I94", "I96", "I97")
"""Claims about the fields of one row, which spare trying most of their values."""


class TooManyStates(Exception):
    """More states matter than are tried."""


class Choices:
    """The values chosen so far, in the order in which they were asked for."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.trail: list[list[Any]] = []
        """For each choice the values that are still to be tried, the chosen one first."""
        self.asked = 0

    def of(self, path: str, domain: Sequence[Any]) -> Any:
        """The value of a field."""
        if path not in self.values:
            if self.asked == len(self.trail):
                self.trail.append(list(domain))
            self.values[path] = self.trail[self.asked][0]
            self.asked += 1
        return self.values[path]

    def next(self) -> bool:
        """Go on to the next combination; False: all were tried."""
        self.values, self.asked = {}, 0
        while self.trail and len(self.trail[-1]) == 1:
            self.trail.pop()
        if self.trail:
            del self.trail[-1][0]
        return bool(self.trail)


class Later:
    """A field that has no value yet: whoever looks at it chooses one."""

    def __init__(self, choices: Choices, path: str, domain: Sequence[Any]) -> None:
        self.choices, self.path, self.domain = choices, path, domain

    def now(self) -> Any:
        """The value."""
        return self.choices.of(self.path, self.domain)

    def __bool__(self) -> bool:
        return bool(self.now())

    def __index__(self) -> int:
        return int(self.now())

    def __rshift__(self, other: int) -> int:
        return int(self.now()) >> other


class Field:
    """Reads a field of a row; one without a value gets it now."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, row: Any, owner: type) -> Any:
        value = row.__dict__[self.name]
        return value.now() if isinstance(value, Later) else value

    def __set__(self, row: Any, value: Any) -> None:
        row.__dict__[self.name] = value


def reading(cls: type, names: Iterable[str]) -> type:
    """A class of rows whose control fields are chosen when they are read."""
    return type(cls.__name__, (cls,), {name: Field(name) for name in names})


READING = {cls: reading(cls, names) for cls, names in CONTROL.items()}
READING_STATE = reading(State, ("lost", "raised"))


def open_state(case: Case, choices: Choices) -> State:
    """A state of a case in which nothing is chosen yet."""

    def get(path: str, domain: tuple[int, ...]) -> Any:
        kind = TYPES.get(sort_of(path), int)
        values = ERRORS if path == "raised" else [kind(value) for value in domain]
        return Later(choices, path, values)

    state = build(case, get)
    for row in rows_of(state):
        row.__class__ = READING[type(row)]
    state.__class__ = READING_STATE
    return state


@cache
def sort_of(path: str) -> Any:
    """The sort of the control field at a path."""
    part, _, name = path.partition(".")
    by_part = {cls.__name__.lower(): fields for cls, fields in CONTROL.items()}
    return by_part.get(part.rstrip("0123456789"), {}).get(name)


@dataclass(frozen=True)
class Question:
    """Whether an action can break a claim from a state of a case in which some claims hold."""

    case: Case
    action: AnyAction
    claim: Claim
    assumed: tuple[Claim, ...]
    design: Design

    @property
    def first(self) -> list[Claim]:
        """What is assumed and leaves out most states."""
        return [claim for id in FIRST for claim in self.assumed if claim.id == id]

    def answer(self, limit: int = ENOUGH) -> tuple[int, dict[str, int] | None]:
        """How many runs were tried, and the fields of a state from which the claim is broken.

        Raises TooManyStates.
        """
        choices = Choices()
        before = open_state(self.case, choices)
        for tried in range(1, limit + 1):
            if self.broken_from(before):
                return tried, {path: lift(value).value for path, value in choices.values.items()}
            if not choices.next():
                return tried, None
        raise TooManyStates

    def broken_from(self, before: State) -> bool:
        """Whether the step breaks the claim, and the state before agrees with what is assumed."""
        if not all(self.holds_in(claim, before) for claim in self.first):
            return False
        after = self.after(before)
        if after is None or self.claim.holds(before, self.action, after, self.design):
            return False
        return all(self.holds_in(claim, before) for claim in self.assumed)

    def holds_in(self, claim: Claim, state: State) -> bool:
        """Whether a state agrees with a claim about states."""
        return claim.holds(state, EvictCache(), state, self.design)

    def after(self, before: State) -> State | None:
        """The state after the step by the plain rule; None: there is none within the bound."""
        action, design = self.action, self.design
        if not machine.enabled(before, action, design):
            return None
        if not can_be(before, action, design):
            return None
        after = copied(before)
        try:
            machine.take(after, action, design)
        except OutOfBound:
            return None
        return after


def check_by_enumeration(
    case: Case, design: Design, ids: Sequence[str], asked: Sequence[str]
) -> Finding:
    """The obligations of every action in a case for the claims asked about, decided by trying."""
    found, started = Finding(), monotonic()
    states = [CLAIMS[id] for id in ids if CLAIMS[id].kind == Kind.STATE]
    for id in asked:
        claim = CLAIMS[id]
        assumed = sorted(states, key=lambda other: other.id != claim.id)
        for action in concrete_actions(case):
            question = Question(case, action, claim, tuple(assumed), design)
            try:
                tried, given = question.answer()
            except TooManyStates:
                found.unknown.append(id)
                break
            found.questions += 1
            found.paths += tried
            if given is not None:
                found.gaps.append(Gap(id, case, action, given))
                break
    found.seconds = monotonic() - started
    return found


def concrete_actions(case: Case) -> Iterator[AnyAction]:
    """The actions of a case; one for each set of donors that the device may spare, and for each
    choice of the partitioner."""
    for action in actions_in(case):
        if isinstance(action, CompleteExecution):
            yield from (CompleteExecution(spares=mask) for mask in range(1 << case.buffers))
        elif isinstance(action, Schedule) and SPMD in case.modes:
            choices = [Sharding(n) for n in range(Sharding.REPLICATED, SHARDINGS)]
            yield from (Schedule(some) for some in product(choices, repeat=case.records))
        else:
            yield action
