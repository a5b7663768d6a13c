"""What can be seen of a state without changing it.

Source: semantics.md §2.1 (abstract states), torch_xla-hooks §2 (`_get_xla_tensor_debug_info`).
"""

from markstep.spec.ir import CONSTANT
from markstep.spec.rules.errors import will_be_filled
from markstep.spec.state import NONE, Record, State
from markstep.spec.vocabulary import (
    AbstractState,
    BufferStatus,
    IrKind,
    Observation,
    Sharding,
    TensorName,
    TensorView,
)


def observe(state: State) -> dict[TensorName, TensorView]:
    """The view of every tensor object."""
    return {name: view_of(state, state.records[row]) for name, row in state.tensors.items()}


def view_of(state: State, record: Record) -> TensorView:
    """The view of one record. A buffer is named only where its handle shows it."""
    buffer = state.buffers[record.handle] if record.handle != NONE else None
    visible = buffer is not None and buffer.status == BufferStatus.VALUE
    return TensorView(
        record=record.id,
        alias=record.alias_id,
        ir=ir_of(record),
        data=buffer.status if buffer is not None else BufferStatus.NONE,
        buffer=buffer.number if buffer is not None and visible else None,
        host=record.host,
        shape=record.shape,
        dtype=record.dtype,
        spec=record.spec,
        sharding=buffer.sharding if buffer is not None else Sharding.NONE,
    )


def ir_of(record: Record) -> IrKind:
    """What the record's ir is. To the rules a constant is an op like any other."""
    constant = record.node is not None and record.node.op == CONSTANT
    return IrKind.CONST if constant else record.ir


def outcome(state: State) -> Observation:
    """How the last action of the program ended."""
    return Observation(state.raised, state.value)


def abstract_state(state: State, record: Record) -> AbstractState:
    """The state of a record as semantics.md §2.1 names it."""
    if record.handle != NONE:
        return _state_of_handle(state, record.handle)
    if record.ir == IrKind.LEAF:
        if state.buffers[record.leaf].status == BufferStatus.DELETED:
            return AbstractState.GONE
        return AbstractState.LEAF_CLONED if record.is_cloned else AbstractState.LEAF
    if record.ir != IrKind.NONE:
        return AbstractState.IR
    return AbstractState.HOST if record.host else AbstractState.DEAD


def _state_of_handle(state: State, row: int) -> AbstractState:
    status = state.buffers[row].status
    if state.buffers[row].source:
        return AbstractState.HOST
    if status == BufferStatus.VALUE:
        return AbstractState.DATA
    if status == BufferStatus.DELETED:
        return AbstractState.GONE
    return AbstractState.PENDING if will_be_filled(state, row) else AbstractState.STUB
