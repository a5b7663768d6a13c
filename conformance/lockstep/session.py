"""Lockstep: every action is done by the law and by an executor, and what can be seen is compared.

The comparison tolerates exactly the freedom that the law leaves: unless the adapter declares that
executions end only when told to, a running execution may have ended at any moment. The law then
has two possible states; each is carried on until what is seen decides between them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from markstep.conformance.adapter import (
    ENVIRONMENT,
    VIEWS,
    Adapter,
    described_by,
    missing_capability,
    one_line,
    users_own,
)
from markstep.conformance.claims import ClaimWatch
from markstep.conformance.lockstep.explain import Divergence, broken_claim, differing
from markstep.conformance.lockstep.views import (
    Difference,
    Naming,
    checked_observation,
    checked_view,
    compare_outcomes,
    compare_views,
    law_outcome,
    law_view,
    looked_at,
    new_naming,
)
from markstep.conformance.report.model import ActionCount
from markstep.conformance.verdict import Verdict
from markstep.spec import machine
from markstep.spec.design import Design
from markstep.spec.schedule import end_of_execution, initial_state, perform
from markstep.spec.state import State
from markstep.spec.vocabulary import Action, ErrorKind, Observation, Sharding


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """How one program ended."""

    program: tuple[Action, ...]
    verdict: Verdict
    divergence: Divergence | None = None
    step: int = -1
    """The index of the action at which it went wrong."""
    message: str = ""
    hung: bool = False


@dataclass(slots=True)
class Counts:
    """What was exercised in lockstep. Keys are ids of rules."""

    steps: int = 0
    actions: dict[str, ActionCount] = field(default_factory=dict)

    @property
    def refused(self) -> int:
        """How many impossible actions were tried."""
        return sum(count.refused for count in self.actions.values())

    def note(self, action: Action, expected: Observation) -> None:
        """One action is compared, of which the law expects this."""
        self.steps += 1
        count = self.actions.setdefault(machine.ACTIONS[type(action)].id, ActionCount())
        if expected is REFUSED:
            count.refused += 1
        else:
            count.exercised += 1
            count.errors += expected.error != ErrorKind.NONE


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
        self.sees = VIEWS in adapter.capabilities
        self.real = described_by(adapter) is not None
        """The law imitates the executor: what it breaks counts only if the executor agrees."""

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
        observed = checked_observation(action, self.adapter.apply(action))
        after = self._perform(self._with_endings(self.possible), action)
        self.counts.note(action, after[0].outcome)
        self.view = checked_view(self.adapter.observe())
        if self.sees and not self.over:
            after = [replace(p, state=self._looked_at(p.state)) for p in after]
        fitting, found = self._compare(action, observed, self._with_endings(after))
        claim = self.watch.take_broken()
        if claim is not None and (fitting or not self.real):
            return broken_claim(claim, start, after[0].state)
        if not fitting:
            return differing(action, found, start, after[0].state)
        self.possible = fitting
        return None

    def _perform(self, possible: list[Possibility], action: Action) -> list[Possibility]:
        moved = []
        for p in possible:
            state = perform(
                p.state, action, self.design, self.observer, partitioner=self._partitioner
            )
            seen = law_outcome(state, action) if state is not None else REFUSED
            moved.append(Possibility(state or p.state, p.naming, p.totals, seen))
        return moved

    def _looked_at(self, state: State) -> State:
        return state if state.device.crashed else looked_at(state, self.design, self.observer)

    def _partitioner(self, _: State) -> tuple[Sharding, ...] | None:
        """How the executor laid the outputs of what it ran last, if it says so (``laid_out``)."""
        return getattr(self.adapter, "laid_out", None)

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
            if self.sees and not p.state.device.crashed:
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


def drive(
    actions: Callable[[Session], Iterator[Action]],
    adapter: Adapter,
    design: Design,
    watch: ClaimWatch,
    counts: Counts,
    taken: list[Action],
    beat: Callable[[], None] = lambda: None,
) -> ProgramResult:
    """Lockstep with actions that may depend on how it goes. Never raises for what the adapter does.

    ``taken`` collects the actions; ``beat`` is called before each.
    """
    try:
        session = Session(adapter, design, watch, counts)
        for action in actions(session):
            if session.over:
                break
            taken.append(action)
            beat()
            missing = missing_capability(adapter.capabilities, action)
            if missing is not None:
                text = f"the adapter does not declare the capability {missing!r}"
                return ended(taken, Verdict.UNSUPPORTED, message=text)
            divergence = None if session.skips(action) else session.step(action)
            if divergence is not None:
                return ended(taken, Verdict.VIOLATES, divergence)
    except BaseException as error:
        if users_own(error):
            raise
        return ended(taken, Verdict.ERROR, message=one_line(error))
    return ProgramResult(tuple(taken), Verdict.CONFORMS)


def ended(
    taken: Sequence[Action],
    verdict: Verdict,
    divergence: Divergence | None = None,
    message: str = "",
) -> ProgramResult:
    """A program ended at the last action that was taken."""
    return ProgramResult(tuple(taken), verdict, divergence, len(taken) - 1, message)


def run_program(
    program: Sequence[Action],
    adapter: Adapter,
    design: Design,
    watch: ClaimWatch | None = None,
    counts: Counts | None = None,
) -> ProgramResult:
    """A given program in lockstep. Never raises for what the adapter does."""
    watch, counts = watch or ClaimWatch(()), counts or Counts()
    result = drive(lambda _: iter(program), adapter, design, watch, counts, [])
    return replace(result, program=tuple(program))
