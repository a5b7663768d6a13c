"""The suite as items of pytest: golden traces, old disagreements, generated programs, invariants.

Every item stands by itself, so that they may run in any order and in any process. A process has one
executor, made when it is first needed.
"""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from markstep.conformance.adapter import AdapterError
from markstep.conformance.check import PROFILES, Run, suite_programs
from markstep.conformance.claims import ClaimWatch, all_claims
from markstep.conformance.cli.usage import UsageError
from markstep.conformance.confirming import confirm
from markstep.conformance.known.judging import excuse
from markstep.conformance.known.lists import ListError, read_list
from markstep.conformance.lockstep.deadline import LIMIT_S
from markstep.conformance.lockstep.play import Player
from markstep.conformance.lockstep.session import Counts, ProgramResult
from markstep.conformance.plugin.asking import picked, the_adapter, the_design
from markstep.conformance.programs.openings import beginning_of
from markstep.conformance.report.console import failure_lines
from markstep.conformance.report.model import Failure
from markstep.conformance.report.traces import save_traces
from markstep.conformance.suite.regressions import REGRESSIONS
from markstep.conformance.suite.scenarios import SCENARIOS
from markstep.conformance.verdict import Verdict
from markstep.spec.invariants import CLAIMS_IN_ORDER, Claim
from markstep.spec.vocabulary import Action

STEPS_OF_A_PROGRAM = 15
"""About so many actions has a generated program: says how many of them a profile runs."""


