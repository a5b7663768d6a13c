"""Actions that make, trace, re-point and drop tensors. None of them executes anything.

Source: semantics.md §2.4 (writes) and §2.5a (field-effect matrix).
"""

from markstep.spec.design import Design, EagerCopies
from markstep.spec.evaluator import Value
from markstep.spec.ir import Node
from markstep.spec.ops import OPS
from markstep.spec.rules.aliases import assign
from markstep.spec.rules.annotations import copy_annotated, copy_specs, hand_on_spec
from markstep.spec.rules.calls import call_about
from markstep.spec.rules.eager import RESULT, compute
from markstep.spec.rules.objects import bind, chain_id, fresh_record, lost, place, temporary_records
from markstep.spec.rules.scalars import scalar_operand
from markstep.spec.rules.transfer import (
    drop_host,
    fail,
    get_ir,
    leaf_to_handle,
    new_buffer,
    own,
    placement,
    set_ir_leaf,
    set_ir_none,
    succeed,
    upload,
)
from markstep.spec.rules.views import commit, touch
from markstep.spec.state import NONE, CallKind, Record, State, bit
from markstep.spec.vocabulary import (
    Apply,
    AssignInPlace,
    ClearPending,
    Clone,
    CopyFromHost,
    CopyInto,
    CreateFromHost,
    CreatePlaceholder,
    ErrorKind,
    Fill,
    IrKind,
    Sharding,
    TensorName,
)


def create_from_host(s: State, a: CreateFromHost, design: Design) -> None:
    """A01. A leaf over an uploaded buffer, or a host copy (XLA_TENSOR_UPDATE_SYNC=0)."""
    # EFFECT
    record = fresh_record(s, a.shape, a.dtype)
    record.truth = s.payload.host_array(a.value)
    put_host_data(s, record, a.upload, design)
    bind(s, a.out, record)
    # OBSERVE
    succeed(s)


def put_host_data(s: State, record: Record, at_once: bool, design: Design) -> None:
    """update_from_host: the record's value, taken from the host, replaces what it held."""
    record.handle = NONE
    set_ir_none(record)
    drop_host(record)
    record.defined = True
    record.sends = 0
    if not at_once or s.device.spmd:  # the virtual device waits until it knows the sharding
        record.host, record.host_value = True, record.truth
        return
    row = upload(s, record.truth, record.shape, record.dtype)
    s.payload.count("IrValueTensorToXlaData")
    own(s, row, record, design)
    set_ir_leaf(s, record, row)
    record.alias_id = record.id


def create_placeholder(s: State, a: CreatePlaceholder, design: Design) -> None:
    """A02. A handle without a value that nothing will fill (semantics.md §1.3, origin iii)."""
    # EFFECT
    record = fresh_record(s, a.shape, a.dtype)
    record.handle = new_stub(s, record, design)
    record.defined = False
    bind(s, a.out, record)
    # OBSERVE
    succeed(s)


def new_stub(s: State, record: Record, design: Design) -> int:
    """A buffer record that nothing will fill, laid out as its tensor is annotated (D41)."""
    row = new_buffer(s, record.shape, record.dtype)
    if design.marks_stubs:
        s.buffers[row].sharding = placement(s, record.spec)
    return row


def apply(s: State, a: Apply, design: Design) -> None:
    """A03. A new record whose ir is an op over the ir of the inputs."""
    # GUARD
    inputs = [s.tensors[name] for name in a.inputs]
    temporary_records(s, OPS[a.op].early)
    if any([lost(s.records[r]) for r in inputs]):  # A03.G1
        return fail(s, ErrorKind.LOST)
    # EFFECT
    get_irs(s, inputs, design)
    temporary_records(s, OPS[a.op].late)
    first = s.records[inputs[0]]
    record = Record(dtype=first.dtype)
    trace(s, record, a, inputs, design)
    made = fresh_record(s, record.shape, record.dtype)
    record.live, record.id, record.alias_id = True, made.id, made.id
    # OBSERVE
    return give(s, a.out, record)


