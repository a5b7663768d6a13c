"""Sharding: SPMD mode, annotations, stubs that get data, local pieces.

Source: semantics.md §5.1 (mark_sharding today), §5.3 (alternatives), §5.5 (un-executable graphs).
"""

from markstep.spec.design import Design, MarkData, MarkHost
from markstep.spec.evaluator import Value
from markstep.spec.rules.annotations import (
    contradicts,
    read_spec,
    set_hint,
    set_spec,
    trace_hint,
)
from markstep.spec.rules.calls import call_about
from markstep.spec.rules.errors import is_stub, will_be_filled
from markstep.spec.rules.objects import lost
from markstep.spec.rules.transfer import (
    count_send,
    drop_host,
    fail,
    fill,
    leaf_with_source,
    load,
    new_buffer,
    placement,
    set_ir_none,
    succeed,
    upload,
)
from markstep.spec.state import NO_OWNER, NONE, CallKind, Record, State
from markstep.spec.vocabulary import (
    BindData,
    BufferStatus,
    ClearSharding,
    ErrorKind,
    IrKind,
    LoadShards,
    MarkSharding,
    ReadSpec,
    Sharding,
    UseSpmd,
)


def use_spmd(s: State, a: UseSpmd, design: Design) -> None:
    """A35. Refused while tensors live, which would stay on their device (semantics.md §5.4)."""
    # GUARD
    if not s.device.spmd and any([record.live for record in s.records]):  # A35.G1
        return fail(s, ErrorKind.REFUSED)
    # EFFECT
    if not s.device.spmd:
        s.device.spmd, s.device.seed = True, NONE
        forget_scalars(s)
    # OBSERVE
    return succeed(s)


def forget_scalars(s: State) -> None:
    """The virtual device that stands for all has a scalar cache of its own, empty at first."""
    for row, buffer in enumerate(s.buffers):
        if buffer.cached:
            buffer.cached = False
            s.payload.forget_scalar(row)


def read_annotation(s: State, a: ReadSpec, design: Design) -> None:
    """A38. What `read_spec` gives, and does."""
    succeed(s, read_spec(s, s.tensors[a.tensor], design))


def clear_sharding(s: State, a: ClearSharding, design: Design) -> None:
    """A37. Annotation and hint are gone; data stays where it is."""
    # EFFECT
    record = s.record_of(a.tensor)
    record.spec, record.asked = Sharding.NONE, Sharding.NONE
    if record.ir != IrKind.NONE:
        set_hint(s, record, Sharding.NONE)
    # OBSERVE
    succeed(s)


def mark_sharding(s: State, a: MarkSharding, design: Design) -> None:
    """A36. Pending work gets a hint; host data is sent in pieces, or kept (D30); device data is
    fetched and sent again, or gets a hint (D42). Source: §5.1."""
    # GUARD
    r = s.tensors[a.tensor]
    record = s.records[r]
    s.payload.count("XlaMarkSharding")
    if not s.device.spmd or a.sharding == Sharding.NONE:  # A36.G1
        return fail(s, ErrorKind.BAD_ARGUMENT)
    if lost(record):  # A36.G2
        return fail(s, ErrorKind.LOST)
    if design.conflicts_refused_first and contradicts(record.spec, a.sharding):  # A36.G3
        return fail(s, ErrorKind.CONFLICT)
    # EFFECT
    if record.ir == IrKind.OP:
        s.payload.count("XlaAnnotateCustomSharding")
        return marked(s, r, a.sharding, trace_hint(s, r, a.sharding, design))
    if record.host:
        return mark_host_data(s, r, a, design)
    return mark_device_data(s, r, a.sharding, design)


def marked(s: State, r: int, sharding: Sharding, done: bool) -> None:
    """A mark returns, or raises because an older annotation contradicts it (A36.G4)."""
    if not done:
        return fail(s, ErrorKind.CONFLICT)
    s.records[r].asked = sharding
    return succeed(s)


def mark_host_data(s: State, r: int, a: MarkSharding, design: Design) -> None:
    """The present host copy counts, whether or not it was sent before (§5.1.4)."""
    record = s.records[r]
    if record.handle != NONE and s.buffers[record.handle].source:
        return lay_anew(s, r, a, design)
    if design.mark_host == MarkHost.UPLOAD or (design.lazy_is_asked_for and not a.lazy):
        s.payload.count("VirtualDeviceUsage")
        value, right = record.host_value, record.host_right
        return marked(s, r, a.sharding, send_pieces(s, r, a.sharding, value, right, design))
    if contradicts(record.spec, a.sharding):  # A36.G4
        return fail(s, ErrorKind.CONFLICT)
    record.spec = a.sharding
    s.payload.count("SetShardingSpec")
    if design.mark_host == MarkHost.KEEP_HOST:
        record.handle = NONE
        set_ir_none(record)
    else:
        defer(s, record, a.sharding, design)
    return marked(s, r, a.sharding, True)


