"""Eager mode: each op is computed at once, by a call that leaves no trace when it raises."""

import pytest

from markstep.conformance.adapters.reference import ReferenceAdapter
from markstep.conformance.claims import ClaimWatch, all_claims
from markstep.conformance.lockstep.session import run_program
from markstep.conformance.programs.eagermotifs import EAGER_MOTIFS
from markstep.conformance.programs.roles import Roles
from markstep.conformance.verdict import Verdict
from markstep.impl import ExecutorError
from markstep.spec.design import SOUND, TORCH_XLA_2_9
from markstep.spec.graph import GraphPayload
from markstep.spec.invariants import CLAIMS
from markstep.spec.observe import abstract_state
from markstep.spec.schedule import initial_state, perform
from markstep.spec.search.alphabet import Bound
from markstep.spec.search.explore import explore
from markstep.spec.vocabulary import (
    AbstractState,
    Apply,
    AssignInPlace,
    Clone,
    CopyInto,
    CreateFromHost,
    ErrorKind,
    FailExecution,
    Fill,
    Random,
    ReadOne,
    SetEager,
    SetSeed,
    TensorName,
    WaitDevice,
)

T0, T1 = TensorName(0), TensorName(1)
MAKE = CreateFromHost(T0, (1, 2), (2,))
ROLES = [TensorName(n) for n in range(4)]
TWO = [CreateFromHost(name, (1, 2, 3, 4), (2, 2)) for name in ROLES[:2]]


def run(*program, design=SOUND, observer=None):
    state = initial_state()
    for action in program:
        state = perform(state, action, design, observer)
        assert state is not None, action
    return state


def shown(state, name):
    return abstract_state(state, state.record_of(name))


@pytest.mark.parametrize("mode", ["interpret", "xla"])
@pytest.mark.parametrize("motif", EAGER_MOTIFS, ids=lambda motif: motif.__name__)
def test_the_executor_does_in_eager_mode_what_the_law_says(mode, motif) -> None:
    for x, y in ((0, 1), (1, 1)):
        roles = Roles(ROLES[x], ROLES[y], ROLES[2], ROLES[3], wait=bool(x))
        program = [*TWO, *motif(roles), WaitDevice()]
        report = run_program(program, ReferenceAdapter(mode), SOUND)
        assert report.verdict == Verdict.CONFORMS


def test_an_op_is_computed_at_once_and_what_was_pending_stays_so() -> None:
    state = run(MAKE, Apply(T1, "neg", (T0,)), SetEager(), AssignInPlace(T0, "neg"))
    assert shown(state, T0) == AbstractState.PENDING
    assert shown(state, T1) == AbstractState.IR
    assert shown(run(MAKE, SetEager(), SetEager(False), Apply(T1, "neg", (T0,))), T1) == (
        AbstractState.IR
    )


def test_an_op_that_raises_makes_no_tensor_and_changes_none() -> None:
    for op in (Apply(T1, "failing_compile", (T0,)), AssignInPlace(T0, "failing_compile")):
        for design in (SOUND, TORCH_XLA_2_9):
            state = run(MAKE, SetEager(), op, design=design)
            assert state.raised == ErrorKind.COMPILE_FAILED
            assert list(state.tensors) == [T0]
            assert sum(record.live for record in state.records) == 1
            assert perform(state, ReadOne(T0), design).value == (1, 2)


def test_an_execution_that_fails_later_is_told_to_the_owner_of_its_result() -> None:
    update = AssignInPlace(T0, "neg")
    state = run(MAKE, SetEager(), update, FailExecution(), ReadOne(T0))
    assert state.raised == ErrorKind.EXECUTION_FAILED
    assert perform(state, ReadOne(T0), SOUND).value == (-1, -2)


def test_a_clone_in_eager_mode_shares_a_handle_in_torch_xla_and_borrows_in_sound() -> None:
    program = [MAKE, SetEager(), Clone(T1, T0)]
    real, sound = run(*program, design=TORCH_XLA_2_9), run(*program)
    assert shown(real, T1) == AbstractState.DATA
    assert real.record_of(T1).handle == real.record_of(T0).leaf
    assert shown(sound, T1) == AbstractState.LEAF_CLONED


