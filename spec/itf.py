"""States of the machine as values of the Informal Trace Format (ITF) of Apalache and Quint.

What is written is every control field of the state, and what can be seen of each tensor. Values of
arrays that are not integers are written as strings, because ITF knows no other numbers.
"""

import re
from collections.abc import Iterable
from enum import Enum, IntEnum
from typing import Any, TypeAlias

from markstep.spec.machine import AnyAction
from markstep.spec.observe import abstract_state, observe, outcome
from markstep.spec.sorts import Sort, sorts
from markstep.spec.state import State, rows
from markstep.spec.vocabulary import ErrorKind, Number, Observation, TensorView

Json: TypeAlias = Any
"""What the json module reads and writes: None, bool, int, float, str, list, dict."""

VARS = ("action", "outcome", "tensors", "records", "buffers", "execution", "device", "call")
SAFE = 2**53 - 1
"""The largest integer that every reader of JSON takes exactly."""
MAX_DIGITS = 400
MAX_DEPTH = 40


class BadValue(Exception):
    """A value is not ITF. Carries the place inside the value and what is wrong."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(path, what)
        self.path, self.what = path, what


def integer(value: int) -> Json:
    """An integer: a JSON number if every reader takes it exactly."""
    return value if -SAFE <= value <= SAFE else {"#bigint": str(value)}


def read_integer(value: Json, path: str) -> int:
    """The integer that `integer` wrote. Raises BadValue."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, dict) and value.keys() == {"#bigint"}:
        digits = value["#bigint"]
        if isinstance(digits, str) and re.fullmatch(rf"-?[0-9]{{1,{MAX_DIGITS}}}", digits):
            return int(digits)
        raise BadValue(path, f'"#bigint" must be 1 to {MAX_DIGITS} decimal digits')
    raise BadValue(path, f"an integer is expected, not {kind_of(value)}")


def kind_of(value: Json) -> str:
    """What a JSON value is, for messages."""
    kinds = {bool: "a boolean", int: "an integer", float: "a fraction", str: "a string"}
    kinds |= {list: "a list", dict: "an object", type(None): "null"}
    return kinds.get(type(value), type(value).__name__)


# ---- writing --------------------------------------------------------------------------------


def state_to_itf(index: int, action: AnyAction | None, state: State, enabled: bool = True) -> Json:
    """State ``index`` of a trace: the state after ``action``."""
    return {
        "#meta": {"index": index},
        "action": action_to_itf(action),
        "outcome": outcome_to_itf(outcome(state), enabled),
        "tensors": {"#map": [[n, tensor_to_itf(state, n, v)] for n, v in observe(state).items()]},
        "records": [row_to_itf(record) for record in state.records],
        "buffers": [row_to_itf(buffer) for buffer in state.buffers],
        "execution": row_to_itf(state.execution),
        "device": row_to_itf(state.device),
        "call": row_to_itf(state.call),
    }


def action_to_itf(action: AnyAction | None) -> Json:
    """A variant: the class of the action and its fields. None stands before the first action."""
    if action is None:
        return {"tag": "Init", "value": {}}
    slots: Iterable[str] = type(action).__slots__
    return {
        "tag": type(action).__name__,
        "value": {name: plain_to_itf(getattr(action, name)) for name in slots},
    }


def outcome_to_itf(ended: Observation, enabled: bool) -> Json:
    """A record that has the same fields however the action ended."""
    value = ended.value if enabled else None
    arrays = _arrays(value)
    answer = "" if value is None or arrays is not None else _answer(value)
    return {
        "enabled": enabled,
        "error": (ended.error if enabled else ErrorKind.NONE).value,
        "arrays": [plain_to_itf(array) for array in arrays or ()],
        "answer": answer,
    }


