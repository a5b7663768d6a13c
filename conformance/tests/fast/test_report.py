"""Reports: for the terminal, for CI and for scripts they say the same."""

import io
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import junitparser
import pytest

from markstep.conformance.changes import diff_states
from markstep.conformance.exit_codes import ExitCode
from markstep.conformance.report.console import console, print_report
from markstep.conformance.report.junit import to_junit
from markstep.conformance.report.model import ActionCount, ClaimCount, Failure, Report, Subject
from markstep.conformance.report.traces import save_traces
from markstep.conformance.show import show, show_observation, show_program, show_view
from markstep.conformance.verdict import Verdict
from markstep.spec.design import SOUND
from markstep.spec.observe import observe
from markstep.spec.rules.sync import Lookup
from markstep.spec.schedule import initial_state, perform
from markstep.spec.trace import read_trace
from markstep.spec.vocabulary import (
    Apply,
    AssignInPlace,
    Clone,
    CopyFromHost,
    CreateFromHost,
    CreatePlaceholder,
    Detach,
    Drop,
    DType,
    ErrorKind,
    Observation,
    ReadOne,
    RunCached,
    SetDonation,
    StepBarrier,
    Sync,
    TensorName,
)

T0, T1, T2, T3 = map(TensorName, range(4))
PROGRAM = (CreateFromHost(T0, (1, 2), (2,)), AssignInPlace(T0, "neg"), StepBarrier(), ReadOne(T0))


def failure(**changes: Any) -> Failure:
    """A failure with everything filled."""
    given: dict[str, Any] = {
        "id": "I43",
        "statement": "Equal keys mean equal programs.",
        "program": PROGRAM,
        "step": 2,
        "expected": "a second entry",
        "observed": "the first again\nand a second line",
        "changed": ["t0: IR → PEND", "counters: CachedCompile +1"],
        "adapter": "mine",
        "seed": 7,
        "issue": "pytorch/xla#8464",
        "name": "equal_keys_mean_equal_programs",
    }
    return Failure(**{**given, **changes})


def report(*failures: Failure, **changes: Any) -> Report:
    """A report with something of everything."""
    given: dict[str, Any] = {
        "command": "run",
        "adapter": "mine",
        "adapter_version": "2.0",
        "profile": "tiny",
        "seed": 7,
        "spec_version": "0.1.0",
        "duration_s": 2.0,
        "programs": 3,
        "steps": 20,
        "small_steps": 80,
        "actions": {"A01": ActionCount(5, 1, 2), "A22": ActionCount()},
        "claims": {"I43": ClaimCount(80, 4, len(failures)), "I47": ClaimCount(80, 0, 0)},
        "failures": list(failures),
        "verdict": Verdict.VIOLATES if failures else Verdict.CONFORMS,
        "subjects": [Subject("a.jsonl.gz", Verdict.CONFORMS, 9)],
        "notes": ["a note with [brackets]"],
        "again": "markstep run --adapter mine --seed 7",
    }
    return Report(**{**given, **changes})


def printed(shown: Report) -> str:
    out = io.StringIO()
    print_report(shown, console(out), verbose=True)
    return out.getvalue()


# ---- programs and states as text ------------------------------------------------------------

LINES = [
    (CreateFromHost(T0, (1, 2, 3, 4), (2, 2)), "t0 = CreateFromHost([[1, 2], [3, 4]])"),
    (CreateFromHost(T0, (2.0,), (), DType.S32), "t0 = CreateFromHost(2, dtype='int32')"),
    (CreateFromHost(T0, (1,), (1,), upload=False), "t0 = CreateFromHost([1], upload=False)"),
    (CreateFromHost(T0, (1,), (3,)), "t0 = CreateFromHost([1], shape=(3,))"),
    (CreateFromHost(T0, (), (0, 2)), "t0 = CreateFromHost([], shape=(0, 2))"),
    (CreatePlaceholder(T0, (2,)), "t0 = CreatePlaceholder((2,))"),
    (Apply(T2, "add", (T0, T1)), "t2 = Apply('add', t0, t1)"),
    (Apply(T2, "mul_scalar", (T0,), 2.5), "t2 = Apply('mul_scalar', t0, 2.5)"),
    (AssignInPlace(T0, "add", (T1,)), "AssignInPlace(t0, 'add', t1)"),
    (AssignInPlace(T0, "add_scalar", (), 1.0), "AssignInPlace(t0, 'add_scalar', 1)"),
    (Clone(T1, T0), "t1 = Clone(t0)"),
    (CopyFromHost(T0, (1, 2), upload=False), "CopyFromHost(t0, [1, 2], upload=False)"),
    (Drop(T0), "Drop(t0)"),
    (Sync((T0, T1), wait=False), "Sync(t0, t1, wait=False)"),
    (Sync((), sync=False), "Sync(sync=False)"),
    (SetDonation(T0), "SetDonation(t0)"),
    (RunCached((T0,), (T2, T3)), "t2, t3 = RunCached(t0)"),
    (Lookup(True, foreign=True), "Lookup(hit=True, foreign=True)"),
]


