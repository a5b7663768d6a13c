"""Valid input, damaged: bytes changed, cut, doubled, crossed; JSON values put in other places."""

import json
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, Final

LONGEST: Final = 1 << 16
"""Bytes of an input; valid ones are chosen far below that."""
TOKENS: Final = (
    *(b"[", b"]", b"{", b"}", b'"', b",", b":", b"\n", b"\\u0000", b"\xff\xfe", b"\x00"),
    *(b"null", b"true", b"NaN", b"1e999", b"-1", b"0", b"9" * 25, b"18446744073709551616"),
    *(b"[" * 5000, b'{"a":' * 3000, b"\\ud800", b"__class__", b"../../x", b"1.5", b"''"),
)
VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 1, 2, 7, 255, 256, 2**31, 2**63, 2**64, -(2**63), 0.5, 1e308),
    *("", "a", "ir", "t1", "A01", "I12", "sound", "x" * 300, "\x00", "\ud800", "../x", "1"),
    *([], [[]], {}, {"a": 1}, [0] * 50, {"#bigint": "7"}, {"tag": "None", "value": {}}),
)

Damage = Callable[[Random, bytes, Sequence[bytes]], bytes]


def damaged(random: Random, seeds: Sequence[bytes]) -> bytes:
    """One input: a seed after one to four kinds of damage."""
    data = random.choice(seeds)
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
        data = random.choice(DAMAGES)(random, data, seeds)[:LONGEST]
    return data


def _flipped(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range(random.randint(1, 4) if changed else 0):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _replaced(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    start, end = _span(random, data)
    return data[:start] + random.randbytes(random.randint(0, 8)) + data[end:]


def _cut(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    return data[: random.randint(0, len(data))]


def _left_out(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    start, end = _span(random, data)
    return data[:start] + data[end:]


def _doubled(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    start, end = _span(random, data)
    return data[:end] + data[start:end] * random.choice((1, 1, 2, 30)) + data[end:]


def _crossed(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    other = random.choice(seeds)
    return data[: random.randint(0, len(data))] + other[random.randint(0, len(other)) :]


def _with_token(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    at = random.randint(0, len(data))
    return data[:at] + random.choice(TOKENS) + data[at:]


def _lines_moved(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    a, b = random.randrange(len(lines)), random.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


def _value_changed(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """Another value somewhere in the JSON of the whole, or of one of its lines."""
    try:
        return _dumped(_elsewhere(random, json.loads(data)))
    except (ValueError, RecursionError):
        pass
    lines = data.split(b"\n")
    at = random.randrange(len(lines))
    try:
        lines[at] = _dumped(_elsewhere(random, json.loads(lines[at])))
    except (ValueError, RecursionError):
        return _with_token(random, data, seeds)
    return b"\n".join(lines)


def _dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


def _elsewhere(random: Random, whole: Any) -> Any:
    """The same value, but for one place in it."""
    holders = list(_holders(whole))
    if not holders:
        return random.choice(VALUES)
    holder = random.choice(holders)
    keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
    key = random.choice(keys)
    what = random.randrange(6)
    if what == 0:
        del holder[key]
    elif what == 1:
        holder[key] = random.choice(holders)  # a ring has no JSON: that is another damage then
    elif what == 2 and isinstance(holder, dict):
        holder[random.choice(("", "x", "action", "__proto__", f"{key}s"))] = holder.pop(key)
    elif what == 3 and isinstance(holder, list):
        holder.insert(random.randint(0, len(holder)), random.choice(VALUES))
    else:
        holder[key] = random.choice(VALUES)
    return whole


def _holders(value: Any) -> Iterator[Any]:
    """Every object and list that is not empty."""
    stack = [value]
    while stack:
        value = stack.pop()
        if isinstance(value, dict | list) and value:
            yield value
            stack += value.values() if isinstance(value, dict) else value


def _span(random: Random, data: bytes) -> tuple[int, int]:
    """Some bytes that follow each other: few, or a great part."""
    start = random.randint(0, len(data))
    length = random.choice((1, 2, 4, 16, 200, len(data)))
    return start, min(len(data), start + random.randint(0, length))


DAMAGES: Final[tuple[Damage, ...]] = (
    _flipped,
    _replaced,
    _cut,
    _left_out,
    _doubled,
    _crossed,
    _with_token,
    _lines_moved,
    _value_changed,
    _value_changed,
    _value_changed,
)