def lay_anew(s: State, r: int, a: MarkSharding, design: Design) -> None:
    """A source that was not loaded yet is only laid out anew, also for those who read it already;
    a mark that is not lazy loads it."""
    record = s.records[r]
    row = record.handle
    if contradicts(record.spec, a.sharding):  # A36.G4
        return fail(s, ErrorKind.CONFLICT)
    s.buffers[row].sharding = a.sharding
    record.spec = a.sharding
    set_hint(s, record, a.sharding)
    if design.lazy_is_asked_for and not a.lazy:
        load(s, row, design)
    return marked(s, r, a.sharding, True)


def defer(s: State, record: Record, sharding: Sharding, design: Design) -> None:
    """Host data becomes a leaf over a buffer record without a value."""
    set_ir_none(record)
    leaf_with_source(s, record, sharding, design)
    if design.mark_host == MarkHost.STUB:
        s.buffers[record.handle].source = False
    elif design.mark_host == MarkHost.LOAD_NODE:
        record.handle, record.is_cloned = NONE, True
        s.buffers[record.leaf].owner = NO_OWNER
        drop_host(record)


def send_pieces(
    s: State, r: int, sharding: Sharding, value: Value | None, right: bool, design: Design
) -> bool:
    """New pieces replace whatever the record held; only then an older annotation is looked at
    (§5.1.6-9). False: it contradicts."""
    record = s.records[r]
    row = upload(s, value, record.shape, record.dtype, sharding)
    s.buffers[row].right = right
    count_send(s, record)
    set_ir_none(record)
    drop_host(record)
    record.handle = row
    if not set_spec(s, r, sharding, design):
        return False
    s.payload.count("CreateXlaTensor")  # it is registered again
    return True


def mark_device_data(s: State, r: int, sharding: Sharding, design: Design) -> None:
    """Nothing to do if it is annotated so. A stub has nothing to fetch (§5.1.5)."""
    record = s.records[r]
    old = read_spec(s, r, design)
    if old == sharding:
        return succeed(s)
    if contradicts(old, sharding):  # A36.G4
        return fail(s, ErrorKind.CONFLICT)
    row = record.handle
    if row != NONE and is_stub(s, row) and not s.buffers[row].source and design.marks_stubs:
        s.buffers[row].sharding = sharding
        return marked(s, r, sharding, set_spec(s, r, sharding, design))
    if design.mark_data == MarkData.HINT and (row == NONE or not dead_end(s, row)):
        return marked(s, r, sharding, trace_hint(s, r, sharding, design))
    if row != NONE and s.buffers[row].status != BufferStatus.VALUE:  # A36.G5
        return fail(s, ErrorKind.NO_VALUE)
    call = call_about(s, CallKind.MARK, [r])
    call.target, call.wait, call.sharding = r, True, sharding
    return None


def dead_end(s: State, row: int) -> bool:
    """A buffer that has no value and will get none."""
    buffer = s.buffers[row]
    return buffer.status != BufferStatus.VALUE and not (buffer.source or will_be_filled(s, row))


def bind_data(s: State, a: BindData, design: Design) -> None:
    """A39. A stub gets its data, laid out as it is annotated; programs that read it can run."""
    # GUARD
    record = s.record_of(a.tensor)
    row = record.handle
    if row == NONE or not is_stub(s, row) or s.buffers[row].source:  # A39.G1
        return fail(s, ErrorKind.BAD_ARGUMENT)
    # EFFECT
    buffer = s.buffers[row]
    drop_host(record)
    record.truth, record.defined = s.payload.host_array(a.value), True
    buffer.sharding = placement(s, buffer.sharding)
    fill(s, row, record.truth)
    buffer.right = True
    s.payload.count("TensorToData")
    s.payload.count_upload(buffer.shape, buffer.dtype, buffer.sharding)
    # OBSERVE
    return succeed(s)


def load_shards(s: State, a: LoadShards, design: Design) -> None:
    """A34. The pieces become the record's data; how they lie must be annotated (§2.4)."""
    # GUARD
    record = s.record_of(a.tensor)
    if record.spec in (Sharding.NONE, Sharding.REPLICATED):  # A34.G1
        return fail(s, ErrorKind.BAD_ARGUMENT)
    # EFFECT
    s.payload.count("TensorToData")
    row = new_buffer(s, record.shape, record.dtype)
    s.buffers[row].sharding = record.spec
    record.truth, record.defined, record.error = s.payload.host_array(a.value), True, 0
    fill(s, row, record.truth)
    s.payload.count_upload(record.shape, record.dtype, record.spec)
    record.handle = row
    set_ir_none(record)
    drop_host(record)
    # OBSERVE
    return succeed(s)
