"""Traces: a program with the states that the law gives it, as one file.

The file is ITF JSON with one more key, `markstep`; docs/reference/trace-format.md describes it.
A file is untrusted input: it is decoded by the types of the fields of the action classes and by
nothing else, and the first thing that is not as described is a TraceError.
"""

import json
import types
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields, replace
from enum import Enum, IntEnum
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from markstep.spec import SPEC_VERSION
from markstep.spec.design import Design
from markstep.spec.itf import (
    VARS,
    BadValue,
    Json,
    check_state,
    integer,
    kind_of,
    read_integer,
    state_to_itf,
)
from markstep.spec.machine import ACTIONS, AnyAction, rule_of, step
from markstep.spec.named_designs import DESIGNS
from markstep.spec.schedule import Observer, initial_state, perform
from markstep.spec.state import Phase, State

FORMAT = 1
"""Version of the `markstep` block; a reader refuses a higher one."""
SUFFIX = ".itf.json"
MAX_BYTES = 64 * 2**20

BY_NAME: dict[str, type] = {cls.__name__: cls for cls in ACTIONS}
"""The action table: the only classes that a file can name."""


class TraceError(ValueError):
    """A trace file is not as it should be: file, place in it, what is wrong, what to do."""

    def __init__(self, source: str, path: str, what: str, advice: str = "") -> None:
        where = f"{source}: {path}" if path else source
        super().__init__(f"{where}: {what}" + (f"; {advice}" if advice else ""))


@dataclass(frozen=True)
class Trace:
    """A program, where it comes from, and the states that the law gave it."""

    actions: tuple[AnyAction, ...]
    design: str = "sound"
    adapter: str | None = None
    seed: int | None = None
    profile: str | None = None
    ids: tuple[str, ...] = ()
    spec_version: str = SPEC_VERSION
    states: tuple[Json, ...] = ()
    """ITF values: the state before the first action, and the one after each."""

    @property
    def by_small_steps(self) -> bool:
        """Whether the phases of each call, and the facts they met, are part of the program."""
        return any(rule_of(type(action)).phase != Phase.IDLE for action in self.actions)

    def run(
        self, observer: Observer | None = None
    ) -> Iterator[tuple[State, AnyAction, State | None]]:
        """Before, action, after, for each action; None: the law does not allow it there."""
        take = small_step if self.by_small_steps else perform
        state = self.start
        for action in self.actions:
            after = take(state, action, DESIGNS[self.design], observer)
            yield state, action, after
            state = state if after is None else after

    @property
    def start(self) -> State:
        """The state before the first action. Small steps carry no payload."""
        return State() if self.by_small_steps else initial_state()

    def with_states(self) -> "Trace":
        """The same program with the states that the law gives it now."""
        states = [state_to_itf(0, None, self.start)]
        for i, (before, action, after) in enumerate(self.run(), 1):
            states.append(state_to_itf(i, action, after or before, enabled=after is not None))
        return replace(self, states=tuple(states))


def small_step(
    state: State, action: AnyAction, design: Design, observer: Observer | None = None
) -> State | None:
    """As `perform`, but of one small step."""
    after = step(state, action, design)
    if after is not None and observer is not None:
        observer(state, action, after)
    return after


# ---- writing --------------------------------------------------------------------------------


def dumps(trace: Trace) -> str:
    """The text of a trace file. One line per state and per action, so that files compare well."""
    whole = trace if trace.states else trace.with_states()
    about = {"format": "ITF", "description": f"markstep {trace.design}: {' '.join(trace.ids)}"}
    lines = [
        f'{{\n"#meta": {_compact(about)},',
        f'"vars": {_compact(list(VARS))},',
        f'"states": [\n{_lines(whole.states)}\n],',
        f'"markstep": {_block(trace)}\n}}\n',
    ]
    return "\n".join(lines)


