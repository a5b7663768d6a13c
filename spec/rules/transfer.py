"""Moving between handle, ir and host copy: the getters that change what they look at.

Source: semantics.md §2.3 (reads that mutate), §2.4 (writes). These are not actions of their own:
every rule that touches a tensor goes through them.
"""

from markstep.spec.design import Design, MarkHost, OwnerSlot, TraceHost
from markstep.spec.evaluator import Value
from markstep.spec.state import NO_OWNER, NONE, Buffer, Record, State, bit, rows
from markstep.spec.vocabulary import BufferStatus, DType, ErrorKind, IrKind, Sharding


def buffers_in_use(s: State) -> int:
    """Mask of the buffer records that anything still refers to."""
    used = referred_to(s)
    for row in rows(used):
        used |= s.buffers[row].recipe_reads
    return used


def referred_to(s: State) -> int:
    """Mask of the buffer records that something else than a recipe refers to."""
    e, c = s.execution, s.call
    used = e.outputs | e.refills | e.params | e.donors | c.params | c.donors | bit(s.device.seed)
    for record in s.records:
        used |= held_by(record)
    return used | cached(s) | (0 if s.views is None else s.views.reads)


def held_by(record: Record) -> int:
    """Mask of the buffer records that a record refers to."""
    return bit(record.handle) | record.reads if record.live else 0


def cached(s: State) -> int:
    """Mask of the buffer records that the scalar cache holds."""
    return sum(bit(row) for row, buffer in enumerate(s.buffers) if buffer.cached)


def new_buffer(s: State, shape: tuple[int, ...], dtype: DType) -> int:
    """The row of a fresh buffer record without a value: the first one that nobody refers to."""
    used = buffers_in_use(s)
    row = next((r for r in range(len(s.buffers)) if not used >> r & 1), len(s.buffers))
    if row == len(s.buffers):
        s.buffers.append(Buffer())
    s.buffers[row] = Buffer(status=BufferStatus.PLACEHOLDER, shape=shape, dtype=dtype)
    return row


def upload(
    s: State,
    value: Value | None,
    shape: tuple[int, ...],
    dtype: DType,
    wanted: Sharding = Sharding.NONE,
) -> int:
    """Send host data to the device (C++: TensorToXlaData). The row of its new buffer record."""
    s.payload.count("TensorToData")
    return transfer(s, value, shape, dtype, wanted)


def transfer(
    s: State,
    value: Value | None,
    shape: tuple[int, ...],
    dtype: DType,
    wanted: Sharding = Sharding.NONE,
) -> int:
    """One of the arrays of a transfer to the device. The row of its new buffer record."""
    row = new_buffer(s, shape, dtype)
    s.buffers[row].sharding = placement(s, wanted)
    fill(s, row, value)
    s.payload.count_upload(shape, dtype, s.buffers[row].sharding)
    return row


def placement(s: State, wanted: Sharding) -> Sharding:
    """How data that is sent will lie: in SPMD mode on all devices, else on one (§3.45.4)."""
    if not s.device.spmd:
        return Sharding.NONE
    return wanted if wanted != Sharding.NONE else Sharding.REPLICATED


def count_send(s: State, row: Record | Buffer) -> None:
    """Ghost: in SPMD mode, a host version was sent to the devices once more."""
    if s.device.spmd and row.sends < 2:
        row.sends = row.sends + 1


def fill(s: State, row: int, value: Value | None) -> None:
    """Give a buffer record contents in a device buffer of its own (C++: Data::Assign)."""
    buffer = s.buffers[row]
    buffer.status = BufferStatus.VALUE
    buffer.contents = value
    buffer.number = s.payload.number()


def load(s: State, row: int, design: Design) -> None:
    """A source fills its buffer record, in pieces. Under MarkHost.LOAD_NODE only this execution has
    what was sent, and the next one sends it again."""
    buffer = s.buffers[row]
    s.payload.count("TensorToData")
    s.payload.count_upload(buffer.shape, buffer.dtype, buffer.sharding)
    count_send(s, buffer)
    for record in s.records:
        if record.live and record.host and record.handle == row:
            count_send(s, record)
            if design.load_drops_host:
                drop_host(record)
    if design.mark_host != MarkHost.LOAD_NODE:
        buffer.source = False
        fill(s, row, buffer.contents)


