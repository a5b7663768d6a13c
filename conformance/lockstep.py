"""Lockstep: every action is done by the law and by an executor, and what can be seen is compared.

The comparison tolerates exactly the freedom that the law leaves: unless the adapter declares that
executions end only when told to, a running execution may have ended at any moment. The law then
has two possible states; each is carried on until what is seen decides between them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from markstep.conformance.adapter import ENVIRONMENT, Adapter, AdapterError, missing_capability
from markstep.conformance.claims import ClaimWatch
from markstep.conformance.explain import Divergence, broken_claim, differing
from markstep.conformance.verdict import Verdict
from markstep.conformance.views import (
    Difference,
    Naming,
    checked_observation,
    checked_view,
    compare_outcomes,
    compare_views,
    law_outcome,
    law_view,
    new_naming,
)
from markstep.spec import machine
from markstep.spec.design import Design
from markstep.spec.schedule import end_of_execution, initial_state, perform
from markstep.spec.state import State
from markstep.spec.vocabulary import Action, ErrorKind, Observation


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """How one program ended."""

    program: tuple[Action, ...]
    verdict: Verdict
    divergence: Divergence | None = None
    step: int = -1
    """The index of the action at which it went wrong."""
    message: str = ""


@dataclass(slots=True)
class Counts:
    """What was exercised in lockstep. Keys are ids of rules."""

    steps: int = 0
    exercised: dict[str, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)

    def note(self, action: Action, error: ErrorKind) -> None:
        """One action was compared."""
        self.steps += 1
        rule = machine.ACTIONS[type(action)].id
        self.exercised[rule] = self.exercised.get(rule, 0) + 1
        if error == ErrorKind.BAD_ARGUMENT:
            self.refused[rule] = self.refused.get(rule, 0) + 1
        elif error != ErrorKind.NONE:
            self.errors[rule] = self.errors.get(rule, 0) + 1


REFUSED = Observation(ErrorKind.BAD_ARGUMENT)
"""What an executor must say to an action that the law does not have; nothing may change."""


@dataclass(frozen=True, slots=True)
class Possibility:
    """One state in which the executor may be."""

    state: State
    naming: Naming
    """The names that this reading gives to the executor's things."""
    totals: Mapping[str, int]
    """The law's counters at the last comparison."""
    outcome: Observation


class Session:
    """One program in lockstep, action by action. ``state`` is the law's."""

    def __init__(self, adapter: Adapter, design: Design, watch: ClaimWatch, counts: Counts) -> None:
        self.adapter, self.design, self.watch, self.counts = adapter, design, watch, counts
        self.observer = watch.observer(design)
        adapter.reset()
        self.view = checked_view(adapter.observe())
        self.possible = [Possibility(initial_state(), new_naming(), {}, Observation())]
        self.free = ENVIRONMENT not in adapter.capabilities

    @property
    def state(self) -> State:
        """The state of the law; of several possible ones, that in which less has ended."""
        return self.possible[0].state

    @property
    def over(self) -> bool:
        """The process of the law has died: nothing can follow."""
        return self.state.device.crashed

    def skips(self, action: Action) -> bool:
        """Whether the action is the device's and cannot happen now: nobody would refuse it."""
        if not isinstance(action, machine.ENVIRONMENT):
            return False
        return perform(self.state, action, self.design) is None

    def step(self, action: Action) -> Divergence | None:
        """Do one action on both sides. Raises AdapterError if the executor broke the protocol."""
        start = self.state
        after = self._perform(self._with_endings(self.possible), action)
        observed = checked_observation(self.adapter.apply(action))
        self.counts.note(action, observed.error)
        claim = self.watch.take_broken()
        if claim is not None:
            return broken_claim(claim, start, after[0].state)
        self.view = checked_view(self.adapter.observe())
        fitting, found = self._compare(action, observed, self._with_endings(after))
        if not fitting:
            return differing(action, found, start, after[0].state)
        self.possible = fitting
        return None

    def _perform(self, possible: list[Possibility], action: Action) -> list[Possibility]:
        moved = []
        for p in possible:
            state = perform(p.state, action, self.design, self.observer)
            seen = law_outcome(state, action) if state is not None else REFUSED
            moved.append(Possibility(state or p.state, p.naming, p.totals, seen))
        return moved

    def _with_endings(self, possible: list[Possibility]) -> list[Possibility]:
        """Also those in which the running execution has ended, if it ends by itself."""
        if not self.free:
            return possible
        ended = []
        for p in possible:
            if p.state.execution.running and not p.state.device.crashed:
                end = end_of_execution(p.state, self.design)
                state = perform(p.state, end, self.design, self.observer)
                if state is not None:
                    ended.append(Possibility(state, p.naming, p.totals, p.outcome))
        return possible + ended

    def _compare(
        self, action: Action, observed: Observation, possible: list[Possibility]
    ) -> tuple[list[Possibility], list[Difference]]:
        """The possibilities that fit what is seen, and what does not fit in the first of all."""
        fitting: list[Possibility] = []
        first: list[Difference] | None = None
        for p in possible:
            naming = p.naming.copy() if self.free else p.naming
            found = compare_outcomes(action, p.outcome, observed, naming)
            if not p.state.device.crashed:
                expected = law_view(p.state, p.totals)
                found += compare_views(expected, self.view, naming)
                naming.forget_unseen(expected)
            if first is None:
                first = found
            if not found:
                fitting.append(Possibility(p.state, naming, p.state.payload.totals(), p.outcome))
        return _one_of_each_kind(fitting), first or []


def _one_of_each_kind(possible: list[Possibility]) -> list[Possibility]:
    """At most one possibility with a running execution and one without."""
    kinds = {p.state.execution.running: p for p in reversed(possible)}
    return [kinds[running] for running in (True, False) if running in kinds]


def run_program(
    program: Sequence[Action],
    adapter: Adapter,
    design: Design,
    watch: ClaimWatch | None = None,
    counts: Counts | None = None,
) -> ProgramResult:
    """A whole program in lockstep. Never raises for what the adapter does."""
    actions, index = tuple(program), -1
    try:
        session = Session(adapter, design, watch or ClaimWatch(()), counts or Counts())
        for index, action in enumerate(actions):
            missing = missing_capability(adapter, action)
            if missing is not None:
                text = f"the adapter does not declare the capability {missing!r}"
                return ProgramResult(actions, Verdict.UNSUPPORTED, None, index, text)
            if session.over:
                break
            if session.skips(action):
                continue
            divergence = session.step(action)
            if divergence is not None:
                return ProgramResult(actions, Verdict.VIOLATES, divergence, index)
    except Exception as error:
        return broke(actions, index, error)
    return ProgramResult(actions, Verdict.CONFORMS)


def broke(program: tuple[Action, ...], index: int, error: BaseException) -> ProgramResult:
    """The adapter raised something that no ErrorKind stands for, or broke the protocol."""
    text = str(error) if isinstance(error, AdapterError) else f"{type(error).__name__}: {error}"
    return ProgramResult(program, Verdict.ERROR, None, index, (text.splitlines() or [""])[0])
