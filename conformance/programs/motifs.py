"""Short sequences that lazy executors get wrong, planned as a whole (semantics.md §6b).

A motif is about two tensors x and y, which may be the same, and makes at most two new ones, n
and m. Steps that turn out to be impossible are left out, and other actions may come between them.
"""

from markstep.conformance.programs.eagermotifs import EAGER_MOTIFS
from markstep.conformance.programs.failuremotifs import FAILURE_MOTIFS
from markstep.conformance.programs.keymotifs import KEY_MOTIFS
from markstep.conformance.programs.numbermotifs import NUMBER_MOTIFS
from markstep.conformance.programs.roles import Motif, Roles, made, plus_one
from markstep.spec.vocabulary import (
    Action,
    AllowExecution,
    Apply,
    AssignInPlace,
    ClearPending,
    Clone,
    CompleteExecution,
    CopyFromHost,
    CopyInto,
    CreateFromHost,
    CreatePlaceholder,
    Detach,
    Drop,
    EvictCache,
    GraphHash,
    ReadMany,
    ReadOne,
    RunCached,
    SetDonation,
    SetDonorConfig,
    StepBarrier,
    Sync,
    SyncLive,
    WarmUp,
    WriteToResult,
)


def clone_read_update(r: Roles) -> list[Action]:
    """A clone is compiled for and read, then its source is updated (H-03)."""
    steps: list[Action] = [Clone(r.n, r.x), WarmUp((r.n,)), ReadOne(r.n), plus_one(r.x)]
    return [*steps, StepBarrier(r.wait), ReadOne(r.n)]


def clone_update(r: Roles) -> list[Action]:
    """A clone and its source are both updated before anything runs."""
    return [Clone(r.n, r.x), plus_one(r.x), plus_one(r.n), StepBarrier(r.wait), ReadOne(r.x)]


def clone_and_subset(r: Roles) -> list[Action]:
    """The source of a clone is updated alone: the clone still needs its buffer (H-03)."""
    return [Clone(r.n, r.x), plus_one(r.x), Sync((r.x,), True, r.wait), ReadOne(r.n)]


def borrowed_and_gone(r: Roles) -> list[Action]:
    """Who borrows a buffer never owns it, not even when its owner is gone (H-03, H-04)."""
    steps: list[Action] = [StepBarrier(True), Clone(r.n, r.x), Clone(r.m, r.x), CopyInto(r.m, r.x)]
    steps.append(plus_one(r.n if r.wait else r.m))
    return [*steps, Drop(r.x), StepBarrier(r.wait), ReadOne(r.n), ReadOne(r.m)]


def clone_or_copy(r: Roles) -> list[Action]:
    """A clone of pending work and a copy of it are the same node."""
    steps: list[Action] = [made(r.n), plus_one(r.n), Clone(r.m, r.n), GraphHash((r.n, r.m))]
    steps += [Sync((r.n, r.m)), plus_one(r.n), CopyInto(r.m, r.n)]
    return [*steps, GraphHash((r.n, r.m)), ReadMany((r.m, r.n))]


def copied_into_itself(r: Roles) -> list[Action]:
    """A borrowed leaf, then data of its own, copied into itself."""
    steps: list[Action] = [Clone(r.n, r.x), CopyInto(r.n, r.n), Sync((r.n,), True, True)]
    more: list[Action] = [CopyInto(r.n, r.n), Sync((r.n,), True, r.wait), plus_one(r.n)]
    return [*steps, *more, StepBarrier(r.wait), ReadOne(r.n)]


def host_into_clone(r: Roles) -> list[Action]:
    """Host data make way for others on the device, and a borrowed leaf for data from the host."""
    steps: list[Action] = [made(r.m, upload=False), CopyFromHost(r.m, (5, 6, 7, 8))]
    steps += [Clone(r.n, r.m), CopyFromHost(r.n, (4, 3, 2, 1))]
    return [*steps, Sync((r.n,), True, r.wait), plus_one(r.n), StepBarrier(r.wait), ReadOne(r.n)]


