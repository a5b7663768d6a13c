"""The machine: the table of all actions, and `step`.

`step(state, action, design)` is the whole law. It gives the next state, or None when the action is
not enabled in this state. It has no other input and changes nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, TypeAlias

from markstep.spec import vocabulary as v
from markstep.spec.contract import lost_records
from markstep.spec.design import Design
from markstep.spec.rules import (
    abroad,
    calls,
    donation,
    execution,
    randomness,
    reading,
    sharding,
    sync,
    tensors,
    views,
)
from markstep.spec.state import Phase, State

Internal: TypeAlias = (
    sync.Collect
    | sync.Upload
    | sync.Extract
    | sync.PostOrder
    | sync.Lookup
    | sync.Compile
    | sync.Install
    | execution.Lock
    | execution.Schedule
    | execution.Await
    | execution.Barrier
    | reading.Read
    | reading.Download
    | abroad.Lend
    | abroad.ApplyAbroad
)
AnyAction: TypeAlias = v.Action | Internal


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the action table."""

    id: str
    effect: Callable[[State, Any, Design], None]
    phase: Phase = Phase.IDLE
    """The phase of the call in which the rule is the next step; IDLE for actions of the program."""
    cpp: str = ""
    """The C++ function of the seed that this rule states."""


ACTIONS: dict[type, Rule] = {
    v.CreateFromHost: Rule("A01", tensors.create_from_host, cpp="XLATensor::Create"),
    v.CreatePlaceholder: Rule("A02", tensors.create_placeholder, cpp="XLATensor::Create"),
    v.Apply: Rule("A03", tensors.apply, cpp="XLATensor::Create(ir_value)"),
    v.AssignInPlace: Rule("A04", tensors.assign_in_place, cpp="XLATensor::SetInPlaceIrValue"),
    v.Clone: Rule("A05", tensors.clone, cpp="tensor_methods::clone"),
    v.CopyInto: Rule("A06", tensors.copy_into, cpp="tensor_methods::copy_"),
    v.CopyFromHost: Rule("A07", tensors.copy_from_host, cpp="XLATensor::UpdateFromTensor"),
    v.Detach: Rule("A08", views.detach, cpp="XLATensorImpl::shallow_copy_and_detach"),
    v.Drop: Rule("A09", views.drop, cpp="XLAGraphExecutor::UnregisterTensor"),
    v.Sync: Rule("A10", calls.sync, cpp="XLAGraphExecutor::SyncTensorsGraph"),
    v.SyncLive: Rule("A11", calls.sync_live, cpp="XLAGraphExecutor::SyncLiveTensorsGraph"),
    v.StepBarrier: Rule("A12", calls.step_barrier, cpp="XLAGraphExecutor::MarkStep"),
    v.WarmUp: Rule("A13", calls.warm_up, cpp="XLAGraphExecutor::SyncTensorsGraph"),
    v.ReadOne: Rule("A14", calls.read_one, cpp="XLATensor::ToTensor"),
    v.ReadMany: Rule("A15", calls.read_many, cpp="XLAGraphExecutor::GetTensors"),
    v.GraphHash: Rule("A16", calls.graph_hash, cpp="XLAGraphExecutor::GetGraphHash"),
    v.RunCached: Rule("A17", calls.run_cached, cpp="ExecuteComputationWithBarrier"),
    v.ClearPending: Rule("A18", tensors.clear_pending, cpp="XLAGraphExecutor::ClearPendingIrs"),
    v.SetDonation: Rule("A19", donation.set_donation, cpp="XLANativeFunctions::SetBufferDonation"),
    v.SetDonorConfig: Rule("A20", calls.set_donor_config, cpp="SetAliasWithBufferDonorConfig"),
    v.WaitDevice: Rule("A21", calls.wait_device, cpp="XLAGraphExecutor::WaitDeviceOps"),
    v.DumpGraph: Rule("A22", reading.dump_graph, cpp="XLAGraphExecutor::DumpHloComputation"),
    v.AllowExecution: Rule("A23", calls.allow_execution, cpp="SetAllowExecution"),
    v.EvictCache: Rule("A24", calls.evict_cache, cpp="ComputationCache::Clear"),
    v.WriteToResult: Rule("A25", calls.write_to_result, cpp="(user code)"),
    v.Fill: Rule("A26", tensors.fill_with, cpp="XLAGraphExecutor::GetIrValueForScalar"),
    v.Random: Rule("A27", randomness.random, cpp="XLANativeFunctions::random_"),
    v.SetSeed: Rule("A28", randomness.set_seed, cpp="XLAGraphExecutor::SetRngSeed"),
    v.GetSeed: Rule("A29", randomness.get_seed, cpp="XLAGraphExecutor::GetRunningSeed"),
    v.LoadShards: Rule("A34", sharding.load_shards, cpp="XLATensor::SetXlaData"),
    v.UseSpmd: Rule("A35", sharding.use_spmd, cpp="UseVirtualDevice"),
    v.MarkSharding: Rule("A36", sharding.mark_sharding, cpp="ShardingUtil::XlaMarkSharding"),
    v.ClearSharding: Rule("A37", sharding.clear_sharding, cpp="XLATensor::ClearShardingSpec"),
    v.ReadSpec: Rule("A38", sharding.read_annotation, cpp="XLATensor::sharding_spec"),
    v.BindData: Rule("A39", sharding.bind_data, cpp="(no such call)"),
    v.SetEager: Rule("A32", calls.set_eager, cpp="XLAGraphExecutor::SetUseEagerMode"),
    v.ViewOf: Rule("A53", views.view_of, cpp="XLATensor::CreateViewTensor"),
    v.Look: Rule("A54", views.look, cpp="FunctionalTensorWrapper::sync_"),
    v.CompleteExecution: Rule("A30", execution.complete_execution, cpp="(device)"),
    v.FailExecution: Rule("A31", execution.fail_execution, cpp="(device)"),
    sync.Collect: Rule("A40", sync.collect, Phase.COLLECT, "CollectSyncTensors"),
    sync.Upload: Rule("A41", sync.upload_host_copies, Phase.UPLOAD, "CreateTensorsData"),
    sync.Extract: Rule("A42", sync.extract, Phase.EXTRACT, "ExtractIRAndPrepareXlaData_"),
    sync.PostOrder: Rule("A43", sync.post_order, Phase.POST_ORDER, "RunPostOrder"),
    sync.Lookup: Rule("A44", sync.lookup, Phase.LOOKUP, "LookupCachedCompile"),
    sync.Compile: Rule("A45", sync.compile_program, Phase.COMPILE, "Compile"),
    sync.Install: Rule("A46", sync.install, Phase.INSTALL, "SetTensorData"),
    execution.Lock: Rule("A47", execution.lock, Phase.LOCK, "TensorCollectionBarrier"),
    execution.Schedule: Rule("A48", execution.schedule, Phase.SCHEDULE, "ScheduleSyncTensorsGraph"),
    execution.Await: Rule("A49", execution.await_execution, Phase.AWAIT, "Async::mwait.Wait"),
    execution.Barrier: Rule("A50", execution.barrier, Phase.BARRIER, "WaitDeviceOps"),
    reading.Read: Rule("A51", reading.read, Phase.READ, "XLATensor::GetXlaData"),
    reading.Download: Rule("A52", reading.download, Phase.DOWNLOAD, "FetchTensors"),
}