@pytest.mark.parametrize(("action", "line"), LINES, ids=[line for _, line in LINES])
def test_an_action_is_one_line_of_python(action: Any, line: str) -> None:
    assert show(action) == line
    compile(line, "program", "exec")


def test_the_failing_step_is_marked() -> None:
    assert show_program(PROGRAM, 2).splitlines()[1:3] == [
        "  1  AssignInPlace(t0, 'neg')",
        "> 2  StepBarrier()",
    ]


def test_a_view_shows_state_and_sharing() -> None:
    state = initial_state()
    for action in (*PROGRAM, Detach(T1, T0), CreateFromHost(T2, (1,), (), upload=False)):
        state = perform(state, action, SOUND) or state
    views = {name: show_view(view) for name, view in observe(state).items()}
    assert views == {
        T0: "DATA b2 r2 alias r1 f32[2]",
        T1: "DATA b2 r2 alias r1 f32[2]",
        T2: "HOST r3 f32[]",
    }


def test_observations_are_short() -> None:
    assert show_observation(Observation()) == "no error"
    assert show_observation(Observation(value=(1, 2.5))) == "value (1, 2.5)"
    lost = Observation(ErrorKind.LOST, message="no data")
    assert show_observation(lost) == "error lost: no data"


def test_only_what_changed_is_told() -> None:
    before = initial_state()
    for action in PROGRAM[:2]:
        before = perform(before, action, SOUND) or before
    after = perform(before, StepBarrier(wait=True), SOUND)
    assert after is not None
    assert diff_states(before, before) == []
    told = diff_states(before, after)
    assert told[0].startswith("t0: IR → DATA, handle none → buffer 1")
    assert told[1] == "buffer 0: status VALUE → DELETED"
    assert told[2].startswith("buffer 1: status NONE → VALUE")
    assert told[3].startswith("counters: ")
    assert len(told) == 4
    dropped = perform(after, Drop(T0), SOUND)
    assert dropped is not None
    assert "t0: dropped" in diff_states(after, dropped)


# ---- the terminal ---------------------------------------------------------------------------


def test_a_failure_has_the_form_that_the_design_demands() -> None:
    shown = failure(trace_file="out/I43.itf.json", replay="markstep replay out/I43.itf.json")
    text = printed(report(shown))
    wanted = [
        "✗ I43 equal_keys_mean_equal_programs   adapter mine 2.0   design sound   spec 0.1.0",
        "Equal keys mean equal programs.",
        "0  t0 = CreateFromHost([1, 2])",
        "> 2  StepBarrier()",
        "changed    t0: IR → PEND",
        "counters: CachedCompile +1",
        "expected   a second entry",
        "observed   the first again",
        "known as   pytorch/xla#8464",
        "trace      out/I43.itf.json",
        "replay     markstep replay out/I43.itf.json",
    ]
    places = [text.index(part) for part in wanted]
    assert places == sorted(places)
    assert "ReadOne" not in text, "what follows the failing step is not part of it"
    assert "\x1b" not in text, "no colour where there is no terminal"
    assert "a note with [brackets]" in text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("no_color", "escapes"), [("", True), ("1", False)])
def test_colours_are_for_terminals(monkeypatch: Any, no_color: str, escapes: bool) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", no_color)
    out = Terminal()
    print_report(report(failure()), console(out))
    assert ("\x1b" in out.getvalue()) is escapes


def test_the_tables_say_what_was_exercised() -> None:
    lines = [line.split() for line in printed(report()).splitlines()]
    assert ["A01", "CreateFromHost", "5", "1", "2"] in lines
    assert ["I43", "equal_keys_mean_equal_programs", "conforms", "80", "4"] in lines
    assert any(line[:1] == ["I47"] and "not" in line and "witnessed" in line for line in lines)
    assert "seed 7" in printed(report())
    assert "again  markstep run --adapter mine --seed 7" in printed(report())


def test_a_long_program_is_cut_at_its_beginning() -> None:
    text = printed(report(failure(program=PROGRAM * 50, step=199)))
    assert "… 160 actions before" in text
    assert "> 199  ReadOne(t0)" in text


# ---- exit codes -----------------------------------------------------------------------------

