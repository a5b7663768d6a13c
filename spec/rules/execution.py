"""What happens on the device: lock, schedule, and the end of an execution.

Source: semantics.md §1.9 (Async), §3.54–3.55 (schedule), §3b (lock spans, error storage).
"""

from dataclasses import dataclass

from markstep.spec.design import Design, ErrorDelivery, Truncation
from markstep.spec.evaluator import Value
from markstep.spec.ir import Node
from markstep.spec.rules.annotations import set_spec
from markstep.spec.rules.errors import (
    crash,
    crashes,
    deliver,
    donated_away,
    finish,
    lacks_value,
    mixes_kinds,
    take_lock,
)
from markstep.spec.rules.objects import bind, fresh_record
from markstep.spec.rules.sync import give_placeholder, return_from_call
from markstep.spec.rules.transfer import (
    fill,
    load,
    new_buffer,
    set_ir_none,
)
from markstep.spec.state import NONE, CallKind, Execution, Phase, Record, State, bit, has, rows
from markstep.spec.vocabulary import (
    BufferStatus,
    CompleteExecution,
    ErrorKind,
    FailExecution,
    IrKind,
    Sharding,
)


@dataclass(frozen=True, slots=True)
class Lock:
    """A47: take the device lock, once no execution holds it."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A48: hand the program to the device. Fact, in SPMD mode: how the partitioner lays each output
    that is not annotated; the last one stands for all further ones."""

    choice: tuple[Sharding, ...] = (Sharding.REPLICATED,)


@dataclass(frozen=True, slots=True)
class Await:
    """A49: the execution that this call waited for has ended."""


@dataclass(frozen=True, slots=True)
class Barrier:
    """A50: the device is free."""


def lock(s: State, a: Lock, design: Design) -> None:
    """A47. The execution hook comes first, then the lock, which may throw an old error (§3.54).

    The execution that held the lock may have been to compute a member of this call.
    """
    call = s.call
    if deliver(s, design):  # A47.G4
        return None
    if not s.device.allow_execution:  # A47.G1
        return finish(s, ErrorKind.REFUSED)
    if not call.holds_lock and not take_lock(s, design):  # A47.G2
        return None
    if call.kind == CallKind.RUN_CACHED:
        s.payload.count("RunCachedGraphInputData")
        if s.device.spmd:
            s.payload.count_shardings(call.key)
    lacking = any([lacks_value(s, row) for row in rows(call.params)])
    if call.kind == CallKind.RUN_CACHED and lacking:  # A47.G3
        return finish(s, ErrorKind.NO_VALUE)
    call.phase = Phase.SCHEDULE
    return None


def schedule(s: State, a: Schedule, design: Design) -> None:
    """A48. Sources are loaded; the execution takes over the lock; the call waits or returns."""
    call = s.call
    if crashes(s, call.params, design) or mixes_kinds(s):  # A48.G1, A48.G2
        return crash(s)
    load_sources(s, design)
    targets = [output_target(s, r, design) for r in call.output_order]
    if s.device.spmd and not call.plain:
        propagate(s, targets, a, design)
    start_execution(s, targets, design)
    if call.kind == CallKind.RUN_CACHED:
        s.payload.count("RunCachedGraphOutputData")
    if call.wait:
        call.holds_lock, call.phase = False, Phase.AWAIT
    else:
        return_from_call(s)
    return None


def output_target(s: State, r: int, design: Design) -> int:
    """The buffer row that an output's result is assigned to; NONE when only the reader gets it."""
    call, record = s.call, s.records[r]
    if call.kind == CallKind.RUN_CACHED:
        return result_of_cached_run(s, r, design)
    if call.force and design.truncation == Truncation.AT_EXTRACT:
        return record.handle
    if call.force or truncates_unforced(s, design):
        recipe = (record.ir, record.leaf, record.deps, record.node)
        row = give_placeholder(s, r)
        if design.keeps_recipe:
            keep_recipe(s, row, recipe)
        return row
    if design.refills_borrowed and has(call.borrowers, r):
        return record.leaf
    return NONE


def truncates_unforced(s: State, design: Design) -> bool:
    """In SPMD mode every output gets a sharded placeholder, without force, too (D33, H-16)."""
    return s.device.spmd and not s.call.plain and not design.unforced_keeps_ir


