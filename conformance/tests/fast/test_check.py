"""The main job: profiles, verdicts, exit codes, shrinking, and executors that break."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from markstep.conformance.adapter import AdapterError, one_line
from markstep.conformance.adapters.model import ModelAdapter
from markstep.conformance.adapters.reference import ReferenceAdapter
from markstep.conformance.check import PROFILES, check, saved_programs
from markstep.conformance.report.traces import save_traces
from markstep.conformance.verdict import Verdict
from markstep.spec.design import SOUND, TORCH_XLA_2_9
from markstep.spec.vocabulary import (
    Action,
    AssignInPlace,
    Clone,
    CreateFromHost,
    ErrorKind,
    Observation,
    ReadOne,
)


def test_the_reference_executor_conforms() -> None:
    report = check(ReferenceAdapter, profile="tiny", seed=1)
    assert (report.verdict, report.exit_code) == (Verdict.CONFORMS, 0)
    assert report.steps >= PROFILES["tiny"].steps
    assert report.small_steps > report.steps
    assert report.actions["A03"].exercised > 10
    assert report.claims["I01"].witnessed > 10


def test_the_same_seed_gives_the_same_report() -> None:
    reports = [check("model", profile="tiny", seed=5) for _ in range(2)]
    assert reports[0].actions == reports[1].actions
    assert reports[0].claims == reports[1].claims


def test_a_design_that_breaks_claims_violates_with_the_shortest_programs() -> None:
    report = check("model", design=TORCH_XLA_2_9, profile="tiny", seed=1)
    assert (report.verdict, report.exit_code) == (Verdict.VIOLATES, 1)
    broken = {failure.id: len(failure.program) for failure in report.failures}
    assert len(broken) > 8
    assert broken["I13"] == 3, "clone, read"
    assert max(broken.values()) <= 9


class Forgetful(ModelAdapter):
    """A clone that is read becomes an ordinary tensor: the next update of the source takes it."""

    def apply(self, action: Action) -> Observation:
        observed = super().apply(action)
        if isinstance(action, ReadOne) and observed.error == ErrorKind.NONE:
            record = self.state.record_of(action.tensor)
            if record.is_cloned:
                record.is_cloned, record.handle = False, record.leaf
        return observed


def test_a_mutant_is_found_and_shrunk_to_its_core() -> None:
    report = check(Forgetful, profile="small", seed=0)
    assert report.exit_code == 1
    shortest = min(report.failures, key=lambda failure: len(failure.program))
    assert [type(action) for action in shortest.program[1:]] == [Clone, ReadOne]
    assert "data: none" in shortest.expected
    assert "data: value" in shortest.observed


class Breaking(ModelAdapter):
    """Raises something that nobody has a word for."""

    def apply(self, action: Action) -> Observation:
        if isinstance(action, AssignInPlace) and action.op == "neg":
            raise ZeroDivisionError("no negatives")
        return super().apply(action)


def test_an_executor_that_raises_is_an_error_with_its_program_and_the_run_goes_on() -> None:
    report = check(Breaking, profile="small", seed=0)
    assert (report.verdict, report.exit_code) == (Verdict.ERROR, 4)
    (failure,) = report.failures
    assert failure.observed == "ZeroDivisionError: no negatives"
    assert len(failure.program) == 2
    assert report.steps >= PROFILES["small"].steps


class Hanging(ModelAdapter):
    """Never comes back from one kind of action."""

    def apply(self, action: Action) -> Observation:
        if isinstance(action, Clone):
            time.sleep(3600)
        return super().apply(action)


def test_an_executor_that_hangs_is_an_error_with_its_program() -> None:
    report = check(Hanging, profile="tiny", seed=0, limit_s=1)
    assert (report.verdict, report.exit_code) == (Verdict.ERROR, 4)
    assert any(isinstance(failure.program[failure.step], Clone) for failure in report.failures)
    assert all("no answer within 1 s" in failure.observed for failure in report.failures)
    assert "ended early, after 3 programs that hang" in report.notes


def test_an_executor_that_starts_only_once_is_an_error_of_the_run() -> None:
    starts = iter([Breaking])

    def once() -> ModelAdapter:
        return next(starts)()

    report = check(once, profile="small", seed=0)
    assert report.exit_code == 4
    assert "does not start" in report.failures[-1].observed


class Poor(ModelAdapter):
    """Can do only what every executor can."""

    capabilities = frozenset()


def test_what_the_adapter_does_not_declare_is_a_note() -> None:
    report = check(Poor, profile="tiny", seed=0)
    assert report.exit_code == 0
    assert any("donation" in note for note in report.notes)


def test_a_profile_that_demands_witnesses_demands_them_of_what_is_declared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(PROFILES, "tiny", replace(PROFILES["standard"], steps=300))
    report = check(Poor, profile="tiny", seed=0)
    assert report.exit_code == 5
    assert any("its witness was never seen" in why for why in report.vacuous)
    assert not any("SetDonation" in why for why in report.vacuous)


def test_earlier_failures_come_first(tmp_path: Path) -> None:
    report = check("model", design=TORCH_XLA_2_9, profile="tiny", seed=0)
    save_traces(report, tmp_path)
    (tmp_path / "broken.itf.json").write_text("{")
    notes: list[str] = []
    saved = list(saved_programs(tmp_path, TORCH_XLA_2_9, notes))
    assert len(saved) == len(report.failures) > 0
    assert len(notes) == 1 and "broken.itf.json: line 1" in notes[0]
    assert list(saved_programs(tmp_path, SOUND, [])) == []
    options = {"design": TORCH_XLA_2_9, "examples": tmp_path, "most_failures": 100}
    again = check("model", profile="tiny", seed=4, **options)
    assert f"programs saved from earlier failures that came first: {len(saved)}" in again.notes
    assert {f.id for f in report.failures} <= {f.id for f in again.failures}


LEAVES = {"exit": SystemExit(0), "Ctrl-C": KeyboardInterrupt(), "other": BaseException("gone")}


@pytest.mark.parametrize("member", ["apply", "observe", "reset"])
@pytest.mark.parametrize("leaves", LEAVES.values(), ids=LEAVES)
def test_an_executor_that_would_end_the_process_is_an_error(
    member: str, leaves: BaseException
) -> None:
    def leave(*_: object) -> None:
        raise leaves

    def leaving() -> ModelAdapter:
        adapter = ModelAdapter()
        setattr(adapter, member, leave)
        return adapter

    report = check(leaving, profile="tiny")
    assert (report.verdict, report.exit_code, report.interrupted) == (Verdict.ERROR, 4, False)
    assert type(leaves).__name__ in report.failures[0].observed


@pytest.mark.parametrize("leaves", LEAVES.values(), ids=LEAVES)
def test_an_executor_that_would_end_the_process_when_it_is_made_is_one_line(
    leaves: BaseException,
) -> None:
    def leave() -> ModelAdapter:
        raise leaves

    with pytest.raises(AdapterError, match=f"does not start: {type(leaves).__name__}"):
        check(leave, profile="tiny")


@pytest.mark.parametrize("leaves", [SystemExit(0), RuntimeError("stuck")])
def test_an_executor_that_does_not_close_is_a_note(leaves: BaseException) -> None:
    class Stuck(ModelAdapter):
        def close(self) -> None:
            raise leaves

    report = check(Stuck, profile="tiny")
    assert report.exit_code == 0
    assert f"the adapter does not close: {one_line(leaves)}" in report.notes


def test_the_adapter_protocol_is_checked_at_the_start() -> None:
    class Poor:
        name, version, capabilities = "poor", "1", frozenset[str]()

        def reset(self) -> None: ...

    with pytest.raises(AdapterError, match="Poor has no apply, observe, close"):
        check(Poor, profile="tiny")


def test_no_executor_is_one_line() -> None:
    def failing() -> ModelAdapter:
        raise RuntimeError("no device")

    with pytest.raises(AdapterError, match="RuntimeError: no device"):
        check(failing, profile="tiny")


NONSENSE = {
    ReadOne: ("abc", ("a",), 1.5, ((1.0,),)),
    CreateFromHost: ((float("nan"),), 0, "done"),
}


@pytest.mark.parametrize(
    ("kind", "value"), [(kind, value) for kind, values in NONSENSE.items() for value in values]
)
def test_a_value_that_no_action_of_its_kind_has_is_an_error(kind: type, value: object) -> None:
    class Babbles(ModelAdapter):
        def apply(self, action: Action) -> Observation:
            seen = super().apply(action)
            fine = type(action) is not kind or seen.error != ErrorKind.NONE
            return seen if fine else Observation(value=value)

    report = check(Babbles, profile="tiny", most_failures=1)
    assert (report.verdict, report.exit_code) == (Verdict.ERROR, 4)
    assert f", which no {kind.__name__} has" in report.failures[0].observed


@pytest.mark.parametrize("member", ["name", "version"])
def test_what_an_executor_is_called_is_a_text(member: str) -> None:
    nameless = type("Nameless", (ModelAdapter,), {member: None})
    with pytest.raises(AdapterError, match=f"Nameless has no {member} that is a text"):
        check(nameless, profile="tiny")