def own(s: State, row: int, record: Record, design: Design) -> None:
    """Write the record into the buffer record's info; read-only is kept."""
    if design.owner_slot == OwnerSlot.HOLDER and record.is_cloned:
        return
    s.buffers[row].owner = record.id


def set_ir_none(record: Record) -> None:
    """assign_ir(⊥): the record has no ir any more."""
    record.ir, record.leaf, record.deps, record.node = IrKind.NONE, NONE, 0, None
    record.hint = Sharding.NONE
    record.is_cloned = False


def set_ir_leaf(s: State, record: Record, row: int) -> None:
    """assign_ir(Leaf(b)): the record's ir is a fresh leaf over a buffer record."""
    buffer = s.buffers[row]
    record.ir, record.leaf, record.deps = IrKind.LEAF, row, 0
    record.node = s.payload.leaf(row, buffer.shape, buffer.dtype)
    record.hint = buffer.sharding
    record.is_cloned = False


def get_ir(s: State, r: int, design: Design) -> bool:
    """The ir of a record, made if it has none (C++: GetIrValue, semantics.md §2.3.5).

    A handle gets a leaf beside it; a host copy is uploaded now and dropped, or in SPMD mode becomes
    a leaf with a source (D31). False: LOST.
    """
    record = s.records[r]
    if record.ir != IrKind.NONE:
        return True
    if record.handle != NONE:
        own(s, record.handle, record, design)
        set_ir_leaf(s, record, record.handle)
        record.alias_id = record.id
        return True
    if not record.host:
        return False
    if s.device.spmd and design.trace_host == TraceHost.LAZY_LEAF:
        leaf_with_source(s, record, placement(s, record.spec), design)
    else:
        leaf_from_host(s, record, design)
    return True


def leaf_from_host(s: State, record: Record, design: Design) -> None:
    """Host data is sent now, with its annotation or without, and the host copy given up."""
    by_spec = design.trace_host == TraceHost.UPLOAD_BY_SPEC
    wanted = record.spec if by_spec else Sharding.NONE
    row = upload(s, record.host_value, record.shape, record.dtype, wanted)
    count_send(s, record)
    s.payload.count("IrValueTensorToXlaData")
    s.buffers[row].right = record.host_right
    own(s, row, record, design)
    set_ir_leaf(s, record, row)
    drop_host(record)


def leaf_with_source(s: State, record: Record, sharding: Sharding, design: Design) -> None:
    """Host data becomes a leaf over a buffer record that will fill itself: nothing is sent, and
    reads go on to take the host copy (alternative E of semantics.md §5.3)."""
    row = new_buffer(s, record.shape, record.dtype)
    buffer = s.buffers[row]
    buffer.sharding, buffer.source = sharding, True
    buffer.contents, buffer.right = record.host_value, record.host_right
    record.handle = row
    own(s, row, record, design)
    set_ir_leaf(s, record, row)
    record.alias_id = record.id


def drop_host(record: Record) -> None:
    """The host copy is given up."""
    record.host, record.host_exposed, record.host_right = False, False, True
    record.host_value = None


def leaf_to_handle(record: Record) -> None:
    """get_buf on a leaf: the leaf's buffer record becomes the handle; is_cloned is not touched. A
    view goes on to show its leaf beside it.

    Source: semantics.md §2.3.6d. That the clone mark survives but no longer protects is H-03.
    """
    cloned = record.is_cloned
    record.handle = record.leaf
    if record.view is None:
        set_ir_none(record)
    record.is_cloned = cloned


def fail(s: State, error: ErrorKind) -> None:
    """The action raises. What it did so far stays, unless the rule took care not to do it."""
    s.raised, s.value = error, None


def succeed(s: State, value: object = None) -> None:
    """The action returns."""
    s.raised, s.value = ErrorKind.NONE, value


def disown(buffer: Buffer) -> None:
    """info := ⊥"""
    buffer.owner = NO_OWNER