def propagate(s: State, targets: list[int], a: Schedule, design: Design) -> None:
    """Output sharding propagation (§3.55): placeholders and annotations are what the program's
    outputs will be. The partitioner honours an annotation; otherwise its choice is a fact."""
    for i, r in enumerate(s.call.output_order):
        chosen = a.choice[min(i, len(a.choice) - 1)]
        annotated = s.records[r].spec
        sharding = annotated if annotated != Sharding.NONE else chosen
        s.call.lies = (*s.call.lies, sharding)
        if targets[i] != NONE:
            lay_output(s, r, targets[i], sharding, design)
    s.payload.settle(s.call.key, a.choice)


def lay_output(s: State, r: int, row: int, sharding: Sharding, design: Design) -> None:
    """One output's placeholder is sharded. The result of a run by key is annotated like any data
    that is given to a new tensor, which makes its leaf (§2.4, create_from_buf)."""
    record = s.records[r]
    s.buffers[row].sharding = sharding
    if s.call.kind == CallKind.RUN_CACHED:
        made = s.tensors[s.call.outs[s.call.output_order.index(r)]]
        set_spec(s, made, sharding, design)
        return
    s.payload.count("SetShardingSpec")
    record.spec, record.alias_id = sharding, record.id


def load_sources(s: State, design: Design) -> None:
    """Parameters with a source are sent now, once (semantics.md §5.5)."""
    for row in rows(s.call.params):
        if s.buffers[row].source:
            load(s, row, design)


def keep_recipe(s: State, row: int, recipe: tuple[IrKind, int, int, Node | None]) -> None:
    """The placeholder remembers the pending ir that it stands for (Design.keeps_recipe)."""
    buffer = s.buffers[row]
    buffer.recipe, buffer.recipe_leaf, buffer.recipe_deps = recipe[:3]
    buffer.recipe_node = recipe[3]


def result_of_cached_run(s: State, r: int, design: Design) -> int:
    """A new tensor whose handle is a placeholder for one output of a run by key (§3.47.7)."""
    source = s.records[r]
    record = fresh_record(s, source.shape, source.dtype)
    record.truth, record.defined = source.truth, source.defined
    row = record.handle = new_buffer(s, record.shape, record.dtype)
    bind(s, s.call.outs[s.call.output_order.index(r)], record)
    if design.keeps_recipe:
        keep_recipe(s, row, (source.ir, source.leaf, source.deps, source.node))
    return row


def split_targets(s: State, targets: list[int], design: Design) -> tuple[int, int]:
    """(mask of the placeholders to fill, mask of the borrowed buffers to refill)."""
    call = s.call
    outputs = refills = 0
    for r, row in zip(call.output_order, targets, strict=True):
        kept = not call.force and call.kind != CallKind.RUN_CACHED
        if kept and has(call.borrowers, r) and not truncates_unforced(s, design):
            refills |= bit(row)
        else:
            outputs |= bit(row)
    return outputs, refills


def results_of(s: State) -> tuple[Value | None, ...]:
    """Payload: what the program gives for its arguments."""
    arguments = [s.buffers[row] for row in s.call.leaves]
    contents = tuple(buffer.contents for buffer in arguments)
    lies = tuple(buffer.sharding for buffer in arguments)
    return s.payload.run(s.call.program, contents, lies)


def start_execution(s: State, targets: list[int], design: Design) -> None:
    """The one running execution of the device (OneAsync)."""
    call = s.call
    outputs, refills = split_targets(s, targets, design)
    call.right = all([s.buffers[row].right for row in rows(call.params)]) and not call.foreign
    doomed = call.doomed or donated_away(s, call.params)
    call.results = () if doomed else results_of(s)
    s.execution = Execution(
        running=True,
        id=s.next_execution_id,
        outputs=outputs,
        refills=refills,
        params=call.params,
        donors=call.donors,
        doomed=doomed,
        right=call.right,
        counted=call.kind != CallKind.RUN_CACHED,
        sharded=call.lies != (),
        eager=s.device.eager,
        arguments=call.leaves,
        order=tuple(targets),
        results=call.results,
        program=call.program,
    )
    s.next_execution_id += 1