def host_into_pending(r: Roles) -> list[Action]:
    """Pending work makes way for data from the host: a new chain of updates begins."""
    steps: list[Action] = [made(r.n), plus_one(r.n), CopyFromHost(r.n, (4, 3, 2, 1))]
    return [*steps, plus_one(r.n), StepBarrier(r.wait), ReadOne(r.n)]


def copy_update(r: Roles) -> list[Action]:
    """A copy is synced, updated and synced again (H-04)."""
    steps: list[Action] = [CopyInto(r.y, r.x), StepBarrier(r.wait), plus_one(r.y)]
    return [*steps, StepBarrier(r.wait), ReadOne(r.x), ReadOne(r.y)]


def subset_donation(r: Roles) -> list[Action]:
    """One of two tensors that need a buffer is updated and synced alone (H-05)."""
    steps: list[Action] = [StepBarrier(True), Apply(r.n, "add", (r.x, r.y)), plus_one(r.y)]
    return [*steps, Sync((r.y,), True, r.wait), StepBarrier(r.wait), ReadOne(r.n)]


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
    """A marked tensor is replaced by what is made from it: its buffer may be used up.

    The result has no mark: it is not used up in turn."""
    steps: list[Action] = [StepBarrier(True), SetDonation(r.x), Apply(r.n, "neg", (r.x,))]
    steps += [Drop(r.x), SyncLive(r.wait), Apply(r.m, "neg", (r.n,)), Drop(r.n)]
    return [*steps, SyncLive(r.wait), ReadOne(r.m)]


def marked_and_cloned(r: Roles) -> list[Action]:
    """The mark is on the buffer: a clone of its own does not have it."""
    steps: list[Action] = [StepBarrier(True), SetDonation(r.x), Clone(r.n, r.x), SyncLive(r.wait)]
    steps += [Apply(r.m, "neg", (r.n,)), Drop(r.n), SyncLive(r.wait)]
    return [*steps, ReadOne(r.m), ReadOne(r.x)]


def unmarked(r: Roles) -> list[Action]:
    """A mark is taken back."""
    steps: list[Action] = [StepBarrier(True), SetDonation(r.x), SetDonation(r.x, False)]
    return [*steps, Apply(r.n, "neg", (r.x,)), Drop(r.x), SyncLive(r.wait), ReadOne(r.n)]


def marked_and_read(r: Roles) -> list[Action]:
    """Under the process-wide switch a mark counts without a barrier, but never in a print."""
    steps: list[Action] = [StepBarrier(True), SetDonorConfig(True), SetDonation(r.x)]
    steps += [Apply(r.n, "neg", (r.x,)), Drop(r.x), ReadMany((r.n,))]
    return [*steps, ReadOne(r.n), ReadOne(r.n)]


def marked_leaf(r: Roles) -> list[Action]:
    """A marked tensor becomes data by the very barrier that reads it."""
    steps: list[Action] = [made(r.n), SetDonation(r.n), Apply(r.m, "neg", (r.n,))]
    return [*steps, SyncLive(r.wait), ReadOne(r.n), ReadOne(r.m)]


def marked_and_switched_off(r: Roles) -> list[Action]:
    """Without the switch a mark counts at a barrier only."""
    steps: list[Action] = [StepBarrier(True), SetDonorConfig(True), SetDonation(r.x)]
    steps += [Apply(r.n, "neg", (r.x,)), Drop(r.x), SetDonorConfig(False)]
    return [*steps, Sync((r.n,), False, r.wait), ReadOne(r.n)]


def marked_and_kept(r: Roles) -> list[Action]:
    """An execution that may not consume a marked buffer leaves it marked."""
    steps: list[Action] = [StepBarrier(True), SetDonation(r.x), Apply(r.n, "neg", (r.x,))]
    steps += [Sync((r.n,), True, True), plus_one(r.n), Apply(r.m, "neg", (r.x,)), Drop(r.x)]
    return [*steps, SyncLive(r.wait), ReadOne(r.m)]


