"""Very many damaged inputs for one reader; the first that it does not withstand is the result."""

import resource
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Final

from markstep.conformance.fuzzing.damage import damaged
from markstep.conformance.fuzzing.readers import READERS, Reader
from markstep.conformance.fuzzing.watch import Forbidden, TooLong, watched

PATIENCE_S: Final = 10.0
MEMORY: Final = 1 << 30
"""Bytes that a reader may have: one that asks for more fails."""
QUICK: Final = Path("/dev/shm")
"""Files there are never written to a disk."""
STATM: Final = Path("/proc/self/statm")


@dataclass(frozen=True, slots=True)
class Found:
    """An input that a reader does not withstand."""

    reader: str
    number: int
    """It is made again from this number and the seed."""
    data: bytes
    what: str


@dataclass(slots=True)
class Outcome:
    """``read``: inputs that were valid all the same; the others were refused as they should be."""

    inputs: int = 0
    read: int = 0
    seconds: float = 0.0
    found: Found | None = None


def campaign(reader: Reader, inputs: int, seed: int, first: int = 0) -> Outcome:
    """Damage and read, so many times or until the reader does not withstand."""
    examples = reader.examples()
    outcome, started = Outcome(), monotonic()
    quick = QUICK if QUICK.is_dir() else None
    with TemporaryDirectory(prefix="markstep-fuzzing-", dir=quick) as folder:
        path = Path(folder) / "input"
        for number in range(first, first + inputs):
            data = made(reader, examples, seed, number)
            path.write_bytes(data)
            what = withstands(reader, path, outcome)
            outcome.inputs += 1
            if what:
                outcome.found = Found(reader.name, number, data, what)
                break
    outcome.seconds = monotonic() - started
    return outcome


def campaign_of(name: str, inputs: int, seed: int, first: int) -> Outcome:
    """That of the reader of a name; for a process of its own."""
    reader = next(reader for reader in READERS if reader.name == name)
    return campaign(reader, inputs, seed, first)


def made(reader: Reader, examples: list[bytes], seed: int, number: int) -> bytes:
    """The input of a number."""
    random = Random(f"{reader.name} {seed} {number}")
    data = damaged(random, examples)
    return reader.sealed(data) if reader.sealed and random.random() < 0.7 else data


def withstands(reader: Reader, path: Path, outcome: Outcome) -> str:
    """What the reader does that it may not; empty if it reads or refuses."""
    try:
        with watched(PATIENCE_S):
            reader.read(path)
        outcome.read += 1
    except reader.refuses as refusal:
        return "" if str(refusal) else "it refuses without a word"
    except (Forbidden, TooLong) as wrong:
        return str(wrong)
    except BaseException as error:
        return f"{type(error).__name__}: {error}"[:300]
    return ""


def limit_memory() -> None:
    """For the process that reads, where the system tells how much it has."""
    if STATM.exists():
        pages = int(STATM.read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
