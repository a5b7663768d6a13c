"""Making a failing program short: delta debugging over its actions and tensors.

A candidate is the program without some of its actions, or with one tensor in place of another, or
with an action made simpler. The law says which of the other actions are then not possible any more;
they go with them, so that a candidate is always a program that means something.

What comes out is 1-minimal if the budget suffices: it fails no more when any action is left out
(with those that need it), any tensor is replaced by an earlier one, or any action is made simpler
(`markstep.conformance.programs.simpler`). Its tensors are numbered in order of appearance. Source:
Zeller and Hildebrandt, Simplifying and isolating failure-inducing input (2002), algorithm ddmin.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from time import monotonic
from typing import TypeAlias

from markstep.conformance.programs.simpler import simpler_actions, simpler_layouts
from markstep.spec.design import SOUND, Design
from markstep.spec.machine import names
from markstep.spec.schedule import NotEnabledError, initial_state, perform
from markstep.spec.search.naming import with_names
from markstep.spec.vocabulary import Action, TensorName

Program: TypeAlias = tuple[Action, ...]
Fails: TypeAlias = Callable[[Program], bool]
Candidate: TypeAlias = Iterable[tuple[int, Action]]
"""Actions with their places in the program that the candidate was made from."""


@dataclass(slots=True)
class Budget:
    """How much a shrink may cost."""

    runs: int = 1000
    seconds: float = 120.0
    """A cap for executors that are slow; what comes out of the others depends on ``runs`` alone."""
    spent: int = 0
    """Runs so far."""
    ended: bool = False
    """A run was refused."""
    _end: float = 0.0

    def left(self) -> bool:
        """Whether one more run is allowed; counts it."""
        if self._end == 0.0:
            self._end = monotonic() + self.seconds
        if self.spent >= self.runs or monotonic() >= self._end:
            self.ended = True
            return False
        self.spent += 1
        return True

    def __str__(self) -> str:
        return f"{self.runs} runs or {self.seconds:g} s"


def shrink(
    program: Program, fails: Fails, budget: Budget | None = None, design: Design = SOUND
) -> Program:
    """The shortest program found that still fails. ``fails`` runs a candidate.

    It is 1-minimal unless ``budget.ended``.
    """
    shrinking = Shrinking(program, fails, budget or Budget(), design)
    shrinking.chunks()
    while shrinking.once():
        pass
    tidy, found = numbered(shrinking.program), shrinking.program
    return tidy if tidy == found or fails(tidy) else found


class Shrinking:
    """A program on its way to be short."""

    def __init__(self, program: Program, fails: Fails, budget: Budget, design: Design) -> None:
        self.program, self.fails, self.budget, self.design = program, fails, budget, design
        self._tried = {program}
        self._refused = self._lawful(enumerate(program), frozenset(range(len(program))))[1]

    def chunks(self) -> None:
        """Leave out many actions at once, from the end to the beginning."""
        size = len(self.program) // 2
        while size > 1:
            end = len(self.program)
            while end > 0:
                start = max(end - size, 0)
                self._try(self._without(start, end))
                end = min(start, len(self.program))
            size //= 2

    def once(self) -> bool:
        """Try everything that makes the program shorter or simpler by one; whether some did."""
        before = self.program
        for i in reversed(range(len(before))):
            if i < len(self.program):
                self._try(self._without(i, i + 1))
        self._all(self._merged)
        self._all(self._simplified)
        return self.program != before and not self.budget.ended

    def _all(self, candidates: Callable[[], Iterator[Candidate]]) -> None:
        """Try candidates until none of them fails; each success makes new ones."""
        while any(self._try(candidate) for candidate in candidates()):
            pass

    def _without(self, start: int, end: int) -> Candidate:
        listed = list(enumerate(self.program))
        return listed[:start] + listed[end:]

    def _merged(self) -> Iterator[Candidate]:
        """One tensor less: an earlier one is used in its place."""
        known: list[TensorName] = []
        listed = list(enumerate(self.program))
        for i, action in listed:
            used, made = names(action)
            if len(made) == 1:
                for other in dict.fromkeys((*used, *known)):
                    rest = [(j, _replaced(a, made[0], other)) for j, a in listed[i + 1 :]]
                    yield listed[:i] + rest
            known += made

    def _simplified(self) -> Iterator[Candidate]:
        for i, action in enumerate(self.program):
            for simpler in simpler_actions(action):
                changed = (*self.program[:i], simpler, *self.program[i + 1 :])
                yield enumerate(changed)
        for changed in simpler_layouts(self.program):
            yield enumerate(changed)

    def _try(self, candidate: Candidate) -> bool:
        """Whether a candidate fails like the program; it then takes its place."""
        shorter, refused = self._lawful(candidate, self._refused)
        if not shorter or shorter in self._tried or not self.budget.left():
            return False
        self._tried.add(shorter)
        if not self.fails(shorter):
            return False
        self.program, self._refused = shorter, refused
        return True

    def _lawful(
        self, candidate: Candidate, refused: frozenset[int]
    ) -> tuple[Program, frozenset[int]]:
        """What of a candidate the law lets happen, and the places of what is refused in it.

        An action that was refused in its old place may be so again: that can be the point of it.
        """
        state, kept, still = initial_state(), list[Action](), set[int]()
        told = True
        for old, action in candidate:
            after = None
            if told:
                try:
                    after = perform(state, action, self.design)
                except (NotEnabledError, OverflowError, RecursionError):
                    told = False  # beyond what the law can follow: the rest stays as it is
            if after is not None:
                state = after
            elif told and old not in refused:
                continue
            elif told:
                still.add(len(kept))
            kept.append(action)
            if state.device.crashed:
                break
        return tuple(kept), frozenset(still)


def _replaced(action: Action, old: TensorName, new: TensorName) -> Action:
    return _renamed(action, lambda name: new if name == old else name)


def _renamed(action: Action, rename: Callable[[TensorName], TensorName]) -> Action:
    renamed = with_names(action, rename, rename)
    return renamed  # type: ignore[return-value]


def numbered(program: Program) -> Program:
    """The program with its tensors named 0, 1, … in order of appearance."""
    new: dict[TensorName, TensorName] = {}

    def rename(name: TensorName) -> TensorName:
        return new.setdefault(name, TensorName(len(new)))

    for action in program:
        for name in (*names(action)[0], *names(action)[1]):
            rename(name)
    return tuple(_renamed(action, rename) for action in program)
