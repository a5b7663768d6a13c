"""The main job: the suite and generated programs in lockstep, until enough was compared."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from time import monotonic
from typing import get_args

from markstep.conformance.adapter import (
    ALL_CAPABILITIES,
    NEEDS,
    AdapterError,
    Factory,
    described_by,
    load,
)
from markstep.conformance.claims import ClaimWatch, all_claims
from markstep.conformance.confirming import Confirmed, confirm, signature_of
from markstep.conformance.known.judging import Known, excuse, real
from markstep.conformance.known.lists import KnownFailure
from markstep.conformance.lockstep.deadline import LIMIT_S
from markstep.conformance.lockstep.play import Player
from markstep.conformance.lockstep.session import Counts, ProgramResult, ended
from markstep.conformance.programs.openings import beginning_of
from markstep.conformance.programs.shrink import Program
from markstep.conformance.report.model import Failure, Report
from markstep.conformance.report.names import known_hazards
from markstep.conformance.suite.regressions import REGRESSIONS
from markstep.conformance.suite.scenarios import SCENARIOS
from markstep.conformance.suite.sharded import SHARDED
from markstep.conformance.verdict import Verdict
from markstep.spec import SPEC_VERSION
from markstep.spec.design import SOUND, Design
from markstep.spec.invariants import SPMD, broken_by
from markstep.spec.machine import ACTIONS
from markstep.spec.state import Phase
from markstep.spec.trace import SUFFIX, TraceError, read_trace
from markstep.spec.vocabulary import Action

MOST_FAILURES = 30
"""Different failures after which a run ends."""
MOST_HANGS = 3
"""Programs that hang after which a run ends: each costs the time limit, and leaves a thread."""
MOST_TRIES = 3
"""Programs that are tried for a failure that does not come again."""
MOST_ERRORS = 200
"""Programs that break the executor in some way after which a run ends."""


@dataclass(frozen=True, slots=True)
class Profile:
    """How much a run does."""

    steps: int
    """Actions compared."""
    demands_witnesses: bool = False
    """A claim whose premise never came up, or an action that never occurred, spoils the run."""

    def __str__(self) -> str:
        demand = ", and every witness has to be seen" if self.demands_witnesses else ""
        return f"{self.steps} actions in lockstep{demand}"


PROFILES: dict[str, Profile] = {
    "tiny": Profile(300),
    "small": Profile(5_000),
    "standard": Profile(50_000, demands_witnesses=True),
}


def check(
    adapter: str | Factory,
    *,
    design: Design = SOUND,
    profile: str = "small",
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    examples: Path | None = None,
    limit_s: float = LIMIT_S,
    most_failures: int = MOST_FAILURES,
    suite: bool = True,
    known: Sequence[KnownFailure] = (),
    strict: bool = False,
) -> Report:
    """Hold an executor to the law under a design.

    ``adapter``: a name or a factory. ``examples``: a folder with traces of earlier failures, which
    come first. ``limit_s``: how long one action may take. ``most_failures``: how many different
    ones are enough. ``suite``: the programs that are shipped come before all others. ``known``:
    failures that are listed and do not count; ``strict``: one that does not fail any more does.
    Raises AdapterError if there is no executor to check.
    """
    factory = load(adapter) if isinstance(adapter, str) else adapter
    run = Run(Player(factory, design, limit_s), design, profile, seed, most_failures, known)
    run.report.strict = strict
    try:
        able = "sharding" in run.player.adapter.capabilities
        run.first(suite_programs(able) if suite else (), "of the suite")
        saved = saved_programs(examples, design, run.report.notes)
        run.first(saved, "saved from earlier failures")
        run.generated(progress or (lambda done, total: None))
    except KeyboardInterrupt:
        run.report.interrupted = True
    except AdapterError as error:  # it broke, and a fresh one does not start
        run.report.failures.append(run.failure(ended([], Verdict.ERROR, message=str(error))))
    finally:
        run.player.close()
    return run.finished()


class Run:
    """One run: what was counted, and what failed."""

    def __init__(
        self,
        player: Player,
        design: Design,
        profile: str,
        seed: int,
        most_failures: int,
        known: Sequence[KnownFailure] = (),
    ) -> None:
        self.player, self.profile, self.seed = player, PROFILES[profile], seed
        described = described_by(player.adapter)
        self.law = player.design = described or design
        """What the executor is compared with, step by step."""
        self.known = broken_by(design) if design == described else frozenset[str]()
        """Claims that the design asked for is known to break."""
        adapter = player.adapter
        self.listed = Known(known, adapter.name, adapter.version, date.today())
        self.most_failures, self.confirms = most_failures, True
        self.counts = Counts()
        self.watch = ClaimWatch(all_claims().values(), ignore=self.known | self.listed.claims)
        self.begin, self.signatures = monotonic(), set[tuple[str, ...]]()
        self.unsteady: dict[tuple[str, ...], int] = {}
        """How often a failure did not come again."""
        self.flaky: dict[tuple[str, ...], Failure] = {}
        self.hangs = self.errors = self.before = 0
        self.report = Report(
            "run",
            adapter=player.adapter.name,
            adapter_version=player.adapter.version,
            design=design.name,
            profile=profile,
            seed=seed,
            spec_version=SPEC_VERSION,
        )

    @property
    def over(self) -> bool:
        """Enough was compared, or enough went wrong."""
        return self.done >= self.profile.steps or self.stopped_by() is not None

    @property
    def done(self) -> int:
        """Actions of generated programs; what comes first does not make up for them."""
        return self.counts.steps - self.before

    def stopped_by(self) -> str | None:
        """What ends the run before enough was compared, if anything."""
        if real(self.report.failures) >= self.most_failures:
            return f"{self.most_failures} different failures"
        if self.hangs >= MOST_HANGS:
            return f"{MOST_HANGS} programs that hang"
        return f"{MOST_ERRORS} programs that end in errors" if self.errors >= MOST_ERRORS else None

    def first(self, programs: Iterable[Program], what: str) -> None:
        """Programs that are given."""
        number = 0
        for program in programs:
            if self.stopped_by() is None:
                self._judge(self.player.given(program, self.watch, self.counts))
                number += 1
        self.before = self.counts.steps
        if number:
            self.report.notes.append(f"programs {what} that came first: {number}")

    def generated(self, progress: Callable[[int, int], None]) -> None:
        """Programs from the seed, one after another."""
        number = 0
        while not self.over:
            progress(min(self.done, self.profile.steps), self.profile.steps)
            data, opening = beginning_of(self.seed, number)
            number += 1
            self._judge(self.player.generated(data, self.watch, self.counts, opening))

    def _judge(self, result: ProgramResult) -> None:
        self.report.programs += 1
        if result.verdict not in (Verdict.VIOLATES, Verdict.ERROR):
            return
        self.errors += result.verdict == Verdict.ERROR
        self.hangs += result.hung
        signature = signature_of(result)
        if signature in self.signatures:
            return
        known = Confirmed(result, result.verdict)
        confirmed = confirm(self.player, result) if self.confirms else known
        tries = self.unsteady.get(signature, 0) + (confirmed.verdict == Verdict.FLAKY)
        self.unsteady[signature] = tries
        if confirmed.verdict != Verdict.FLAKY or tries == MOST_TRIES:
            self.signatures.add(signature)
            if result.divergence is not None:
                self.watch.ignore.add(result.divergence.id)
        self._report(confirmed, signature)

    def _report(self, confirmed: Confirmed, signature: tuple[str, ...]) -> None:
        """Put a failure into the report; one that is sure replaces one that was flaky."""
        failure = self.failure(confirmed.result)
        failure.verdict, failure.shortening = confirmed.verdict, confirmed.shortening
        failure.observed = "\n".join((failure.observed, *confirmed.others))
        if confirmed.note:
            self.report.notes.append(confirmed.note)
        excuse(failure, signature[1], self.listed)
        earlier = self.flaky.pop(signature, None)
        if earlier is not None:
            self.report.failures.remove(earlier)
        self.report.failures.append(failure)
        if failure.verdict == Verdict.FLAKY:
            self.flaky[signature] = failure

    def failure(self, result: ProgramResult) -> Failure:
        """What the report says of a program that failed."""
        found = result.divergence
        return Failure(
            found.id if found else "LOCKSTEP",
            found.statement if found else "An executor answers every action as the protocol says.",
            result.program,
            result.step,
            found.expected if found else "an observation",
            found.observed if found else result.message,
            list(found.changed) if found else [],
            result.verdict,
            self.report.adapter,
            self.law.name,
            self.seed,
            known_hazards(found.id) if found else None,
            code=self._code(result, found.statement if found else ""),
            field=found.field if found else "",
        )

    def _code(self, result: ProgramResult, title: str) -> str:
        """The program in the words of the executor's users, if the adapter knows them."""
        write = getattr(self.player.adapter, "as_code", None)
        return str(write(result.program[: result.step + 1], title)) if write else ""

    def finished(self) -> Report:
        """The report, with everything that was counted."""
        report, watch = self.report, self.watch
        report.duration_s = monotonic() - self.begin
        early = self.stopped_by()
        if early is not None:
            report.notes.append(f"ended early, after {early}")
        report.steps, report.small_steps = self.counts.steps, watch.small_steps
        report.actions, report.claims = self.counts.actions, watch.counts
        for id in self.known:
            report.claims[id].known = True
        self.listed.judge(report)
        verdicts = {failure.verdict for failure in report.failures}
        for verdict in (Verdict.ERROR, Verdict.VIOLATES, Verdict.FLAKY):
            if verdict in verdicts:
                report.verdict = verdict
                break
        missing = sorted(ALL_CAPABILITIES - self.player.adapter.capabilities)
        if missing:
            report.notes.append(f"not declared by the adapter: {', '.join(missing)}")
        report.notes += self.player.notes
        unseen = list(self._unseen())
        if self.profile.demands_witnesses:
            report.vacuous += unseen
        elif unseen:
            report.notes.append(f"not exercised at this size: {len(unseen)} witnesses and actions")
        return report

    def _unseen(self) -> Iterator[str]:
        """Claims and actions that the run says nothing about."""
        able = self.player.adapter.capabilities
        for id, count in self.watch.counts.items():
            if not count.witnessed and ("sharding" in able or id not in SPMD):
                yield f"{id}: its witness was never seen"
        for kind in get_args(Action):
            rule = ACTIONS[kind]
            needed = NEEDS.get(kind)
            supported = needed is None or needed in able
            done = self.counts.actions.get(rule.id)
            if rule.phase == Phase.IDLE and supported and not (done and done.exercised):
                yield f"{rule.id}: {kind.__name__} never occurred"


def suite_programs(sharding: bool = False) -> Iterator[Program]:
    """The programs that are shipped: the golden traces, and old disagreements; ``sharding``: those
    of several devices, too."""
    for scenario in (*SCENARIOS, *(SHARDED if sharding else ())):
        yield tuple(step.action for step in scenario.steps)
    yield from REGRESSIONS.values()


def saved_programs(examples: Path | None, design: Design, notes: list[str]) -> Iterator[Program]:
    """The programs of saved traces, if they are about calls and about this design; ``notes`` gets
    what cannot be read."""
    for path in sorted(examples.glob(f"*{SUFFIX}")) if examples is not None else ():
        try:
            trace = read_trace(path)
        except TraceError as error:
            notes.append(f"saved from an earlier failure, and not run: {error}")
            continue
        program = tuple(a for a in trace.actions if isinstance(a, Action))
        if trace.design == design.name and len(program) == len(trace.actions):
            yield program