PARTS: dict[type, Rule] = {
    abroad.Lend: Rule("A55", abroad.lend, cpp="XLATensor::GetIrValue"),
    abroad.ApplyAbroad: Rule("A56", abroad.apply_abroad, cpp="XLATensor::Create(ir_value)"),
}
"""What one device does of an action on several (`devices.py`); no program asks for it alone."""


def rule_of(kind: type) -> Rule:
    """The rule of a class of actions."""
    return ACTIONS[kind] if kind in ACTIONS else PARTS[kind]


ENVIRONMENT = (v.CompleteExecution, v.FailExecution)
"""Actions that the device takes, not the program."""

BLOCKING = (Phase.LOCK, Phase.AWAIT, Phase.BARRIER)
"""Phases that go on only when nothing runs on the device."""


def step(state: State, action: AnyAction, design: Design) -> State | None:
    """The state after an action, or None if the action is not enabled. Total; changes nothing."""
    if not enabled(state, action, design):
        return None
    draft = state.draft()
    take(draft, action, design)
    return draft


def take(draft: State, action: AnyAction, design: Design) -> None:
    """Let an enabled action change a draft."""
    if draft.views is not None and not isinstance(action, views.LEFT_ALONE):
        views.refresh(draft, names(action)[0], design)
        if isinstance(action, (v.SyncLive, v.StepBarrier)):
            views.refresh_records(draft)
    rule_of(type(action)).effect(draft, action, design)
    if draft.call.phase == Phase.IDLE:
        draft.lost = lost_records(draft)


def enabled(state: State, action: AnyAction, design: Design) -> bool:
    """Whether an action may happen now."""
    if state.device.crashed:
        return False
    if isinstance(action, ENVIRONMENT):
        return environment_may(state, action, design)
    phase = rule_of(type(action)).phase
    if phase == Phase.IDLE:
        return state.call.phase == Phase.IDLE and names_exist(state, action)
    return state.call.phase == phase and not blocked(state, design)


def environment_may(state: State, action: AnyAction, design: Design) -> bool:
    """The running execution ends; a program that does not fit its arguments can only fail."""
    if not state.execution.running:
        return False
    if isinstance(action, v.CompleteExecution):
        return not state.execution.doomed
    loses_donors = isinstance(action, v.FailExecution) and action.deletes
    return not (loses_donors and design.failure_keeps_donors)


def blocked(state: State, design: Design) -> bool:
    """Whether the running call has to wait for the device before its next step."""
    phase = state.call.phase
    if not state.execution.running:
        return False
    if phase == Phase.READ:
        record = state.records[state.call.target]
        return not record.host and record.error == 0
    if phase == Phase.POST_ORDER:
        return sync.must_wait_for_parameters(state, design)
    return phase in BLOCKING


def names_exist(state: State, action: AnyAction) -> bool:
    """Every tensor that the action names exists, and every new name is new."""
    used, new = names(action)
    return all([n in state.tensors for n in used]) and not any([n in state.tensors for n in new])


USES = ("inputs", "target", "others", "source", "tensor", "tensors")
"""Fields of actions that name existing tensors."""
GIVES = ("out", "outs")
"""Fields of actions that name new tensors."""
Names: TypeAlias = tuple[v.TensorName, ...]


@cache
def naming_fields(cls: type) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(fields of a class of actions that name existing tensors, fields that name new ones)."""
    all_fields = [field.name for field in fields(cls)]
    uses, gives = ([name for name in all_fields if name in kind] for kind in (USES, GIVES))
    return tuple(uses), tuple(gives)


def names(action: AnyAction) -> tuple[Names, Names]:
    """(tensor names that an action uses, names that it gives out)."""
    cls: type = type(action)
    uses, gives = naming_fields(cls)
    return named(action, uses), named(action, gives)


def named(action: AnyAction, which: tuple[str, ...]) -> Names:
    """The tensor names in some fields of an action."""
    found: Names = ()
    for field in which:
        value = getattr(action, field)
        found += value if isinstance(value, tuple) else (value,)
    return found