def _block(trace: Trace) -> str:
    block = {
        "format": FORMAT,
        "spec_version": trace.spec_version,
        "design": trace.design,
        "adapter": trace.adapter,
        "seed": None if trace.seed is None else integer(trace.seed),
        "profile": trace.profile,
        "ids": list(trace.ids),
    }
    head = _compact(block)[:-1]
    return f'{head}, "actions": [\n{_lines(map(encode_action, trace.actions))}\n]}}'


def _lines(values: Any) -> str:
    return ",\n".join(map(_compact, values))


def _compact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def encode_action(action: AnyAction) -> Json:
    """An action as a JSON object: its class and its fields."""
    values = {f.name: _encode(getattr(action, f.name)) for f in fields(action)}
    return {"action": type(action).__name__, **values}


def _encode(value: object) -> Json:
    if isinstance(value, IntEnum):
        return value.name.lower()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bool | float | str) or value is None:
        return value
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    if isinstance(value, int):
        return integer(value)
    raise TypeError(f"{value!r} has no place in a trace")


# ---- reading --------------------------------------------------------------------------------


def read_trace(path: Path) -> Trace:
    """The trace in a file. Raises TraceError."""
    source = str(path)
    if path.exists() and not path.is_file():  # to open a pipe may wait for ever
        raise TraceError(source, "", "is no regular file", "give a trace file")
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise TraceError(source, "", error.strerror or str(error), "give a trace file") from error
    if len(data) > MAX_BYTES:
        raise TraceError(source, "", f"larger than {MAX_BYTES >> 20} MiB", "give a shorter trace")
    try:
        return loads(data.decode("utf-8"), source)
    except UnicodeDecodeError as error:
        where = f"byte {error.start}"
        advice = "a trace is text, as markstep wrote it"
        raise TraceError(source, where, "not UTF-8", advice) from error


def loads(text: str, source: str = "<trace>") -> Trace:
    """The trace in a text. Raises TraceError; ``source`` names the text in it."""
    try:
        return _trace(_parse(text, source), source)
    except BadValue as bad:
        raise TraceError(source, bad.path, bad.what, ADVICE) from bad


ADVICE = "see docs/reference/trace-format.md"


