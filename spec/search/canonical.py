"""Canonical form of a control state: names of records, buffers, ids and executions do not matter.

Two states that differ only by a renaming have the same future, since no rule looks at a name but to
compare it. Records and buffers are permuted to the least key; ids become small numbers. Rows that
nothing refers to are dropped, and so is the payload. Source: design.md §3, §8.1 of semantics.md.

One ordering is given up: a barrier collects in registration order, and the erased payload takes
row order instead. It matters only for how far a collection that raises has come: whether other
records already show their own leaf as handle, which is the same source of the same value.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product
from operator import attrgetter
from typing import Any, TypeVar

from markstep.spec.rules.transfer import buffers_in_use
from markstep.spec.sorts import Sort, sorts
from markstep.spec.state import (
    NO_OWNER,
    NONE,
    SCALAR_OWNER,
    Buffer,
    Call,
    Device,
    Execution,
    Record,
    State,
    bit,
    rows,
)
from markstep.spec.vocabulary import TensorName

_FOREIGN_OWNER = -2
"""The owner slot names a record that no live record descends from: it can never match again."""

_SORTS: dict[type, dict[str, Sort]] = {
    cls: sorts(cls) for cls in (Record, Buffer, Execution, Device, Call)
}
_FIELDS = {cls: tuple(table) for cls, table in _SORTS.items()}
_GETTERS: dict[type, Any] = {cls: attrgetter(*fields) for cls, fields in _FIELDS.items()}
_REFERENCES = {
    cls: {
        i: sort
        for i, sort in enumerate(table.values())
        if sort
        in (Sort.BUFFER, Sort.RECORD, Sort.BUFFERS, Sort.RECORDS, Sort.RECORD_ID, Sort.EXECUTION_ID)
    }
    for cls, table in _SORTS.items()
}

Key = tuple[int, ...]
Color = tuple[Any, ...]
_SHIFT = 3
"""Makes the least control value, _FOREIGN_OWNER, a positive number."""
Row = TypeVar("Row", Record, Buffer, Execution, Device, Call)


@dataclass(frozen=True, slots=True)
class Canonical:
    """A state up to renaming."""

    key: Key
    """Equal for states that differ only by a renaming."""
    record_order: list[int]
    """The old row of each new record row."""
    buffer_order: list[int]
    """The old row of each new buffer row."""


def canonical(state: State) -> Canonical:
    """The least key over all renamings, and the renaming that gives it."""
    live = [r for r, record in enumerate(state.records) if record.live]
    used = list(rows(buffers_in_use(state)))
    record_colors = {r: _record_color(state, r) for r in live}
    buffer_colors = {b: _buffer_color(state, b, record_colors) for b in used}
    orders = [
        (record_order, buffer_order)
        for record_order in _orders(live, record_colors)
        for buffer_order in _orders(used, buffer_colors)
    ]
    keys = [_key(state, *order) for order in orders]
    best = min(range(len(orders)), key=keys.__getitem__)
    return Canonical(keys[best], *orders[best])


def _orders(items: list[int], colors: dict[int, Color]) -> Iterator[list[int]]:
    """Every order of the items that respects their colors."""
    groups: dict[Color, list[int]] = {}
    for item in sorted(items, key=lambda i: colors[i]):
        groups.setdefault(colors[item], []).append(item)
    for choice in product(*(permutations(group) for group in groups.values())):
        yield [item for group in choice for item in group]


def _record_color(s: State, r: int) -> Color:
    """What can be said of a record without naming another row."""
    record, call = s.records[r], s.call
    shape = [
        value for i, value in enumerate(_GETTERS[Record](record)) if i not in _REFERENCES[Record]
    ]
    masks = (call.members, call.uploads, call.outputs, call.borrowers, s.lost)
    marks = [mask >> r & 1 for mask in (*masks, s.device.stored_about)]
    names = sum(row == r for row in s.tensors.values())
    return (
        tuple(shape),
        tuple(marks),
        names,
        record.handle == NONE,
        record.handle == record.leaf,
        record.deps.bit_count(),
        record.alias_id == record.id,
        record.error != 0,
        call.target == r,
        call.replaces == r,
    )


def _buffer_color(s: State, b: int, record_colors: dict[int, Color]) -> Color:
    """What can be said of a buffer: its own fields and who refers to it how."""
    buffer, e, c = s.buffers[b], s.execution, s.call
    shape = [
        value for i, value in enumerate(_GETTERS[Buffer](buffer)) if i not in _REFERENCES[Buffer]
    ]
    masks = (e.outputs, e.refills, e.params, e.donors, c.params, c.donors)
    users = sorted(
        (color, s.records[r].handle == b, s.records[r].leaf == b, s.records[r].deps >> b & 1)
        for r, color in record_colors.items()
    )
    recipes = sum(other.recipe_leaf == b or other.recipe_deps >> b & 1 for other in s.buffers)
    marks = tuple(mask >> b & 1 for mask in masks)
    return (tuple(shape), marks, tuple(users), recipes, buffer.owner in (NO_OWNER, SCALAR_OWNER))


class _Naming:
    """One way to rename the rows and ids of a state."""

    def __init__(self, s: State, record_order: list[int], buffer_order: list[int]) -> None:
        self.record = {old: new for new, old in enumerate(record_order)}
        self.buffer = {old: new for new, old in enumerate(buffer_order)}
        self.id = {s.records[r].id: i + 1 for i, r in enumerate(record_order)}
        for r in record_order:
            self.id.setdefault(s.records[r].alias_id, len(self.id) + 1)
        failures = {s.records[r].error for r in record_order} | {s.execution.id}
        self.execution = {old: new for new, old in enumerate(sorted(failures | {0}))}

    def of(self, value: int, sort: Sort) -> int:
        """The new name of a value of a reference sort."""
        if sort == Sort.BUFFER:
            return self.buffer.get(value, NONE)
        if sort == Sort.RECORD:
            return self.record.get(value, NONE)
        if sort == Sort.BUFFERS:
            return sum(bit(self.buffer[row]) for row in rows(value) if row in self.buffer)
        if sort == Sort.RECORDS:
            return sum(bit(self.record[row]) for row in rows(value) if row in self.record)
        if sort == Sort.EXECUTION_ID:
            return self.execution[value]
        if value in (NO_OWNER, SCALAR_OWNER):
            return value
        return self.id.get(value, _FOREIGN_OWNER)

    def row(self, row: Any) -> list[Any]:
        """The control fields of a row under the new names."""
        cls = type(row)
        values = list(_GETTERS[cls](row))
        for i, sort in _REFERENCES[cls].items():
            values[i] = self.of(values[i], sort)
        return values


def _key(s: State, record_order: list[int], buffer_order: list[int]) -> Key:
    naming = _Naming(s, record_order, buffer_order)
    names = [sum(row == r for row in s.tensors.values()) for r in record_order]
    parts = [naming.row(s.records[r]) for r in record_order]
    parts += [naming.row(s.buffers[b]) for b in buffer_order]
    parts += [naming.row(s.execution), naming.row(s.device), naming.row(s.call)]
    flat = [value for part in parts for value in part]
    lost = naming.of(s.lost, Sort.RECORDS)
    return (len(record_order), len(buffer_order), lost, *names, *flat)


def pack(form: Canonical) -> bytes:
    """A canonical key as bytes: within a bound every control value is a small number."""
    return bytes([value + _SHIFT for value in form.key])


def unpack(packed: bytes) -> State:
    """The canonical state that a packed key stands for, without payload."""
    values = iter([value - _SHIFT for value in packed])
    record_count, buffer_count, lost = next(values), next(values), next(values)
    tensors: dict[TensorName, int] = {}
    for row in range(record_count):
        for _ in range(next(values)):
            tensors[TensorName(len(tensors))] = row

    def taken(cls: type[Row]) -> Row:
        fields: dict[str, Any] = {name: next(values) for name in _FIELDS[cls]}
        return cls(**fields)

    state = State(
        records=[taken(Record) for _ in range(record_count)],
        buffers=[taken(Buffer) for _ in range(buffer_count)],
        execution=taken(Execution),
        device=taken(Device),
        call=taken(Call),
        tensors=tensors,
        lost=lost,
    )
    names = [id for record in state.records for id in (record.id, record.alias_id)]
    state.next_record_id = max(names, default=0) + 1
    failures = [record.error for record in state.records]
    state.next_execution_id = max([*failures, state.execution.id]) + 1
    return with_orders(state)


def with_orders(state: State) -> State:
    """Give a running call its lists, which are payload: rows ascending, new names at the end."""
    call, taken = state.call, len(state.tensors)
    call.order = tuple(rows(call.members))
    call.output_order = tuple(rows(call.outputs))
    call.outs = tuple(TensorName(taken + i) for i in range(len(call.order)))
    return state


def tensors_in_order(s: State, record_order: list[int]) -> list[TensorName]:
    """The tensor names of a state in the order in which `canonical` renumbers them."""
    by_row: dict[int, list[TensorName]] = {r: [] for r in record_order}
    for name, row in s.tensors.items():
        by_row[row].append(name)
    return [name for r in record_order for name in by_row[r]]
