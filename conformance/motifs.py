"""Short sequences that lazy executors get wrong, planned as a whole (semantics.md §6b).

A motif is about two tensors x and y, which may be the same, and makes at most two new ones, n
and m. Steps that turn out to be impossible are left out, and other actions may come between them.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from markstep.spec.vocabulary import (
    Action,
    AllowExecution,
    Apply,
    AssignInPlace,
    ClearPending,
    Clone,
    CompleteExecution,
    CopyInto,
    CreateFromHost,
    Detach,
    Drop,
    EvictCache,
    FailExecution,
    GraphHash,
    ReadMany,
    ReadOne,
    RunCached,
    SetDonation,
    SetDonorConfig,
    StepBarrier,
    Sync,
    SyncLive,
    TensorName,
    WarmUp,
    WriteToResult,
)


class Roles(NamedTuple):
    """Who plays in a motif."""

    x: TensorName
    y: TensorName
    n: TensorName
    m: TensorName
    wait: bool


Motif: TypeAlias = Callable[[Roles], list[Action]]


def plus_one(x: TensorName) -> Action:
    """x += 1"""
    return AssignInPlace(x, "add_scalar", (), 1)


def clone_read_update(r: Roles) -> list[Action]:
    """A clone is read, then its source is updated (H-03)."""
    return [Clone(r.n, r.x), ReadOne(r.n), plus_one(r.x), StepBarrier(r.wait), ReadOne(r.n)]


def clone_update(r: Roles) -> list[Action]:
    """A clone and its source are both updated before anything runs."""
    return [Clone(r.n, r.x), plus_one(r.x), plus_one(r.n), StepBarrier(r.wait), ReadOne(r.x)]


def copy_update(r: Roles) -> list[Action]:
    """A copy is synced, updated and synced again (H-04)."""
    steps: list[Action] = [CopyInto(r.y, r.x), StepBarrier(r.wait), plus_one(r.y)]
    return [*steps, StepBarrier(r.wait), ReadOne(r.x), ReadOne(r.y)]


def subset_donation(r: Roles) -> list[Action]:
    """One of two tensors that need a buffer is updated and synced alone (H-05)."""
    steps: list[Action] = [StepBarrier(True), Apply(r.n, "add", (r.x, r.y)), plus_one(r.y)]
    return [*steps, Sync((r.y,), True, r.wait), StepBarrier(r.wait), ReadOne(r.n)]


def failing_compile(r: Roles) -> list[Action]:
    """Good and bad work in one barrier (H-01, H-02)."""
    steps: list[Action] = [
        Apply(r.m, "add_scalar", (r.x,), 1),
        Apply(r.n, "failing_compile", (r.x,)),
    ]
    return [*steps, StepBarrier(r.wait), ReadOne(r.m), Drop(r.n), StepBarrier(r.wait)]


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


def late_completion(r: Roles) -> list[Action]:
    """A placeholder is cloned and updated before it is filled."""
    steps: list[Action] = [plus_one(r.x), StepBarrier(False), Clone(r.n, r.x), plus_one(r.x)]
    return [*steps, CompleteExecution(), StepBarrier(r.wait), ReadOne(r.n)]


def marked_and_printed(r: Roles) -> list[Action]:
    """Work on a marked tensor is printed twice under the process-wide switch (H-06)."""
    steps: list[Action] = [SetDonorConfig(True), SetDonation(r.x), Apply(r.n, "neg", (r.x,))]
    return [*steps, ReadMany((r.n,)), ReadMany((r.n,)), StepBarrier(r.wait), ReadOne(r.n)]


def marked_and_used(r: Roles) -> list[Action]:
    """A marked tensor is overwritten while another still needs it."""
    steps: list[Action] = [StepBarrier(True), SetDonation(r.x), Apply(r.n, "add", (r.x, r.x))]
    return [*steps, CopyInto(r.y, r.n), Sync((r.y,), True, r.wait), ReadOne(r.x), ReadOne(r.n)]


def marked_and_gone(r: Roles) -> list[Action]:
    """A marked tensor is replaced by what is made from it: its buffer may be used up."""
    steps: list[Action] = [StepBarrier(True), SetDonation(r.x), Apply(r.n, "neg", (r.x,))]
    return [*steps, Drop(r.x), SyncLive(r.wait), ReadOne(r.n)]


def clear_pending(r: Roles) -> list[Action]:
    """Pending work is forgotten, then used (H-04, H-08)."""
    steps: list[Action] = [Clone(r.m, r.x), Apply(r.n, "neg", (r.x,)), ClearPending()]
    return [*steps, ReadOne(r.n), plus_one(r.x), StepBarrier(r.wait), ReadOne(r.m)]


def refused(r: Roles) -> list[Action]:
    """Work is asked for while execution is not allowed, then again when it is (H-01)."""
    steps: list[Action] = [plus_one(r.x), AllowExecution(False), ReadOne(r.x), WarmUp((r.x,), True)]
    return [*steps, StepBarrier(r.wait), AllowExecution(True), ReadOne(r.x)]


def refused_though_cached(r: Roles) -> list[Action]:
    """The same, where the program is already compiled."""
    steps: list[Action] = [plus_one(r.x), WarmUp((r.x,), True), AllowExecution(False)]
    return [*steps, Sync((r.x,)), WarmUp((r.x,), True), AllowExecution(True), Sync((r.x,))]


def warm_up_then_run(r: Roles) -> list[Action]:
    """What a warm-up, a print and a barrier share in the cache."""
    steps: list[Action] = [Apply(r.n, "mul", (r.x, r.y)), WarmUp((r.n,)), ReadMany((r.n,))]
    return [*steps, WarmUp((r.n,), True), EvictCache(), Sync((r.n,), False, True), ReadOne(r.n)]


def run_by_key(r: Roles) -> list[Action]:
    """Hash, run, evict, run again (H-13)."""
    steps: list[Action] = [Apply(r.n, "add", (r.x, r.y)), GraphHash((r.n,)), EvictCache()]
    return [*steps, RunCached((r.n,), (r.m,)), ReadOne(r.m), Sync((r.n,)), ReadOne(r.n)]


def run_by_key_fails(r: Roles) -> list[Action]:
    """A run by key, used before it ends, fails."""
    steps: list[Action] = [Apply(r.n, "neg", (r.x,)), RunCached((r.n,), (r.m,)), plus_one(r.m)]
    return [*steps, FailExecution(), ReadOne(r.m), ReadOne(r.m)]


def same_graph_other_operands(r: Roles) -> list[Action]:
    """x-(x-y) and (x-y)-x: equal ops that are wired differently (equal keys would be wrong)."""
    steps: list[Action] = [Apply(r.n, "sub", (r.x, r.y)), Apply(r.m, "sub", (r.x, r.n))]
    more: list[Action] = [AssignInPlace(r.n, "sub", (r.x,)), ReadMany((r.m,)), GraphHash((r.n,))]
    return [*steps, *more, ReadMany((r.n,)), ReadMany((r.n, r.m))]


def detach_update(r: Roles) -> list[Action]:
    """Two tensor objects over one record, updated through either."""
    steps: list[Action] = [Detach(r.n, r.x), plus_one(r.n), StepBarrier(r.wait), plus_one(r.x)]
    return [*steps, ReadOne(r.n), Drop(r.x), ReadOne(r.n)]


def host_copy(r: Roles) -> list[Action]:
    """A tensor keeps its host copy beside the data (H-27)."""
    made = CreateFromHost(r.n, (1, 2, 3, 4), (2, 2), upload=False)
    steps: list[Action] = [made, WarmUp((r.n,)), StepBarrier(r.wait), ReadMany((r.n,))]
    return [*steps, WriteToResult(r.n), plus_one(r.n), ReadOne(r.n)]


def host_copy_read(r: Roles) -> list[Action]:
    """A tensor that lives on the host only is read, written to and used."""
    made = CreateFromHost(r.n, (1, 2, 3, 4), (2, 2), upload=False)
    steps: list[Action] = [made, ReadMany((r.n,)), WriteToResult(r.n), ReadOne(r.n)]
    return [*steps, Clone(r.m, r.n), StepBarrier(r.wait), ReadOne(r.n), ReadOne(r.m)]


MOTIFS: tuple[Motif, ...] = (
    clone_read_update,
    clone_update,
    copy_update,
    subset_donation,
    failing_compile,
    failing_execute,
    failure_and_consumers,
    failure_and_retry,
    late_completion,
    marked_and_printed,
    marked_and_used,
    marked_and_gone,
    clear_pending,
    refused,
    refused_though_cached,
    warm_up_then_run,
    run_by_key,
    run_by_key_fails,
    same_graph_other_operands,
    detach_update,
    host_copy,
    host_copy_read,
)