def _parse(text: str, source: str) -> Json:
    try:
        return json.loads(text, object_pairs_hook=_no_twice, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise TraceError(source, where, f"not JSON: {error.msg}", ADVICE) from error
    except RecursionError as error:
        raise TraceError(source, "", "nested too deep", ADVICE) from error
    except ValueError as error:  # also an integer with thousands of digits
        raise TraceError(source, "", str(error).split(";")[0], ADVICE) from error


def _no_twice(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    result = dict(pairs)
    if len(result) != len(pairs):
        twice = next(key for key, _ in pairs if [k for k, _ in pairs].count(key) > 1)
        raise ValueError(f"key {twice!r} is given twice in one object")
    return result


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is not a number")


def _trace(top: Json, source: str) -> Trace:
    if not isinstance(top, dict):
        raise TraceError(source, "$", f"an object is expected, not {kind_of(top)}", ADVICE)
    if "markstep" not in top:
        advice = "only a trace that markstep wrote holds a program"
        raise TraceError(source, "$", "the key 'markstep' is missing", advice)
    block = top["markstep"]
    _check_format(block, source)
    trace: Trace = _decode_fields(Trace, block, "$.markstep", extra={"format"})
    if trace.design not in DESIGNS:
        advice = f"known designs: {', '.join(DESIGNS)}"
        raise TraceError(source, "$.markstep.design", f"unknown design {trace.design!r}", advice)
    return replace(trace, states=_states(top, len(trace.actions)))


def _check_format(block: Json, source: str) -> None:
    number = block.get("format") if isinstance(block, dict) else None
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise TraceError(source, "$.markstep.format", "must be a positive integer", ADVICE)
    if number > FORMAT:
        what = f"format {number} is newer than {FORMAT}, the newest known here"
        raise TraceError(source, "$.markstep.format", what, "use a newer markstep")


def _states(top: dict[str, Json], actions: int) -> tuple[Json, ...]:
    if unknown := top.keys() - {"#meta", "vars", "states", "markstep", "params", "loop"}:
        raise BadValue("$", f"unknown key {min(unknown)!r}")
    if top.get("vars") != list(VARS):
        raise BadValue("$.vars", f"must be {json.dumps(VARS)}")
    states = top.get("states")
    if not isinstance(states, list) or len(states) not in (0, actions + 1):
        raise BadValue("$.states", f"must be a list of {actions + 1} states, or empty")
    for i, state in enumerate(states):
        check_state(state, i, f"$.states[{i}]")
    return tuple(states)


def decode_action(value: Json, path: str) -> AnyAction:
    """The action that `encode_action` wrote. Raises BadValue."""
    name = value.get("action") if isinstance(value, dict) else None
    if not isinstance(name, str):
        raise BadValue(path, "an object with the key 'action' is expected")
    if name not in BY_NAME:
        raise BadValue(f"{path}.action", f"unknown action {name!r}")
    action: AnyAction = _decode_fields(BY_NAME[name], value, path, extra={"action"})
    for i, size in enumerate(getattr(action, "shape", ())):
        if size < 0:
            raise BadValue(f"{path}.shape[{i}]", f"{size} is no size")
    return action


def _decode_fields(cls: type, value: Json, path: str, extra: set[str]) -> Any:
    """An instance of a dataclass from an object with its fields."""
    if not isinstance(value, dict):
        raise BadValue(path, f"an object is expected, not {kind_of(value)}")
    known = _hints(cls)
    for name in value:
        if name not in known and name not in extra:
            raise BadValue(path, f"unknown field {name!r}; {cls.__name__} has {', '.join(known)}")
    given = {n: _decode(h, value[n], f"{path}.{n}") for n, h in known.items() if n in value}
    for field in fields(cls):
        if field.name in known and field.name not in given and field.default is MISSING:
            raise BadValue(path, f"field {field.name!r} is missing")
    return cls(**given)


@cache
def _hints(cls: type) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {f.name: hints[f.name] for f in fields(cls) if f.name != "states"}


def _decode(hint: Any, value: Json, path: str) -> Any:
    """A value of the type of a field."""
    hint = getattr(hint, "__supertype__", hint)
    if get_origin(hint) is tuple:
        if not isinstance(value, list):
            raise BadValue(path, f"a list is expected, not {kind_of(value)}")
        item = get_args(hint)[0]
        return tuple(_decode(item, part, f"{path}[{i}]") for i, part in enumerate(value))
    if hint == AnyAction:
        return decode_action(value, path)
    if get_origin(hint) in (types.UnionType, Union):
        return _decode_union(get_args(hint), value, path)
    if hint is int:
        return read_integer(value, path)
    if issubclass(hint, Enum):
        return _decode_enum(hint, value, path)
    if type(value) is not hint:
        raise BadValue(path, f"{NAMES.get(hint, hint.__name__)} is expected, not {kind_of(value)}")
    return value


NAMES: dict[type, str] = {bool: "a boolean", str: "a string", float: "a number"}


def _decode_union(options: tuple[Any, ...], value: Json, path: str) -> Any:
    if value is None and type(None) in options:
        return None
    if type(value) is float and float in options:
        if not isfinite(value):
            raise BadValue(path, "the number is too large")
        return value
    return _decode(next(o for o in options if o is not type(None)), value, path)


def _decode_enum(hint: type[Enum], value: Json, path: str) -> Enum:
    by_text = {str(_encode(member)): member for member in hint}
    if type(value) is str and value in by_text:
        return by_text[value]
    known = ", ".join(by_text)
    raise BadValue(path, f"one of {known} is expected, not {json.dumps(value)[:40]}")
