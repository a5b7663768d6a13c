"""The golden traces of semantics.md, Appendix D: the law under both designs, and the executor."""

from dataclasses import replace

import pytest

from markstep.conformance.adapters.reference import ReferenceAdapter
from markstep.conformance.claims import ClaimWatch, all_claims
from markstep.conformance.lockstep.session import Counts, run_program
from markstep.conformance.show import show, show_program
from markstep.conformance.suite.devices import PLACED, Placed
from markstep.conformance.suite.golden import GOLDEN_DESIGNS, mismatch, misplaced
from markstep.conformance.suite.regressions import REGRESSIONS
from markstep.conformance.suite.scenarios import SCENARIOS, Scenario
from markstep.conformance.suite.sharded import SHARDED
from markstep.conformance.verdict import Verdict
from markstep.spec.contract import lost_records
from markstep.spec.design import SOUND
from markstep.spec.schedule import initial_state, perform

EVERY = (*SCENARIOS, *SHARDED)
each_scenario = pytest.mark.parametrize("scenario", EVERY, ids=lambda s: s.id)
of_one_device = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.id)
each_design = pytest.mark.parametrize("design", GOLDEN_DESIGNS)


@each_design
@each_scenario
def test_every_step_is_as_written(scenario: Scenario, design: str) -> None:
    assert mismatch(scenario, design) is None


@each_scenario
def test_the_sound_design_keeps_every_value(scenario: Scenario) -> None:
    state = initial_state()
    for step in scenario.steps:
        state = perform(state, step.action, SOUND)
        assert lost_records(state) == 0, show(step.action)


@pytest.mark.parametrize("mode", ["interpret", "xla"])
@of_one_device
def test_the_executor_agrees_step_by_step(scenario: Scenario, mode: str) -> None:
    watch = ClaimWatch(all_claims().values())
    result = run_program(scenario.program, ReferenceAdapter(mode), SOUND, watch, Counts())
    assert result.verdict is Verdict.CONFORMS, (
        f"{show_program(result.program, result.step)}\n{result.divergence or result.message}"
    )


@pytest.mark.parametrize("mode", ["interpret", "xla"])
@pytest.mark.parametrize("name", REGRESSIONS)
def test_an_old_disagreement_does_not_come_back(name: str, mode: str) -> None:
    watch = ClaimWatch(all_claims().values())
    result = run_program(REGRESSIONS[name], ReferenceAdapter(mode), SOUND, watch, Counts())
    assert result.verdict is Verdict.CONFORMS, (
        f"{show_program(result.program, result.step)}\n{result.divergence or result.message}"
    )


@each_scenario
def test_a_fault_shows_only_where_a_hazard_is_named(scenario: Scenario) -> None:
    differs = any(step.torch_xla for step in scenario.steps)
    harmless = {"G02-unread", "G07-kept", "G09-spmd"}
    assert differs == bool(scenario.hazard) or scenario.id in harmless


def test_all_fifteen_are_there_and_whole() -> None:
    ids = {scenario.id for scenario in (*EVERY, *PLACED)}
    assert {f"G{number:02}" for number in range(1, 16)} <= ids
    assert all(scenario.steps for scenario in EVERY)


@each_design
@pytest.mark.parametrize("scenario", PLACED, ids=lambda s: s.id)
def test_every_step_on_two_devices_is_as_written(scenario: Placed, design: str) -> None:
    assert misplaced(scenario, design) is None


def test_a_step_on_two_devices_that_is_not_as_written_is_seen() -> None:
    ((device, step), *others) = PLACED[0].steps
    wrong = replace(PLACED[0], steps=((device, replace(step, sound="DATA")), *others))
    assert "LEAF" in str(misplaced(wrong, "sound"))
