"""How a call begins: which records it is about, with which flags, at which phase.

Source: the table of semantics.md §4. A call runs to its end in the phases of `sync`, `execution`
and `reading`; until then the program can do nothing else, but the environment can.
"""

from markstep.spec.design import Design
from markstep.spec.rules.transfer import succeed
from markstep.spec.state import Call, CallKind, Phase, State, bit
from markstep.spec.vocabulary import (
    AllowExecution,
    EvictCache,
    GraphHash,
    ReadMany,
    ReadOne,
    RunCached,
    SetDonorConfig,
    SetEager,
    StepBarrier,
    Sync,
    SyncLive,
    TensorName,
    WaitDevice,
    WarmUp,
    WriteToResult,
)


def call_about(s: State, kind: CallKind, order: list[int], phase: Phase = Phase.COLLECT) -> Call:
    """Begin a call about the given record rows (which may repeat)."""
    members = 0
    for r in order:
        members |= bit(r)
    s.call = Call(kind=kind, phase=phase, members=members, order=tuple(order))
    return s.call


def record_rows(s: State, names: tuple[TensorName, ...]) -> list[int]:
    """The record rows behind tensor names, repeats kept."""
    return [s.tensors[name] for name in names]


def sync(s: State, a: Sync, design: Design) -> None:
    """A10. Evaluate the given records: force, run; donate only with `sync`; wait or not."""
    call = call_about(s, CallKind.SYNC, record_rows(s, a.tensors))
    call.force, call.sync, call.wait = True, a.sync, a.wait


def sync_live(s: State, a: SyncLive, design: Design) -> None:
    """A11. A10 with every live record, in the order of the registry, and with `sync`."""
    call = call_about(s, CallKind.SYNC, s.live_rows())
    call.force, call.sync, call.wait = True, True, a.wait


def step_barrier(s: State, a: StepBarrier, design: Design) -> None:
    """A12. A11; the step counts only if that does not raise."""
    call = call_about(s, CallKind.STEP_BARRIER, s.live_rows())
    call.force, call.sync, call.wait = True, True, a.wait


def warm_up(s: State, a: WarmUp, design: Design) -> None:
    """A13. Compile what the given records would need: no force, nothing runs."""
    call = call_about(s, CallKind.WARM_UP, record_rows(s, a.tensors))
    call.sync = a.sync


def read_one(s: State, a: ReadOne, design: Design) -> None:
    """A14. Barrier, then get_buf; pending work is evaluated with force, without `sync`, waiting."""
    row = s.tensors[a.tensor]
    call_about(s, CallKind.READ_ONE, [row], Phase.READ).target = row


def read_many(s: State, a: ReadMany, design: Design) -> None:
    """A15. Evaluate without force and wait; pending work stays pending."""
    call_about(s, CallKind.READ_MANY, record_rows(s, a.tensors)).wait = True


def graph_hash(s: State, a: GraphHash, design: Design) -> None:
    """A16. Collect without force, number the parameters, and give the key."""
    call_about(s, CallKind.GRAPH_HASH, record_rows(s, a.tensors))


def run_cached(s: State, a: RunCached, design: Design) -> None:
    """A17. Run the program with the key of A16 on the leaves of the given records; never waits."""
    call_about(s, CallKind.RUN_CACHED, record_rows(s, a.tensors)).outs = a.outs


def wait_device(s: State, a: WaitDevice, design: Design) -> None:
    """A21. Take the device lock and give it back."""
    call_about(s, CallKind.WAIT_DEVICE, s.live_rows(), Phase.BARRIER)


def set_donor_config(s: State, a: SetDonorConfig, design: Design) -> None:
    """A20. From now on donation marks are honoured everywhere, or not."""
    s.device.donor_config = a.flag
    succeed(s)


def set_eager(s: State, a: SetEager, design: Design) -> None:
    """A32. From now on every op is computed at once, or not. What is pending stays so."""
    s.device.eager = a.flag
    succeed(s)


def allow_execution(s: State, a: AllowExecution, design: Design) -> None:
    """A23. From now on compiling and executing raise, or not."""
    s.device.allow_execution = a.flag
    succeed(s)


def evict_cache(s: State, a: EvictCache, design: Design) -> None:
    """A24. The compilation cache forgets everything."""
    s.payload.evict()
    succeed(s)


def write_to_result(s: State, a: WriteToResult, design: Design) -> None:
    """A25. Harmless unless the array that was read is the record's own host copy (H-27)."""
    record = s.record_of(a.tensor)
    if record.host and record.host_exposed:
        record.host_right = False
        record.host_value = s.payload.plus_one(record.host_value)
    succeed(s)
