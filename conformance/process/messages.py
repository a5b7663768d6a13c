"""The messages of the process protocol: one JSON object with one key on one line.

`markstep` asks (`reset`, `apply`, `observe`, `bye`), the executor answers each question with one
line (`done`, `observation`, `view`) after a `hello` of its own. docs/reference/protocol.md
describes them, protocol.schema.json says the same for machines. What comes from the other side is
untrusted: it is decoded here and nowhere else, and the first thing that is not as described is a
MessageError.
"""

import json
from dataclasses import MISSING, dataclass, fields
from enum import IntEnum, StrEnum
from math import isfinite
from typing import Any, TypeAlias, TypeVar

from markstep.spec.itf import BadValue
from markstep.spec.trace import decode_action, encode_action
from markstep.spec.vocabulary import (
    Action,
    BufferStatus,
    DType,
    ErrorKind,
    IrKind,
    Observation,
    Sharding,
    TensorName,
    TensorView,
    View,
)

PROTOCOL = 1
"""Version of the protocol; an executor that says a higher one is refused."""
MAX_LINE = 16 * 2**20
"""Bytes of the longest line."""
MAX_NAME = 200
"""Characters of a name, a version, a capability, a counter."""

Json: TypeAlias = Any


class MessageError(ValueError):
    """A line is not a message of the protocol. One line of text."""


@dataclass(frozen=True, slots=True)
class Hello:
    """How an executor introduces itself."""

    name: str
    version: str
    capabilities: frozenset[str]
    described_by: str = ""
    """The design that the executor has, if it is one that the law knows."""


# ---- one line --------------------------------------------------------------------------------


