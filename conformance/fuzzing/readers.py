"""The readers of what comes from outside: valid examples of each, and how each may refuse.

A reader is run as the commands run it. What it may raise is its own error alone, because that is
what a command turns into one line; anything else would be a traceback.
"""

import gzip
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Final, TypeAlias

from markstep.conformance.known import lists
from markstep.conformance.logs.rawlog import LogError, read_log
from markstep.conformance.mutants import catalogue
from markstep.conformance.process import messages
from markstep.conformance.suite.scenarios import SCENARIOS
from markstep.impl import persistent
from markstep.spec.design import SOUND
from markstep.spec.search import checkpoint
from markstep.spec.search.alphabet import Bound
from markstep.spec.search.search import Search
from markstep.spec.trace import Trace, TraceError, dumps, read_trace

LOGS: Final = Path(__file__).parents[1] / "tests" / "logs"
"""Recorded logs, in a checkout; an installation has none, and then none are damaged."""
SHORT: Final = 1 << 12
"""Bytes of an example: short ones are damaged in more ways in the same time."""
BOUND: Final = Bound(1, 2, actions=2)

Read: TypeAlias = Callable[[Path], object]
"""Takes a file and either reads it or refuses it."""


@dataclass(frozen=True)
class Reader:
    """``sealed``: gives damaged contents a checksum that fits, so that more than that is tested."""

    name: str
    examples: Callable[[], list[bytes]]
    read: Read
    refuses: tuple[type[Exception], ...]
    sealed: Callable[[bytes], bytes] | None = None


# ---- traces and logs -------------------------------------------------------------------------


def traces() -> list[bytes]:
    """The golden traces under both designs, as trace files."""
    programs = [scenario.program for scenario in SCENARIOS if scenario.program]
    texts = [
        dumps(Trace(program, design, "reference", 7, "tiny", ("I12",)))
        for program in programs
        for design in ("sound", "torch_xla_2_9")
    ]
    return short([text.encode() for text in texts])


def logs() -> list[bytes]:
    """The first lines of recorded logs, some of them packed."""
    plain = [gzip.decompress(path.read_bytes()) for path in sorted(LOGS.rglob("*.jsonl.gz"))]
    heads = [b"\n".join(text.split(b"\n")[:4]) + b"\n" for text in plain]
    return short([*heads, *map(gzip.compress, heads[:4])])


def short(texts: list[bytes]) -> list[bytes]:
    """Those that are not long; if all are, the shortest."""
    return [text for text in texts if len(text) <= SHORT] or sorted(texts, key=len)[:1]


# ---- messages of the protocol ----------------------------------------------------------------


def said_by_executors() -> list[bytes]:
    """A line of each kind that a child process says, for the golden traces."""
    from markstep.conformance.adapters.model import ModelAdapter

    lines = [
        messages.to_line("hello", messages.encode_hello(messages.Hello("x", "1", frozenset())))
    ]
    for scenario in SCENARIOS[:6]:
        adapter = ModelAdapter(SOUND)
        for action in scenario.program:
            seen = messages.encode_observation(adapter.apply(action))
            lines.append(messages.to_line("observation", seen))
            lines.append(messages.to_line("view", messages.encode_view(adapter.observe())))
    return sorted(set(lines))


def said_by_markstep() -> list[bytes]:
    """A line for each action of the golden traces."""
    actions = {action for scenario in SCENARIOS for action in scenario.program}
    return sorted(messages.to_line("apply", messages.encode_apply(action)) for action in actions)


DECODERS: Final[dict[str, Callable[[Any], object]]] = {
    "hello": messages.decode_hello,
    "observation": messages.decode_observation,
    "view": messages.decode_view,
    "apply": messages.decode_apply,
}


def message(path: Path) -> object:
    """A line as whoever is at the other end takes it."""
    kind, body = messages.from_line(path.read_bytes())
    return DECODERS[kind](body) if kind in DECODERS else None


# ---- lists in TOML ---------------------------------------------------------------------------


def known_lists() -> list[bytes]:
    """The first entries of the shipped lists of known failures."""
    return [text[:2000].rpartition("\n[[known]]")[0].encode() for text in lists.shipped().values()]


def catalogues() -> list[bytes]:
    """The first entries of the files of the catalogue of mutants."""
    texts = catalogue.shipped().values()
    return [text[:2000].rpartition("\n[[mutant]]")[0].encode() for text in texts]


def read_catalogue(path: Path) -> object:
    """The mutants of one file."""
    return list(catalogue.entries(path.name, path.read_text(encoding="utf-8", errors="replace")))


# ---- files with a checksum -------------------------------------------------------------------

HERE: Final = "this environment"


def programs() -> list[bytes]:
    """Entries of a directory of programs."""
    return [persistent.entry("it", body, HERE) for body in (b"", b"a program", bytes(range(256)))]


def read_program(path: Path) -> object:
    """An entry as the executor takes it."""
    return persistent.checked(path.read_bytes(), "it", HERE)


def sealed_program(data: bytes) -> bytes:
    """The entry with the size and the checksum that its body has."""
    head, end, body = data.removeprefix(persistent.MAGIC).partition(b"\n")
    try:
        header = json.loads(head)
        header |= {"size": len(body), "sha256": persistent.digest(body)}
    except (ValueError, TypeError, RecursionError):
        return data
    return persistent.MAGIC + json.dumps(header).encode() + end + body


def searches() -> list[bytes]:
    """A small search, from its beginning on."""
    found, search = [], Search.begun(SOUND, BOUND)
    for _ in range(2):
        file = BytesIO()
        checkpoint.save(search, file)
        found.append(file.getvalue())
        search.next_level()
    return found


def read_search(path: Path) -> object:
    """A search to go on with."""
    return checkpoint.load(path.read_bytes(), SOUND, BOUND)


def sealed_search(data: bytes) -> bytes:
    """The file with the checksum that its contents have."""
    return data[:-32] + hashlib.sha256(data[:-32]).digest()


READERS: Final[Sequence[Reader]] = (
    Reader("trace", traces, read_trace, (TraceError,)),
    Reader("log", logs, read_log, (LogError,)),
    Reader("executor", said_by_executors, message, (messages.MessageError,)),
    Reader("markstep", said_by_markstep, message, (messages.MessageError,)),
    Reader("known", known_lists, lambda path: lists.read_list(str(path)), (lists.ListError,)),
    Reader("mutants", catalogues, read_catalogue, (catalogue.CatalogueError,)),
    Reader("program", programs, read_program, (ValueError,), sealed_program),
    Reader("search", searches, read_search, (checkpoint.CheckpointError,), sealed_search),
)
