"""The command line: every verb, every exit code, and one line for every mistake."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from markstep.conformance import check
from markstep.conformance.adapters.model import ModelAdapter
from markstep.conformance.cli import app as cli
from markstep.conformance.cli import verbs
from markstep.conformance.exit_codes import ExitCode
from markstep.conformance.lockstep import replay
from markstep.spec.trace import Trace, dumps
from markstep.spec.vocabulary import (
    Apply,
    AssignInPlace,
    CreateFromHost,
    CreatePlaceholder,
    Observation,
    ReadOne,
    TensorName,
)

T0, T1, T2 = TensorName(0), TensorName(1), TensorName(2)
GOOD = (CreateFromHost(T0, (1, 2), (2,)), AssignInPlace(T0, "neg"), ReadOne(T0))
STUB = (CreatePlaceholder(T0, (1,)), AssignInPlace(T0, "neg"), ReadOne(T0))
"""Under torch_xla_2_9 the process dies: I83."""

Markstep = Callable[..., tuple[int, str, str]]


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


# ---- errors ---------------------------------------------------------------------------------


def test_an_adapter_that_cannot_be_loaded_is_exit_code_4(markstep: Markstep) -> None:
    save("t.itf.json", *GOOD)
    for name in ("no.such.module:X", "json:nothing", "json:__doc__"):
        code, out, err = markstep("replay", "t.itf.json", "--adapter", name)
        assert (code, out) == (ExitCode.ERROR, "")
        assert err.startswith(f"markstep: adapter: adapter {name!r}: ")
        assert err.count("\n") == 1


def test_an_adapter_that_exits_when_it_is_imported_is_exit_code_4(
    markstep: Markstep, monkeypatch: Any
) -> None:
    Path("exits_at_once.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.syspath_prepend(".")
    code, out, err = markstep("run", "--adapter", "exits_at_once:Adapter")
    assert (code, out) == (ExitCode.ERROR, "")
    assert err == "markstep: adapter: adapter 'exits_at_once:Adapter': SystemExit: 0\n"


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
    save("t.itf.json", CreateFromHost(T0, (10,), (1,)), square, square, square)
    code, out, _ = markstep("replay", "t.itf.json", "--adapter", f"{__name__}:Raises")
    assert code == ExitCode.INCONCLUSIVE
    assert "at step 3: not exact" in out


@pytest.mark.parametrize("scalar", [1e300, 2.0**70, 0.1, 1e-300])
def test_replay_accuses_nobody_of_values_that_the_law_does_not_know(
    markstep: Markstep, scalar: float
) -> None:
    times = AssignInPlace(T0, "mul_scalar", (), scalar)
    save("t.itf.json", CreateFromHost(T0, (3,), (1,)), times, ReadOne(T0))
    code, out, _ = markstep("replay", "t.itf.json", "--adapter", f"{__name__}:Wrong")
    assert code == ExitCode.INCONCLUSIVE
    assert "at step 1: not exact" in out


def test_replay_of_a_program_that_fails_is_compared(markstep: Markstep) -> None:
    fails = Apply(T1, "failing_execute", (T0,))
    save("t.itf.json", CreateFromHost(T0, (3,), (1,)), fails, Apply(T2, "add", (T1, T0)))
    assert markstep("replay", "t.itf.json", "--adapter", "model")[0] == ExitCode.CONFORMS


def test_replay_of_a_program_that_is_too_deep_is_inconclusive(
    markstep: Markstep, monkeypatch: Any
) -> None:
    def too_deep(*_: Any) -> None:
        raise RecursionError("maximum recursion depth exceeded")

    monkeypatch.setattr(replay, "exact", too_deep)
    save("t.itf.json", *GOOD)
    code, out, _ = markstep("replay", "t.itf.json", "--adapter", "model")
    assert code == ExitCode.INCONCLUSIVE
    assert "deeper than the law can follow" in out


def test_replay_of_nothing_is_vacuous(markstep: Markstep) -> None:
    save("t.itf.json")
    assert markstep("replay", "t.itf.json")[0] == ExitCode.VACUOUS


def test_explore_prints_and_saves_the_shortest_counterexample(markstep: Markstep) -> None:
    families = ["--families", "core", "--families", "placeholder"]
    options = ["--records", "1", "--buffers", "1", *families, "--claim", "I83"]
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


# ---- run ------------------------------------------------------------------------------------


def test_run_of_the_law_against_itself_conforms(markstep: Markstep) -> None:
    options = ["--profile", "tiny", "--json", "r.json", "--junit-xml", "r.xml"]
    code, out, err = markstep("run", "--adapter", "model", *options)
    assert (code, err) == (ExitCode.CONFORMS, "")
    report = json.loads(Path("r.json").read_text())
    assert report["steps"] >= 300
    assert "programs of the suite that came first: " in out
    assert f"seed {report['seed']}" in out
    again = f"markstep run --adapter model --design sound --profile tiny --seed {report['seed']}"
    assert report["again"] == again
    assert f"again  {again}" in out
    assert not Path("markstep-out").exists()


def test_in_ci_the_default_seed_is_always_the_same(markstep: Markstep, monkeypatch: Any) -> None:
    monkeypatch.setattr(verbs.secrets, "randbits", lambda bits: 7)
    for ci, seed in (("true", 0), ("", 7)):
        monkeypatch.setenv("CI", ci)
        out = markstep("run", "--adapter", "model", "--profile", "tiny")[1]
        assert f"seed {seed}" in out


def test_run_finds_shortens_and_saves_a_lie(markstep: Markstep) -> None:
    options = ["--adapter", f"{__name__}:Wrong", "--profile", "tiny", "--seed", "5", "--out", "o"]
    code, out, _ = markstep("run", *options)
    assert code == ExitCode.VIOLATES
    assert "✗ A14 ReadOne   adapter" in out
    assert "> 1  ReadOne(t0)" in out
    replay = next(line for line in out.splitlines() if line.startswith("  replay "))
    code, again, _ = markstep(*replay.split()[2:])
    assert code == ExitCode.VIOLATES
    assert "> 1  ReadOne(t0)" in again


def test_run_under_a_design_that_breaks_the_law_gives_traces_that_do(markstep: Markstep) -> None:
    options = ["--adapter", "model", "--design", "torch_xla_2_9", "--profile", "tiny"]
    code, out, _ = markstep("run", *options, "--seed", "4")
    assert code == ExitCode.VIOLATES
    saved = sorted(Path("markstep-out").iterdir())
    assert len(saved) == out.count("\n✗ ") > 5
    for path in saved:
        code, out, _ = markstep("replay", str(path), "--adapter", "model")
        assert code == ExitCode.VIOLATES
        assert f"✗ {path.name.split('-')[0]} " in out


def test_run_of_an_adapter_that_breaks_the_protocol_is_an_error(markstep: Markstep) -> None:
    options = ["--adapter", f"{__name__}:Raises", "--profile", "tiny", "--seed", "5"]
    code, out, _ = markstep("run", *options)
    assert code == ExitCode.ERROR
    assert "! LOCKSTEP" in out
    assert "observed   RuntimeError: no device" in out


def test_run_that_misses_a_witness_is_vacuous(markstep: Markstep, monkeypatch: Any) -> None:
    monkeypatch.setitem(check.PROFILES, "tiny", check.Profile(20, demands_witnesses=True))
    code, out, _ = markstep("run", "--adapter", "model", "--profile", "tiny", "--seed", "1")
    assert code == ExitCode.VACUOUS
    assert ": its witness was never seen" in out


# ---- list, help, the process ----------------------------------------------------------------


def test_list_names_everything(markstep: Markstep) -> None:
    code, out, _ = markstep("list")
    assert code == ExitCode.CONFORMS
    for name in ("A10  Sync", "  some_source  ", "torch_xla_2_9", "reference", "standard"):
        assert name in out
    code, out, _ = markstep("list", "claims", "--json")
    assert json.loads(out)["claims"][0]["id"] == "I01"


# ---- help -----------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", cli.EXAMPLES, ids=lambda verb: verb.__name__)
def test_help_of_a_verb_ends_with_examples_and_exit_codes(markstep: Markstep, verb: Any) -> None:
    code, out, _ = markstep(verb.__name__.rstrip("_"), "--help")
    assert code == 0
    for example in cli.EXAMPLES[verb]:
        assert f"\n  {example}\n" in out
    assert "Exit codes: 0 conforms" in out


EXAMPLES = [
    example
    for examples in cli.EXAMPLES.values()
    for example in examples
    if not example.startswith(
        ("markstep monitor", "markstep record", "markstep bench", "markstep prove")
    )
]
"""Those that take seconds and no logs."""


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_of_help_run(markstep: Markstep, example: str) -> None:
    save("trace.itf.json", *GOOD)
    Path("markstep-out").mkdir()
    save("markstep-out/t.itf.json", *GOOD)
    code, _, err = markstep(*example.split()[1:])
    assert err == ""
    assert code in (ExitCode.CONFORMS, ExitCode.VIOLATES)


PARSED = [e for examples in cli.EXAMPLES.values() for e in examples if e not in EXAMPLES]


@pytest.mark.parametrize("example", PARSED)
def test_the_other_examples_are_understood(example: str) -> None:
    verb, bound, _ = cli.app.parse_args(example.split()[1:], exit_on_error=False)
    assert verb in cli.EXAMPLES and bound.arguments
