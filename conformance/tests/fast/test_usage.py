"""Mistakes of the user: one line that says where, what, and what to do."""

from collections.abc import Callable
from pathlib import Path

import pytest

from markstep.conformance.exit_codes import ExitCode
from markstep.spec.trace import Trace, dumps
from markstep.spec.vocabulary import CreateFromHost, ReadOne, TensorName

T0 = TensorName(0)
PROGRAM = (CreateFromHost(T0, (1, 2), (2,)), ReadOne(T0))

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
    (["list", "claim"], "list: unknown list 'claim'; did you mean 'claims'?"),
]


@pytest.mark.parametrize(("arguments", "line"), MISTAKES, ids=[" ".join(a) for a, _ in MISTAKES])
def test_a_mistake_is_one_line_and_exit_code_2(
    markstep: Callable[..., tuple[int, str, str]], arguments: list[str], line: str
) -> None:
    Path("empty").mkdir()
    Path("file.txt").write_text("no trace")
    text = dumps(Trace(PROGRAM))
    Path("good.itf.json").write_text(text)
    Path("new.itf.json").write_text(text.replace('"format": 1,', '"format": 9,'))
    bad = text.replace('{"action": "CreateFromHost"', '{"action": "eval"')
    Path("bad.itf.json").write_text(bad)
    code, out, err = markstep(*arguments)
    assert (code, out) == (ExitCode.USAGE, "")
    assert err.startswith(f"markstep: {line}")
    assert err.count("\n") == 1
    assert "; " in err, "says what to do"