def to_line(kind: str, body: Json) -> bytes:
    """A message as a line."""
    text = json.dumps({kind: body}, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8") + b"\n"


def from_line(line: bytes) -> tuple[str, Json]:
    """(kind, body) of a line. Raises MessageError."""
    try:
        message = json.loads(
            line.decode(), object_pairs_hook=_no_twice, parse_constant=_no_constant
        )
    except (ValueError, RecursionError) as error:
        what = str(error).split("\n")[0] or "nested too deep"
        raise MessageError(f"not a JSON line: {what}: {_shown(line)}") from None
    if not isinstance(message, dict) or len(message) != 1:
        raise MessageError(f"not an object with one key: {_shown(line)}")
    return next(iter(message.items()))


def _no_twice(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key is given twice in one object")
    return result


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is not a number")


def _shown(line: bytes) -> str:
    text = line[:60].decode("utf-8", "backslashreplace").strip()
    return json.dumps(text, ensure_ascii=False) + (" …" if len(line) > 60 else "")


# ---- what markstep says ----------------------------------------------------------------------


def encode_apply(action: Action) -> Json:
    """The body of `apply`: the class of the action and its fields, as in a trace file."""
    return encode_action(action)


def decode_apply(body: Json) -> Action:
    """The action of an `apply`. Raises MessageError."""
    try:
        return decode_action(body, "apply")  # type: ignore[return-value]  # small steps are no calls
    except BadValue as bad:
        raise MessageError(f"{bad.path}: {bad.what}") from None


# ---- what the executor says ------------------------------------------------------------------


def encode_hello(hello: Hello) -> Json:
    """The body of `hello`."""
    words = sorted(hello.capabilities)
    return {
        "protocol": PROTOCOL,
        "name": hello.name,
        "version": hello.version,
        "capabilities": words,
        **({"described_by": hello.described_by} if hello.described_by else {}),
    }


def decode_hello(body: Json) -> Hello:
    """An introduction. Raises MessageError."""
    needed = ("protocol", "name", "version", "capabilities")
    given = _object(body, "hello", needed, (*needed, "described_by"))
    if _integer(given["protocol"], "hello.protocol") != PROTOCOL:
        raise MessageError(
            f"hello.protocol is {given['protocol']}; this markstep speaks {PROTOCOL}"
        )
    name, version = (_text(given[key], f"hello.{key}") for key in ("name", "version"))
    words = _list(given["capabilities"], "hello.capabilities")
    capabilities = frozenset(_text(word, "hello.capabilities") for word in words)
    return Hello(name, version, capabilities, _text(given.get("described_by", ""), "hello"))


def encode_observation(observation: Observation) -> Json:
    """The body of `observation`."""
    return {
        "error": observation.error.value,
        "value": observation.value,
        "message": observation.message,
    }


def decode_observation(body: Json) -> Observation:
    """How an action ended. Raises MessageError."""
    given = _object(body, "observation", (), ("error", "value", "message"))
    error = _member(ErrorKind, given.get("error", "none"), "observation.error")
    message = _text(given.get("message", ""), "observation.message", 10_000)
    return Observation(error, _value(given.get("value"), "observation.value"), message)


def _value(value: Json, where: str, depth: int = 2) -> object:
    """A number, a text, a truth, nothing, or lists of them, as deep as a read of many tensors."""
    if isinstance(value, list):
        if not depth:
            raise MessageError(f"{where} is nested deeper than an array of arrays")
        return tuple([_value(item, where, depth - 1) for item in value])
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and isfinite(value):
        return value
    raise MessageError(f"{where} is {_kind(value)}, not a number, a text or an array")


def encode_view(view: View) -> Json:
    """The body of `view`."""
    tensors = {str(name): encode_tensor(seen) for name, seen in view.tensors.items()}
    return {"tensors": tensors, "counters": dict(view.counters)}


def encode_tensor(seen: TensorView) -> Json:
    """What one tensor looks like; enums by name in lower case."""
    values = {f.name: getattr(seen, f.name) for f in fields(seen)}
    values.update(ir=seen.ir.name.lower(), data=seen.data.name.lower(), dtype=seen.dtype.value)
    values.update(spec=seen.spec.name.lower(), sharding=seen.sharding.name.lower())
    return values | {"shape": list(seen.shape)}


def decode_view(body: Json) -> View:
    """Everything that can be seen. Raises MessageError."""
    given = _object(body, "view", (), ("tensors", "counters"))
    tensors = {}
    for name, seen in _object(given.get("tensors", {}), "view.tensors").items():
        if not (name.isascii() and name.isdigit() and len(name) <= 9):
            raise MessageError(f"view.tensors has the key {name[:20]!r}, not a number of a tensor")
        tensors[TensorName(int(name))] = decode_tensor(seen, f"view.tensors.{name}")
    counted = _object(given.get("counters", {}), "view.counters")
    counters = {
        _text(name, "view.counters"): _integer(amount, f"view.counters.{name[:40]}")
        for name, amount in counted.items()
    }
    return View(tensors, counters)


def decode_tensor(body: Json, where: str) -> TensorView:
    """What one tensor looks like. Raises MessageError."""
    needed = tuple(f.name for f in fields(TensorView) if f.default is MISSING)
    given = _object(body, where, needed, tuple(f.name for f in fields(TensorView)))
    shape = _list(given["shape"], f"{where}.shape")
    return TensorView(
        _integer(given["record"], f"{where}.record"),
        _integer(given["alias"], f"{where}.alias"),
        _named(IrKind, given["ir"], f"{where}.ir"),
        _named(BufferStatus, given["data"], f"{where}.data"),
        None if given["buffer"] is None else _integer(given["buffer"], f"{where}.buffer"),
        _truth(given["host"], f"{where}.host"),
        tuple([_integer(size, f"{where}.shape") for size in shape]),
        _member(DType, given["dtype"], f"{where}.dtype"),
        _named(Sharding, given.get("spec", "none"), f"{where}.spec"),
        _named(Sharding, given.get("sharding", "none"), f"{where}.sharding"),
    )


# ---- values ----------------------------------------------------------------------------------

Word = TypeVar("Word", bound=StrEnum)
Number = TypeVar("Number", bound=IntEnum)


def _object(
    value: Json, where: str, needed: tuple[str, ...] = (), known: tuple[str, ...] | None = None
) -> dict[str, Json]:
    """An object with the needed keys; ``known``: those that it may have, if not just any."""
    if not isinstance(value, dict):
        raise MessageError(f"{where} is {_kind(value)}, not an object")
    for key in needed:
        if key not in value:
            raise MessageError(f"{where} has no {key!r}")
    allowed = known or needed or None
    for key in value:
        if allowed is not None and key not in allowed:
            raise MessageError(
                f"{where} has an unknown key {key[:40]!r}; known: {', '.join(allowed)}"
            )
    return value


def _list(value: Json, where: str) -> list[Json]:
    if not isinstance(value, list):
        raise MessageError(f"{where} is {_kind(value)}, not an array")
    return value


def _text(value: Json, where: str, longest: int = MAX_NAME) -> str:
    if not isinstance(value, str):
        raise MessageError(f"{where} is {_kind(value)}, not a text")
    if len(value) > longest:
        raise MessageError(f"{where} is longer than {longest} characters")
    return value


def _integer(value: Json, where: str) -> int:
    if type(value) is not int:
        raise MessageError(f"{where} is {_kind(value)}, not an integer")
    return value


def _truth(value: Json, where: str) -> bool:
    if type(value) is not bool:
        raise MessageError(f"{where} is {_kind(value)}, not true or false")
    return value


def _member(kind: type[Word], value: Json, where: str) -> Word:
    for member in kind:
        if member.value == value:
            return member
    raise MessageError(f"{where} is {str(value)[:40]!r}; known: {', '.join(m.value for m in kind)}")


def _named(kind: type[Number], value: Json, where: str) -> Number:
    for member in kind:
        if member.name.lower() == value:
            return member
    known = ", ".join(member.name.lower() for member in kind)
    raise MessageError(f"{where} is {str(value)[:40]!r}; known: {known}")


KINDS: dict[type, str] = {
    dict: "an object",
    list: "an array",
    str: "a text",
    bool: "a truth",
    int: "an integer",
    float: "a number",
    type(None): "null",
}


def _kind(value: Json) -> str:
    return KINDS.get(type(value), type(value).__name__)