CODES = [
    (report(), ExitCode.CONFORMS),
    (report(failure()), ExitCode.VIOLATES),
    (report(verdict=Verdict.INCONCLUSIVE), ExitCode.INCONCLUSIVE),
    (report(failure(verdict=Verdict.ERROR), failure()), ExitCode.ERROR),
    (report(steps=0), ExitCode.VACUOUS),
    (report(vacuous=["I47 was never exercised"]), ExitCode.VACUOUS),
    (report(verdict=Verdict.INCONCLUSIVE, vacuous=["I47"]), ExitCode.VACUOUS),
    (report(failure(), vacuous=["I47"]), ExitCode.VIOLATES),
    (report(verdict=Verdict.UNSUPPORTED), ExitCode.VACUOUS),
    (report(failure(), interrupted=True), ExitCode.INTERRUPTED),
]


@pytest.mark.parametrize(("shown", "code"), CODES)
def test_the_worst_that_applies_is_the_exit_code(shown: Report, code: ExitCode) -> None:
    assert shown.exit_code == code
    assert f"exit {int(code)}" in printed(shown)


# ---- JSON and JUnit -------------------------------------------------------------------------


@pytest.mark.parametrize("shown", [case for case, _ in CODES])
def test_the_json_report_follows_its_schema(shown: Report) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    text = files("markstep.conformance.report").joinpath("report.schema.json").read_text("utf-8")
    schema = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(json.dumps(shown.to_json())), schema)


def cases(shown: Report) -> dict[str, Any]:
    """The test cases of a JUnit report by name."""
    xml: Any = junitparser.JUnitXml.fromstring(to_junit(shown).encode())
    return {case.name: case for suite in xml for case in suite}


def test_junit_has_a_case_for_each_claim_action_and_file() -> None:
    found = cases(report())
    assert set(found) == {
        "I43 equal_keys_mean_equal_programs",
        "I47 graph_hash_is_the_warm_up_key",
        "A01 CreateFromHost",
        "A22 DumpGraph",
        "a.jsonl.gz",
        "verdict",
    }
    assert found["A01 CreateFromHost"].is_passed
    assert found["I43 equal_keys_mean_equal_programs"].is_passed
    skipped = found["I47 graph_hash_is_the_warm_up_key"]
    assert skipped.is_skipped
    assert "its premise never occurred" in skipped.result[0].message


def test_junit_tells_violates_from_error_from_open() -> None:
    broke = failure(id="A01", verdict=Verdict.ERROR, observed="\x00 nonsense \x1b[31m")
    open_log = Subject("b.gz", Verdict.INCONCLUSIVE, 3, "out of time")
    found = cases(report(failure(), broke, failure(id="LOCKSTEP"), subjects=[open_log]))
    claim = found["I43 equal_keys_mean_equal_programs"]
    assert isinstance(claim.result[0], junitparser.Failure)
    assert claim.result[0].message == "Equal keys mean equal programs."
    assert "> 2  StepBarrier()" in claim.result[0].text
    assert isinstance(found["A01 CreateFromHost"].result[0], junitparser.Error)
    assert isinstance(found["LOCKSTEP"].result[0], junitparser.Failure)
    assert found["b.gz"].result[0].message == "inconclusive: out of time"


def test_junit_fails_where_a_pass_would_mean_nothing() -> None:
    found = cases(report(vacuous=["I47 was never exercised"]))
    assert isinstance(found["verdict"].result[0], junitparser.Failure)


# ---- saved traces ---------------------------------------------------------------------------


def test_each_failure_is_saved_as_a_trace_that_can_be_replayed(tmp_path: Path) -> None:
    shown = report(failure(), failure(), failure(id="../x y", adapter="a/b:C"))
    save_traces(shown, tmp_path / "new")
    names = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert names == [
        ".._x_y-a_b_C-sound.itf.json",
        "I43-mine-sound-2.itf.json",
        "I43-mine-sound.itf.json",
    ]
    trace = read_trace(tmp_path / "new" / "I43-mine-sound.itf.json")
    assert (trace.actions, trace.seed, trace.ids, trace.adapter) == (PROGRAM, 7, ("I43",), "mine")
    first = shown.failures[0]
    assert first.trace_file == str(tmp_path / "new" / "I43-mine-sound.itf.json")
    assert first.replay == f"markstep replay {first.trace_file} --adapter mine"


PAGE = Path(__file__).resolve().parents[3] / "docs/reference/exit-codes.md"


@pytest.mark.skipif(not PAGE.exists(), reason="not run in a checkout of the repository")
def test_the_page_lists_every_exit_code_and_verdict() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for code in ExitCode:
        assert f"| {int(code)} | {code.name.lower()} |" in text
    for verdict in Verdict:
        assert f"| {verdict} |" in text