def tensor_to_itf(state: State, name: Any, view: TensorView) -> Json:
    """What can be seen of a tensor, the row of its record, and what it means."""
    row = state.tensors[name]
    record = state.records[row]
    return {
        "row": row,
        "state": abstract_state(state, record).value,
        "record": view.record,
        "alias": view.alias,
        "ir": view.ir.name,
        "data": view.data.name,
        "buffer": -1 if view.buffer is None else view.buffer,
        "host": view.host,
        "shape": plain_to_itf(view.shape),
        "dtype": view.dtype.value,
        "spec": view.spec.name,
        "sharding": view.sharding.name,
        "meaning": plain_to_itf(record.truth),
    }


def row_to_itf(row: Any) -> Json:
    """The control fields of a row; masks as sets of rows."""
    return {name: _control(sort, getattr(row, name)) for name, sort in sorts(type(row)).items()}


def plain_to_itf(value: object) -> Json:
    """A field of an action: an optional number as a list of none or one, a fraction as a string."""
    if value is None:
        return []
    if isinstance(value, IntEnum):
        return value.name.lower()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bool | str):
        return value
    if isinstance(value, tuple):
        return [_number(item) for item in value]
    return _number(value)


def _number(value: Any) -> Json:
    if isinstance(value, float):
        return integer(int(value)) if value.is_integer() else repr(value)
    return integer(value)


def _control(sort: Sort, value: Any) -> Json:
    if sort in (Sort.BUFFERS, Sort.RECORDS):
        return {"#set": list(rows(value))}
    return value.name if isinstance(value, Enum) else value


def _arrays(value: object) -> tuple[tuple[Number, ...] | None, ...] | None:
    """The arrays that a read gave, or None if the action gave something else."""
    if not isinstance(value, tuple):
        return None
    if all(isinstance(item, int | float) for item in value):
        return (value,)
    one_each = all(
        item is None or (isinstance(item, tuple) and all(isinstance(x, int | float) for x in item))
        for item in value
    )
    return value if one_each else None


def _answer(value: object) -> str:
    return str(value) if isinstance(value, bool | int | str) else "(opaque)"


# ---- reading --------------------------------------------------------------------------------


def check_state(state: Json, index: int, path: str) -> None:
    """Raise BadValue unless this is state ``index`` of a trace of ours."""
    if not isinstance(state, dict):
        raise BadValue(path, f"a state must be an object, not {kind_of(state)}")
    if state.get("#meta") != {"index": index}:
        raise BadValue(f'{path}["#meta"]', f'must be {{"index": {index}}}')
    if missing := [name for name in VARS if name not in state]:
        raise BadValue(path, f"variable {missing[0]!r} is missing")
    for name, value in state.items():
        if name == "#meta":
            continue
        if name not in VARS:
            raise BadValue(path, f"unknown variable {name!r}")
        check_value(value, f"{path}.{name}")


def check_value(value: Json, path: str, depth: int = 0) -> None:
    """Raise BadValue unless this is an ITF value."""
    if depth > MAX_DEPTH:
        raise BadValue(path, f"nested more than {MAX_DEPTH} deep")
    if isinstance(value, bool | int | str):
        return
    if isinstance(value, list):
        for i, item in enumerate(value):
            check_value(item, f"{path}[{i}]", depth + 1)
    elif isinstance(value, dict):
        _check_object(value, path, depth)
    else:
        raise BadValue(path, f"{kind_of(value)} is not an ITF value")


def _check_object(value: dict[str, Json], path: str, depth: int) -> None:
    special = [key for key in value if key.startswith("#")]
    if not special:
        for key, item in value.items():
            check_value(item, f"{path}.{key}", depth + 1)
        return
    if len(value) != 1 or special[0] not in ("#bigint", "#tup", "#set", "#map"):
        raise BadValue(path, f"unknown ITF form {special[0]!r}")
    inside = value[special[0]]
    if special[0] == "#bigint":
        read_integer(value, path)
        return
    if not isinstance(inside, list):
        raise BadValue(path, f"{special[0]!r} must hold a list, not {kind_of(inside)}")
    pairs = special[0] == "#map"
    if pairs and not all(isinstance(pair, list) and len(pair) == 2 for pair in inside):
        raise BadValue(path, '"#map" must hold pairs')
    check_value(inside, path, depth + 1)
