"""Making a failing program short: actions are left out as long as it still fails in the same way.

What comes out is 1-minimal if the budget suffices: leaving out any single action makes the failure
go away. Its tensors are numbered in order of appearance.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from time import monotonic
from typing import Any, TypeAlias

from markstep.spec.machine import names
from markstep.spec.naming import with_names
from markstep.spec.vocabulary import Action, TensorName

Program: TypeAlias = tuple[Action, ...]
Fails: TypeAlias = Callable[[Program], bool]

SIMPLE = {"wait": True, "sync": True, "spares": 0}
"""The simplest value of an option."""
SEVERAL = ("tensors",)
"""Fields of actions that list tensors of which some may be left out."""


@dataclass(slots=True)
class Budget:
    """How much a shrink may cost."""

    runs: int = 400
    seconds: float = 120.0
    """A cap for executors that are slow; what comes out of the others depends on ``runs`` alone."""
    _end: float = 0.0

    def left(self) -> bool:
        """Whether one more run is allowed; counts it."""
        if self._end == 0.0:
            self._end = monotonic() + self.seconds
        self.runs -= 1
        return self.runs >= 0 and monotonic() < self._end


def shrink(program: Program, fails: Fails, budget: Budget | None = None) -> Program:
    """The shortest program found that still fails. ``fails`` runs a candidate."""
    budget = budget or Budget()
    before: Program = ()
    while before != program:
        before = program
        program = _leave_out(program, fails, budget)
        program = _merge(program, fails, budget)
        program = _simplify(program, fails, budget)
    tidy = numbered(program)
    return tidy if tidy == program or fails(tidy) else program


def _leave_out(program: Program, fails: Fails, budget: Budget) -> Program:
    """Remove chunks of actions, large ones first, from the end to the beginning."""
    size = max(len(program) // 2, 1)
    while size:
        end = len(program)
        while end > 0:
            start = max(end - size, 0)
            shorter = program[:start] + program[end:]
            if shorter and budget.left() and fails(shorter):
                program = shorter
            end = start
        size //= 2
    return program


def _merge(program: Program, fails: Fails, budget: Budget) -> Program:
    """Remove actions that make a tensor from another, and use that other instead."""
    i = 0
    while i < len(program):
        used, made = names(program[i])
        if len(made) == 1 and used:
            shorter = program[:i] + _replaced(program[i + 1 :], made[0], used[0])
            if shorter and budget.left() and fails(shorter):
                program = shorter
                continue
        i += 1
    return program


def _replaced(program: Program, old: TensorName, new: TensorName) -> Program:
    return _renamed(program, lambda name: new if name == old else name)


def _renamed(program: Program, rename: Callable[[TensorName], TensorName]) -> Program:
    renamed = [with_names(action, rename, rename) for action in program]
    return tuple(renamed)  # type: ignore[arg-type]


def _simplify(program: Program, fails: Fails, budget: Budget) -> Program:
    """Make single actions smaller: fewer tensors, default options."""
    for i in range(len(program)):
        for simpler in _simpler(program[i]):
            changed = (*program[:i], simpler, *program[i + 1 :])
            if budget.left() and fails(changed):
                program = changed
    return program


def _simpler(action: Action) -> Iterator[Action]:
    """Variants of an action that are easier to read."""
    values: dict[str, Any] = {f.name: getattr(action, f.name) for f in fields(action)}
    for name in SEVERAL:
        listed = values.get(name, ())
        for i in range(len(listed) if len(listed) > 1 else 0):
            yield replace(action, **{name: listed[:i] + listed[i + 1 :]})
    for name, default in SIMPLE.items():
        if values.get(name, default) != default:
            simple: dict[str, Any] = {name: default}
            yield replace(action, **simple)


def numbered(program: Program) -> Program:
    """The program with its tensors named 0, 1, … in order of appearance."""
    new: dict[TensorName, TensorName] = {}

    def rename(name: TensorName) -> TensorName:
        return new.setdefault(name, TensorName(len(new)))

    for action in program:
        for name in (*names(action)[0], *names(action)[1]):
            rename(name)
    return _renamed(program, rename)
