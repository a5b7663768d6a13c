"""The phases of a sync, in order: what `sync` does.

A call begins (begin), sorts its tensors (collect), uploads host copies, takes the pending ir
(extract), numbers the parameters (post_order), looks the key up, compiles on a miss, installs
placeholders, takes the lock and schedules. Each phase is a step of its own, because an exception,
another thread or the device can come between any two of them.

Source: XLAGraphExecutor::SyncTensorsGraphInternal, semantics.md §3.45–3.63 and §3b.
"""

from dataclasses import dataclass

from markstep.spec.design import Design, KeyWiring, OwnerSlot, Truncation, Validation
from markstep.spec.ir import hints_on_ops
from markstep.spec.rules.annotations import read_spec
from markstep.spec.rules.donation import choose_donors
from markstep.spec.rules.eager import timer
from markstep.spec.rules.errors import (
    crash,
    deliver,
    executes,
    finish,
    has_no_number,
    lacks_value,
    take_lock,
    unexecutable,
)
from markstep.spec.rules.objects import temporary_records
from markstep.spec.rules.transfer import (
    count_send,
    disown,
    drop_host,
    get_ir,
    leaf_to_handle,
    new_buffer,
    own,
    set_ir_none,
    transfer,
)
from markstep.spec.state import NONE, CallKind, Phase, State, bit, has, rows
from markstep.spec.vocabulary import BufferStatus, ErrorKind, IrKind


@dataclass(frozen=True, slots=True)
class Collect:
    """A40: sort the call's records."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A41: send the collected host copies."""


@dataclass(frozen=True, slots=True)
class Extract:
    """A42: take the pending ir of the outputs."""


