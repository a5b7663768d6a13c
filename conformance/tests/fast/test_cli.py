"""The command line: every verb, every exit code, and one line for every mistake."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from markstep.conformance import cli
from markstep.conformance.adapters.model import ModelAdapter
from markstep.conformance.exit_codes import ExitCode
from markstep.spec.trace import Trace, dumps
from markstep.spec.vocabulary import (
    AssignInPlace,
    CreateFromHost,
    CreatePlaceholder,
    Observation,
    ReadOne,
    TensorName,
)

T0, T1 = TensorName(0), TensorName(1)
GOOD = (CreateFromHost(T0, (1, 2), (2,)), AssignInPlace(T0, "neg"), ReadOne(T0))
STUB = (CreatePlaceholder(T0, (1,)), AssignInPlace(T0, "neg"), ReadOne(T0))
"""Under torch_xla_2_9 the process dies: I83."""

Markstep = Callable[..., tuple[int, str, str]]


@pytest.fixture
def markstep(capsys: Any, tmp_path: Path, monkeypatch: Any) -> Markstep:
    """Runs a command line in an empty directory: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            cli.main(list(arguments))
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def save(name: str, *actions: Any, **about: Any) -> str:
    """A trace file in the working directory."""
    Path(name).write_text(dumps(Trace(actions, **about)), encoding="utf-8")
    return name


class Wrong(ModelAdapter):
    """Says that every value is zero."""

    name = "wrong"

    def apply(self, action: Any) -> Observation:
        seen = super().apply(action)
        return Observation(seen.error, (0, 0)) if isinstance(action, ReadOne) else seen


class Raises(ModelAdapter):
    """Breaks the protocol."""

    name = "raises"

    def apply(self, action: Any) -> Observation:
        raise RuntimeError("no device\nsecond line")


# ---- mistakes of the user -------------------------------------------------------------------

MISTAKES = [
    (["run", "--sed", "3"], "command line: Unknown option: --sed. Did you mean --seed?"),
    (["rnu"], 'command line: Unknown command "rnu". Did you mean "run"?'),
    (["run", "--seed", "x"], 'command line: Invalid value for --seed: unable to convert "x"'),
    (["run", "extra"], "command line: Unused Tokens: ['extra']"),
    (["run", "--adapter"], 'command line: Command "run" parameter --adapter requires'),
    (["run", "--seed", "1", "--seed", "2"], "command line: Parameter --seed specified multiple"),
    (["run", "--seed", "-1"], "--seed: -1 is negative"),
    (["run", "--adapter", "modle"], "--adapter: unknown adapter 'modle'; did you mean 'model'?"),
    (["run", "--design", "torch_xla"], "--design: unknown design 'torch_xla'; did you mean"),
    (["run", "--profile", "smal"], "--profile: unknown profile 'smal'; did you mean 'small'?"),
    (["run", "--json", "."], "--json .: is a directory; give the name of a file in it"),
    (["run", "--json", "no/x.json"], "--json no: cannot write there: no such file or directory"),
    (["run", "--junit-xml", "no/x"], "--junit-xml no: cannot write there"),
    (["run", "--out", "file.txt"], "--out file.txt: is not a directory; give a directory"),
    (["replay"], 'command line: Command "replay" parameter TRACE requires an argument'),
    (["replay", "none"], "replay none: no such file or directory; check the path"),
    (["replay", "x*.itf.json"], "replay x*.itf.json: nothing matches; check the path"),
    (["replay", "empty"], "replay empty: no file whose name ends in .itf.json in this directory"),
    (["replay", "file.txt"], "replay: file.txt: line 1 column 1: not JSON"),
    (["replay", "bad.itf.json"], "replay: bad.itf.json: $.markstep.actions[0].action: unknown"),
    (["replay", "new.itf.json"], "replay: new.itf.json: $.markstep.format: format 9 is newer"),
    (["replay", "good.itf.json", "--adapter", "x"], "--adapter: unknown adapter 'x'; known: "),
    (["replay", "good.itf.json", "--design", "x"], "--design: unknown design 'x'; known: sound"),
    (["monitor"], 'command line: Command "monitor" parameter LOG requires an argument'),
    (["monitor", "none.gz"], "monitor none.gz: no such file or directory"),
    (["monitor", "empty"], "monitor empty: no file whose name ends in .jsonl.gz"),
    (["monitor", "file.txt", "--design", "x"], "--design: unknown design 'x'"),
    (["explore", "--claim", "I1"], "--claim: unknown claim 'I1'; did you mean 'I"),
    (["explore", "--records", "-2"], "--records: -2 is negative"),
    (["explore", "--families", "cor"], "--families: unknown family 'cor'; did you mean 'core'?"),
    (["list", "claim"], "list: unknown list 'claim'; did you mean 'claims'?"),
]


