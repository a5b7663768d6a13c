"""A search as bytes, so that it can go on later.

The file has a line that names the format, a line of JSON, the tables of the search as
little-endian numbers, and a SHA-256 of all that. It holds data only. It is read by the law that
wrote it and by no other: the same rules must give the same moves, or paths would lead elsewhere.
"""

import hashlib
import json
import sys
from array import array
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from markstep.spec import SPEC_VERSION
from markstep.spec.design import Design
from markstep.spec.itf import BadValue
from markstep.spec.search.alphabet import Bound
from markstep.spec.search.search import Search
from markstep.spec.trace import decode_action, encode_action

MAGIC = b"markstep search 1\n"
LIMITS = ("max_states", "max_memory", "processes")
"""Fields of a bound that may be others when a search goes on."""
APART = ("proofs", "compiled")
LARGEST_HEADER = 2**24
DAMAGED = (
    *(KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError),
    *(RecursionError, MemoryError, BadValue),
)
"""What it may come to if a file holds something else than `save` has written."""


class CheckpointError(ValueError):
    """A file is no checkpoint, or one of another search."""


class _Hashed:
    """Writes, and keeps the digest of what was written."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.digest = file, hashlib.sha256()

    def write(self, data: bytes) -> None:
        self.digest.update(data)
        self.file.write(data)


@cache
def law() -> str:
    """A digest of the text of the law, without what only proves or compiles it."""
    digest, here = hashlib.sha256(), Path(__file__).parent.parent
    paths = [path for path in here.rglob("*.py") if path.relative_to(here).parts[0] not in APART]
    for path in sorted(paths):
        digest.update(path.relative_to(here).as_posix().encode() + b"\n" + path.read_bytes())
    return digest.hexdigest()


def identity(design: Design, bound: Bound) -> dict[str, Any]:
    """What two searches must have in common for one to go on with the other."""
    kept = {name: value for name, value in asdict(bound).items() if name not in LIMITS}
    kept["families"] = list(bound.families)
    return {"law": law(), "spec_version": SPEC_VERSION, "design": design.name, "bound": kept}


def save(search: Search, file: BinaryIO) -> None:
    """Write a search between two batches."""
    out, result = _Hashed(file), search.result
    header = {
        **identity(result.design, result.bound),
        "nodes": len(search.keys),
        "now": len(search.now),
        "rising": len(search.rising),
        "later": len(search.later),
        "transitions": result.transitions,
        "depth": result.depth,
        "bound_hit": result.bound_hit,
        "seconds": result.seconds,
        "levels": result.levels,
        "witnessed": sorted(result.witnessed),
        "counterexamples": {
            id: [encode_action(action) for action in path]
            for id, path in result.counterexamples.items()
        },
    }
    out.write(MAGIC)
    out.write(json.dumps(header).encode() + b"\n")
    for numbers in (search.parents, search.taken, array("q", search.now)):
        out.write(little(numbers).tobytes())
    out.write(bytes(search.calls))
    for key in search.keys:
        out.write(sized(key))
    for table in (search.rising, search.later):
        for (key, calls), (parent, move) in table.items():
            out.write(sized(key) + bytes([calls]) + little(array("q", [parent, move])).tobytes())
    file.write(out.digest.digest())


def little(numbers: "array[int]") -> "array[int]":
    """The numbers with their least byte first."""
    if sys.byteorder == "little":
        return numbers
    swapped = numbers[:]
    swapped.byteswap()
    return swapped


def sized(key: bytes) -> bytes:
    """A packed state after its length."""
    return len(key).to_bytes(2, "little") + key


class _Reader:
    """Takes pieces off the front of bytes."""

    def __init__(self, data: memoryview) -> None:
        self.data, self.at = data, 0

    def take(self, size: int) -> bytes:
        if size < 0 or self.at + size > len(self.data):
            raise CheckpointError("its tables are shorter than its header says")
        self.at += size
        return bytes(self.data[self.at - size : self.at])

    def key(self) -> bytes:
        return self.take(int.from_bytes(self.take(2), "little"))

    def numbers(self, kind: str, how_many: int) -> "array[int]":
        values = array(kind)
        values.frombytes(self.take(how_many * values.itemsize))
        return little(values)


def load(data: bytes, design: Design, bound: Bound) -> Search:
    """The search in a file, to go on with under the limits of a bound. Raises CheckpointError."""
    try:
        header, reader = opened(data)
        meant = identity(design, bound)
        if difference := differing({name: header.get(name) for name in meant}, meant):
            raise CheckpointError(difference)
        return restored(header, reader, design, bound)
    except DAMAGED as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"it is damaged: {type(error).__name__}: {error}") from error


def begins_checkpoint(data: bytes) -> bool:
    """Whether a file that begins so is a checkpoint, of this format or another."""
    return data.startswith(MAGIC[:-2])


def opened(data: bytes) -> tuple[dict[str, Any], _Reader]:
    """The header of a file and what comes after it."""
    if not begins_checkpoint(data):
        raise CheckpointError("it is no checkpoint of a search")
    if not data.startswith(MAGIC):
        raise CheckpointError("it has a format that is not known here; use the markstep it is from")
    if hashlib.sha256(data[:-32]).digest() != data[-32:]:
        raise CheckpointError("it is damaged or was cut off")
    end = data.index(b"\n", len(MAGIC), len(MAGIC) + LARGEST_HEADER)
    header = json.loads(data[len(MAGIC) : end].decode())
    if not isinstance(header, dict):
        raise CheckpointError("it has no header")
    return header, _Reader(memoryview(data)[end + 1 : -32])


def differing(found: dict[str, Any], meant: dict[str, Any]) -> str:
    """How the search in a file differs from the one that is wanted, if it does."""
    if found["law"] != meant["law"]:
        return f"it is of another text of the law (version {found['spec_version']}); start again"
    if found["design"] != meant["design"]:
        return f"it is of a search of {found['design']}; give --design {found['design']}"
    wanted: dict[str, Any] = meant["bound"]
    there = found["bound"] if isinstance(found["bound"], dict) else {}
    for name, value in wanted.items():
        if there.get(name) != value:
            return f"it is of a search with {name} {there.get(name)}, not {value}; give the same"
    return ""


def restored(header: dict[str, Any], reader: _Reader, design: Design, bound: Bound) -> Search:
    """The search of a header and its tables."""
    search, nodes = Search(design, bound), header["nodes"]
    search.parents = reader.numbers("q", nodes)
    search.taken = reader.numbers("H", nodes)
    search.now.extend(reader.numbers("q", header["now"]))
    search.calls = bytearray(reader.take(nodes))
    for number in range(nodes):
        key = reader.key()
        old = search.numbers.get(key)
        search.keys.append(key if old is None else search.keys[old])
        search.numbers[key] = number
    for table, size in ((search.rising, header["rising"]), (search.later, header["later"])):
        for _ in range(size):
            key, calls = reader.key(), reader.take(1)[0]
            parent, move = reader.numbers("q", 2)
            table[key, calls] = parent, move
    result = search.result
    result.transitions, result.depth = header["transitions"], header["depth"]
    result.bound_hit, result.seconds = header["bound_hit"], header["seconds"]
    result.levels, result.witnessed = header["levels"], set(header["witnessed"])
    result.counterexamples = {
        id: tuple(decode_action(action, f"$.{id}") for action in path)
        for id, path in header["counterexamples"].items()
    }
    return search