def needed_if_it_fails(r: Roles) -> list[Action]:
    """A buffer that only the recipe of a placeholder reads, and only pending work reads that."""
    steps: list[Action] = [StepBarrier(True), Apply(r.n, "neg", (r.x,)), Sync((r.n,), False, False)]
    steps += [Apply(r.m, "neg", (r.n,)), Drop(r.n), plus_one(r.x), Sync((r.x,), True, r.wait)]
    return [*steps, ReadOne(r.m), ReadOne(r.x)]


def copy_over_update(r: Roles) -> list[Action]:
    """A tensor that was updated takes over the value of another: its buffer is reused no more."""
    steps: list[Action] = [made(r.n), made(r.m), plus_one(r.n), CopyInto(r.n, r.m), plus_one(r.n)]
    return [*steps, StepBarrier(r.wait), ReadOne(r.m), ReadOne(r.n)]


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
    steps: list[Action] = [plus_one(r.x), WarmUp((r.x,)), WarmUp((r.x,), True)]
    steps.append(AllowExecution(False))
    return [*steps, Sync((r.x,)), WarmUp((r.x,), True), AllowExecution(True), Sync((r.x,))]


def warm_up_then_run(r: Roles) -> list[Action]:
    """What a warm-up, a print and a barrier share in the cache."""
    steps: list[Action] = [Apply(r.n, "mul", (r.x, r.y)), WarmUp((r.n,)), ReadMany((r.n,))]
    return [*steps, WarmUp((r.n,), True), EvictCache(), Sync((r.n,), False, True), ReadOne(r.n)]


def run_by_key(r: Roles) -> list[Action]:
    """Hash, run, evict, run again (H-13): which leaf is which argument, and scalars, are kept."""
    more = AssignInPlace(r.n, "add", (r.x,))
    steps: list[Action] = [Apply(r.n, "mul_scalar", (r.x,), 2), more, GraphHash((r.n,))]
    steps += [EvictCache(), RunCached((r.n,), (r.m,)), ReadOne(r.m), Sync((r.n,))]
    return [*steps, AssignInPlace(r.n, "mul_scalar", (), 2), ReadOne(r.n)]


def detach_update(r: Roles) -> list[Action]:
    """Two tensor objects over one record, updated through either."""
    steps: list[Action] = [Detach(r.n, r.x), plus_one(r.n), StepBarrier(r.wait), plus_one(r.x)]
    return [*steps, ReadOne(r.n), Drop(r.x), ReadOne(r.n)]


def host_copy(r: Roles) -> list[Action]:
    """A tensor keeps its host copy beside the data (H-27)."""
    steps: list[Action] = [made(r.n, upload=False), WarmUp((r.n,)), RunCached((r.n,), ())]
    steps.append(StepBarrier(r.wait))
    return [*steps, ReadMany((r.n,)), WriteToResult(r.n), plus_one(r.n), ReadOne(r.n)]


def host_copy_meanwhile(r: Roles) -> list[Action]:
    """Reading a host copy waits for nothing."""
    steps: list[Action] = [made(r.n, upload=False), plus_one(r.x), StepBarrier(False)]
    return [*steps, ReadOne(r.n), ReadMany((r.n,)), ReadOne(r.x)]


def written_results(r: Roles) -> list[Action]:
    """What is read belongs to the reader, whatever it was read from."""
    steps: list[Action] = [Apply(r.n, "neg", (r.x,)), ReadMany((r.n, r.x, r.n))]
    steps += [WriteToResult(r.n), WriteToResult(r.x), ReadMany((r.n, r.x))]
    return [*steps, StepBarrier(True), ReadMany((r.n,)), WriteToResult(r.n), ReadOne(r.n)]