@pytest.mark.parametrize(("arguments", "line"), MISTAKES, ids=[" ".join(a) for a, _ in MISTAKES])
def test_a_mistake_is_one_line_and_exit_code_2(
    markstep: Markstep, arguments: list[str], line: str
) -> None:
    Path("empty").mkdir()
    Path("file.txt").write_text("no trace")
    text = Path(save("good.itf.json", *GOOD)).read_text()
    Path("new.itf.json").write_text(text.replace('"format": 1,', '"format": 9,'))
    bad = text.replace('{"action": "CreateFromHost"', '{"action": "eval"')
    Path("bad.itf.json").write_text(bad)
    code, out, err = markstep(*arguments)
    assert (code, out) == (ExitCode.USAGE, "")
    assert err.startswith(f"markstep: {line}")
    assert err.count("\n") == 1
    assert "; " in err, "says what to do"


def test_an_adapter_that_cannot_be_loaded_is_exit_code_4(markstep: Markstep) -> None:
    save("t.itf.json", *GOOD)
    for name in ("no.such.module:X", "json:nothing", "json:__doc__"):
        code, out, err = markstep("replay", "t.itf.json", "--adapter", name)
        assert (code, out) == (ExitCode.ERROR, "")
        assert err.startswith(f"markstep: adapter: adapter {name!r}: ")
        assert err.count("\n") == 1


def test_a_log_that_is_damaged_is_named_and_the_others_are_judged(markstep: Markstep) -> None:
    Path("logs").mkdir()
    Path("logs/a.jsonl.gz").write_bytes(b"\x1f\x8b\x08\x00truncated")
    Path("logs/b.jsonl.gz").write_bytes(b"no gzip")
    code, out, err = markstep("monitor", "logs")
    assert code == ExitCode.ERROR
    lines = err.splitlines()
    assert [line.split(": ")[:2] for line in lines] == [
        ["markstep", "logs/a.jsonl.gz"],
        ["markstep", "logs/b.jsonl.gz"],
    ]
    assert "exit 4" in out


def test_an_internal_error_is_one_line(markstep: Markstep, monkeypatch: Any) -> None:
    monkeypatch.setattr(cli, "call", lambda arguments: {}["x"])
    code, _, err = markstep("list")
    assert code == ExitCode.ERROR
    assert err.startswith("markstep: internal error: KeyError: 'x'; set MARKSTEP_TRACEBACK=1")
    monkeypatch.setenv("MARKSTEP_TRACEBACK", "1")
    with pytest.raises(KeyError):
        cli.main(["list"])


# ---- replay and explore ---------------------------------------------------------------------


def test_replay_by_the_law_alone(markstep: Markstep) -> None:
    save("t.itf.json", *GOOD)
    code, out, err = markstep("replay", "t.itf.json")
    assert (code, err) == (ExitCode.CONFORMS, "")
    assert "t.itf.json  conforms" in out
    assert "again  markstep replay t.itf.json" in out


def test_replay_of_a_counterexample_violates(markstep: Markstep) -> None:
    Path("deep/er").mkdir(parents=True)
    save("deep/er/t.itf.json", *STUB, design="torch_xla_2_9", ids=("I83",))
    save("deep/u.itf.json", *GOOD)
    code, out, _ = markstep("replay", "deep", "--json", "r.json", "--junit-xml", "r.xml")
    assert code == ExitCode.VIOLATES
    assert "✗ I83 unexecutable_graphs_are_refused   design torch_xla_2_9" in out
    assert "> 2  ReadOne(t0)" in out
    assert "replay     markstep replay deep/er/t.itf.json" in out
    report = json.loads(Path("r.json").read_text())
    assert (report["exit_code"], report["verdict"]) == (1, "violates")
    assert [s["verdict"] for s in report["subjects"]] == ["violates", "conforms"]
    assert "testsuite" in Path("r.xml").read_text()
    assert sorted(path.name for path in Path().iterdir()) == ["deep", "r.json", "r.xml"]
    assert markstep("replay", "deep", "--design", "sound")[0] == ExitCode.CONFORMS


