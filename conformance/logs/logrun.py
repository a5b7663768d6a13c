"""One recorded log, held to the law step by step.

A log is run under the design that describes the system that was recorded. The first step of which
the law predicts another observation ends the run: what was accepted until then is its prefix.
Under any other design the question is which claims of the law the recorded system breaks; they are
judged on every small step of the run that explains the log.
"""

import time
from dataclasses import dataclass, field
from pathlib import Path

from markstep.conformance.changes import diff_states
from markstep.conformance.claims import Broken, ClaimWatch, all_claims
from markstep.conformance.logs.alternatives import Candidate, candidates
from markstep.conformance.logs.arguments import NotModelled, UnknownRecord, device_of
from markstep.conformance.logs.partition import Partition
from markstep.conformance.logs.prediction import Memory, predict
from markstep.conformance.logs.rawlog import (
    LogError,
    NotModelledError,
    RawLog,
    UnknownRecordError,
    read_log,
)
from markstep.conformance.logs.rawrecord import RawStep
from markstep.conformance.logs.recorded import Difference, compare, seen
from markstep.conformance.logs.reduction import reduce_step
from markstep.conformance.logs.scope import check_header, check_sizes, check_values, recorded_design
from markstep.conformance.logs.several import take_step
from markstep.conformance.logs.strictjson import FieldError
from markstep.conformance.logs.taking import Ended
from markstep.conformance.recording.hazards import Hazard
from markstep.conformance.verdict import Verdict
from markstep.spec.design import Design
from markstep.spec.devices import Process, process
from markstep.spec.invariants import Claim
from markstep.spec.machine import AnyAction, names
from markstep.spec.schedule import NotEnabledError, Observer, initial_state
from markstep.spec.state import State
from markstep.spec.vocabulary import Action, ErrorKind, RunCached

MAX_SECONDS = 60.0
"""For one log; what is not done by then is inconclusive."""


@dataclass(frozen=True, slots=True)
class Unexplained:
    """The first step of a log that the law does not explain."""

    step: int
    line: int
    action: str
    ended: Ended
    differences: tuple[Difference, ...]
    candidates: tuple[Candidate, ...] = ()


@dataclass(frozen=True, slots=True)
class Break:
    """Where a log first breaks a claim: the first break is the one with the shortest prefix."""

    claim: Claim
    path: Path
    step: int
    line: int
    action: AnyAction
    """The small step that breaks it."""
    changed: tuple[str, ...]
    program: tuple[AnyAction, ...]
    """The actions of the prefix of the log, the breaking step included."""

    @property
    def prefix(self) -> int:
        """How many steps of the log are needed."""
        return self.step + 1


@dataclass(slots=True)
class LogVerdict:
    """What is said of one log."""

    path: Path
    design: Design
    """What the log is held to."""
    explained_by: Design | None = None
    """What describes the system that was recorded."""
    system: str = ""
    steps: int = 0
    accepted: int = 0
    """How many steps, from the first on, are explained."""
    small_steps: int = 0
    seconds: float = 0.0
    taken: list[tuple[AnyAction, ErrorKind]] = field(default_factory=list)
    """The actions of the steps, the unexplained one included, and how each ended."""
    keys: list[tuple[object, str]] = field(default_factory=list)
    """Key of the law and hash of the system, for each hash that the log shows."""
    unexplained: Unexplained | None = None
    watch: ClaimWatch | None = None
    """Only if the log is held to another design than the one that explains it."""
    breaks: dict[str, Break] = field(default_factory=dict)
    """The claims that the log breaks, by id."""
    error: LogError | None = None
    out_of_time: bool = False
    hazards: list[Hazard] = field(default_factory=list)
    """What the recording of a user's program shows."""
    recording: bool = False
    """It is such a recording: its outline is explained by the law, and hazards are looked for."""
    followed: str = ""
    """How far the outline of a recording was compared."""

    @property
    def program(self) -> tuple[AnyAction, ...]:
        """The log as a program of the law, the ends of executions included."""
        return tuple(action for action, _ in self.taken)

    @property
    def verdict(self) -> Verdict:
        """One word. A log that is explained only in part never passes."""
        if self.error is not None:
            unsupported = isinstance(self.error, NotModelledError)
            return Verdict.UNSUPPORTED if unsupported else Verdict.ERROR
        grave = any(hazard.violates for hazard in self.hazards)
        if self.unexplained is not None or self.breaks or grave:
            return Verdict.VIOLATES
        return Verdict.INCONCLUSIVE if self.out_of_time else Verdict.CONFORMS


def run_log(path: str | Path, design: Design, explained_by: Design | None = None) -> LogVerdict:
    """Hold one log to a design. Malformed logs are errors in the verdict, nothing is raised.

    ``explained_by``: what describes the recorded system; by default the header tells.
    """
    verdict = LogVerdict(Path(path), design)
    begin = time.perf_counter()
    try:
        _judge(verdict, read_log(path), explained_by)
    except LogError as error:
        verdict.error = error
    verdict.seconds = time.perf_counter() - begin
    return verdict