def stub_and_pending(r: Roles) -> list[Action]:
    """Nothing is computed for a reader who also wants what has no value."""
    steps: list[Action] = [CreatePlaceholder(r.m, (2, 2)), Apply(r.n, "neg", (r.x,))]
    return [*steps, ReadMany((r.n, r.m)), ReadMany((r.m, r.n)), ReadOne(r.n)]


def stub_programs(r: Roles) -> list[Action]:
    """Work on what has no value can be compiled and hashed, but not run, allowed or not."""
    steps: list[Action] = [CreatePlaceholder(r.n, (2, 2)), made(r.m)]
    steps += [AssignInPlace(r.m, "add", (r.n,)), WarmUp((r.m,)), GraphHash((r.m,))]
    steps += [Sync((r.m,)), AllowExecution(False), Sync((r.m,)), AllowExecution(True)]
    return [*steps, Drop(r.m)]


def products(r: Roles) -> list[Action]:
    """An operation whose operands must not be swapped."""
    steps: list[Action] = [made(r.n), made(r.m), AssignInPlace(r.m, "add_scalar", (), 1)]
    return [*steps, AssignInPlace(r.n, "matmul", (r.m,)), ReadMany((r.n,)), ReadOne(r.n)]


def several_updates(r: Roles) -> list[Action]:
    """Results take over the memory of what they update, whatever the order of the parameters."""
    steps: list[Action] = [made(r.n), CreateFromHost(r.m, (5, 6, 7, 8), (2, 2)), StepBarrier(True)]
    steps += [AssignInPlace(r.n, "sub", (r.m,)), AssignInPlace(r.m, "mul_scalar", (), 2)]
    return [*steps, Sync((r.m, r.n) if r.wait else (r.n, r.m)), ReadOne(r.n), ReadOne(r.m)]


def evicted(r: Roles) -> list[Action]:
    """The cache of programs forgets; that of numbers does not."""
    steps: list[Action] = [Apply(r.n, "mul_scalar", (r.x,), 3), ReadMany((r.n,)), EvictCache()]
    return [*steps, ReadMany((r.n,)), AssignInPlace(r.x, "mul_scalar", (), 3), ReadOne(r.x)]


def run_by_key_twice(r: Roles) -> list[Action]:
    """Two tensors of one node: each has a result of its own."""
    steps: list[Action] = [plus_one(r.x), CopyInto(r.y, r.x), GraphHash((r.x, r.y))]
    return [*steps, RunCached((r.x, r.y), (r.n, r.m)), ReadOne(r.n), ReadOne(r.m)]


def host_copy_read(r: Roles) -> list[Action]:
    """A tensor that lives on the host only is read, written to and used."""
    steps: list[Action] = [made(r.n, upload=False), ReadMany((r.n,)), WriteToResult(r.n)]
    return [*steps, ReadOne(r.n), Clone(r.m, r.n), StepBarrier(r.wait), ReadOne(r.n), ReadOne(r.m)]


MOTIFS: tuple[Motif, ...] = (
    clone_read_update,
    clone_update,
    clone_and_subset,
    clone_or_copy,
    borrowed_and_gone,
    copied_into_itself,
    host_into_clone,
    host_into_pending,
    copy_update,
    subset_donation,
    late_completion,
    marked_and_printed,
    marked_and_used,
    marked_and_gone,
    marked_and_cloned,
    unmarked,
    marked_and_read,
    marked_leaf,
    marked_and_switched_off,
    marked_and_kept,
    needed_if_it_fails,
    copy_over_update,
    clear_pending,
    refused,
    refused_though_cached,
    warm_up_then_run,
    run_by_key,
    detach_update,
    host_copy,
    host_copy_meanwhile,
    written_results,
    stub_and_pending,
    stub_programs,
    products,
    several_updates,
    evicted,
    run_by_key_twice,
    host_copy_read,
    *EAGER_MOTIFS,
    *FAILURE_MOTIFS,
    *NUMBER_MOTIFS,
    *KEY_MOTIFS,
)
