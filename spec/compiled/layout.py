"""A canonical state as a few bytes: which control field lies in which bits.

Rows that are not there are all zero. What is always the same in a canonical state is not stored:
a record's own id, whether it is live (some name points at it), how the last call ended, and what
stands still without SPMD mode.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from markstep.spec.proofs.states import TYPES
from markstep.spec.search.canonical import with_orders
from markstep.spec.sorts import Sort, mode_fields, sorts
from markstep.spec.state import (
    NONE,
    Buffer,
    Call,
    CallKind,
    Device,
    Execution,
    Phase,
    Record,
    State,
)
from markstep.spec.vocabulary import TensorName

FOREIGN_OWNER = -2
"""The owner slot names a record that no live record descends from."""
CONTROL = ("call.phase", "execution.running", "device.crashed")
"""What says which moves there are; together they are the first byte."""
WORD = 8
"""A packed state is a whole number of words of so many bytes."""
MOST_ROWS = 8
"""A mask of rows has room in a byte."""
IMPLIED = ("live", "id")
"""Fields of a record that are not stored."""

Get: TypeAlias = Callable[[str], Any]


@dataclass(frozen=True)
class Place:
    """Where the value of a field lies."""

    byte: int
    shift: int
    bits: int
    least: int
    """The value that is stored as 0."""


@dataclass(frozen=True)
class Layout:
    """The fields of every state with so many rows, and where they lie."""

    records: int
    buffers: int
    counted: bool = False
    """The last byte says how many calls there were on the way to the state."""
    _places: dict[str, Place] = field(default_factory=dict, compare=False)

    @property
    def names(self) -> int:
        """So many names can share a record, and so many can be given out in one step."""
        return self.records

    @property
    def next_record_id(self) -> int:
        """An id that no record, alias or owner has in a canonical state."""
        return 2 * self.records + 1

    @property
    def next_execution_id(self) -> int:
        """One that no error and no execution has in a canonical state."""
        return self.records + 2

    def domain(self, path: str) -> range:
        """Every value that a field has in canonical states."""
        part, _, name = path.rpartition(".")
        if name == "names":
            return range(self.names + 1)
        if name == "owner":
            return range(FOREIGN_OWNER, self.next_record_id)
        sort = Sort.RECORDS if not part else SORTS[part.rstrip("0123456789")][name]
        finite: dict[Sort, range] = {
            Sort.BOOL: range(2),
            Sort.BUFFER: range(NONE, self.buffers),
            Sort.RECORD: range(NONE, self.records),
            Sort.BUFFERS: range(1 << self.buffers),
            Sort.RECORDS: range(1 << self.records),
            Sort.RECORD_ID: range(self.next_record_id),
            Sort.EXECUTION_ID: range(self.next_execution_id),
            Sort.CALL: range(CallKind.MARK),
        }
        return finite[sort] if sort in finite else range(len(TYPES[sort]))  # type: ignore[arg-type]

    def groups(self) -> Iterator[list[str]]:
        """Fields that share bytes: what says what can happen, each row, the rest."""
        yield list(CONTROL)
        for r in range(self.records):
            yield [f"record{r}.{name}" for name in RECORD_FIELDS]
        for b in range(self.buffers):
            yield [f"buffer{b}.{name}" for name in SORTS["buffer"]]
        rest = [f"{p}.{n}" for p in ("execution", "device", "call") for n in SORTS[p]]
        yield [path for path in ("lost", *rest) if path not in CONTROL]

    @cached_property
    def places(self) -> dict[str, Place]:
        """Where each field lies: the widest fields first, each in the first byte with room."""
        found: dict[str, Place] = {}
        start = 0
        for group in self.groups():
            room: list[int] = []
            widths = {path: (len(self.domain(path)) - 1).bit_length() for path in group}
            for path in sorted(group, key=lambda path: -widths[path]):
                bits = widths[path]
                at = next((i for i, used in enumerate(room) if used + bits <= 8), len(room))
                if at == len(room):
                    room.append(0)
                found[path] = Place(start + at, room[at], bits, self.domain(path).start)
                room[at] += bits
            start += len(room)
        return found

    def loose(self, spare: int) -> dict[str, int]:
        """Every field after a step, with rows to spare, before it is renamed: its number."""
        rows = [f"record{r}" for r in range(self.records)]
        paths = [f"{row}.{name}" for row in rows for name in ("live", "id", *RECORD_FIELDS)]
        parts = [f"buffer{b}" for b in range(self.buffers + spare)]
        for part in (*parts, "execution", "device", "call"):
            paths += [f"{part}.{name}" for name in SORTS[part.rstrip("0123456789")]]
        return {path: i for i, path in enumerate(("lost", "used", *paths))}

    @cached_property
    def bytes(self) -> int:
        """Bytes of a packed state that hold something."""
        return 1 + max(place.byte for place in self.places.values())

    @property
    def size(self) -> int:
        """Bytes of a packed state."""
        return -(-(self.bytes + self.counted) // WORD) * WORD


SORTS = {
    cls.__name__.lower(): {n: sort for n, sort in sorts(cls).items() if n not in mode_fields(cls)}
    for cls in (Record, Buffer, Execution, Device, Call)
}
RECORD_FIELDS = ("names", *(name for name in SORTS["record"] if name not in IMPLIED))


def pack_state(layout: Layout, state: State) -> bytes:
    """A canonical state as bytes."""
    packed = bytearray(layout.size)

    def put(path: str, value: int) -> None:
        place = layout.places[path]
        code = int(value) - place.least
        if not 0 <= code < 1 << place.bits:
            raise ValueError(f"{path} = {value} does not fit")
        packed[place.byte] |= code << place.shift

    put("lost", state.lost)
    for r, record in enumerate(state.records):
        put(f"record{r}.names", sum(row == r for row in state.tensors.values()))
        for name in RECORD_FIELDS[1:]:
            put(f"record{r}.{name}", getattr(record, name))
    parts: dict[str, Any] = {f"buffer{b}": buffer for b, buffer in enumerate(state.buffers)}
    parts |= {"execution": state.execution, "device": state.device, "call": state.call}
    for part, row in parts.items():
        for name in SORTS[part.rstrip("0123456789")]:
            put(f"{part}.{name}", getattr(row, name))
    return bytes(packed)


def unpack_state(layout: Layout, packed: bytes) -> State:
    """The state that was packed, without rows that are not there. Buffer rows in use come first."""

    def get(path: str) -> int:
        place = layout.places[path]
        return (packed[place.byte] >> place.shift & (1 << place.bits) - 1) + place.least

    def row(cls: type, part: str, names: Any, **fixed: Any) -> Any:
        table = SORTS[part.rstrip("0123456789")]
        kinds = {name: TYPES.get(table[name], int) for name in names}
        return cls(**{name: kinds[name](get(f"{part}.{name}")) for name in names}, **fixed)

    state = State(lost=get("lost"))
    for r in range(layout.records):
        if count := get(f"record{r}.names"):
            record = row(Record, f"record{r}", RECORD_FIELDS[1:], live=True, id=r + 1)
            state.records.append(record)
            for _ in range(count):
                state.tensors[TensorName(len(state.tensors))] = r
    parts = [(Buffer, f"buffer{b}") for b in range(layout.buffers)]
    state.buffers = [row(cls, part, SORTS["buffer"]) for cls, part in parts]
    while state.buffers and state.buffers[-1].status == 0:
        state.buffers.pop()
    state.execution = row(Execution, "execution", SORTS["execution"])
    state.device = row(Device, "device", SORTS["device"])
    state.call = row(Call, "call", SORTS["call"])
    state.next_record_id = layout.next_record_id
    state.next_execution_id = layout.next_execution_id
    return with_orders(state)


def initial(layout: Layout) -> bytes:
    """The first state."""
    return pack_state(layout, State())


def phase_of(control: int, layout: Layout) -> tuple[Phase, bool, bool]:
    """(phase, whether something runs, whether the process died) of a first byte."""
    values = []
    for path in CONTROL:
        place = layout.places[path]
        values.append(control >> place.shift & (1 << place.bits) - 1)
    return Phase(values[0]), bool(values[1]), bool(values[2])