def give(s: State, name: TensorName, record: Record) -> None:
    """An op gives a new tensor: traced, and in eager mode computed at once."""
    row = bind(s, name, record)
    if s.device.eager:
        return compute(s, row)
    return succeed(s)


def get_irs(s: State, inputs: list[int], design: Design) -> None:
    """Operands are taken from the last to the first, as C++ evaluates them: of two records over one
    buffer, the first becomes its owner (D14)."""
    for r in reversed(inputs):
        get_ir(s, r, design)


def trace(
    s: State, record: Record, a: Apply | AssignInPlace, inputs: list[int], design: Design
) -> None:
    """Make ``record``'s ir the op over the given records' ir; its meaning is the eager one."""
    sources = [s.records[r] for r in inputs]
    nodes: list[Node | None] = [source.node for source in sources]
    truths: list[Value | None] = [source.truth for source in sources]
    hints = [source.hint for source in sources]
    deps = 0
    for source in sources:
        deps |= source.reads
    if a.scalar is not None:
        node, row = scalar_operand(s, a.scalar, record.dtype, (a.cached_at, a.evicts), design)
        nodes.append(node)
        truths.append(s.payload.host_array((a.scalar,)))
        hints.append(s.buffers[row].sharding if row != NONE else Sharding.NONE)
        deps |= bit(row)
    traced = s.payload.apply(a.op, tuple(nodes), tuple(hints))
    set_ir_none(record)
    record.ir, record.deps, record.node = IrKind.OP, deps, traced
    record.truth = s.payload.meaning(traced, tuple(truths))
    record.shape = s.payload.shape_of(traced)
    record.defined = all([source.defined for source in sources])


def fill_with(s: State, a: Fill, design: Design) -> None:
    """A26. The number itself when there are no sizes, else its expansion (§3.19-25). A parameter
    belongs to the scalar cache: without D23 the tensor looks like its owner (H-06)."""
    # EFFECT
    record = fresh_record(s, a.shape, a.dtype)
    node, row = scalar_operand(s, a.scalar, a.dtype, (a.cached_at, a.evicts), design)
    if a.shape == () and row != NONE:
        record.ir, record.leaf, record.node = IrKind.LEAF, row, node
        record.hint = s.buffers[row].sharding
        record.is_cloned = design.scalars_are_borrowed
    else:
        record.ir, record.deps = IrKind.OP, bit(row)
        record.node = s.payload.expand(node, a.shape)
    record.truth = s.payload.expanded(a.scalar, a.shape)
    # OBSERVE
    give(s, a.out, record)


def assign_in_place(s: State, a: AssignInPlace, design: Design) -> None:
    """A04. A new record replaces the old one under every tensor object that shared it.

    The new record's alias_id tells whose buffer it grew from (semantics.md §2.4, last rows).
    """
    # GUARD
    target = s.tensors[a.target]
    inputs = [target, *(s.tensors[name] for name in a.others)]
    temporary_records(s, OPS[a.op].early)
    if any([lost(s.records[r]) for r in inputs]):  # A04.G1
        return fail(s, ErrorKind.LOST)
    # EFFECT
    get_irs(s, inputs, design)
    temporary_records(s, OPS[a.op].late)
    old = s.records[target]
    record = successor(s, old)
    trace(s, record, a, inputs, design)
    # OBSERVE
    updated(s, a.target, record, design)
    return hand_on_spec(s, old, target, design)


def updated(s: State, name: TensorName, record: Record, design: Design) -> None:
    """A new record replaces an old one; in eager mode, once it has been computed."""
    row = s.tensors[name]
    if s.device.eager:
        return compute(s, bind(s, RESULT, record), replaces=row)
    if s.views is not None and not s.views.functional:
        s.payload.count("DestroyXlaTensor")
        return assign(s, name, record)
    if s.views is not None and name in s.views.objects:
        commit(s, name, place(s, record), design)
        return succeed(s)
    s.payload.count("DestroyXlaTensor")
    s.records[row] = record
    touch(s, name, design)
    return succeed(s)


