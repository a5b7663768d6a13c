"""The main job at full size: the reference executor, really compiled programs."""

import pytest

from markstep.conformance.adapters.reference import ReferenceAdapter
from markstep.conformance.check import check
from markstep.conformance.report.model import Report
from markstep.conformance.show import show_program
from markstep.conformance.verdict import Verdict

pytestmark = pytest.mark.slow


def told(report: Report) -> str:
    """The failures of a report, for a message."""
    return "\n\n".join(
        f"{f.id} {f.statement}\n{show_program(f.program, f.step)}\n"
        f"expected {f.expected}\nobserved {f.observed}"
        for f in report.failures
    )


def test_the_reference_executor_conforms_and_every_witness_is_seen() -> None:
    report = check("reference", profile="standard", seed=2026)
    assert report.verdict is Verdict.CONFORMS, told(report)
    assert report.vacuous == []
    assert report.exit_code == 0


def test_programs_that_are_really_compiled_conform() -> None:
    report = check(lambda: ReferenceAdapter("xla"), profile="tiny", seed=7)
    assert report.verdict is Verdict.CONFORMS, told(report)
