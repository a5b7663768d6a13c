"""Random numbers: which a seed gives, how a seed goes on, and what of it is in a program."""

from random import Random as Choice

import numpy as np
import pytest

from markstep.conformance.adapters.reference import ReferenceAdapter
from markstep.conformance.lockstep.session import run_program
from markstep.conformance.verdict import Verdict
from markstep.impl import Executor, ExecutorError
from markstep.impl.seeds import ADVANCE, halves
from markstep.spec.design import SOUND, TORCH_XLA_2_9
from markstep.spec.graph import GraphPayload
from markstep.spec.invariants import CLAIMS
from markstep.spec.randomness import draw, next_seed, next_step_seed
from markstep.spec.schedule import initial_state, perform
from markstep.spec.search.alphabet import Bound
from markstep.spec.search.explore import explore
from markstep.spec.state import NONE, Call, bit
from markstep.spec.vocabulary import (
    Apply,
    CreateFromHost,
    DType,
    Fill,
    GetSeed,
    Random,
    ReadOne,
    SetSeed,
    StepBarrier,
    TensorName,
)

T0, T1 = TensorName(0), TensorName(1)
SEEDS = [0, 101, 2**32, 2**64 - 1, *(Choice(1).getrandbits(64) for _ in range(5))]
CLAIMED = ("I31", "I75", "I76")


def run(*program, design=SOUND):
    state = initial_state()
    for action in program:
        state = perform(state, action, design)
        assert state is not None, action
    return state


def drawn(name, shape, bound=100):
    return Fill(name, shape, 0), Random(name, bound)


@pytest.mark.parametrize("mode", ["interpret", "xla"])
def test_the_executor_draws_what_the_law_says(mode) -> None:
    program = []
    for number, seed in enumerate(SEEDS):
        name = TensorName(2 * number)
        program += [SetSeed(seed), *drawn(name, (3,), 2**24 - 3), *drawn(TensorName(name + 1), ())]
        program += [GetSeed(), ReadOne(name), ReadOne(TensorName(name + 1)), StepBarrier(True)]
    assert run_program(program, ReferenceAdapter(mode), SOUND).verdict == Verdict.CONFORMS


def test_the_device_advances_a_seed_as_the_host_does() -> None:
    for seed in SEEDS:
        for form in (ADVANCE.call, ADVANCE.on_host):
            assert np.asarray(form(halves(seed))).tolist() == halves(next_seed(seed)).tolist()


def test_I76_the_seeds_of_torch_xla() -> None:
    """As the logs show them: 101, one use, and the next step."""
    assert (next_seed(101), next_step_seed(101)) == (24146324, 709230394)


def test_a_draw_after_each_barrier_is_one_program_and_two_in_a_step_are_another(ex) -> None:
    for _ in range(3):
        kept = ex.randint((2,), 9)
        ex.mark_step(wait=True)
    assert ex.counters["UncachedCompile"] == 1
    del kept
    first, second = ex.randint((2,), 9), ex.randint((2,), 9)
    ex.mark_step(wait=True)
    assert ex.counters["UncachedCompile"] == 2
    assert not np.array_equal(first.numpy(), second.numpy())


def test_a_restored_state_draws_the_same_numbers_in_later_steps_too() -> None:
    def three_draws(executor):
        drawn = []
        for _ in range(3):
            drawn += [executor.uniform((2,)).numpy(), executor.normal((2,)).numpy()]
            executor.mark_step()
        return np.array(drawn)

    one, other = Executor(), Executor()
    one.set_seed(5)
    one.uniform((4,))
    state = one.rng_state()
    expected = three_draws(one)
    other.set_rng_state(state)
    np.testing.assert_array_equal(three_draws(other), expected)
    other.set_seed(state.running)
    again = three_draws(other)
    np.testing.assert_array_equal(again[:2], expected[:2])
    assert not np.array_equal(again[2:], expected[2:])


def test_uniform_numbers_lie_between_0_and_1(ex) -> None:
    drawn = ex.uniform((1000,)).numpy()
    assert 0 <= drawn.min() < 0.1 < 0.9 < drawn.max() < 1
    assert abs(ex.normal((1000,)).numpy().mean()) < 0.2


@pytest.mark.parametrize("bound", [0, -1, 2**24 + 1, 2.5, True])
def test_a_bound_that_cannot_be_is_refused(ex, bound) -> None:
    with pytest.raises(ExecutorError, match="a bound is a whole number"):
        ex.randint((2,), bound)
    with pytest.raises(ExecutorError, match="a seed is a whole number"):
        ex.set_seed(-1)
    assert ex.counters["CreateDataHandles"] == 0


def test_a_design_that_does_not_say_what_is_drawn_knows_everything_else() -> None:
    state = run(*drawn(T0, (2,)), ReadOne(T0), GetSeed(), design=TORCH_XLA_2_9)
    assert state.record_of(T0).truth is None
    assert state.value == next_seed(101)
    assert run(*drawn(T0, (2,)), ReadOne(T0)).value == draw(next_seed(101), 100, 2)


def test_no_tensor_of_the_alphabet_is_of_64_bits() -> None:
    wide = CreateFromHost(T0, (1,), (1,), DType.S64)
    assert perform(initial_state(), wide, SOUND) is None
    assert run_program([wide, *drawn(T0, (2,))], ReferenceAdapter(), SOUND).verdict == (
        Verdict.CONFORMS
    )


def test_sound_keeps_the_claims_about_seeds_as_far_as_the_search_goes() -> None:
    for design in (SOUND, TORCH_XLA_2_9):
        found = explore(design, Bound(1, 3, actions=4, families=("core", "random")))
        assert set(found.counterexamples).isdisjoint(CLAIMED)
        assert {"I31", "I76"} <= found.witnessed


def test_I31_I75_I76_can_fail() -> None:
    before = run(*drawn(T0, (2,)))
    action = GetSeed()
    for spoil, broken in ((_donate, "I31"), (_forget_a_use, "I75")):
        after = before.draft()
        spoil(after)
        assert [id for id in CLAIMED if not CLAIMS[id].holds(before, action, after, SOUND)] == [
            broken
        ]
    found = []
    perform(before, StepBarrier(True), SOUND, lambda *seen: found.append(seen))
    small, action, after = found[-1]
    assert CLAIMS["I76"].holds(small, action, after, SOUND)
    late = after.draft()
    assert isinstance(late.payload, GraphPayload)
    late.payload.set_seed(101)
    assert not CLAIMS["I76"].holds(small, action, late, SOUND)


def _donate(state) -> None:
    assert state.device.seed != NONE
    state.call = Call(donors=bit(state.device.seed))


def _forget_a_use(state) -> None:
    state.payload.running = 101


def test_nobody_draws_more_numbers_than_there_can_be() -> None:
    huge = Apply(T1, "failing_execute", (T0,))
    program = [CreateFromHost(T0, (1,), (1,)), huge, Random(T1), Fill(TensorName(2), (2**30,), 1)]
    assert perform(run(*program[:2]), Random(T1), SOUND) is None
    assert run_program(program, ReferenceAdapter(), SOUND).verdict == Verdict.CONFORMS
