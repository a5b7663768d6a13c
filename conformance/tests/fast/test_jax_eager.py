"""Eager JAX through the same alphabet: what it can do agrees with the law, the rest is no pass."""

import pytest

from markstep.conformance.adapter import ALL_CAPABILITIES
from markstep.conformance.adapters.jax_eager import CAPABILITIES, JaxEagerAdapter
from markstep.conformance.check import check
from markstep.conformance.lockstep.session import run_program
from markstep.conformance.verdict import Verdict
from markstep.spec import vocabulary as v
from markstep.spec.design import SOUND
from markstep.spec.vocabulary import Action, ErrorKind, TensorName

T0, T1, T2 = map(TensorName, range(3))
MADE: tuple[Action, ...] = (v.CreateFromHost(T0, (1, 2), (2,)), v.Clone(T1, T0))


def test_what_it_can_do_it_does_as_the_law_says() -> None:
    report = check(JaxEagerAdapter, profile="tiny", seed=0)
    assert (report.verdict, report.exit_code) == (Verdict.CONFORMS, 0)
    done = {id for id, count in report.actions.items() if count.exercised}
    assert {"A01", "A03", "A04", "A05", "A06", "A07", "A08", "A14", "A15", "A25"} <= done
    assert not done & {"A13", "A16", "A17", "A19"}
    missing = ", ".join(sorted(ALL_CAPABILITIES - CAPABILITIES))
    assert f"not declared by the adapter: {missing}" in report.notes


@pytest.mark.parametrize(
    "action", [v.WarmUp((T0,)), v.SetDonation(T0), v.ClearPending(), v.GraphHash((T0,))]
)
def test_what_it_cannot_do_is_unsupported_and_never_a_pass(action: Action) -> None:
    result = run_program((*MADE, action), JaxEagerAdapter(), SOUND)
    assert result.verdict == Verdict.UNSUPPORTED
    assert not result.verdict.passes


class Aliasing(JaxEagerAdapter):
    """A clone that is no copy."""

    def apply(self, action: Action) -> v.Observation:
        if isinstance(action, v.Clone):
            return super().apply(v.Detach(action.out, action.source))
        return super().apply(action)


def test_the_court_sees_what_an_eager_executor_gets_wrong() -> None:
    report = check(Aliasing, profile="small", seed=0, most_failures=1)
    assert report.verdict == Verdict.VIOLATES
    shortest = report.failures[0].program
    assert v.Clone in {type(action) for action in shortest}
    assert len(shortest) <= 5


@pytest.mark.parametrize(
    "action",
    [
        v.CreateFromHost(T2, (1, 2, 3), (2,)),
        v.CreateFromHost(T0, (1,), (1,)),
        v.Apply(T2, "add", (T0,)),
        v.Apply(T2, "failing_execute", (T0,)),
        v.AssignInPlace(T0, "matmul", (T1,)),
        v.CopyFromHost(T0, (1, 2, 3)),
        v.Fill(T2, (2,), 2.5, v.DType.S32),
        v.ReadOne(T2),
        v.Drop(T2),
    ],
)
def test_what_no_program_can_mean_is_refused_and_changes_nothing(action: Action) -> None:
    executor = JaxEagerAdapter()
    for made in MADE:
        assert executor.apply(made).error == ErrorKind.NONE
    assert executor.apply(action).error == ErrorKind.BAD_ARGUMENT
    assert executor.apply(v.ReadMany((T0, T1))).value == ((1, 2), (1, 2))