@dataclass(frozen=True, slots=True)
class PostOrder:
    """A43: number the parameters, waiting for those without a value."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """A44: ask the cache. Facts about the payload: is there an entry; would it compute another
    value than the graph means; do the arguments misfit it, in number or layout; was it compiled for
    one device before SPMD mode."""

    hit: bool
    foreign: bool = False
    misfits: bool = False
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Compile:
    """A45: compile the program. Fact: whether the compiler accepts it."""

    fails: bool = False


@dataclass(frozen=True, slots=True)
class Install:
    """A46: give the outputs their placeholders."""


def collect(s: State, a: Collect, design: Design) -> None:
    """A40. Own leaves become handles, host copies are queued, the rest are outputs (§3.45).

    The collection happens before any lock is taken; a record without any source raises.
    """
    call = s.call
    if executes(call) and deliver(s, design):  # A40.G1: undelivered error of a member
        return
    if executes(call) and design.validation == Validation.BEFORE_EFFECTS:
        error = unexecutable(s)
        if error != ErrorKind.NONE:  # A40.G2: F4
            return finish(s, error)
    for r in call.order:
        if not collect_record(s, r, design):  # A40.G3
            return finish(s, ErrorKind.LOST)
    call.output_order = tuple(dict.fromkeys(r for r in call.order if has(call.outputs, r)))
    if call.uploads:
        call.phase = Phase.UPLOAD
    else:
        after_collect(s, design)


def collect_record(s: State, r: int, design: Design) -> bool:
    """Sort one record; False when a forced sync meets a record without any source."""
    call, record = s.call, s.records[r]
    read_spec(s, r, design)
    if record.handle != NONE:
        return True
    if record.ir == IrKind.LEAF and not record.is_cloned:
        leaf_to_handle(record)
        own(s, record.handle, record, design)
    elif record.ir != IrKind.NONE:
        call.outputs |= bit(r)
        call.params |= record.reads
        if record.ir == IrKind.LEAF:
            call.borrowers |= bit(r)
    elif record.host:
        queued = call.force and (design.barrier_loads_unused or not s.device.spmd)
        call.uploads |= bit(r) if queued else 0
    elif call.force:
        return False
    return True


def after_collect(s: State, design: Design) -> None:
    """Without outputs a sync is a barrier, which waits for the execution before it."""
    call = s.call
    call.roots = tuple(s.records[r].node for r in call.output_order)
    call.hints = tuple(s.records[r].hint for r in call.output_order)
    by_key = call.kind == CallKind.RUN_CACHED and not design.run_cached_recompiles
    if call.outputs or call.kind == CallKind.GRAPH_HASH or by_key:
        call.phase = Phase.EXTRACT
    elif call.kind == CallKind.WARM_UP and not design.warm_up_is_barrier:
        finish(s)
    else:
        call.phase = Phase.BARRIER


def upload_host_copies(s: State, a: Upload, design: Design) -> None:
    """A41. Queued host copies get handles in one transfer, in pieces by their annotation; the host
    copies are kept (§3.45.4)."""
    s.payload.count("TensorToData")
    for r in rows(s.call.uploads):
        record = s.records[r]
        record.handle = transfer(s, record.host_value, record.shape, record.dtype, record.spec)
        count_send(s, record)
        s.buffers[record.handle].right = record.host_right
        disown(s.buffers[record.handle])
        s.payload.count("SyncTensorsToData")
    after_collect(s, design)


def extract(s: State, a: Extract, design: Design) -> None:
    """A42. With Truncation.AT_EXTRACT the outputs lose their ir here; until A46 they are DEAD and
    any error in between loses their values (H-01)."""
    call = s.call
    if call.force and design.truncation == Truncation.AT_EXTRACT:
        for r in rows(call.outputs):
            if s.records[r].view is None:  # a view's ir is its own
                set_ir_none(s.records[r])
    if call.kind == CallKind.RUN_CACHED and not export_leaves(s, design):
        return
    call.phase = Phase.POST_ORDER


def export_leaves(s: State, design: Design) -> bool:
    """The leaves of every member are the inputs of a run by key, each seen through a record that
    lives only until the program is scheduled (§3b, dynamo capture). False: the call has raised."""
    call = s.call
    exported = call.order if design.run_cached_takes_all_leaves else call.output_order
    if not all(get_ir(s, r, design) for r in exported):  # A42.G1: stops at the first that is lost
        finish(s, ErrorKind.LOST)
        return False
    for r in exported:
        call.params |= s.records[r].reads
    if any([s.buffers[row].status == BufferStatus.DELETED for row in rows(call.params)]):  # A42.G2
        finish(s, ErrorKind.DELETED)
        return False
    everything = tuple(s.records[r].node for r in exported)
    call.leaves = s.payload.number_parameters(everything, call.params)
    temporary_records(s, len(call.leaves))
    return True


def own_exports(s: State, design: Design) -> None:
    """In SPMD mode each record that shows a leaf is annotated at once, which makes it the owner of
    the buffer and outlives it (§2.4, create_from_buf). Ids are names: without a payload any order
    of the leaves is as good."""
    leaves = s.call.leaves if s.call.leaves else tuple(rows(s.call.params))
    first = s.next_record_id - len(s.call.leaves)
    s.next_record_id = first + len(leaves)
    for i, row in enumerate(leaves):
        s.payload.count("SetShardingSpec")
        if design.owner_slot == OwnerSlot.LAST_TOUCH:
            s.buffers[row].owner = first + i


KEY_OF_NOTHING = "nothing"
"""Design.empty_list_has_own_key: the key of an empty list of tensors."""


def post_order(s: State, a: PostOrder, design: Design) -> None:
    """A43. Number the parameters (§3.56). A parameter without a value means waiting for the running
    execution; a deleted one is an error."""
    call = s.call
    lacking = [row for row in rows(call.params) if lacks_value(s, row)]
    if design.validation == Validation.BEFORE_EFFECTS:
        if executes(call) and deliver(s, design):  # A43.G1: it failed while this call waited
            return
    elif lacking_in_graph(s) and not take_lock(s, design):  # A43.G2
        return
    if any([s.buffers[row].status == BufferStatus.DELETED for row in lacking]):  # A43.G3
        return finish(s, ErrorKind.DELETED)
    if has_no_number(s, call.params, design):  # A43.G4
        return crash(s)
    if call.kind == CallKind.RUN_CACHED and s.device.spmd:
        own_exports(s, design)
    if call.kind != CallKind.RUN_CACHED:
        call.leaves = s.payload.number_parameters(call.roots, call.params)
    call.donors = choose_donors(s, design)
    layout = layout_of(s, design)
    call.key = s.payload.key(design, call.force, call.roots, call.leaves, call.donors, layout)
    if call.kind == CallKind.GRAPH_HASH:
        nothing = call.members == 0 and design.empty_list_has_own_key
        return finish(s, value=KEY_OF_NOTHING if nothing else call.key)
    call.phase = Phase.LOOKUP


def layout_of(s: State, design: Design) -> object:
    """Payload: what of how things lie is part of a key. Every root's hash covers the sharding on
    its node; an exact key covers how each parameter lies, too (D09), and SPMD mode (D32)."""
    if not s.device.spmd:
        return None
    hints = s.call.hints
    exact = design.key_wiring == KeyWiring.OPERANDS
    if exact:
        hints = hints_on_ops(hints, s.call.roots)
    lies = tuple([s.buffers[row].sharding for row in s.call.leaves]) if exact else ()
    if not (any(hints) or lies or design.key_has_mode):
        return None
    return (hints, lies, design.key_has_mode)


def lacking_in_graph(s: State) -> bool:
    """Whether a parameter that the graph itself reads has no value; a run by key exports more."""
    call = s.call
    params = 0 if call.kind == CallKind.RUN_CACHED else call.params
    for r in rows(call.outputs):
        params |= s.records[r].reads
    return any([lacks_value(s, row) for row in rows(params)])


def must_wait_for_parameters(s: State, design: Design) -> bool:
    """A43 is not enabled while a parameter is still to be filled, or may be."""
    if not s.execution.running:
        return False
    lacking = [lacks_value(s, row) for row in rows(s.call.params)]
    return any(lacking) and (design.validation == Validation.AT_DISPATCH or executes(s.call))


def lookup(s: State, a: Lookup, design: Design) -> None:
    """A44. A hit skips compilation; a warm-up that hits is done (§3.57, §3.58)."""
    call = s.call
    by_key = call.kind == CallKind.RUN_CACHED
    if not a.hit and by_key and not design.run_cached_recompiles:
        return finish(s, ErrorKind.UNKNOWN_GRAPH)  # A44.G1
    if not a.hit:
        s.payload.count("UncachedCompile")
        call.phase = Phase.COMPILE
        return None
    if not by_key:
        s.payload.count("CachedCompile")
        s.payload.count_graph(call.roots)
    call.program = s.payload.find(call.key)
    call.foreign, call.doomed, call.plain = a.foreign, a.misfits, a.plain
    return after_program(s, design)


def compile_program(s: State, a: Compile, design: Design) -> None:
    """A45. The program enters the cache under its key (§3.62, §3.63.11–13)."""
    call = s.call
    s.payload.count_sample("InputOutputAliasCount", len(list(rows(call.donors))))
    if not s.device.allow_execution:  # A45.G1
        return finish(s, ErrorKind.REFUSED)
    timer(s, "CompileTime", "EagerOpCompileTime")
    if a.fails:  # A45.G2
        return finish(s, ErrorKind.COMPILE_FAILED)
    shardings = tuple([s.buffers[row].sharding for row in call.leaves])
    call.program = s.payload.compile(call.key, call.roots, call.leaves, shardings, s.device.spmd)
    s.payload.count("CreateCompileHandles")
    s.payload.count_graph(call.roots)
    after_program(s, design)


def after_program(s: State, design: Design) -> None:
    """A program is at hand: a warm-up is done, a sync goes on."""
    call = s.call
    if call.kind == CallKind.WARM_UP:
        return finish(s)
    early = design.truncation == Truncation.AT_EXTRACT and call.force
    call.phase = Phase.INSTALL if early else Phase.LOCK


def install(s: State, a: Install, design: Design) -> None:
    """A46. Truncation.AT_EXTRACT: placeholders become visible before the lock is held (§3.51), so
    an error in A47 leaves them unfilled for ever (H-07)."""
    for r in rows(s.call.outputs):
        give_placeholder(s, r)
    s.call.phase = Phase.LOCK


def return_from_call(s: State) -> None:
    """The evaluation part of the call is over: read, count the step, or return."""
    call = s.call
    if call.kind in (CallKind.READ_ONE, CallKind.READ_MANY, CallKind.MARK):
        call.phase = Phase.DOWNLOAD
        return
    if call.kind == CallKind.STEP_BARRIER:
        begin_step(s)
    finish(s)


def begin_step(s: State) -> None:
    """The step counts, and has a seed of its own, made from that of the last step (§3.36)."""
    s.payload.count("MarkStep")
    s.payload.step_seed()
    s.device.seed = NONE


def give_placeholder(s: State, r: int) -> int:
    """An output record holds nothing but a new placeholder."""
    record = s.records[r]
    record.handle = new_buffer(s, record.shape, record.dtype)
    set_ir_none(record)
    drop_host(record)
    record.view = None
    return record.handle
