"""A failure that comes again, one that does not, and one whose program cannot be made short."""

import json
from pathlib import Path

from jsonschema import validate

from markstep.conformance.adapters.model import ModelAdapter
from markstep.conformance.check import MOST_TRIES, check
from markstep.conformance.claims import ClaimWatch
from markstep.conformance.confirming import AGAIN, Confirmed, confirm
from markstep.conformance.lockstep.play import Player
from markstep.conformance.lockstep.session import Counts
from markstep.conformance.programs.shrink import Budget
from markstep.conformance.report import console, junit, model
from markstep.conformance.verdict import Verdict
from markstep.spec import vocabulary as v
from markstep.spec.design import SOUND
from markstep.spec.vocabulary import Action, ErrorKind, Observation, TensorName

T0, T1 = TensorName(0), TensorName(1)
PROGRAM: tuple[Action, ...] = (
    v.CreateFromHost(T0, (4, 5), (2,)),
    v.Clone(T1, T0),
    v.StepBarrier(),
    v.ReadOne(T1),
    v.ReadOne(T0),
)


class Wrong(ModelAdapter):
    """Adds 1 to what is read of a clone, in some of its programs."""

    capabilities = ModelAdapter.capabilities - {"views"}
    programs = 0
    """How often a program was begun, whoever began it."""

    def wrong(self, program: int) -> bool:
        return True

    def reset(self) -> None:
        super().reset()
        type(self).programs += 1
        self.clones: set[TensorName] = set()

    def apply(self, action: Action) -> Observation:
        observed = super().apply(action)
        if isinstance(action, v.Clone) and observed.error == ErrorKind.NONE:
            self.clones.add(action.out)
        read = isinstance(action, v.ReadOne) and isinstance(observed.value, tuple)
        if read and action.tensor in self.clones and self.wrong(self.programs):
            return Observation(value=tuple(x + 1 for x in observed.value))
        return observed


def confirmed(adapter: type[Wrong], budget: Budget | None = None) -> Confirmed:
    player = Player(adapter, SOUND, limit_s=60)
    adapter.programs = 0
    result = player.given(PROGRAM, ClaimWatch(()), Counts())
    assert result.verdict == Verdict.VIOLATES
    found = confirm(player, result, budget)
    player.close()
    return found


def test_a_failure_that_comes_again_is_shown_by_its_shortest_program() -> None:
    found = confirmed(Wrong)
    assert found.verdict == Verdict.VIOLATES
    assert found.result.program == (
        v.CreateFromHost(T0, (1,), (1,)),
        v.Clone(T1, T0),
        v.ReadOne(T1),
    )
    assert found.shortening.startswith("1-minimal, after ")


def test_a_budget_that_ends_too_early_is_told() -> None:
    found = confirmed(Wrong, Budget(runs=2))
    assert found.verdict == Verdict.VIOLATES
    assert found.shortening == "not to the end: the budget (2 runs or 120 s) was spent"


class WrongAtFirst(Wrong):
    """Fails the first time only."""

    def wrong(self, program: int) -> bool:
        return program == 1


def test_a_failure_that_does_not_come_again_is_flaky_with_both_observations() -> None:
    found = confirmed(WrongAtFirst)
    assert found.verdict == Verdict.FLAKY
    assert found.result.divergence is not None
    assert "5, 6" in found.result.divergence.observed
    assert found.others == (f"{AGAIN} of {AGAIN} further runs: as expected",)


class WrongNowAndThen(Wrong):
    """Fails in every third program."""

    def wrong(self, program: int) -> bool:
        return program % 3 == 1


def test_how_often_a_flaky_failure_comes_is_told() -> None:
    found = confirmed(WrongNowAndThen)
    assert found.verdict == Verdict.FLAKY
    assert found.others == (
        f"1 of {AGAIN} further runs: the same",
        f"3 of {AGAIN} further runs: as expected",
    )


class WrongUntilShort(Wrong):
    """Stops to fail in the end: what was made short does not fail any more."""

    def wrong(self, program: int) -> bool:
        return program <= 12


def test_what_is_made_short_has_to_fail_once_more() -> None:
    assert confirmed(WrongUntilShort).verdict == Verdict.FLAKY


def test_a_flaky_executor_is_inconclusive_in_every_report(tmp_path: Path) -> None:
    report = check(WrongNowAndThen, profile="tiny", seed=0, suite=False)
    assert (report.verdict, report.exit_code) == (Verdict.FLAKY, 3)
    assert 0 < len(report.failures) <= MOST_TRIES
    schema = Path(model.__file__).with_name("report.schema.json")
    as_json = report.to_json()
    validate(as_json, json.loads(schema.read_text(encoding="utf-8")))
    assert as_json["failures"][0]["verdict"] == "flaky"
    to = console.console()
    with to.capture() as captured:
        console.print_report(report, to)
    assert "further runs: as expected" in captured.get()
    assert 'message="flaky: ' in junit.to_junit(report)


class WrongFromSomewhereOn(Wrong):
    """Flaky at first, then always wrong."""

    def wrong(self, program: int) -> bool:
        return program % 3 == 1 or program > 10


def test_a_flaky_failure_gives_way_to_one_that_comes_again() -> None:
    WrongFromSomewhereOn.programs = 0
    report = check(WrongFromSomewhereOn, profile="tiny", seed=0, suite=False)
    assert (report.verdict, report.exit_code) == (Verdict.VIOLATES, 1)
    about_reads = [failure for failure in report.failures if failure.id == "A14"]
    assert [failure.verdict for failure in about_reads] == [Verdict.VIOLATES]
