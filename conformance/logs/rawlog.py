"""Logs of what a real executor did: files of the format `markstep-raw-log`, version 1.

Everything malformed is one `LogError` that names file and line; nothing is skipped, repaired or
guessed. The lines themselves are `markstep.conformance.logs.rawrecord`.
"""

import gzip
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from markstep.conformance.logs.rawrecord import Header, RawStep, parse_header, parse_step
from markstep.conformance.logs.strictjson import FieldError, loads

MAX_BYTES = 32 * 2**20
"""Of the whole log, unpacked: no more than this is ever unpacked."""
MAX_LINE_BYTES = 2**20
MAX_STEPS = 10_000

GZIP_MAGIC = b"\x1f\x8b"

T = TypeVar("T")


class LogError(Exception):
    """Why a log cannot be judged: where, what, and what to do about it."""

    def __init__(self, path: Path, line: int | None, what: str, advice: str) -> None:
        self.path, self.line, self.what, self.advice = path, line, what, advice
        where = f"{path}:{line}" if line is not None else str(path)
        super().__init__(f"{where}: {what}; {advice}")


class UnknownRecordError(LogError):
    """The log says something for which the reduction has no row: an action, an error text."""


class NotModelledError(LogError):
    """The log is sound, but it is about something that the law does not cover yet."""


@dataclass(frozen=True, slots=True)
class RawLog:
    """A whole log."""

    path: Path
    header: Header
    steps: tuple[RawStep, ...]


def read_log(path: str | Path) -> RawLog:
    """Read and validate a log, gzip'ed or plain. Raises LogError and nothing else."""
    path = Path(path)
    lines = unpack(path).split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    if not lines:
        raise LogError(path, None, "the file is empty", "a log begins with a header line")
    if len(lines) > MAX_STEPS + 1:
        raise LogError(path, None, f"more than {MAX_STEPS} steps", "split the program")
    header = parse_line(path, 1, lines[0], parse_header)
    steps: list[RawStep] = []
    for number, line in enumerate(lines[1:], start=2):
        if steps and steps[-1].last:
            what = f"a step after the process died in line {number - 1}"
            raise LogError(path, number, what, "one file holds one program")
        parse = partial(parse_step, line=number, expected=number - 2)
        steps.append(parse_line(path, number, line, parse))
    return RawLog(path, header, tuple(steps))


def unpack(path: Path, most: int = MAX_BYTES) -> bytes:
    """The bytes of the log, at most so many."""
    try:
        with path.open("rb") as file:
            packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
            file.seek(0)
            if not packed and path.suffix == ".gz":
                raise LogError(path, None, "not a gzip file", "copy it again, or rename it")
            if packed:
                data = gzip.GzipFile(fileobj=file).read(most + 1)
            else:
                data = file.read(most + 1)
    except EOFError:
        raise LogError(path, None, "the gzip file is truncated", "copy it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise LogError(path, None, f"damaged gzip file ({error})", "copy it again") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LogError(path, None, f"cannot be read ({reason})", "name a log file") from None
    if len(data) > most:
        what = f"more than {most >> 20} MiB when unpacked"
        raise LogError(path, None, what, "split the program")
    return data


def parse_line(path: Path, number: int, line: bytes, parse: Callable[[object], T]) -> T:
    """One line of the log."""
    advice = "see docs/reference/raw-log-format.md"
    if len(line) > MAX_LINE_BYTES:
        raise LogError(path, number, f"more than {MAX_LINE_BYTES >> 20} MiB in one line", advice)
    try:
        return parse(loads(line.decode("utf-8")))
    except UnicodeDecodeError:
        raise LogError(path, number, "not UTF-8 text", "the file is damaged, or no log") from None
    except FieldError as error:
        raise LogError(path, number, str(error), advice) from None
