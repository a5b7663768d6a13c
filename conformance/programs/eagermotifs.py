"""Motifs in eager mode: each op is computed at once, and one that cannot be changes nothing."""

from markstep.conformance.programs.roles import Motif, Roles, made, plus_one
from markstep.spec.vocabulary import (
    Action,
    AllowExecution,
    Apply,
    AssignInPlace,
    Clone,
    CompleteExecution,
    CopyInto,
    CreatePlaceholder,
    Detach,
    Drop,
    FailExecution,
    Fill,
    GetSeed,
    Random,
    ReadMany,
    ReadOne,
    SetDonation,
    SetDonorConfig,
    SetEager,
    SetSeed,
    StepBarrier,
)

ON, OFF = SetEager(True), SetEager(False)


def eager_ops(r: Roles) -> list[Action]:
    """A new tensor, an update seen by both of its objects, a number; nothing is left to a sync."""
    steps: list[Action] = [ON, Apply(r.n, "neg", (r.x,)), Detach(r.m, r.n), plus_one(r.n)]
    return [*steps, AssignInPlace(r.m, "mul_scalar", (), 2), ReadMany((r.n, r.m)), OFF]


def eager_and_pending(r: Roles) -> list[Action]:
    """What was pending before stays so, and is computed as often as an op reads it."""
    steps: list[Action] = [made(r.n), plus_one(r.n), ON, Apply(r.m, "neg", (r.n,)), plus_one(r.n)]
    return [*steps, ReadOne(r.m), OFF, plus_one(r.n), StepBarrier(r.wait), ReadOne(r.n)]


def eager_clone(r: Roles) -> list[Action]:
    """A clone that was made in eager mode, then its source is updated in lazy mode (H-03)."""
    steps: list[Action] = [StepBarrier(True), ON, Clone(r.n, r.x), plus_one(r.y), OFF]
    return [*steps, plus_one(r.x), StepBarrier(r.wait), ReadOne(r.n), ReadOne(r.x)]


def eager_copy(r: Roles) -> list[Action]:
    """A copy of data, and one of pending work."""
    steps: list[Action] = [made(r.n), plus_one(r.n), ON, CopyInto(r.y, r.x), made(r.m)]
    steps += [CopyInto(r.m, r.n), plus_one(r.y), plus_one(r.m), OFF]
    return [*steps, ReadMany((r.x, r.y, r.n, r.m))]


def eager_draws(r: Roles) -> list[Action]:
    """One seed gives the same numbers in both modes, whichever comes first (I77)."""
    steps: list[Action] = [SetSeed(7), Fill(r.n, (2, 2), 0), Random(r.n), ON, Random(r.n)]
    steps += [GetSeed(), SetSeed(7), Fill(r.m, (2, 2), 0), Random(r.m), OFF, Random(r.m)]
    return [*steps, ReadMany((r.n, r.m)), GetSeed(), StepBarrier(r.wait), GetSeed()]


def eager_compile_fails(r: Roles) -> list[Action]:
    """The op raises: there is no new tensor, and one that was to be updated is as it was."""
    steps: list[Action] = [made(r.n), ON, AssignInPlace(r.n, "failing_compile")]
    return [*steps, Apply(r.m, "failing_compile", (r.n,)), plus_one(r.n), ReadOne(r.n), OFF]


def eager_refused(r: Roles) -> list[Action]:
    """Ops that may not run, or that read what has no value, raise and change nothing."""
    steps: list[Action] = [made(r.n), CreatePlaceholder(r.m, (2, 2)), ON, AllowExecution(False)]
    steps += [plus_one(r.n), AllowExecution(True), AssignInPlace(r.n, "add", (r.m,))]
    return [*steps, plus_one(r.m), Drop(r.m), ReadOne(r.n), OFF]


def eager_failure(r: Roles) -> list[Action]:
    """An op fails after it has returned: who asks for its result is told, once."""
    steps: list[Action] = [made(r.n), ON, plus_one(r.n), FailExecution(), plus_one(r.n)]
    return [*steps, ReadOne(r.n), ReadOne(r.n), OFF]


def eager_failure_while_waiting(r: Roles) -> list[Action]:
    """An op waits for its operand, which fails: it raises in the place of the operand's owner."""
    steps: list[Action] = [made(r.n), Apply(r.m, "failing_execute", (r.n,)), ON, plus_one(r.n)]
    steps += [CompleteExecution(), plus_one(r.m), FailExecution()]
    return [*steps, plus_one(r.m), ReadOne(r.n), OFF, Drop(r.m)]


def eager_donation(r: Roles) -> list[Action]:
    """A marked tensor is held while its update is computed; its last reader may consume it."""
    steps: list[Action] = [StepBarrier(True), SetDonorConfig(True), ON, SetDonation(r.x)]
    steps += [plus_one(r.x), SetDonation(r.x), Apply(r.n, "neg", (r.x,)), OFF]
    return [*steps, ReadOne(r.x), ReadOne(r.n), SetDonorConfig(False)]


EAGER_MOTIFS: tuple[Motif, ...] = (
    eager_ops,
    eager_and_pending,
    eager_clone,
    eager_copy,
    eager_draws,
    eager_compile_fails,
    eager_refused,
    eager_failure,
    eager_failure_while_waiting,
    eager_donation,
)
