"""The reference executor built as other designs: it follows each, and shows what each breaks."""

from pathlib import Path

import pytest

from markstep.conformance.adapter import make
from markstep.conformance.adapters import alternatives
from markstep.conformance.adapters.builds import Build, build_of
from markstep.conformance.adapters.reference import ReferenceAdapter
from markstep.conformance.check import check
from markstep.conformance.verdict import Verdict
from markstep.spec.design import SOUND, Design
from markstep.spec.invariants import PRICE_OF, broken_by
from markstep.spec.named_designs import DESIGNS, LAZY_LOADING
from markstep.spec.trace import read_trace
from markstep.spec.vocabulary import Action

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "designs-compared"
SHOWN = sorted(PAGE.glob("*-sound_*.itf.json"))


@pytest.mark.parametrize("design", LAZY_LOADING, ids=lambda design: design.name)
def test_the_executor_follows_the_law_of_the_design(design: Design) -> None:
    report = check(
        lambda: ReferenceAdapter("interpret", design=design), design=design, profile="tiny"
    )
    assert report.verdict == Verdict.CONFORMS, [str(failure) for failure in report.failures]


def test_there_is_a_program_for_each_price() -> None:
    assert {path.name.split("-")[0] for path in SHOWN} == set().union(*PRICE_OF.values()) - {
        "I85",  # torch_xla has the same program
        "I99",  # belongs to no property
    }


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.name)
def test_programs_of_the_page_show_the_fault_on_the_executor(path: Path) -> None:
    trace = read_trace(path)
    program = [action for action in trace.actions if isinstance(action, Action)]
    assert len(program) == len(trace.actions)
    (claim,) = trace.ids
    assert alternatives.shows(program, claim, DESIGNS[trace.design])
    assert not alternatives.shows(program, claim, SOUND)


def test_an_alternative_is_judged_by_what_is_asked_of_it() -> None:
    report = check(alternatives.stub_leaf, profile="tiny")
    assert report.verdict == Verdict.VIOLATES
    broken = {failure.id for failure in report.failures}
    assert {"I126"} <= broken <= broken_by(DESIGNS["sound_stub_leaf"])


def test_only_what_can_be_built_is_built() -> None:
    assert build_of(SOUND) == Build()
    assert build_of(DESIGNS["torch_xla_2_9"]) is None
    assert build_of(DESIGNS["rfc_ir_node"]) is None
    assert [build_of(design) for design in LAZY_LOADING] == [
        Build(lazy_loading="node", always_lazy=True),
        Build(lazy_loading="host", always_lazy=True),
        Build(lazy_loading="host"),
        Build(lazy_loading="stub", always_lazy=True),
    ]
    assert make(ReferenceAdapter, DESIGNS["torch_xla_2_9"]).described_by == ""  # type: ignore[attr-defined]