def complete_execution(s: State, a: CompleteExecution, design: Design) -> None:
    """A30. Placeholders get their values and donors are consumed, but for those that the runtime
    spares; the lock is released."""
    e = s.execution
    for row in rows(e.donors & ~a.spares):
        s.buffers[row].status = BufferStatus.DELETED
    results = dict(zip(e.order, e.results, strict=False))
    for row in rows(e.outputs | e.refills):
        fill(s, row, results.get(row))
        s.buffers[row].right = e.right
        forget_recipe(s, row)
    s.payload.count_run(e.sharded, e.eager)
    s.payload.count_execution(len(e.order), e.counted, e.sharded)
    s.execution = Execution()


def forget_recipe(s: State, row: int) -> None:
    """A filled placeholder stands for itself."""
    buffer = s.buffers[row]
    buffer.recipe, buffer.recipe_leaf, buffer.recipe_deps = IrKind.NONE, NONE, 0
    buffer.recipe_node = None


def fail_execution(s: State, a: FailExecution, design: Design) -> None:
    """A31. Placeholders stay unfilled or give their recipes back; somebody will have to be told."""
    e = s.execution
    about = [r for r in range(len(s.records)) if refers(s.records[r], e.outputs)]
    if a.deletes:
        for row in rows(e.donors):
            s.buffers[row].status = BufferStatus.DELETED
    s.payload.count_run(e.sharded, e.eager)
    store_error(s, about, design)
    for row in rows(e.outputs):
        if s.buffers[row].recipe != IrKind.NONE:
            give_back(s, row, about)
    s.execution = Execution()


def refers(record: Record, mask: int) -> bool:
    """Whether the record's value comes from one of the buffer records."""
    return record.live and bool((bit(record.handle) | record.reads) & mask)


def store_error(s: State, about: list[int], design: Design) -> None:
    """Keep the error for whoever has to be told: the waiting call, a locker, or the records."""
    waiting = s.call.phase == Phase.AWAIT
    s.call.failed = waiting
    if design.error_delivery == ErrorDelivery.OWNER:
        for r in about:
            if not waiting and s.records[r].error == 0:
                s.records[r].error = s.execution.id
    elif not waiting or design.error_delivery == ErrorDelivery.NEXT_LOCKER:
        s.device.stored_error, s.device.stored_raised = True, waiting
        s.device.stored_about = 0
        for r in about:
            s.device.stored_about |= bit(r)


def give_back(s: State, row: int, about: list[int]) -> None:
    """Every record that referred to a failed placeholder has its pending ir again."""
    buffer = s.buffers[row]
    consumers = []
    for r in about:
        record = s.records[r]
        if record.handle == row or record.leaf == row:
            record.handle = NONE
            restore_ir(s, record, row)
        elif has(record.deps, row):
            record.deps = record.deps & ~bit(row) | buffer.recipe_reads
            consumers.append(record)
    nodes = s.payload.graft(tuple([c.node for c in consumers]), row, buffer.recipe_node)
    for record, node in zip(consumers, nodes, strict=True):
        record.node = node
    forget_recipe(s, row)


def restore_ir(s: State, record: Record, row: int) -> None:
    """The record's ir is the recipe of a failed placeholder; a borrowed leaf is borrowed again."""
    buffer = s.buffers[row]
    set_ir_none(record)
    record.ir, record.leaf, record.deps = buffer.recipe, buffer.recipe_leaf, buffer.recipe_deps
    record.node = buffer.recipe_node
    record.hint = record.spec
    record.is_cloned = buffer.recipe == IrKind.LEAF


def await_execution(s: State, a: Await, design: Design) -> None:
    """A49. The latch is done; the waiting call raises the error of its own execution (§3.34)."""
    if s.call.failed:  # A49.G1
        return finish(s, ErrorKind.EXECUTION_FAILED)
    return return_from_call(s)


def barrier(s: State, a: Barrier, design: Design) -> None:
    """A50. TensorCollectionBarrier with nothing to run, and WaitDeviceOps (§3.38, §3.63.2)."""
    if deliver(s, design):  # A50.G1
        return None
    if not take_lock(s, design):  # A50.G2
        return None
    s.call.holds_lock = False
    return return_from_call(s)
