"""Hypothesis in both forms: the state machine from the action table, and programs from bytes."""

import hypothesis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

from markstep.conformance.adapter import ENVIRONMENT, VIEWS
from markstep.conformance.adapters.model import ModelAdapter
from markstep.conformance.adapters.reference import ReferenceAdapter
from markstep.conformance.lockstep.machine import Disagreement, machine_for
from markstep.conformance.lockstep.session import run_program
from markstep.conformance.programs.generate import decode
from markstep.conformance.show import show_program
from markstep.conformance.verdict import Verdict
from markstep.spec.design import SOUND
from markstep.spec.machine import ACTIONS
from markstep.spec.state import Phase
from markstep.spec.vocabulary import Action, ErrorKind, Observation, ReadOne

FEW = settings(max_examples=50, stateful_step_count=20)

TestReference = machine_for(lambda: ReferenceAdapter("interpret")).TestCase
TestReference.settings = FEW
TestModel = machine_for(ModelAdapter).TestCase
TestModel.settings = FEW


class Forgetful(ModelAdapter):
    """A borrowed leaf that is read becomes a handle, as in H-03. It can do little else, so that few
    rules are to choose from."""

    capabilities = frozenset((ENVIRONMENT, VIEWS))

    def apply(self, action: Action) -> Observation:
        observed = super().apply(action)
        if isinstance(action, ReadOne) and observed.error == ErrorKind.NONE:
            record = self.state.record_of(action.tensor)
            if record.is_cloned:
                record.handle = record.leaf
        return observed


def test_the_machine_has_a_rule_for_each_action() -> None:
    rules = {name for name in vars(machine_for(ModelAdapter)) if not name.startswith("_")}
    rules -= {"factory", "design"}
    kinds = [kind for kind, row in ACTIONS.items() if row.phase == Phase.IDLE]
    assert len(rules) == len(kinds) + 1
    assert {"assign_in_place", "complete_execution", "something_impossible"} <= rules


def test_the_machine_finds_a_mutant() -> None:
    with pytest.raises(Disagreement, match="data: none"):
        run_state_machine_as_test(
            machine_for(Forgetful),
            settings=settings(
                max_examples=400, stateful_step_count=15, phases=[hypothesis.Phase.generate]
            ),
        )


@settings(max_examples=60)
@given(st.binary(min_size=16, max_size=96))
def test_any_bytes_conform(data: bytes) -> None:
    program = decode(data, SOUND, ReferenceAdapter.capabilities)
    result = run_program(program, ReferenceAdapter("interpret"), SOUND)
    assert result.verdict is Verdict.CONFORMS, show_program(program, result.step)


def test_bytes_find_and_shrink_a_mutant() -> None:
    @settings(max_examples=400)
    @given(st.binary(min_size=8, max_size=64))
    def conforms(data: bytes) -> None:
        one_device = Forgetful.capabilities - {"sharding"}
        result = run_program(decode(data, SOUND, one_device), Forgetful(), SOUND)
        assert result.verdict is Verdict.CONFORMS, len(result.program[: result.step + 1])

    with pytest.raises(AssertionError) as caught:
        conforms()
    assert int(str(caught.value).splitlines()[0]) <= 6
