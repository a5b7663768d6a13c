"""Records and the tensor objects that show them.

Source: XLATensor::Create, XLAGraphExecutor::RegisterTensor; semantics.md §1.2.
"""

from markstep.spec.evaluator import Value
from markstep.spec.state import NONE, Record, State
from markstep.spec.strides import gathered, scattered
from markstep.spec.vocabulary import DType, IrKind, TensorName


def fresh_record(s: State, shape: tuple[int, ...], dtype: DType) -> Record:
    """A record with a new id and nothing in it (C++: XLATensor::Create registers it)."""
    s.payload.count("CreateXlaTensor")
    record = Record(live=True, id=s.next_record_id, alias_id=s.next_record_id)
    record.shape, record.dtype = shape, dtype
    s.next_record_id += 1
    return record


def temporary_records(s: State, how_many: int) -> None:
    """Records that live only inside one call, such as a wrapped number; each uses up an id."""
    s.payload.count("CreateXlaTensor", how_many)
    s.payload.count("DestroyXlaTensor", how_many)
    s.next_record_id += how_many


def bind(s: State, name: TensorName, record: Record) -> int:
    """Let a new tensor object point at a record; the record's row."""
    s.tensors[name] = place(s, record)
    return s.tensors[name]


def place(s: State, record: Record) -> int:
    """The row of a record that has none yet: the first that is free."""
    row = next((r for r, old in enumerate(s.records) if not old.live), len(s.records))
    if row == len(s.records):
        s.records.append(record)
    else:
        s.records[row] = record
    return row


def lost(record: Record) -> bool:
    """DEAD: the record has no source of a value."""
    return record.handle == NONE and record.ir == IrKind.NONE and not record.host


def chain_id(old: Record) -> int:
    """The alias_id of what replaces a record in an in-place update: whose buffer it grew from."""
    has_buffer = old.handle != NONE or old.ir == IrKind.LEAF
    return old.id if has_buffer else old.alias_id


def write_through(s: State, name: TensorName, value: Value | None) -> None:
    """Ghost: eager execution writes a new value of a tensor object into its storage."""
    if s.views is None or name not in s.views.objects:
        return
    known = s.views.objects[name]
    before = s.views.memory[known.memory]
    s.views.memory[known.memory] = scattered(before, known.layout.indices(), value)
    recall(s, known.memory)


def recall(s: State, memory: int) -> None:
    """Ghost: what each object of a storage of eager execution means."""
    assert s.views is not None
    for name, known in s.views.objects.items():
        if known.memory == memory:
            record = s.records[s.tensors[name] if name in s.tensors else s.views.hidden[name]]
            record.truth = gathered(s.views.memory[memory], known.layout.indices())
