"""The lines of a recorded program: `markstep-raw-log`, version 2.

Version 1 is a program of the alphabet, seen after every step. Version 2 is any program: ops that
the law does not know are opaque, values are not written down, and what can be seen is written where
the program syncs or reads. What the fields mean: docs/reference/raw-log-format.md.
"""

import gzip
import marshal
from dataclasses import dataclass, field
from functools import partial
from json import JSONEncoder
from pathlib import Path
from typing import BinaryIO, Final

from markstep.conformance.logs import strictjson as json
from markstep.conformance.logs.rawlog import LogError, parse_line, unpack
from markstep.conformance.logs.rawrecord import (
    FORMAT,
    Ok,
    Outcome,
    RawTensor,
    RawVoid,
    parse_outcome,
    parse_tensor,
)
from markstep.conformance.logs.strictjson import FieldError, Fields

VERSION: Final = 2
ENCODE = JSONEncoder(separators=(",", ":"), allow_nan=False).encode
MAX_BYTES = 256 * 2**20
MAX_STEPS = 1_000_000

Shown = dict[str, RawTensor | RawVoid]

OPS = ("op", "clone", "copy_")
"""Lines about ops: traced, nothing is evaluated."""
UPLOADS = ("from_host", "copy_host")
"""Lines about data that come from the host."""
BARRIERS = ("mark_step", "sync_multi", "sync_live")
READS = ("read", "read_many")
QUERIES = ("warm_up_cache", "graph_hash", "run_cached")
BOUNDARIES = (*BARRIERS, *READS, *QUERIES)
"""Lines behind which the tensors are looked at."""
OTHERS = ("drop", "wait_device_ops", "clear_pending_irs", "set_donation", "set_seed", "end")
ACTIONS = frozenset((*OPS, *UPLOADS, *BOUNDARIES, *OTHERS))


@dataclass(frozen=True, slots=True)
class Program:
    """Line 1: what was recorded, on which system."""

    system: str
    system_version: str
    torch: str
    program: tuple[str, ...]
    env: dict[str, str]

    def to_json(self) -> dict[str, object]:
        """As it is written."""
        head: dict[str, object] = {"format": FORMAT, "version": VERSION}
        return head | {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Line:
    """One step: an op, or a call that syncs, reads or asks."""

    line: int
    action: str
    args: Fields
    at: str
    """Where in the user's program: file:line; empty if not from there."""
    outcome: Outcome = field(default_factory=lambda: Ok(None))
    tensors: Shown | None = None
    """What the tensors show that the program holds; only behind some lines."""
    counters: dict[str, int] = field(default_factory=dict)

    @property
    def tensor(self) -> str:
        """The one tensor that it is about: a result, or what is read or written to."""
        for name in ("out", "t", "dst"):
            if name in self.args.left:
                return json.text(self.args.left[name])
        return ""

    def names(self, name: str) -> tuple[str, ...]:
        """A list of tensors among the arguments."""
        return json.listed(json.text)(self.args.left.get(name, []))

    def text(self, name: str) -> str:
        """A text among the arguments; empty if there is none."""
        return str(self.args.left.get(name, ""))

    def number(self, name: str) -> int:
        """A whole number among the arguments; 0 if there is none."""
        value = self.args.left.get(name, 0)
        return value if isinstance(value, int) else 0


@dataclass(frozen=True, slots=True)
class Recording:
    """A whole recorded program."""

    path: Path
    header: Program
    lines: tuple[Line, ...]


def version_of(path: Path) -> int | None:
    """The version that a log says it has; None if it says nothing that can be read."""
    try:
        first = unpack(path, MAX_BYTES).split(b"\n", 1)[0]
        value = json.loads(first.decode("utf-8"))
    except (LogError, FieldError, UnicodeDecodeError):
        return None
    version = value.get("version") if isinstance(value, dict) else None
    return version if isinstance(version, int) else None


def read_recording(path: Path) -> Recording:
    """Read and validate a recording. Raises LogError and nothing else."""
    written = unpack(path, MAX_BYTES).split(b"\n")
    if written[-1] == b"":
        written.pop()
    if len(written) > MAX_STEPS + 1:
        raise LogError(path, None, f"more than {MAX_STEPS} steps", "record fewer steps")
    header = parse_line(path, 1, written[0], _parse_header)
    lines = [
        parse_line(path, number, text, partial(parse_step, number=number))
        for number, text in enumerate(written[1:], start=2)
    ]
    return Recording(path, header, tuple(lines))


def _parse_header(value: object) -> Program:
    fields = Fields(value)
    fields.take("format", json.exactly(FORMAT))
    fields.take("version", json.integer)
    header = Program(
        fields.take("system", json.text),
        fields.take("system_version", json.text),
        fields.take("torch", json.text),
        fields.take("program", json.listed(json.text)),
        fields.take("env", json.mapped(json.text)),
    )
    fields.end()
    return header


def parse_step(value: object, number: int) -> Line:
    """Any further line; ``number``: of the line in the file."""
    fields = Fields(value)
    step = fields.take("step", json.count)
    if step != number - 2:
        raise FieldError(f"step {step} where step {number - 2} must be: the log has a gap")
    action = fields.take("action", json.text)
    if action not in ACTIONS:
        raise FieldError(f"unknown action {json.shown(action)}")
    args = Fields(fields.take("args", json.mapped(json.anything)), ("args",))
    line = Line(
        number,
        action,
        args,
        fields.optional("at", json.text) or "",
        fields.optional("outcome", parse_outcome) or Ok(None),
        fields.optional("tensors", json.mapped(parse_tensor)),
        fields.optional("counters", json.mapped(json.integer)) or {},
    )
    fields.end()
    _check_names(line)
    return line


def _check_names(line: Line) -> None:
    """Raises FieldError where a name or a list of names is something else."""
    for name in ("inputs", "outs", "writes", "tensors"):
        line.names(name)
    if not isinstance(line.tensor, str):
        raise FieldError(f"{line.action}: a tensor is named by a text")


def write_recording(blocks: BinaryIO, to: Path) -> int:
    """Make the file of a recording from the blocks that the recorded side wrote; its steps.

    A last block that is cut off, because the process died in it, is left out.
    """
    steps = -1
    packed = to.suffix == ".gz"
    with gzip.open(to, "wb", compresslevel=5) if packed else to.open("wb") as file:
        while True:
            try:
                block = marshal.load(blocks)
            except (EOFError, ValueError, TypeError):
                return max(steps, 0)
            for line in block:
                head = {} if steps < 0 else {"step": steps}
                file.write(ENCODE({**head, **line}).encode() + b"\n")
                steps += 1
