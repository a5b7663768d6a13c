"""A program step by step: what each step changed, which guards fired, which claims it met.

Used by the viewer, in the terminal and as a page.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from markstep.conformance.changes import diff_states
from markstep.conformance.guards import Guard, fired
from markstep.conformance.show import show, show_end
from markstep.spec.design import Design
from markstep.spec.invariants import CLAIMS_IN_ORDER, Claim, Step
from markstep.spec.machine import ACTIONS, AnyAction
from markstep.spec.named_designs import DESIGNS
from markstep.spec.state import State
from markstep.spec.trace import Trace


@dataclass(frozen=True, slots=True)
class Part:
    """A small step of an action."""

    before: State
    action: AnyAction
    after: State

    @property
    def changed(self) -> list[str]:
        """What it changed."""
        return diff_states(self.before, self.after)


@dataclass(frozen=True, slots=True)
class Stage:
    """A state of a walk, and the step that led to it."""

    number: int
    """Of the step; -1 is the start."""
    action: AnyAction | None
    before: State
    state: State
    ended: str = ""
    """How the step ended, if not simply well."""
    parts: tuple[Part, ...] = ()
    """The small steps of the action, itself the first."""
    guards: tuple[Guard, ...] = ()
    broken: Mapping[Claim, Part] = field(default_factory=dict)
    """Each with the small step that breaks it first."""
    exercised: tuple[Claim, ...] = ()
    """Claims whose premise came up, and that held."""

    @property
    def text(self) -> str:
        """The step as one line."""
        return "the start" if self.action is None else show(self.action)

    @property
    def id(self) -> str:
        """Of the action in the table."""
        return "" if self.action is None else ACTIONS[type(self.action)].id

    @property
    def changed(self) -> list[str]:
        """What the step changed."""
        return diff_states(self.before, self.state)


def under(trace: Trace, design: str | None) -> Trace:
    """The trace under another design, if one is given."""
    return trace if design is None else replace(trace, design=design, states=())


def walk(trace: Trace) -> Iterator[Stage]:
    """The start, then one stage for each action."""
    design = DESIGNS[trace.design]
    yield Stage(-1, None, trace.start, trace.start)
    parts: list[Part] = []
    run = trace.run(lambda *step: parts.append(Part(*step)))
    for number in range(len(trace.actions)):
        (before, action, after), guards = fired(lambda: next(run))
        taken, parts[:] = tuple(parts), []
        broken, exercised = judged(taken, design)
        how, state = show_end(before, action, after), after or before
        yield Stage(number, action, before, state, how, taken, guards, broken, exercised)


def judged(parts: Sequence[Part], design: Design) -> tuple[dict[Claim, Part], tuple[Claim, ...]]:
    """(claims that some small step breaks, with the first; claims that are exercised and kept)."""
    steps = [(Step(part.before, part.action, part.after, design), part) for part in parts]
    broken: dict[Claim, Part] = {}
    for claim in CLAIMS_IN_ORDER:
        wrong = [part for step, part in steps if not claim.predicate(step)]
        if wrong:
            broken[claim] = wrong[0]
    met = [c for c in CLAIMS_IN_ORDER if c not in broken and any(c.witness(s) for s, _ in steps)]
    return broken, tuple(met)