def successor(s: State, old: Record) -> Record:
    """The record that replaces another in an in-place update."""
    record = fresh_record(s, old.shape, old.dtype)
    record.alias_id = chain_id(old)
    return record


def clone(s: State, a: Clone, design: Design) -> None:
    """A05. A new record that borrows the source's ir and is marked to get a buffer of its own."""
    # GUARD
    source = s.tensors[a.source]
    if not get_ir(s, source, design):  # A05.G1
        return fail(s, ErrorKind.LOST)
    # EFFECT
    old = s.records[source]
    record = fresh_record(s, old.shape, old.dtype)
    borrow(record, old)
    at_once = s.device.eager and design.eager_copies == EagerCopies.AT_ONCE
    record.is_cloned = old.ir == IrKind.LEAF and not at_once
    row = bind(s, a.out, record)
    if s.device.spmd:
        copy_specs(s, source, row, design)
    # OBSERVE
    return compute(s, row) if at_once else succeed(s)


def borrow(record: Record, source: Record) -> None:
    """Let a record's ir be the very ir of another record."""
    record.handle = NONE
    drop_host(record)
    record.ir, record.leaf, record.deps = source.ir, source.leaf, source.deps
    record.node, record.truth, record.defined = source.node, source.truth, source.defined
    record.hint = source.hint


def copy_into(s: State, a: CopyInto, design: Design) -> None:
    """A06. The target borrows the source's ir; without D11 nothing remembers whose it is (H-04)."""
    # GUARD
    target, source = s.tensors[a.target], s.tensors[a.source]
    if lost(s.records[target]) or not get_ir(s, source, design):  # A06.G1, A06.G2
        return fail(s, ErrorKind.LOST)
    # EFFECT
    record = s.records[target]
    if record.view is not None:
        return assign(s, a.target, s.records[source])
    own_leaf = target == source and not record.is_cloned
    borrow(record, s.records[source])
    if record.ir == IrKind.LEAF:
        record.alias_id = record.id
    record.is_cloned = design.borrow_is_flagged and record.ir == IrKind.LEAF and not own_leaf
    record.error = record.error if target == source else 0
    if s.device.spmd:
        copy_annotated(s, target, source, design)
    touch(s, a.target, design)
    # OBSERVE
    succeed(s)
    at_once = s.device.eager and design.eager_copies == EagerCopies.AT_ONCE
    if at_once and record.ir != IrKind.LEAF:
        call_about(s, CallKind.SYNC, [target]).force = True
    return None


def copy_from_host(s: State, a: CopyFromHost, design: Design) -> None:
    """A07. The record's value comes from the host from now on."""
    # GUARD
    record = s.record_of(a.target)
    if lost(record):  # A07.G1
        return fail(s, ErrorKind.LOST)
    # EFFECT
    if record.view is not None:
        return copy_into_view(s, a, design)
    record.error = 0
    record.truth = s.payload.host_array(a.value)
    put_host_data(s, record, a.upload, design)
    touch(s, a.target, design)
    # OBSERVE
    return succeed(s)


def copy_into_view(s: State, a: CopyFromHost, design: Design) -> None:
    """Host data for a view are sent at once, and are an update of its alias."""
    record = s.record_of(a.target)
    value = Record(id=record.id, shape=record.shape, dtype=record.dtype)
    value.truth = s.payload.host_array(a.value)
    put_host_data(s, value, True, design)
    assign(s, a.target, value)


def clear_pending(s: State, a: ClearPending, design: Design) -> None:
    """A18. Pending work is forgotten: leaves become handles, the rest placeholders for ever."""
    # EFFECT
    for record in s.records:
        if record.handle != NONE or record.ir == IrKind.NONE:
            continue
        if record.ir != IrKind.LEAF:
            record.handle = new_stub(s, record, design)
            record.defined, record.error = False, 0
        elif record.is_cloned and design.clear_pending_keeps_borrow:
            continue
        else:
            leaf_to_handle(record)
        set_ir_none(record)
        drop_host(record)
        record.view = None
    # OBSERVE
    succeed(s)
