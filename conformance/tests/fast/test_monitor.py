"""The monitor: what it says of a log that is explained, of one that is not, and of several."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from logfiles import LOGS, changed, header, lines_of, named, write

from markstep.conformance.exit_codes import ExitCode
from markstep.conformance.logs import logrun
from markstep.conformance.logs.monitor import monitor, monitor_log, monitor_logs
from markstep.conformance.logs.recorded import ANYTHING, compare, same
from markstep.conformance.verdict import Verdict
from markstep.spec.design import SOUND, TORCH_XLA_2_9
from markstep.spec.named_designs import DESIGNS
from markstep.spec.schedule import initial_state, perform
from markstep.spec.vocabulary import ErrorKind

LOG = named("core/p0050")


def with_tensor(lines: list[Any], line: int, name: str, **changes: object) -> list[Any]:
    """A copy of a log in which one tensor of one line shows something else."""
    lines = copy.deepcopy(lines)
    lines[line]["tensors"][name].update(changes)
    return lines


def test_a_log_that_is_explained_conforms() -> None:
    verdict = monitor_log(LOG, TORCH_XLA_2_9)
    assert (verdict.verdict, verdict.accepted) == (Verdict.CONFORMS, verdict.steps)
    assert verdict.system == "torch_xla 2.9.0"
    assert not verdict.breaks


def test_the_first_unexplained_step_says_where_and_only_what_differs(tmp_path: Path) -> None:
    lines = with_tensor(lines_of(LOG), 4, "t1", id=99)
    verdict = monitor_log(write(tmp_path / "log.jsonl.gz", lines), TORCH_XLA_2_9)
    found = verdict.unexplained
    assert found is not None
    assert (verdict.verdict, verdict.accepted) == (Verdict.VIOLATES, 3)
    assert (found.step, found.line, found.action) == (3, 5, lines[4]["action"])
    assert [str(one) for one in found.differences] == ["t1.id: expected 1, observed 99"]


def first_donations() -> Iterator[tuple[list[Any], int, str]]:
    """A log, the line at which a buffer is first seen to be donated, and a tensor that shows it."""
    for path in LOGS:
        lines = lines_of(path)
        for line, step in enumerate(lines[1:], start=1):
            for name, shows in step.get("tensors", {}).items():
                if (shows.get("data") or {}).get("state") == "deleted":
                    yield lines, line, name
                    break


def test_other_explanations_are_tried_and_the_nearest_comes_first(tmp_path: Path) -> None:
    lines, line, name = next(first_donations())
    spared = {"kind": "plain", "state": "value", "handle": 1}
    lines = with_tensor(lines, line, name, data=spared)
    found = monitor_log(write(tmp_path / "log.jsonl.gz", lines), TORCH_XLA_2_9).unexplained
    assert found is not None
    texts = [str(candidate) for candidate in found.candidates]
    counts = [len(candidate.differences) for candidate in found.candidates]
    assert counts == sorted(counts)
    assert any("if it spares buffer" in text for text in texts)
    assert any("if the execution fails" in text for text in texts)
    assert any("under the design fixed_F2" in text for text in texts)


def test_a_design_that_is_not_the_recorded_one_yields_the_broken_claims() -> None:
    report = monitor_logs([LOG, named("core/p0020")], SOUND)
    found = report.breaks["I43"]
    assert report.verdict == Verdict.VIOLATES
    assert (found.path, found.prefix, found.line) == (named("core/p0020"), 12, 13)
    state = initial_state()
    for action in found.program:
        after = perform(state, action, TORCH_XLA_2_9)
        assert after is not None
        state = after
    assert state.value != state.records[state.tensors[found.program[-1].tensor]].truth


def test_the_shortest_prefix_of_all_logs_is_kept() -> None:
    together = monitor_logs(LOGS[:8], SOUND)
    alone = [monitor_log(path, SOUND) for path in LOGS[:8]]
    for id, found in together.breaks.items():
        prefixes = [log.breaks[id].prefix for log in alone if id in log.breaks]
        assert found.prefix == min(prefixes)


def test_another_design_can_be_said_to_explain_the_log() -> None:
    verdict = monitor_log(named("donation/p0026"), SOUND, DESIGNS["fixed_F2"])
    assert verdict.unexplained is not None
    assert verdict.explained_by == DESIGNS["fixed_F2"]
    assert all(found.prefix <= verdict.accepted for found in verdict.breaks.values())


def test_the_design_itself_can_be_said_to_explain_the_log() -> None:
    verdict = monitor_log(named("core/p0020"), SOUND, SOUND)
    assert verdict.verdict == Verdict.VIOLATES
    assert verdict.unexplained is not None
    assert not verdict.breaks


def test_one_bad_log_does_not_hide_the_others(tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl.gz"
    bad.write_bytes(b"nothing")
    other = write(tmp_path / "two.jsonl.gz", [header(devices_used=3)])
    wrong = write(tmp_path / "wrong.jsonl.gz", with_tensor(lines_of(LOG), 4, "t1", alias=99))
    done: list[tuple[int, int | None]] = []
    report = monitor_logs(
        [bad, other, wrong, LOG], TORCH_XLA_2_9, lambda n, all: done.append((n, all))
    )
    said = [log.verdict for log in report.logs]
    assert said == [Verdict.ERROR, Verdict.UNSUPPORTED, Verdict.VIOLATES, Verdict.CONFORMS]
    assert done == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert report.verdict == Verdict.ERROR


def test_logs_that_are_only_unsupported_are_no_pass(tmp_path: Path) -> None:
    other = write(tmp_path / "two.jsonl.gz", [header(devices_used=3)])
    report = monitor([other], TORCH_XLA_2_9)
    assert report.verdict == Verdict.UNSUPPORTED
    assert report.exit_code == ExitCode.VACUOUS


def test_a_log_without_steps_is_no_pass(tmp_path: Path) -> None:
    report = monitor([write(tmp_path / "log.jsonl.gz", [header()])], TORCH_XLA_2_9)
    assert report.exit_code == ExitCode.VACUOUS


def test_a_log_that_takes_too_long_is_inconclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logrun, "MAX_SECONDS", -1.0)
    verdict = monitor_log(LOG, TORCH_XLA_2_9)
    assert (verdict.verdict, verdict.accepted) == (Verdict.INCONCLUSIVE, 1)


def hash_lines(path: Path) -> list[int]:
    """The lines of a log that show a hash."""
    values = [step.get("outcome", {}).get("value") for step in lines_of(path)]
    return [i for i, value in enumerate(values) if isinstance(value, dict) and "hex" in value]


def test_a_graph_too_deep_to_be_followed_is_unsupported(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_deep(*_: object, **__: object) -> None:
        raise RecursionError

    monkeypatch.setattr(logrun, "take_step", too_deep)
    verdict = monitor_log(LOG, TORCH_XLA_2_9)
    assert verdict.verdict == Verdict.UNSUPPORTED
    assert "a graph too deep to be followed" in str(verdict.error)


def with_hash(path: Path, hex: str, tmp_path: Path) -> Path:
    """A log whose one hash is another."""
    lines, (line,) = lines_of(path), hash_lines(path)
    value = {**lines[line]["outcome"]["value"], "hex": hex}
    return write(
        tmp_path / f"{path.stem}{hex}.gz",
        changed(lines, line, outcome={"ok": True, "value": value}),
    )


def test_one_hash_for_two_graphs_is_a_violation(tmp_path: Path) -> None:
    logs = [path for path in LOGS if len(hash_lines(path)) == 1]
    first, *rest = [with_hash(path, "0123456789ab", tmp_path) for path in logs]
    assert monitor_log(first, TORCH_XLA_2_9).verdict == Verdict.CONFORMS
    report = monitor([first, *rest], TORCH_XLA_2_9)
    assert report.verdict == Verdict.VIOLATES
    assert {failure.name for failure in report.failures} == {"hashes between logs"}
    assert str(first) in report.failures[0].expected


def test_two_hashes_for_one_graph_mean_two_recordings(tmp_path: Path) -> None:
    log = next(path for path in LOGS if len(hash_lines(path)) == 1)
    report = monitor([log, with_hash(log, "0123456789ab", tmp_path)], TORCH_XLA_2_9)
    assert report.verdict == Verdict.CONFORMS
    assert any("2 recordings" in note for note in report.notes)


def test_the_report_counts_and_names_what_was_found(tmp_path: Path) -> None:
    wrong = write(tmp_path / "wrong.jsonl.gz", with_tensor(lines_of(LOG), 4, "t1", alias=99))
    report = monitor([wrong, LOG], TORCH_XLA_2_9)
    assert (report.adapter, report.adapter_version) == ("torch_xla", "2.9.0")
    assert report.exit_code == ExitCode.VIOLATES
    assert [subject.verdict for subject in report.subjects] == ["violates", "conforms"]
    assert report.subjects[0].message.startswith("step 3 (")
    assert report.actions["A01"].exercised > 0
    assert not report.claims
    (failure,) = report.failures
    assert (failure.expected, failure.observed) == ("t1.alias 1", "t1.alias 99")
    assert failure.program and 0 <= failure.step < len(failure.program)


def test_the_report_under_sound_lists_claims_with_their_programs() -> None:
    report = monitor([LOG], SOUND)
    assert report.exit_code == ExitCode.VIOLATES
    broken = {id for id, count in report.claims.items() if count.broken}
    assert broken == {failure.id for failure in report.failures} >= {"I15", "I32"}
    assert all(failure.design == "torch_xla_2_9" for failure in report.failures)
    report.to_json()


@pytest.mark.parametrize(
    ("expected", "observed", "equal"),
    [
        (2, 2.0, True),
        (0, -0.0, True),
        (1, True, False),
        (None, 0, False),
        ((1, 2), (1, 2.0), True),
        ((1, 2), (1,), False),
        (ANYTHING, "x", True),
        ((1, ANYTHING), (1, 7), True),
    ],
)
def test_values_are_compared_as_json(expected: object, observed: object, equal: bool) -> None:
    assert same(expected, observed) is equal


def test_a_field_that_one_side_does_not_name_differs() -> None:
    law: dict[str, object] = {"outcome": ErrorKind.NONE, "tensors": ("t1",), "t1.id": 1}
    assert not compare(law, dict(law))
    assert [d.field for d in compare({**law, "value": 1}, law)] == ["value"]
    assert [d.field for d in compare({**law, "value": ANYTHING}, law)] == ["value"]
    assert [d.field for d in compare(law, {**law, "counters.MarkStep": 1})] == ["counters.MarkStep"]
    assert not compare({**law, "counters.MarkStep": 0}, law)


def test_a_tensor_that_one_side_lacks_is_one_difference() -> None:
    law: dict[str, object] = {"outcome": ErrorKind.NONE, "tensors": ("t1",), "t1.id": 1}
    log: dict[str, object] = {"outcome": ErrorKind.NONE, "tensors": ()}
    assert [d.field for d in compare(law, log)] == ["tensors"]


def test_a_process_that_should_live_is_one_difference() -> None:
    law: dict[str, object] = {"outcome": ErrorKind.NONE, "tensors": ("t1",), "t1.id": 1}
    assert [d.field for d in compare(law, {"outcome": "hang"})] == ["outcome"]
    crash: dict[str, object] = {"outcome": ErrorKind.CRASH, "signal": "SIGSEGV"}
    assert [d.field for d in compare(law, crash)] == ["outcome", "signal"]


def test_all_recorded_logs_together_conform() -> None:
    found = monitor_logs(LOGS, TORCH_XLA_2_9)
    assert found.verdict is Verdict.CONFORMS
    assert any("recordings" in note for note in found.to_report().notes)
