"""What changed between two states of the law, and nothing else."""

from collections.abc import Iterator
from enum import IntEnum
from typing import Any

from markstep.conformance.show import array, tensor
from markstep.spec.evaluator import Value
from markstep.spec.observe import abstract_state
from markstep.spec.sorts import Sort, sorts
from markstep.spec.state import NONE, Buffer, CallKind, Phase, Record, State, rows
from markstep.spec.vocabulary import BufferStatus, IrKind

LONG_ARRAY = 8
"""Arrays with more elements than this are cut."""


def diff_states(before: State, after: State) -> list[str]:
    """One line per tensor, buffer record or part of the device that changed."""
    return [
        *_tensors(before, after),
        *_dropped(before, after),
        *_buffers(before, after),
        *_part("execution", before.execution, after.execution),
        *_part("device", before.device, after.device),
        *_part("call", before.call, after.call),
        *_counters(before, after),
    ]


def _tensors(before: State, after: State) -> Iterator[str]:
    known = set(before.tensors.values())
    for row in dict.fromkeys(after.tensors.values()):
        shared = "=".join(tensor(n) for n, r in after.tensors.items() if r == row)
        record = after.records[row]
        if row not in known:
            yield f"{shared}: new, {describe(after, record)}"
            continue
        if any(n not in before.tensors for n, r in after.tensors.items() if r == row):
            yield f"{shared}: one record"
        if changes := _record_changes(before, after, row):
            yield f"{shared}: {', '.join(changes)}"


def _record_changes(before: State, after: State, row: int) -> list[str]:
    old, new = before.records[row], after.records[row]
    states = abstract_state(before, old), abstract_state(after, new)
    changes = [f"{states[0]} → {states[1]}"] if states[0] != states[1] else []
    changes += _fields(old, new, skip=("live", "defined", "host_exposed"))
    changes += _arrays(old, new, {"truth": "meaning", "host_value": "host copy"})
    return changes


def describe(state: State, record: Record) -> str:
    """A record in a few words: its state, where its value is, what it means."""
    parts = [str(abstract_state(state, record))]
    if record.handle != NONE:
        parts.append(f"handle buffer {record.handle}")
    if record.reads:
        parts.append(f"reads {_shown(Sort.BUFFERS, record.reads)}")
    if record.host:
        parts.append("host copy")
    if record.truth is not None:
        parts.append(f"meaning {_array(record.truth, record.shape)}")
    return ", ".join(parts)


def _dropped(before: State, after: State) -> Iterator[str]:
    for name in before.tensors:
        if name not in after.tensors:
            yield f"{tensor(name)}: dropped"


def _buffers(before: State, after: State) -> Iterator[str]:
    for row, new in enumerate(after.buffers):
        old = before.buffers[row] if row < len(before.buffers) else Buffer()
        changes = _fields(old, new) + _arrays(old, new, {"contents": "contents"})
        if changes:
            yield f"buffer {row}: {', '.join(changes)}"


def _part(name: str, old: Any, new: Any) -> Iterator[str]:
    if changes := _fields(old, new):
        yield f"{name}: {', '.join(changes)}"


def _fields(old: Any, new: Any, skip: tuple[str, ...] = ()) -> list[str]:
    """The control fields that differ."""
    return [
        f"{name} {_shown(sort, getattr(old, name))} → {_shown(sort, getattr(new, name))}"
        for name, sort in sorts(type(new)).items()
        if name not in skip and getattr(old, name) != getattr(new, name)
    ]


def _arrays(old: Any, new: Any, names: dict[str, str]) -> list[str]:
    """The array-valued fields that differ."""
    return [
        f"{text} {_array(getattr(old, name), old.shape)} → {_array(getattr(new, name), new.shape)}"
        for name, text in names.items()
        if getattr(old, name) != getattr(new, name)
    ]


def _counters(before: State, after: State) -> Iterator[str]:
    old: dict[str, int] = getattr(before.payload, "counters", {})
    new: dict[str, int] = getattr(after.payload, "counters", {})
    moved = {name: new[name] - old.get(name, 0) for name in new if new[name] != old.get(name, 0)}
    if moved:
        yield f"counters: {', '.join(f'{name} {by:+d}' for name, by in moved.items())}"


WORDS: dict[Sort, type[IntEnum]] = {
    Sort.IR_KIND: IrKind,
    Sort.BUFFER_STATUS: BufferStatus,
    Sort.CALL: CallKind,
    Sort.PHASE: Phase,
}
"""Sorts whose values have names; the states of a search hold the numbers."""
ARRAYS = {"truth": "meaning", "host_value": "host copy", "contents": "contents"}
"""Fields that hold arrays, and what they are called."""


def shown_fields(row: Any) -> dict[str, str]:
    """Every control field and array of a record, a buffer record, the device or a call as text."""
    shown = {name: _shown(sort, getattr(row, name)) for name, sort in sorts(type(row)).items()}
    arrays = {text: getattr(row, name) for name, text in ARRAYS.items() if hasattr(row, name)}
    return shown | {text: _array(value, row.shape) for text, value in arrays.items()}


def _shown(sort: Sort, value: Any) -> str:
    """A control value as text."""
    if sort in (Sort.BUFFERS, Sort.RECORDS):
        return f"{{{', '.join(map(str, rows(value)))}}}"
    if sort in (Sort.BUFFER, Sort.RECORD):
        return "none" if value == NONE else f"{sort.value.split()[0]} {value}"
    if sort in WORDS:
        return WORDS[sort](value).name
    return str(bool(value) if sort == Sort.BOOL else value)


def _array(value: Value | None, shape: tuple[int, ...]) -> str:
    if value is None:
        return "none"
    if len(value) > LONG_ARRAY:
        return f"[{', '.join(map(str, value[:LONG_ARRAY]))}, … {len(value)} elements]"
    try:
        return array(value, shape)
    except IndexError:
        return str(list(value))
