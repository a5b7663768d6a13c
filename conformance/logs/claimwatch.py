"""The claims of the law, judged on every small step of a log.

A claim is dropped for the rest of a log once it is broken: a broken state often stays broken, and
the first break is the one with the shortest prefix.
"""

from dataclasses import dataclass, field
from pathlib import Path

from markstep.conformance.changes import diff_states
from markstep.spec.design import Design
from markstep.spec.invariants import CLAIMS, Claim, Step
from markstep.spec.machine import AnyAction
from markstep.spec.state import State


@dataclass(frozen=True, slots=True)
class Break:
    """Where a log first breaks a claim."""

    claim: Claim
    path: Path
    step: int
    line: int
    action: AnyAction
    """The small step that breaks it."""
    changed: tuple[str, ...]
    program: tuple[AnyAction, ...] = ()
    """The actions of the prefix of the log, the breaking step included."""

    @property
    def prefix(self) -> int:
        """How many steps of the log are needed."""
        return self.step + 1


@dataclass(slots=True)
class ClaimWatch:
    """An observer of small steps that judges every claim."""

    path: Path
    design: Design
    step: int = 0
    line: int = 0
    checked: dict[str, int] = field(default_factory=dict)
    witnessed: dict[str, int] = field(default_factory=dict)
    breaks: dict[str, Break] = field(default_factory=dict)
    left: dict[str, Claim] = field(default_factory=CLAIMS.copy)

    def __call__(self, before: State, action: AnyAction, after: State) -> None:
        seen = Step(before, action, after, self.design)
        for id, claim in list(self.left.items()):
            self.checked[id] = self.checked.get(id, 0) + 1
            self.witnessed[id] = self.witnessed.get(id, 0) + claim.witness(seen)
            if not claim.predicate(seen):
                changed = tuple(diff_states(before, after))
                where = (self.path, self.step, self.line)
                self.breaks[id] = Break(claim, *where, action, changed)
                del self.left[id]

    def forget(self, step: int) -> None:
        """A step that is not explained shows nothing about the recorded system."""
        self.breaks = {id: found for id, found in self.breaks.items() if found.step != step}
