"""`markstep designs`: every cell is computed, and every program that it names shows the fault."""

from dataclasses import replace
from pathlib import Path

import pytest

from markstep.conformance.adapters.alternatives import shows
from markstep.conformance.cli.app import call
from markstep.conformance.cli.usage import UsageError
from markstep.conformance.designtable import BOUND, PROPERTIES, Column, columns
from markstep.conformance.exit_codes import ExitCode
from markstep.conformance.report import designpages
from markstep.spec.invariants import CLAIMS, GRAPH_CLAIMS, SPMD, placing
from markstep.spec.named_designs import DESIGNS
from markstep.spec.trace import read_trace

SMALL = replace(BOUND, records=1, buffers=2, actions=3)


@pytest.fixture(scope="module")
def found() -> list[Column]:
    names = ("sound", "torch_xla_2_9", "sound_stub_leaf", "rfc_lazy_leaf")
    return columns([DESIGNS[name] for name in names], SMALL, lambda done, total: None, shows)


def said(found: list[Column], title: str) -> list[str]:
    (cells,) = [cells for shown, cells in designpages.shown(found) if shown == title]
    return cells


def test_cells_say_what_the_explorer_has_found(found: list[Column]) -> None:
    assert said(found, "nothing is sent at a lazy mark") == ["✓", "✗ I120", "✓", "✓"]
    assert said(found, "stubs can be marked") == ["✓", "✗ I86", "✓", "✗ I86"]
    assert said(found, "what has data can be executed")[2:] == ["✗ I126", "✓"]
    assert said(found, "a warm-up helps the step") == ["✓", "✗ I48", "✓", "✗ I48"]
    assert said(found, "the annotation survives tracing") == ["–"] * 4, "needs two records"


def test_every_claim_about_sharding_belongs_to_a_property() -> None:
    listed = {id for wanted in PROPERTIES for id in wanted.claims}
    assert listed <= {*CLAIMS, *GRAPH_CLAIMS}
    lemmas = {id for id in SPMD if CLAIMS[id].predicate.__module__ == placing.__name__}
    assert set(SPMD) - listed - lemmas == {"I08", "I25", "I123"}  # of late modes, and of copies


def test_a_search_that_was_cut_short_says_so() -> None:
    (cut,) = columns(
        [DESIGNS["sound"]], replace(SMALL, max_states=3), lambda done, total: None, shows
    )
    assert {cells[0] for _, cells in designpages.shown([cut])} == {"?"}


def test_every_program_of_the_table_breaks_its_claim(found: list[Column]) -> None:
    programs = [broken for _, _, broken in designpages.cited(found) if broken.path]
    assert len(programs) > 10
    assert all(broken.program for broken in programs)
    alone = [broken.claim for broken in programs if broken.runs]
    assert {"I120", "I86", "I85", "I126"} <= set(alone)
    executed = {broken.claim for broken in programs if broken.executed}
    assert executed == {"I126"}


def test_pages_and_traces_are_written_and_replayed(tmp_path: Path) -> None:
    options = ["--design", "sound", "--design", "rfc_stub_leaf", "--records", "1"]
    pages = {form: tmp_path / f"table.{form}" for form in ("markdown", "html")}
    written = [x for form, page in pages.items() for x in (f"--{form}", str(page))]
    traces = tmp_path / "traces"
    code = call(["designs", *options, "--actions", "3", *written, "--traces", str(traces)])
    assert code == ExitCode.CONFORMS
    files = sorted(traces.iterdir())
    text = pages["markdown"].read_text(encoding="utf-8")
    assert all(f"(traces/{path.name})" in text for path in files)
    assert "I126 under rfc_stub_leaf" in pages["html"].read_text(encoding="utf-8")
    for path in files:
        (id,) = read_trace(path).ids
        assert path.name == designpages.trace_name("rfc_stub_leaf", id)
    assert call(["replay", str(traces)]) == ExitCode.VIOLATES


def test_wrong_options_are_refused() -> None:
    with pytest.raises(UsageError, match="unknown design"):
        call(["designs", "--design", "rfc_lazy_leef"])
    with pytest.raises(UsageError, match="is not positive"):
        call(["designs", "--actions", "0"])