def _judge(verdict: LogVerdict, log: RawLog, explained_by: Design | None) -> None:
    """Run the log; the verdict grows with every step, so that what was found stays found."""
    verdict.system = f"{log.header.system} {log.header.system_version}"
    verdict.steps = len(log.steps)
    with _Place(log.path, 1):
        check_header(log.header)
        described = recorded_design(log.header)
    law = explained_by or described
    verdict.explained_by = law
    if law != verdict.design:
        verdict.watch = ClaimWatch(all_claims().values())
    run, until = _Run(log, law, verdict), time.monotonic() + MAX_SECONDS
    for raw in log.steps:
        with _Place(log.path, raw.line):
            if not run.explain(raw):
                return
        verdict.accepted += 1
        if time.monotonic() > until:
            verdict.out_of_time = verdict.accepted < verdict.steps
            return


class _Place:
    """Says where in the log it was that something turned out to be wrong."""

    def __init__(self, path: Path, line: int) -> None:
        self.path, self.line = path, line

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, NotModelled):
            advice = "see docs/reference/raw-log-format.md"
            raise NotModelledError(self.path, self.line, str(error), advice) from None
        if isinstance(error, UnknownRecord):
            advice = "enter it in the reduction, docs/reference/reduction.md, or mend the log"
            raise UnknownRecordError(self.path, self.line, str(error), advice) from None
        if isinstance(error, FieldError | NotEnabledError):
            advice = "see docs/reference/reduction.md"
            raise LogError(self.path, self.line, str(error), advice) from None
        if isinstance(error, RecursionError):
            what = "a graph too deep to be followed is not modelled yet"
            raise NotModelledError(self.path, self.line, what, "sync earlier") from None


class _Run:
    """The state of the law along one log."""

    def __init__(self, log: RawLog, law: Design, verdict: LogVerdict) -> None:
        self.log, self.law, self.verdict = log, law, verdict
        fresh = initial_state(
            log.header.initial_seed, log.header.spmd, log.header.functionalization
        )
        self.process = process(log.header.devices_used, fresh)
        self.memory = Memory()
        self.given = 0
        """How many names of tensors the program has given out."""

    def explain(self, raw: RawStep) -> bool:
        """Take one step; False: the law predicts something else than the log shows."""
        observed, states = seen(raw), self.process.states
        _, device = device_of(raw, self.log.header)
        actions = reduce_step(raw, self.log.header, self.given, states[0].device.eager)
        for state in states:
            check_sizes(state, actions)
        partition = Partition(raw) if self.log.header.spmd else None
        ended = take_step(self.process, device, actions, self.law, self._observer(), partition)
        check_values(ended.settled)
        table = predict(ended, raw, self.memory)
        self._note(ended)
        if differences := compare(table, observed):
            alone = len(states) == 1
            found = candidates(ended, raw, observed, self.memory, self.law) if alone else ()
            place = (raw.step, raw.line, raw.action)
            self.verdict.unexplained = Unexplained(*place, ended, differences, found)
            return False
        if self.verdict.watch is not None:
            for broken in self.verdict.watch.take_new():
                self._note_break(raw, broken)
        if "value.hex" in observed:
            self.verdict.keys.append((ended.key, str(observed["value.hex"])))
        self.memory = self.memory.learn(table, ended)
        self.process = Process(ended.all_settled, ended.home)
        names = [name for state in ended.all_settled for name in state.tensors]
        self.given = max([self.given, *names, *_made(actions)])
        return True

    def _observer(self) -> Observer:
        watch, verdict = self.verdict.watch, self.verdict
        judge = watch.observer(self.law) if watch is not None else None

        def observe(before: State, action: AnyAction, after: State) -> None:
            verdict.small_steps += 1
            if judge is not None:
                judge(before, action, after)

        return observe

    def _note_break(self, raw: RawStep, broken: Broken) -> None:
        step, path = broken.step, self.log.path
        changed, program = tuple(diff_states(step.before, step.after)), self.verdict.program
        self.verdict.breaks[broken.claim.id] = Break(
            broken.claim, path, raw.step, raw.line, step.action, changed, program
        )

    def _note(self, ended: Ended) -> None:
        """Add the step to the program of the verdict."""
        raised = ended.returned.raised
        last = max(i for i, action in enumerate(ended.program) if action in ended.actions)
        for i, action in enumerate(ended.program):
            self.verdict.taken.append((action, raised if i == last else ErrorKind.NONE))


def _made(actions: tuple[Action, ...]) -> list[int]:
    """The names that the actions use up, whether they succeed or not. A run by key takes its names
    after it has succeeded."""
    return [n for action in actions if not isinstance(action, RunCached) for n in names(action)[1]]