def test_a_copy_of_pending_work_is_computed_in_torch_xla_and_borrowed_in_sound() -> None:
    program = [MAKE, Fill(T1, (2,), 0), AssignInPlace(T0, "neg"), SetEager(), CopyInto(T1, T0)]
    assert shown(run(*program, design=TORCH_XLA_2_9), T1) == AbstractState.PENDING
    assert shown(run(*program), T1) == AbstractState.IR
    ends = [run(*program, ReadOne(T1), design=d).value for d in (SOUND, TORCH_XLA_2_9)]
    assert ends == [(-1, -2), (-1, -2)]


def draws(eager: bool, count: int = 2):
    yield SetSeed(7)
    yield SetEager(eager)
    for number in range(count):
        yield from (Fill(TensorName(number), (2,), 0), Random(TensorName(number)))


def test_I77_the_numbers_do_not_depend_on_the_mode_in_sound_and_do_in_torch_xla() -> None:
    for design, broken in ((SOUND, set()), (TORCH_XLA_2_9, {"I77"})):
        watch = ClaimWatch(all_claims().values())
        run(*draws(True), design=design, observer=watch.observer(design))
        assert {found.claim.id for found in watch.take_new()} & {"I75", "I76", "I77"} == broken
        assert watch.counts["I77"].witnessed
    values = [[run(*draws(eager), ReadOne(T)).value for T in (T0, T1)] for eager in (True, False)]
    assert values[0] == values[1]


def test_I77_torch_xla_goes_on_with_the_seed_of_the_step_in_eager_mode() -> None:
    payload = run(*draws(True), design=TORCH_XLA_2_9).payload
    assert isinstance(payload, GraphPayload)
    assert payload.seed == payload.running != 7
    payload = run(*draws(True)).payload
    assert isinstance(payload, GraphPayload)
    assert payload.seed == 7


def test_eager_mode_breaks_no_claim_but_those_that_lazy_mode_breaks() -> None:
    bound = Bound(2, 3, actions=3, families=("core", "faults", "eager"))
    said = {claim.id for claim in CLAIMS.values() if claim.broken_by_torch_xla}
    assert set(explore(TORCH_XLA_2_9, bound).counterexamples) <= said
    result = explore(SOUND, bound)
    assert (result.exhausted, result.counterexamples) == (True, {})


def test_each_draw_in_eager_mode_is_the_same_program(ex) -> None:
    ex.set_eager()
    drawn = [ex.randint((2,), 100).numpy() for _ in range(5)]
    assert ex.counters["UncachedCompile"] == 1
    assert len({tuple(one) for one in drawn}) == 5


def test_every_way_to_make_a_tensor_is_computed_at_once(ex) -> None:
    x = ex.tensor([1.0, 2.0])
    ex.set_eager()
    made = [x + 1, 1 - x, x + x, x < 2, -x, x[0], ex.full((2,), 3.0), ex.uniform((2,))]
    assert not any(tensor.record.is_pending() for tensor in made)
    x += 1
    x.add_(x, alpha=2)
    x.neg_()
    x[0] = 5.0
    x.random_(3)
    assert not x.record.is_pending()
    assert ex.apply(two_results, made[0])[1].record.handle is not None


def two_results(x):
    return x + 1, x * 2


def test_an_update_that_does_not_fit_changes_nothing_in_eager_mode(ex) -> None:
    x = ex.tensor([1.0, 2.0])
    ex.set_eager()
    for wrong in (ex.tensor([1.0, 2.0, 3.0]), ex.placeholder((2,))):
        with pytest.raises(ExecutorError):
            x += wrong
    assert x.numpy().tolist() == [1.0, 2.0]


def test_a_thousand_updates_in_eager_mode_leave_two_buffers(ex) -> None:
    x = ex.tensor([0.0, 0.0])
    ex.set_eager()
    for _ in range(1000):
        x += 1
    assert x.numpy().tolist() == [1000.0, 1000.0]
    counters = ex.counters
    assert counters["CreateXlaTensor"] - counters["DestroyXlaTensor"] == 1
    assert counters["UncachedCompile"] == 1
