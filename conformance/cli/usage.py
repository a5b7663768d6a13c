"""Mistakes of the user: always one line that says where, what, and what to do."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches


class UsageError(Exception):
    """Something that the user can put right. The text is the line that is printed."""

    def __init__(self, where: str, what: str, advice: str = "") -> None:
        super().__init__(one_line(f"{where}: {what}" + (f"; {advice}" if advice else "")))


def one_line(text: str) -> str:
    """A text without line breaks and control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def complain(text: str) -> None:
    """One line on standard error."""
    print(f"markstep: {one_line(text)}", file=sys.stderr)


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """Go on in silence when nobody reads the output any more, as in `markstep run | head`."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def pick(option: str, name: str, known: Iterable[str], kind: str = "") -> str:
    """The name, if it is known. Raises UsageError with the nearest known name."""
    names = list(known)
    if name in names:
        return name
    kind = kind or option.lstrip("-")
    near = get_close_matches(name, names, n=1, cutoff=0.5) or [
        n for n in names if n.lower() == name.lower()
    ]
    if near:
        raise UsageError(option, f"unknown {kind} {name!r}", f"did you mean {near[0]!r}?")
    listed = ", ".join(names) if len(names) <= 12 else f"see `markstep list {kind}s`"
    raise UsageError(option, f"unknown {kind} {name!r}", f"known: {listed}")
