"""Motifs about failures: who is told, who is not, and that nothing is lost by them."""

from markstep.conformance.programs.roles import Motif, Roles, made, plus_one
from markstep.spec.vocabulary import (
    Action,
    Apply,
    AssignInPlace,
    ClearPending,
    Clone,
    CopyFromHost,
    CopyInto,
    CreatePlaceholder,
    Drop,
    FailExecution,
    GraphHash,
    ReadMany,
    ReadOne,
    RunCached,
    StepBarrier,
    Sync,
    SyncLive,
    TensorName,
    WaitDevice,
    WarmUp,
)


def failed(*tensors: TensorName) -> list[Action]:
    """The tensors are updated, and that fails after the call has returned."""
    return [*map(plus_one, tensors), Sync(tensors, True, False), FailExecution()]


def doomed(x: TensorName, out: TensorName) -> list[Action]:
    """x += 1 is started together with what will fail as soon as somebody waits."""
    return [Apply(out, "failing_execute", (x,)), plus_one(x), Sync((out, x), True, False)]


def failing_compile(r: Roles) -> list[Action]:
    """Good and bad work in one barrier (H-01, H-02)."""
    steps: list[Action] = [
        Apply(r.m, "add_scalar", (r.x,), 1),
        Apply(r.n, "failing_compile", (r.x,)),
    ]
    return [*steps, StepBarrier(r.wait), ReadOne(r.m), Drop(r.n), StepBarrier(r.wait)]


def failing_compile_twice(r: Roles) -> list[Action]:
    """What does not compile is not cached."""
    steps: list[Action] = [Apply(r.n, "failing_compile", (r.x,)), Sync((r.n,)), Sync((r.n,))]
    return [*steps, ReadMany((r.n,)), Drop(r.n)]


def failing_execute(r: Roles) -> list[Action]:
    """Good and bad work in one barrier that nobody waits for, then new work (H-07)."""
    steps: list[Action] = [Apply(r.m, "neg", (r.x,)), Apply(r.n, "failing_execute", (r.x,))]
    more: list[Action] = [plus_one(r.y), Sync((r.y,), True, True), ReadOne(r.m), Drop(r.n)]
    return [*steps, StepBarrier(False), *more, ReadOne(r.m)]


def failure_and_consumers(r: Roles) -> list[Action]:
    """Work is built on results that never come (H-08)."""
    steps: list[Action] = [plus_one(r.x), StepBarrier(False), Apply(r.n, "add", (r.x, r.y))]
    return [*steps, Clone(r.m, r.x), FailExecution(), ReadOne(r.n), StepBarrier(r.wait)]


def failure_and_retry(r: Roles) -> list[Action]:
    """A barrier fails late, its tensors are read, and the barrier is repeated (H-07)."""
    steps: list[Action] = [plus_one(r.x), SyncLive(False), FailExecution(), ReadOne(r.y)]
    return [*steps, ReadOne(r.x), StepBarrier(True), ReadOne(r.x)]


def failure_and_host_data(r: Roles) -> list[Action]:
    """What failed is replaced by host data, and updated: nobody needs to hear of it."""
    steps: list[Action] = [made(r.n), made(r.m), *failed(r.n, r.m)]
    return [*steps, CopyFromHost(r.n, (4, 3, 2, 1)), plus_one(r.m), ReadOne(r.n), ReadOne(r.m)]


def failure_and_copy(r: Roles) -> list[Action]:
    """What failed is replaced by a copy. Copied into itself it is not replaced."""
    steps: list[Action] = [made(r.n), made(r.m), *failed(r.n, r.m), CopyInto(r.n, r.m)]
    return [*steps, CopyInto(r.m, r.m), ReadOne(r.n), ReadOne(r.m), ReadOne(r.m)]


def failure_and_clear_pending(r: Roles) -> list[Action]:
    """What failed is forgotten, and its failure with it."""
    return [made(r.n), *failed(r.n), ClearPending(), ReadOne(r.n)]


def failure_and_programs(r: Roles) -> list[Action]:
    """Compiling and hashing run nothing: they tell nobody of a failure."""
    steps: list[Action] = [made(r.n), *failed(r.n), WarmUp((r.n,)), GraphHash((r.n,))]
    return [*steps, WarmUp((r.n,), True), ReadOne(r.n), ReadOne(r.n)]


