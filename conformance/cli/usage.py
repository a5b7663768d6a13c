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
    """Go on in silence when nobody reads the output any more, as in `markstep run | head`.

    Raises UsageError where it cannot be written for another reason: a disk is full.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        _print_to_nobody()
    except OSError as error:
        _print_to_nobody()
        what = f"cannot be written: {(error.strerror or str(error)).lower()}"
        raise UsageError("standard output", what, "give another place") from error


def _print_to_nobody() -> None:
    """What is still to be written would fail once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def open_streams() -> None:
    """Give every standard stream that the shell has closed (`>&-`) a place where nobody reads: the
    next file that is opened must not take its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8", closefd=False)


def pick(option: str, name: str, known: Iterable[str], kind: str = "", listed: str = "") -> str:
    """The name, if it is known. Raises UsageError with the nearest known name, or where to find
    all; ``listed``: what to say of many that `markstep list` does not have."""
    names = list(known)
    if name in names:
        return name
    kind = kind or option.lstrip("-")
    near = get_close_matches(name, names, n=1, cutoff=0.5) or [
        n for n in names if n.lower() == name.lower()
    ]
    if near:
        raise UsageError(option, f"unknown {kind} {name!r}", f"did you mean {near[0]!r}?")
    listed = ", ".join(names) if len(names) <= 12 else listed or f"see `markstep list {kind}s`"
    raise UsageError(option, f"unknown {kind} {name!r}", f"known: {listed}")
