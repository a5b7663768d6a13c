"""The suite as items of pytest, and its fixtures."""

import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest_plugins = ["pytester"]

PLUGIN = "markstep.conformance.plugin.options"
ROOT = Path(__file__).resolve().parents[3]
MINE = """
from markstep.conformance.adapters.model import ModelAdapter
from markstep.spec.vocabulary import Observation, ReadOne

class Wrong(ModelAdapter):
    "Says that every value is zero."
    name = "wrong"
    def apply(self, action):
        seen = super().apply(action)
        return Observation(seen.error, (0, 0)) if isinstance(action, ReadOne) else seen

class Few(ModelAdapter):
    "Cannot do much."
    name = "few"
    capabilities = frozenset({"environment", "views"})

class Breaks(ModelAdapter):
    name = "breaks"
    def apply(self, action):
        raise RuntimeError("no device")
"""
Run = Callable[..., Any]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs pytest with the plugin and no other, in a folder with adapters of its own."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.syspath_prepend(str(pytester.path))
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    pytester.makepyfile(mine=MINE)
    return lambda *given: pytester.runpytest("-p", PLUGIN, "-p", "no:cacheprovider", *given)


def test_without_its_option_it_does_nothing_and_loads_nothing() -> None:
    program = (
        f"import sys, pytest, {PLUGIN}\n"
        "print(sorted(m for m in sys.modules if m.startswith(('markstep.spec', 'jax', 'numpy'))\n"
        "      or m.startswith('markstep.conformance.') and 'plugin' not in m))"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_without_its_option_no_item_is_added(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_one="def test_one(): pass")
    run().assert_outcomes(passed=1)


def test_the_law_passes_its_own_suite_and_the_tests_of_the_user_run_too(
    run: Run, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(test_one="def test_one(): pass")
    result = run("--markstep-adapter", "model", "-v")
    outcomes = result.parseoutcomes()
    assert result.ret == 0 and not {"failed", "errors"} & set(outcomes)
    assert outcomes["passed"] > 90
    for name in ("scenario?G01? PASSED", "program?0-19? PASSED", "claim?I01-some_source? PASSED"):
        result.stdout.fnmatch_lines(f"markstep::{name}*")
    result.stdout.fnmatch_lines("test_one.py::test_one PASSED*")


def test_an_executor_that_is_wrong_fails_with_the_shortest_program(
    run: Run, pytester: pytest.Pytester
) -> None:
    result = run("--markstep-adapter", "mine:Wrong", "-k", "scenario and G01")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*A14 ReadOne*adapter mine:Wrong*", "*> ?  ReadOne(t?)*"])
    (trace,) = (pytester.path / "markstep-out").iterdir()
    result.stdout.fnmatch_lines(f"*markstep replay markstep-out/{trace.name} --adapter mine:Wrong")


def test_what_the_adapter_does_not_declare_is_skipped_with_the_reason(run: Run) -> None:
    result = run("--markstep-adapter", "mine:Few", "-rs", "-k", "scenario or program")
    outcomes = result.parseoutcomes()
    assert result.ret == 0 and outcomes["skipped"] > 3 and outcomes["passed"] > 20
    result.stdout.fnmatch_lines("*the adapter does not declare the capability 'donation'")


def test_an_executor_that_breaks_is_told_from_one_that_is_wrong(run: Run) -> None:
    result = run("--markstep-adapter", "mine:Breaks", "-k", "G01")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*LOCKSTEP*", "*RuntimeError: no device*"])


def test_a_claim_that_the_design_breaks_fails_by_its_id(run: Run) -> None:
    wanted = ("--markstep-design", "torch_xla_2_9", "-k", "I01 or I15 or I06")
    result = run("--markstep-adapter", "model", *wanted)
    result.assert_outcomes(failed=2, passed=1)
    result.stdout.fnmatch_lines("*I15 handles_are_not_shared*")


def test_what_is_known_is_expected_to_fail(run: Run, pytester: pytest.Pytester) -> None:
    entry = '[[known]]\nid = "A14"\nreason = "reads zeros"\nadapter = "wrong"\n'
    pytester.path.joinpath("known.toml").write_text(entry)
    listed = ("--markstep-known", "known.toml", "-k", "scenario and G01", "-rx")
    result = run("--markstep-adapter", "mine:Wrong", *listed)
    assert result.ret == 0 and "xfailed" in result.parseoutcomes()
    result.stdout.fnmatch_lines("*reads zeros*")


MISTAKES = [
    (["--markstep-adapter", "modle"], "*--markstep-adapter:*modle*"),
    (["--markstep-adapter", "model", "--markstep-design", "sond"], "*did you mean 'sound'?*"),
    (["--markstep-adapter", "model", "--markstep-profile", "big"], "*unknown profile 'big'*"),
    (["--markstep-adapter", "model", "--markstep-seed", "x"], "*--markstep-seed: 'x' is not*"),
    (["--markstep-adapter", "model", "--markstep-known", "no.toml"], "*--markstep-known: *"),
]


@pytest.mark.parametrize(("arguments", "line"), MISTAKES)
def test_a_mistake_is_one_line(run: Run, arguments: list[str], line: str) -> None:
    result = run(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(line)
    assert "Traceback" not in str(result.stderr)


FIXTURES = """
from markstep.spec.vocabulary import CreateFromHost, ReadOne, SetDonation

PROGRAM = (CreateFromHost(0, (1, 2), (2,)), ReadOne(0))

def test_model(markstep_model):
    assert [markstep_model.apply(action).value for action in PROGRAM] == [None, (1, 2)]
    assert markstep_model.observe().tensors[0].shape == (2,)

def test_right(markstep_lockstep):
    markstep_lockstep(PROGRAM, "model")

def test_wrong(markstep_lockstep):
    markstep_lockstep(PROGRAM, "mine:Wrong")

def test_unsupported(markstep_lockstep):
    markstep_lockstep((*PROGRAM, SetDonation(0)), "mine:Few")
"""


def test_the_fixtures_play_programs_of_ones_own(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_fixtures=FIXTURES)
    result = run()
    result.assert_outcomes(passed=2, failed=1, skipped=1)
    result.stdout.fnmatch_lines(["A14: *", "> 1  ReadOne(t0)", "observed  value (0, 0)"])


def test_the_items_run_in_parallel(run: Run) -> None:
    pytest.importorskip("xdist")
    wanted = ("--markstep-adapter", "model", "-k", "scenario or I0", "-p", "xdist", "-n", "2")
    result = run(*wanted)
    assert result.ret == 0 and result.parseoutcomes()["passed"] > 15


@pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="not in a checkout")
def test_pytest_finds_the_plugin() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"markstep": PLUGIN}


def test_without_an_adapter_the_fixture_says_so_and_shows_no_frame(
    run: Run, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(test_own="def test_it(markstep_lockstep):\n    markstep_lockstep(())\n")
    done = run()
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["markstep_lockstep: no adapter; give --markstep-adapter"])
    done.stdout.no_fnmatch_line("*asking.py*")
