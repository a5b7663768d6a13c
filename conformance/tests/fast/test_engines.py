"""`markstep explore --engine`: what a user sees of a search with the generated step."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from markstep.conformance.exit_codes import ExitCode
from markstep.spec.compiled import on_c

Markstep = Callable[..., tuple[int, str, str]]
CORE = ("explore", "--records", "1", "--families", "core")
TINY = (*CORE, "--buffers", "1")


@pytest.fixture
def no_compiler(monkeypatch: Any) -> Any:
    on_c.compiler.cache_clear()
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CC", raising=False)
    yield
    on_c.compiler.cache_clear()


def test_without_a_compiler_the_engine_in_c_is_refused_in_one_line(
    markstep: Markstep, no_compiler: None
) -> None:
    code, out, err = markstep(*TINY, "--engine", "c")
    assert code == ExitCode.ERROR
    assert out == ""
    assert err == (
        "markstep: --engine c: no C compiler found: install gcc or clang, or name one in CC\n"
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--engine", "gpu"), "--engine: unknown engine 'gpu'; known: rules, numpy, jax, c"),
        (
            ("--engine", "numpy", "--checkpoint", "x"),
            "--checkpoint: the engine numpy does not keep what this needs; leave it out, "
            "or give --engine rules",
        ),
        (
            ("--engine", "c", "--families", "sharding"),
            "--families sharding: the engine c knows no SPMD mode; leave it out, "
            "or give --engine rules",
        ),
        (
            ("--engine", "c", "--families", "eager"),
            "--families eager: the engine c knows no eager mode; leave it out, "
            "or give --engine rules",
        ),
        (
            ("--engine", "numpy", "--buffers", "9"),
            "--buffers: 1 records and 10 buffer records, as there can be for a moment, do not fit "
            "into a packed state; give less, or --engine rules",
        ),
    ],
)
def test_what_an_engine_cannot_do_is_said_in_one_line(
    markstep: Markstep, given: tuple[str, ...], said: str
) -> None:
    room = () if "--buffers" in given else ("--buffers", "1")
    code, _, err = markstep(*CORE, *room, *given)
    assert (code, err) == (ExitCode.USAGE, f"markstep: {said}\n")


def test_the_report_and_the_page_are_those_of_the_rules(markstep: Markstep) -> None:
    design = ("--design", "torch_xla_2_9", "--actions", "4")
    plain = markstep(*TINY, *design, "--write", "rules.md")
    fast = markstep(*TINY, *design, "--engine", "numpy", "--write", "numpy.md")
    assert plain[0] == fast[0] == ExitCode.VIOLATES
    pages = [Path(f"{name}.md").read_text(encoding="utf-8") for name in ("rules", "numpy")]
    counted = [page.split("The bound:")[1].split("## Shortest")[0] for page in pages]
    assert counted[0] == counted[1]
    shown = [line.split("|")[:4] for line in pages[0].splitlines() if line.startswith("| [")]
    assert shown == [
        line.split("|")[:4] for line in pages[1].splitlines() if line.startswith("| [")
    ]
    assert shown


def test_a_limit_leaves_a_fast_search_inconclusive(markstep: Markstep) -> None:
    code, out, _ = markstep(*TINY, "--engine", "numpy", "--max-states", "20")
    assert code == ExitCode.INCONCLUSIVE
    assert "20 states" in out
