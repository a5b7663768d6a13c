"""Mistakes of the user: one line that says where, what, and what to do."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from markstep.conformance.exit_codes import ExitCode
from markstep.spec.trace import Trace, dumps
from markstep.spec.vocabulary import CreateFromHost, ReadOne, TensorName

T0 = TensorName(0)
PROGRAM = (CreateFromHost(T0, (1, 2), (2,)), ReadOne(T0))

VERBS = (
    "Available commands: run, replay, monitor, record, explore, refine, prove, designs, "
    "threads, mutants, show, list, bench, completion"
)
MISTAKES = [
    (["run", "--sed", "3"], "command line: Unknown option: --sed. Did you mean --seed?"),
    (["rnu"], 'command line: Unknown command "rnu". Did you mean "run"?'),
    (["run", "--seed", "x"], "command line: Invalid value for --seed: 'x' is not a whole number"),
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
    (["replay", "good.itf.json", "--design", "x"], "--design: unknown design 'x'; known: see"),
    (["monitor"], 'command line: Command "monitor" parameter LOG requires an argument'),
    (["monitor", "none.gz"], "monitor none.gz: no such file or directory"),
    (["monitor", "empty"], "monitor empty: no file whose name ends in .jsonl.gz"),
    (["monitor", "file.txt", "--design", "x"], "--design: unknown design 'x'"),
    (["explore", "--claim", "I1"], "--claim: unknown claim 'I1'; did you mean 'I"),
    (["explore", "--records", "-2"], "--records: -2 is negative"),
    (["explore", "--families", "cor"], "--families: unknown family 'cor'; did you mean 'core'?"),
    (
        ["explore", "--checkpoint", "file.txt", "--records", "1", "--actions", "1"],
        "--checkpoint file.txt: is not a checkpoint; give a new file or a checkpoint",
    ),
    (["explore", "--resume", "pipe.itf.json"], "--resume pipe.itf.json: is no regular file"),
    (["explore", "--checkpoint", "n", "--json", "n"], "--json n: is the file of the checkpoint"),
    (["run", "--json", "new", "--html", "./new"], "--json new: is the file of --html too; give"),
    (["replay", "good.itf.json", "--json", "good.itf.json"], "--json good.itf.json: is the file"),
    (["replay", "pipe.itf.json"], "replay pipe.itf.json: is no regular file; give the name"),
    (["show", "pipe.itf.json"], "show: pipe.itf.json: is no regular file; give a trace file"),
    (["run", "--known", "pipe.itf.json"], "--known: pipe.itf.json: is no regular file; give"),
    (["runn"], f'command line: Unknown command "runn". Did you mean "run"? {VERBS}; see'),
    (["list", "claim"], "list: unknown list 'claim'; did you mean 'claims'?"),
]


@pytest.mark.parametrize(("arguments", "line"), MISTAKES, ids=[" ".join(a) for a, _ in MISTAKES])
def test_a_mistake_is_one_line_and_exit_code_2(
    markstep: Callable[..., tuple[int, str, str]], arguments: list[str], line: str
) -> None:
    Path("empty").mkdir()
    Path("file.txt").write_text("no trace")
    text = dumps(Trace(PROGRAM))
    os.mkfifo("pipe.itf.json")
    Path("good.itf.json").write_text(text)
    Path("new.itf.json").write_text(text.replace('"format": 1,', '"format": 9,'))
    bad = text.replace('{"action": "CreateFromHost"', '{"action": "eval"')
    Path("bad.itf.json").write_text(bad)
    code, out, err = markstep(*arguments)
    assert (code, out) == (ExitCode.USAGE, "")
    assert err.startswith(f"markstep: {line}")
    assert err.count("\n") == 1
    assert "; " in err, "says what to do"
    assert Path("file.txt").read_text() == "no trace"


def test_a_trace_that_cannot_be_read_is_named_and_the_others_are_replayed(
    markstep: Callable[..., tuple[int, str, str]],
) -> None:
    Path("all").mkdir()
    text = dumps(Trace(PROGRAM))
    Path("all/a.itf.json").write_bytes(b"\x80")
    Path("all/b.itf.json").write_text(text)
    Path("all/c.itf.json").write_text(text[:200])
    code, out, err = markstep("replay", "all")
    assert code == ExitCode.USAGE
    assert "all/b.itf.json  conforms" in out
    assert out.count("note: not replayed: all/") == 2
    said = [line.partition(".itf.json")[0] for line in err.splitlines()]
    assert said == ["markstep: replay: all/a", "markstep: replay: all/c"]


def test_a_saved_failure_that_cannot_be_read_is_named(
    markstep: Callable[..., tuple[int, str, str]],
) -> None:
    Path("mo").mkdir()
    Path("mo/cut.itf.json").write_text(dumps(Trace(PROGRAM))[:200])
    options = ("--profile", "tiny", "--seed", "1", "--out", "mo")
    code, out, _ = markstep("run", "--adapter", "model", *options)
    assert code == ExitCode.CONFORMS
    assert "note: saved from an earlier failure, and not run: mo/cut.itf.json: line" in out


@pytest.mark.parametrize("more", [(), ("--design", "sound"), ("--adapter", "model")])
def test_states_that_the_law_does_not_give_are_told(
    markstep: Callable[..., tuple[int, str, str]], more: tuple[str, ...]
) -> None:
    trace = json.loads(dumps(Trace(PROGRAM)))
    trace["states"][2]["tensors"] = {"#map": []}
    Path("old.itf.json").write_text(json.dumps(trace))
    code, out, _ = markstep("replay", "old.itf.json", *more)
    assert code == ExitCode.CONFORMS
    assert "the law now gives other states than those in the file, from states[2]" in out


def test_a_report_that_cannot_be_written_takes_neither_the_verdict_nor_the_others_along(
    markstep: Callable[..., tuple[int, str, str]],
) -> None:
    Path("good.itf.json").write_text(dumps(Trace(PROGRAM)))
    files = ("--json", "/dev/full", "--badge", "badge.svg")
    code, out, err = markstep("replay", "good.itf.json", *files)
    assert code == ExitCode.USAGE
    assert "conforms   1 file, 2 steps" in out
    assert err.startswith("markstep: /dev/full: cannot be written: No space left on device; give")
    assert Path("badge.svg").exists()