def failure_and_run_by_key(r: Roles) -> list[Action]:
    """A failure is told before a program runs for the tensor once more."""
    steps: list[Action] = [made(r.n), *failed(r.n), RunCached((r.n,), (r.m,))]
    return [*steps, ReadOne(r.n)]


def failure_and_stub(r: Roles) -> list[Action]:
    """A failure is told before anything else is refused."""
    steps: list[Action] = [made(r.n), *failed(r.n), CreatePlaceholder(r.m, (2, 2))]
    return [*steps, ReadMany((r.m, r.n)), ReadMany((r.n, r.m))]


def failure_and_other_work(r: Roles) -> list[Action]:
    """A failure is told without waiting for what runs meanwhile."""
    steps: list[Action] = [made(r.n), made(r.m), *failed(r.n)]
    return [*steps, plus_one(r.m), Sync((r.m,), True, False), ReadOne(r.n), ReadOne(r.n)]


def two_failures(r: Roles) -> list[Action]:
    """The oldest failure is told first; the other stays to be told."""
    steps: list[Action] = [made(r.n), made(r.m), *failed(r.n), *failed(r.m)]
    return [*steps, ReadMany((r.m, r.n)), ReadOne(r.m), ReadOne(r.n)]


def failure_and_sharing(r: Roles) -> list[Action]:
    """What two graphs share they still share when results are given back: keys show it."""
    steps: list[Action] = [made(r.n), plus_one(r.n), Apply(r.m, "neg", (r.n,))]
    added = AssignInPlace(r.n, "add", (r.m,))
    steps += [added, GraphHash((r.n, r.m)), Sync((r.n, r.m), True, True), plus_one(r.n)]
    steps += [Sync((r.n,), True, False), CopyInto(r.m, r.n), AssignInPlace(r.m, "neg"), added]
    return [*steps, FailExecution(), GraphHash((r.n, r.m))]


def doomed_clone(r: Roles) -> list[Action]:
    """A borrowed leaf was to get a buffer of its own, and did not."""
    steps: list[Action] = [Clone(r.n, r.x), Apply(r.m, "failing_execute", (r.x,))]
    return [*steps, Sync((r.n, r.m), True, False), ReadOne(r.n), ReadOne(r.n)]


def doomed_and_barrier(r: Roles) -> list[Action]:
    """A barrier over other work waits for what fails, and tells of it."""
    steps = doomed(r.x, r.n)
    return [*steps, made(r.m), plus_one(r.m), Sync((r.m, r.x), True, r.wait), Sync((r.m,))]


def doomed_and_empty_sync(r: Roles) -> list[Action]:
    """A sync without work is a barrier too."""
    return [*doomed(r.x, r.n), Sync((r.x,), True, r.wait), ReadOne(r.x)]


def doomed_and_wait(r: Roles) -> list[Action]:
    """Waiting for the device tells of a failure, once."""
    return [*doomed(r.x, r.n), WaitDevice(), WaitDevice(), ReadOne(r.x)]


def doomed_and_consumer(r: Roles) -> list[Action]:
    """Nothing is compiled for arguments that never come."""
    return [*doomed(r.x, r.n), plus_one(r.x), Sync((r.x,), True, r.wait), ReadOne(r.x)]


def doomed_and_run_by_key(r: Roles) -> list[Action]:
    """Nor for a run by key."""
    return [*doomed(r.x, r.n), plus_one(r.x), RunCached((r.x,), (r.m,)), ReadOne(r.x)]


def run_by_key_fails(r: Roles) -> list[Action]:
    """A run by key of what is compiled already, used before it ends, fails."""
    steps: list[Action] = [Apply(r.n, "neg", (r.x,)), WarmUp((r.n,)), RunCached((r.n,), (r.m,))]
    return [*steps, plus_one(r.m), FailExecution(), ReadOne(r.m), ReadOne(r.m)]


FAILURE_MOTIFS: tuple[Motif, ...] = (
    failing_compile,
    failing_compile_twice,
    failing_execute,
    failure_and_consumers,
    failure_and_retry,
    failure_and_host_data,
    failure_and_copy,
    failure_and_clear_pending,
    failure_and_programs,
    failure_and_run_by_key,
    failure_and_stub,
    failure_and_other_work,
    two_failures,
    failure_and_sharing,
    doomed_clone,
    doomed_and_barrier,
    doomed_and_empty_sync,
    doomed_and_wait,
    doomed_and_consumer,
    doomed_and_run_by_key,
    run_by_key_fails,
)