def test_replay_in_lockstep(markstep: Markstep) -> None:
    save("t.itf.json", *GOOD)
    assert markstep("replay", "t.itf.json", "--adapter", "model")[0] == ExitCode.CONFORMS
    code, out, _ = markstep("replay", "t.itf.json", "--adapter", f"{__name__}:Wrong")
    assert code == ExitCode.VIOLATES
    assert "✗ A14" in out
    assert "expected   value (-1, -2)" in out
    assert "observed   value (0, 0)" in out
    code, out, _ = markstep("replay", "t.itf.json", "--adapter", f"{__name__}:Raises")
    assert code == ExitCode.ERROR
    assert "observed   RuntimeError: no device" in out
    assert "second line" not in out


def test_replay_says_when_values_are_not_exact(markstep: Markstep) -> None:
    square = AssignInPlace(T0, "mul", (T0,))
    save("t.itf.json", CreateFromHost(T0, (10,), (1,)), states=({},))
    trace = Trace((CreateFromHost(T0, (10,), (1,)), square, square, square))
    Path("t.itf.json").write_text(dumps(trace))
    code, out, _ = markstep("replay", "t.itf.json", "--adapter", f"{__name__}:Raises")
    assert code == ExitCode.INCONCLUSIVE
    assert "not exact in float32" in out


def test_replay_of_nothing_is_vacuous(markstep: Markstep) -> None:
    save("t.itf.json")
    assert markstep("replay", "t.itf.json")[0] == ExitCode.VACUOUS


def test_explore_prints_and_saves_the_shortest_counterexample(markstep: Markstep) -> None:
    options = ["--records", "1", "--buffers", "1", "--claim", "I83"]
    code, out, _ = markstep("explore", "--design", "torch_xla_2_9", *options)
    assert code == ExitCode.VIOLATES
    assert "replay     markstep replay markstep-out/I83-torch_xla_2_9.itf.json" in out
    code, again, _ = markstep("replay", "markstep-out")
    assert code == ExitCode.VIOLATES
    assert "✗ I83" in again
    code, out, _ = markstep("explore", *options)
    assert code == ExitCode.CONFORMS
    assert "all within the bound" in out


def test_explore_that_is_cut_short_is_inconclusive(markstep: Markstep) -> None:
    code, out, _ = markstep("explore", "--max-states", "50")
    assert code == ExitCode.INCONCLUSIVE
    assert "cut short" in out


def test_explore_of_a_claim_that_is_not_exercised_is_vacuous(markstep: Markstep) -> None:
    options = ["--records", "1", "--buffers", "1", "--families", "core", "--claim", "I37"]
    code, out, _ = markstep("explore", *options)
    assert code == ExitCode.VACUOUS
    assert "note: I37: no state within the bound exercises its premise" in out


# ---- list, help, the process ----------------------------------------------------------------


def test_list_names_everything(markstep: Markstep) -> None:
    code, out, _ = markstep("list")
    assert code == ExitCode.CONFORMS
    for name in ("A10  Sync", "I01  some_source", "torch_xla_2_9", "reference", "standard"):
        assert name in out
    code, out, _ = markstep("list", "claims", "--json")
    assert json.loads(out)["claims"][0]["id"] == "I01"


def test_help_tells_the_exit_codes_and_loads_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from markstep.conformance import cli\n"
        "try: cli.main(['--help'])\n"
        "finally: print(sorted({'jax', 'numpy', 'z3', 'hypothesis'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "Exit codes: 0 conforms" in done.stdout
    assert done.stdout.rstrip().endswith("[]")


def test_python_m_is_the_command() -> None:
    command = [sys.executable, "-m", "markstep.conformance", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0.1.0"


def test_a_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m markstep.conformance list | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_ctrl_c_leaves_a_valid_partial_report(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "markstep.conformance", "explore", "--records", "3"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [*command, "--json", "r.json"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(4)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "")
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["interrupted"] is True
    assert report["exit_code"] == 130
    assert report["steps"] > 0
    assert "interrupted" in out
