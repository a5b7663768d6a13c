"""Shrinking: what comes out still fails, is 1-minimal, and reads from t0 on."""

from markstep.conformance.programs.generate import decode
from markstep.conformance.programs.shrink import Budget, numbered, shrink
from markstep.conformance.programs.source import program_bytes
from markstep.spec.vocabulary import Action, Apply, Clone, CreateFromHost, ReadMany, StepBarrier

PROGRAM: tuple[Action, ...] = (
    CreateFromHost(4, (1,), ()),
    CreateFromHost(7, (1,), ()),
    StepBarrier(False),
    Clone(9, 7),
    Apply(11, "neg", (9,)),
    ReadMany((4, 11, 9)),
)


def clones(program: tuple[Action, ...]) -> bool:
    """The failure: something is cloned, and several things are read after it."""
    kinds = [type(action) for action in program]
    return Clone in kinds and ReadMany in kinds[kinds.index(Clone) :]


def test_the_result_is_minimal_and_numbered() -> None:
    assert shrink(PROGRAM, clones) == (Clone(1, 0), ReadMany((2,)))


def test_leaving_out_any_action_makes_the_failure_go_away() -> None:
    for number in range(60):
        program = decode(program_bytes(8, number))
        if clones(program):
            short = shrink(program, clones)
            assert clones(short)
            assert not any(clones(short[:i] + short[i + 1 :]) for i in range(len(short)))


def test_the_budget_is_kept() -> None:
    runs = 0

    def fails(program: tuple[Action, ...]) -> bool:
        nonlocal runs
        runs += 1
        return clones(program)

    shrink(PROGRAM, fails, Budget(runs=5))
    assert runs <= 6


def test_the_time_is_a_cap() -> None:
    shown = Budget(seconds=0.0)
    assert not shown.left()
    assert shrink(PROGRAM, clones, Budget(seconds=0.0)) == numbered(PROGRAM)


def test_tensors_are_numbered_in_order_of_appearance() -> None:
    assert numbered(PROGRAM)[-1] == ReadMany((0, 3, 2))