class Suite:
    """The executor of this process, and what the options say."""

    def __init__(self, config: pytest.Config) -> None:
        self.name = str(config.getoption("--markstep-adapter"))
        self.design = the_design(config)
        self.profile = str(config.getoption("--markstep-profile"))
        picked("--markstep-profile", self.profile, list(PROFILES), "profile")
        self.seed = whole("--markstep-seed", str(config.getoption("--markstep-seed")))
        self.out = Path(str(config.getoption("--markstep-out")))
        self.factory = the_adapter(self.name)
        listed = config.getoption("--markstep-known")
        try:
            self.known = read_list(str(listed)) if listed else []
        except ListError as error:
            raise pytest.UsageError(f"--markstep-known: {error}") from error

    @cached_property
    def run(self) -> Run:
        """The executor with what is known of it; failures are written into its report."""
        player = Player(self.factory, self.design, LIMIT_S)
        return Run(player, self.design, self.profile, self.seed, 0, self.known)

    @cached_property
    def counts(self) -> ClaimWatch:
        """How often the programs of the suite exercise and break each claim."""
        claims = all_claims()
        watch = ClaimWatch(claims.values(), ignore=claims)
        for program in suite_programs():
            self.run.player.given(program, watch, Counts())
        return watch

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """The items of the suite come after those of the user."""
        parent: Any = SuiteNode.from_parent(session, name="markstep", nodeid="markstep")
        for name, kind, about in self.named():
            items.append(kind.from_parent(parent, name=name, suite=self, about=about))

    def named(self) -> Iterator[tuple[str, Any, Any]]:
        """(name, class, what it is about) of every item."""
        for scenario in SCENARIOS:
            yield f"scenario[{scenario.id}]", Given, scenario.program
        for title, program in REGRESSIONS.items():
            yield f"regression[{title.replace(' ', '_')}]", Given, program
        for number in range(PROFILES[self.profile].steps // STEPS_OF_A_PROGRAM):
            yield f"program[{self.seed}-{number}]", Generated, number
        for claim in CLAIMS_IN_ORDER:
            yield f"claim[{claim.id}-{claim.name}]", Exercised, claim

    def pytest_unconfigure(self) -> None:
        """Release the executor."""
        if "run" in self.__dict__:
            self.run.player.close()

    def judge(self, result: ProgramResult) -> None:
        """Skip what cannot be done; make a failure short, save it, and raise it."""
        if result.verdict == Verdict.UNSUPPORTED:
            pytest.skip(result.message)
        if result.verdict != Verdict.CONFORMS:
            raise ProgramFailed(self, self.failure(result))

    def failure(self, result: ProgramResult) -> Failure:
        """The failure, with the shortest program that shows it."""
        confirmed = confirm(self.run.player, result)
        failure = self.run.failure(confirmed.result)
        failure.verdict, failure.shortening = confirmed.verdict, confirmed.shortening
        failure.adapter = self.name
        if result.divergence is not None:
            excuse(failure, result.divergence.signature[1], self.run.listed)
        if failure.verdict == Verdict.KNOWN:
            pytest.xfail(f"known: {failure.issue}")
        return failure


class ProgramFailed(Exception):
    """A program on which the executor and the law part."""

    def __init__(self, suite: Suite, failure: Failure) -> None:
        self.suite, self.failure = suite, failure
        super().__init__(f"{failure.id}: {failure.statement}")

    def text(self) -> str:
        """The failure as every verb prints it, after its trace is saved."""
        report = self.suite.run.report
        report.failures = [self.failure]
        save_traces(report, self.suite.out)
        return "\n".join(line.plain for line in failure_lines(self.failure, report))


class SuiteNode(pytest.Collector):
    """What the items of the suite belong to."""

    def collect(self) -> list[pytest.Item]:
        """Nothing: the suite adds its items itself."""
        return []


class SuiteItem(pytest.Item):
    """One test of the suite."""

    def __init__(self, *, suite: Suite, about: Any, **given: Any) -> None:
        super().__init__(**given)
        self.suite, self.about = suite, about

    def play(self, program: tuple[Action, ...], watch: ClaimWatch) -> ProgramResult:
        """A program on both sides."""
        return self.suite.run.player.given(program, watch, Counts())

    def watch(self) -> ClaimWatch:
        """Every claim but those that are known to be broken, or that have failed as claims."""
        run, counts = self.suite.run, self.suite.counts.counts
        broken = {id for id, count in counts.items() if count.broken}
        return ClaimWatch(all_claims().values(), ignore=broken | run.known | run.listed.claims)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """A failure in the form of the other verbs."""
        if isinstance(excinfo.value, ProgramFailed):
            return excinfo.value.text()
        if isinstance(excinfo.value, AdapterError | UsageError):
            return f"adapter {self.suite.name}: {excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[str, None, str]:
        """Where it is listed."""
        return "markstep", None, self.name


class Given(SuiteItem):
    """A program that is shipped."""

    def runtest(self) -> None:
        """In lockstep."""
        self.suite.judge(self.play(self.about, self.watch()))


class Generated(SuiteItem):
    """A program that is made from the seed while it runs."""

    def runtest(self) -> None:
        """In lockstep; it uses only what the adapter declares."""
        data, opening = beginning_of(self.suite.seed, self.about)
        player = self.suite.run.player
        self.suite.judge(player.generated(data, self.watch(), Counts(), opening))


class Exercised(SuiteItem):
    """A claim of the law, on the programs of the suite."""

    about: Claim

    def runtest(self) -> None:
        """Broken, held, or never exercised."""
        claim, run = self.about, self.suite.run
        count = self.suite.counts.counts[claim.id]
        if count.broken and claim.id in run.known | run.listed.claims:
            pytest.xfail("known to be broken")
        if count.broken:
            self.broken(claim)
        if not count.witnessed:
            pytest.skip("not witnessed: its premise never came up in the suite")

    def broken(self, claim: Claim) -> None:
        """Find the program that breaks it."""
        for program in suite_programs():
            result = self.play(program, ClaimWatch([claim]))
            if result.divergence is not None and result.divergence.id == claim.id:
                self.suite.judge(result)


def whole(option: str, text: str) -> int:
    """A whole number from 0 on."""
    if not text.isdecimal():
        raise pytest.UsageError(f"{option}: {text!r} is not a whole number from 0 on")
    return int(text)
