"""The comparator: what it accepts, what it finds, and what it does with broken adapters."""

import pytest

from markstep.conformance.adapter import ALL_CAPABILITIES, ENVIRONMENT, AdapterError, load, make
from markstep.conformance.adapters.model import ModelAdapter
from markstep.conformance.lockstep.session import run_program
from markstep.conformance.programs.generate import decode
from markstep.conformance.programs.source import program_bytes
from markstep.conformance.show import show_program
from markstep.conformance.verdict import Verdict
from markstep.spec.design import SOUND, TORCH_XLA_2_9, Design
from markstep.spec.schedule import end_of_execution, perform
from markstep.spec.vocabulary import (
    Action,
    Apply,
    AssignInPlace,
    Clone,
    CreateFromHost,
    ErrorKind,
    Observation,
    ReadOne,
    StepBarrier,
    View,
)

H03: tuple[Action, ...] = (
    CreateFromHost(1, (1, 2, 3, 4), (2, 2)),
    Clone(2, 1),
    ReadOne(2),
    AssignInPlace(1, "add_scalar", (), 1),
    StepBarrier(True),
    ReadOne(2),
)


@pytest.mark.parametrize("design", [SOUND, TORCH_XLA_2_9], ids=lambda d: d.name)
def test_the_law_agrees_with_itself(design: Design) -> None:
    for number in range(40):
        program = decode(program_bytes(1, number), design)
        result = run_program(program, ModelAdapter(design), design)
        assert result.verdict is Verdict.CONFORMS, show_program(program, result.step)


def test_another_design_is_told_apart_by_the_first_field_that_differs() -> None:
    result = run_program(H03, ModelAdapter(TORCH_XLA_2_9), SOUND)
    assert result.verdict is Verdict.VIOLATES
    assert (result.step, result.divergence.id) == (2, "A14")
    assert "t2 ir: leaf" in result.divergence.expected
    assert "t2 ir: none" in result.divergence.observed


class Impatient(ModelAdapter):
    """Executions end by themselves, at once."""

    capabilities = ALL_CAPABILITIES - {ENVIRONMENT}

    def apply(self, action: Action) -> Observation:
        observed = super().apply(action)
        self.end()
        return observed

    def end(self) -> None:
        if self.state.execution.running:
            end = end_of_execution(self.state, self.design)
            self.state = perform(self.state, end, self.design)


class Lazy(Impatient):
    """Executions end by themselves, as late as possible."""

    def end(self) -> None:
        pass


class Late(Impatient):
    """Executions end by themselves, after the next action has begun to look."""

    def observe(self) -> View:
        view = super().observe()
        super().end()
        return view

    def end(self) -> None:
        pass


@pytest.mark.parametrize("adapter", [Impatient, Lazy, Late])
def test_an_execution_may_end_at_any_moment(adapter: type[Impatient]) -> None:
    ended = 0
    for number in range(120):
        program = decode(program_bytes(2, number), SOUND, adapter.capabilities)
        result = run_program(program, adapter(SOUND), SOUND)
        assert result.verdict is Verdict.CONFORMS, show_program(program, result.step)
        ended += any(isinstance(a, StepBarrier) and not a.wait for a in program)
    assert ended > 20


def test_a_missing_capability_is_never_a_pass() -> None:
    class Poor(ModelAdapter):
        capabilities = frozenset()

    result = run_program((*H03, *decode(program_bytes(0, 0))), Poor(), SOUND)
    assert result.verdict is Verdict.UNSUPPORTED
    assert "capability" in result.message


def test_an_illegal_action_must_be_refused() -> None:
    class Yielding(ModelAdapter):
        def apply(self, action: Action) -> Observation:
            observed = super().apply(action)
            if observed.error == ErrorKind.BAD_ARGUMENT:
                return Observation()
            return observed

    result = run_program((ReadOne(7),), Yielding(), SOUND)
    assert result.verdict is Verdict.VIOLATES
    assert "bad-argument" in result.divergence.expected


def test_a_refused_action_must_change_nothing() -> None:
    class Messy(ModelAdapter):
        def apply(self, action: Action) -> Observation:
            observed = super().apply(action)
            if observed.error == ErrorKind.BAD_ARGUMENT:
                super().apply(StepBarrier(True))
            return observed

    program = (*H03[:4], Apply(9, "add", (1, 77)))
    result = run_program(program, Messy(), SOUND)
    assert result.verdict is Verdict.VIOLATES
    assert result.step == 4
    assert "t1 ir: none" in result.divergence.observed


@pytest.mark.parametrize(
    ("nonsense", "message"),
    [(None, "NoneType"), (42, "int"), (Observation(value=[1]), "not immutable")],
)
def test_nonsense_is_an_error_of_the_adapter(nonsense: object, message: str) -> None:
    class Mad(ModelAdapter):
        def apply(self, action: Action) -> Observation:
            return nonsense

    result = run_program(H03, Mad(), SOUND)
    assert (result.verdict, result.step) == (Verdict.ERROR, 0)
    assert message in result.message


def test_an_unexpected_exception_is_an_error_of_the_adapter() -> None:
    class Raising(ModelAdapter):
        def apply(self, action: Action) -> Observation:
            raise ZeroDivisionError("oops\nmore")

    result = run_program(H03, Raising(), SOUND)
    assert (result.verdict, result.message) == (Verdict.ERROR, "ZeroDivisionError: oops")


def test_adapters_are_found_by_name_or_by_attribute() -> None:
    assert make(load("model"), TORCH_XLA_2_9).design is TORCH_XLA_2_9
    assert load("markstep.conformance.adapters.model:ModelAdapter") is ModelAdapter


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nobody", "unknown adapter 'nobody'; installed: "),
        ("no.such.module:X", "No module named"),
        ("markstep.conformance.adapters.model:Nope", "Nope"),
        ("markstep.conformance.adapters.model:__name__", "not a class or function"),
    ],
)
def test_an_adapter_that_cannot_be_found_is_one_line(name: str, message: str) -> None:
    with pytest.raises(AdapterError, match=message) as caught:
        load(name)
    assert "\n" not in str(caught.value)
