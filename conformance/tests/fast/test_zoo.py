"""The bug zoo: every report has a trace or a reason, and its claims catch what went wrong."""

import pytest

from markstep.conformance.adapter import Adapter, missing_capability
from markstep.conformance.adapters.model import ModelAdapter
from markstep.conformance.adapters.reference import ReferenceAdapter
from markstep.conformance.claims import ClaimWatch, all_claims
from markstep.conformance.lockstep.session import Counts, run_program
from markstep.conformance.mutants.catalogue import read_catalogue
from markstep.conformance.show import show_program
from markstep.conformance.suite.zoo.reports import Report, reports, traces, zoo
from markstep.conformance.verdict import Verdict
from markstep.spec.design import SOUND, TORCH_XLA_2_9, Design
from markstep.spec.machine import AnyAction
from markstep.spec.schedule import initial_state, perform

Program = tuple[AnyAction, ...]
each_report = pytest.mark.parametrize(
    ("report", "program"), [pytest.param(*shown, id=shown[0].id) for shown in zoo()]
)


def watched(program: Program, design: Design) -> ClaimWatch:
    """What the claims say of a program by the law alone."""
    watch, state = ClaimWatch(all_claims().values()), initial_state()
    for action in program:
        after = perform(state, action, design, watch.observer(design))
        if after is None or after.device.crashed:
            break
        state = after
    return watch


def test_every_report_has_a_trace_or_a_reason() -> None:
    fitting = {report.file for report in reports().values() if report.claims}
    assert fitting == traces()
    assert all(bool(report.claims) != bool(report.left_out) for report in reports().values())
    assert all(report.link.startswith("https://") for report in reports().values())
    assert len(fitting) >= 82


def test_mutants_name_reports_of_the_zoo() -> None:
    named = {bug for mutant in read_catalogue().values() for bug in mutant.bugs}
    assert named <= reports().keys()


@each_report
def test_the_claims_of_a_report_speak_of_its_trace(report: Report, program: Program) -> None:
    sound, torch_xla = watched(program, SOUND).counts, watched(program, TORCH_XLA_2_9).counts
    assert not any(count.broken for count in sound.values())
    assert all(sound[id].witnessed or torch_xla[id].broken for id in report.claims)
    assert any(torch_xla[id].broken for id in report.claims) == report.live


@pytest.mark.parametrize("adapter", [ModelAdapter(), ReferenceAdapter("interpret")])
@each_report
def test_the_trace_of_a_report_conforms(adapter: Adapter, report: Report, program: Program) -> None:
    watch = ClaimWatch(all_claims().values())
    result = run_program(program, adapter, SOUND, watch, Counts())
    if any(missing_capability(adapter.capabilities, action) for action in program):
        assert result.verdict is Verdict.UNSUPPORTED
        return
    assert result.verdict is Verdict.CONFORMS, (
        f"{show_program(result.program, result.step)}\n{result.divergence or result.message}"
    )
