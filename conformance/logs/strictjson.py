"""JSON from files that nobody vouches for: strict, bounded, and every complaint in one sentence.

Only what JSON (RFC 8259) defines is read: no NaN, no infinity, no name twice in one object. Numbers
and depth are bounded, so that a hostile line costs no more than an honest one.
"""

import json
from collections.abc import Callable
from math import isfinite
from typing import NoReturn, TypeVar

from markstep.spec.vocabulary import Number

MAX_DIGITS = 20
"""Digits of an integer: enough for an unsigned 64-bit seed."""

T = TypeVar("T")


class FieldError(ValueError):
    """Something in a JSON text is not as it must be; the message is a sentence that says what."""


class TypeOfFieldError(FieldError):
    """A field is not of its type; the message begins with the path to the field."""

    def __init__(self, what: str, path: tuple[str, ...] = ()) -> None:
        where = f"field {'.'.join(map(cut, path))}" if path else "the line"
        super().__init__(f"{where} {what}")
        self.what, self.path = what, path


def loads(text: str) -> object:
    """The value of a JSON text. Raises FieldError."""
    try:
        value: object = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_int=_integer,
            parse_float=_finite,
        )
    except RecursionError:
        raise FieldError("nested too deeply") from None
    except json.JSONDecodeError as error:
        raise FieldError(f"not JSON: {error.msg} at column {error.colno}") from None
    return value


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        raise FieldError(f"field {shown(next(n for n in names if names.count(n) > 1))} twice")
    return value


def _no_constant(text: str) -> NoReturn:
    raise FieldError(f"{text} is not a JSON number")


def _integer(text: str) -> int:
    if len(text.lstrip("-")) > MAX_DIGITS:
        raise FieldError(f"an integer of more than {MAX_DIGITS} digits")
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise FieldError("a number too large for a double")
    return value


class Fields:
    """The fields of one JSON object, each taken once with its type; none may be left over."""

    def __init__(self, value: object, path: tuple[str, ...] = ()) -> None:
        if not isinstance(value, dict):
            raise TypeOfFieldError(f"is {kind(value)}, not an object", path)
        self.path = path
        self.left: dict[str, object] = dict(value)

    def take(self, name: str, read: Callable[[object], T]) -> T:
        """A field that must be there."""
        if name not in self.left:
            raise TypeOfFieldError(f"has no field {shown(name)}", self.path)
        try:
            return read(self.left.pop(name))
        except TypeOfFieldError as error:
            raise TypeOfFieldError(error.what, (*self.path, name, *error.path)) from None

    def optional(self, name: str, read: Callable[[object], T]) -> T | None:
        """A field that may be missing; None if it is."""
        return self.take(name, read) if name in self.left else None

    def end(self) -> None:
        """Complain about the fields that nobody took."""
        if self.left:
            names = ", ".join(shown(name) for name in list(self.left)[:3])
            raise TypeOfFieldError(f"has unknown field {names}", self.path)


def shown(text: str) -> str:
    """A text of the file for a message: quoted, short, on one line."""
    return repr(cut(text))


def cut(text: str) -> str:
    """A text, cut to a readable length, without what a terminal would obey."""
    text = "".join(c if c.isprintable() else "?" for c in text[:61])
    return text if len(text) <= 60 else text[:57] + "…"


def kind(value: object) -> str:
    """What a JSON value is, in words."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "a boolean"}
    numbers = {int: "a number", float: "a number", type(None): "null"}
    return (names | numbers).get(type(value), "something else")


# ---- readers: what a field may hold ----------------------------------------------------------


def anything(value: object) -> object:
    """No demand."""
    return value


def text(value: object) -> str:
    """A text."""
    if not isinstance(value, str):
        raise TypeOfFieldError(f"is {kind(value)}, not a text")
    return value


def flag(value: object) -> bool:
    """A boolean."""
    if not isinstance(value, bool):
        raise TypeOfFieldError(f"is {kind(value)}, not a boolean")
    return value


def integer(value: object) -> int:
    """An integer."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeOfFieldError(f"is {kind(value)}, not an integer")
    return value


def count(value: object) -> int:
    """An integer that is not negative."""
    if integer(value) < 0:
        raise TypeOfFieldError(f"is {value}, less than 0")
    return integer(value)


def number(value: object) -> Number:
    """A number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeOfFieldError(f"is {kind(value)}, not a number")
    return value


def nullable(read: Callable[[object], T]) -> Callable[[object], T | None]:
    """What ``read`` takes, or null."""
    return lambda value: None if value is None else read(value)


def listed(read: Callable[[object], T]) -> Callable[[object], tuple[T, ...]]:
    """A list of what ``read`` takes."""

    def reader(value: object) -> tuple[T, ...]:
        if not isinstance(value, list):
            raise TypeOfFieldError(f"is {kind(value)}, not a list")
        return tuple(map(read, value))

    return reader


def mapped(read: Callable[[object], T]) -> Callable[[object], dict[str, T]]:
    """An object whose every field is what ``read`` takes."""

    def reader(value: object) -> dict[str, T]:
        fields = Fields(value)
        return {name: fields.take(name, read) for name in list(fields.left)}

    return reader


def exactly(*values: object) -> Callable[[object], object]:
    """One of the given values."""

    def reader(value: object) -> object:
        for known in values:
            if value == known and type(value) is type(known):
                return known
        raise TypeOfFieldError(f"is {shown(str(value))}, not {' or '.join(map(repr, values))}")

    return reader
