"""Why two graphs do not share a program, and why something was compiled.

The key is exact, so that the question has an exact answer: the ingredients in which two keys
differ. Source: users of torch_xla (pytorch/xla#8822, #9575); semantics.md §1.4, §3 (56-58).
"""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from types import FrameType
from typing import Any, Final

from markstep.impl.graph import Key

SHOWN: Final = 4
"""Differences of one ingredient that are listed; the others are counted."""
PACKAGE: Final = str(Path(__file__).parent)
CONTEXTS: Final = contextlib.__file__


@dataclass(frozen=True, slots=True)
class Compilation:
    """One program that had to be compiled.

    ``where``: file and line of the user's call; ``tensors``: ids of the results; ``because``: in
    what it differs from the most similar program in the cache, nothing if there was none.
    """

    number: int
    where: str
    tensors: tuple[int, ...]
    because: tuple[str, ...]


def differences(first: Key, second: Key) -> list[str]:
    """The ingredients in which two keys differ, each in words; empty if they are the same."""
    lines: list[str] = []
    if first.arities[0] != second.arities[0]:
        lines.append(f"results: {first.arities[0]} and {second.arities[0]}")
    lines += _limited("ops", _ops(first, second))
    if not lines:
        lines += _limited("wiring", _wiring(first, second))
    lines += _limited("parameters", _items("parameter", first.parameters, second.parameters))
    lines += _limited("layouts", _items("that of parameter", first.layouts, second.layouts))
    for name in ("donors", "spmd"):
        here, there = getattr(first, name), getattr(second, name)
        if here != there:
            lines.append(f"{name}: {_text(here)} and {_text(there)}")
    return lines


def _limited(what: str, found: Iterator[str]) -> list[str]:
    texts = list(found)
    lines = [f"{what}: {text}" for text in texts[:SHOWN]]
    return [*lines, f"{what}: {len(texts) - SHOWN} more"] if len(texts) > SHOWN else lines


def _ops(first: Key, second: Key) -> Iterator[str]:
    """Ops by number, in the order in which a walk from the results finds them."""
    for number, (here, there) in enumerate(zip_longest(first.ops, second.ops)):
        if here is there:
            continue
        if repr(here) == repr(there):
            yield f"op {number} is {here} in both, but of two functions of that name"
        else:
            yield f"op {number} is {_text(here)} and {_text(there)}"


def _wiring(first: Key, second: Key) -> Iterator[str]:
    """Uses, of graphs with the same ops."""
    places = zip(_uses(first), first.places, second.places, strict=False)
    for use, here, there in places:
        if here != there:
            yield f"{use} is {_used(first, here)} and {_used(second, there)}"


def _uses(key: Key) -> Iterator[str]:
    for number in range(key.arities[0]):
        yield f"result {number}"
    for number, arity in enumerate(key.arities[1:]):
        for operand in range(arity):
            yield f"operand {operand} of op {number} ({key.ops[number]})"


def _used(key: Key, place: int) -> str:
    return f"parameter {~place}" if place < 0 else f"op {place} ({key.ops[place]})"


def _items(what: str, first: Sequence[Any], second: Sequence[Any]) -> Iterator[str]:
    for number, (here, there) in enumerate(zip_longest(first, second)):
        if here != there:
            yield f"{what} {number} is {_text(here)} and {_text(there)}"


def _text(value: object) -> str:
    return "none" if value is None or value == () else str(value)


def nearest(key: Key, others: Sequence[Key]) -> tuple[str, ...]:
    """In what the key differs from the most similar one of the others."""
    found = [tuple(differences(other, key)) for other in others]
    return min(found, key=lambda lines: len(lines), default=())


def users_line() -> str:
    """File and line of the innermost call that is not the executor's own."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((PACKAGE, CONTEXTS)):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
