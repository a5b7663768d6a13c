"""Shrinking: what comes out still fails, is 1-minimal, and reads from t0 on."""

from markstep.conformance.programs.generate import decode
from markstep.conformance.programs.shrink import Budget, Program, numbered, shrink
from markstep.conformance.programs.simpler import simpler_actions, simpler_layouts
from markstep.conformance.programs.source import program_bytes
from markstep.spec.design import SOUND
from markstep.spec.schedule import initial_state, perform
from markstep.spec.vocabulary import (
    Apply,
    AssignInPlace,
    Clone,
    CreateFromHost,
    DType,
    Fill,
    ReadMany,
    StepBarrier,
    Sync,
    TensorName,
)

T0, T1, T2 = map(TensorName, range(3))
T4, T7, T9, T11 = map(TensorName, (4, 7, 9, 11))
PROGRAM: Program = (
    CreateFromHost(T4, (5, 6), (2,), DType.S32),
    CreateFromHost(T7, (3, 4), (2,), DType.S32),
    StepBarrier(False),
    Clone(T9, T7),
    Apply(T11, "mul", (T9, T4)),
    AssignInPlace(T11, "mul_scalar", (), 3),
    ReadMany((T4, T11, T9)),
)


def clones(program: Program) -> bool:
    """The failure: something is cloned, and several things are read after it."""
    kinds = [type(action) for action in program]
    return Clone in kinds and ReadMany in kinds[kinds.index(Clone) :]


def reads_a_sum(program: Program) -> bool:
    """The failure: a result of an op, or of an update by a number, is read."""
    made = {a.out for a in program if isinstance(a, Apply)}
    made |= {a.target for a in program if isinstance(a, AssignInPlace)}
    return any(isinstance(a, ReadMany) and made & set(a.tensors) for a in program)


def refused(program: Program) -> int:
    """How many actions the law does not let happen."""
    state, count = initial_state(), 0
    for action in program:
        after = perform(state, action, SOUND)
        count += after is None
        state = after or state
    return count


def test_the_result_is_minimal_simple_and_numbered() -> None:
    assert shrink(PROGRAM, clones) == (
        CreateFromHost(T0, (1,), (1,)),
        Clone(T1, T0),
        ReadMany((T1,)),
    )


def test_what_needs_a_tensor_that_is_left_out_goes_with_it() -> None:
    short = shrink(PROGRAM, reads_a_sum)
    assert short == (
        CreateFromHost(T0, (1,), (1,)),
        Apply(T1, "neg", (T0,)),
        ReadMany((T1,)),
    )


def test_no_single_change_leads_to_a_shorter_or_simpler_program_that_fails() -> None:
    for number in range(60):
        program = decode(program_bytes(8, number))
        for fails in (clones, reads_a_sum):
            if fails(program):
                budget = Budget()
                short = shrink(program, fails, budget)
                assert fails(short) and not budget.ended
                assert [a for a in steps_away(short) if fails(a) and not refused(a)] == []


def steps_away(short: Program) -> list[Program]:
    """Every program with one action less, one tensor less, or one action that is simpler."""
    found = [short[:i] + short[i + 1 :] for i in range(len(short))]
    for i, action in enumerate(short):
        found += [(*short[:i], new, *short[i + 1 :]) for new in simpler_actions(action)]
    return [*found, *simpler_layouts(short)]


def test_a_candidate_is_a_program_that_means_something() -> None:
    def fails(program: Program) -> bool:
        assert not refused(program), program
        return clones(program)

    shrink(PROGRAM, fails)


def test_an_impossible_action_stays_if_it_is_the_point() -> None:
    twice = (*PROGRAM, Clone(T9, T7))
    short = shrink(twice, lambda program: refused(program) == 1)
    assert short == (Clone(T1, T0),), "of a tensor that is not there"


def test_variants_come_to_an_end() -> None:
    for action in (
        CreateFromHost(T0, (7, 3), (2,), upload=False),
        Apply(T1, "matmul", (T0, T0)),
        AssignInPlace(T0, "mul_scalar", (), 2.5),
        Fill(T0, (2, 2), -1),
        Sync((T0, T1), sync=False, wait=False),
    ):
        seen, todo = {action}, [action]
        while todo:
            for simpler in simpler_actions(todo.pop()):
                if simpler not in seen:
                    seen.add(simpler)
                    todo.append(simpler)
        assert len(seen) < 40
        assert any(not list(simpler_actions(last)) for last in seen)


def test_layouts_are_made_small_together() -> None:
    first = next(simpler_layouts(PROGRAM))
    assert {a.shape for a in first if isinstance(a, CreateFromHost)} == {(1,)}
    assert {a.value for a in first if isinstance(a, CreateFromHost)} == {(5,), (3,)}


def test_the_budget_is_kept_and_told() -> None:
    runs = 0

    def fails(program: Program) -> bool:
        nonlocal runs
        runs += 1
        return clones(program)

    budget = Budget(runs=5)
    shrink(PROGRAM, fails, budget)
    assert runs <= 6 and budget.spent == 5 and budget.ended


def test_the_time_is_a_cap() -> None:
    budget = Budget(seconds=0.0)
    assert not budget.left() and budget.ended
    assert shrink(PROGRAM, clones, Budget(seconds=0.0)) == numbered(PROGRAM)


def test_equal_candidates_are_run_once() -> None:
    seen: list[Program] = []

    def fails(program: Program) -> bool:
        seen.append(program)
        return clones(program)

    short = shrink(PROGRAM, fails)
    assert len({p for p in seen if p != short}) >= len(seen) - 2


def test_tensors_are_numbered_in_order_of_appearance() -> None:
    assert numbered(PROGRAM)[-1] == ReadMany((T0, TensorName(3), T2))
