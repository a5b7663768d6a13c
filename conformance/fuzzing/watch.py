"""What a reader must never do, whatever it is given: execute, write, connect, or go on for ever."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

FORBIDDEN: Final = (
    *("exec", "compile", "import", "pickle.find_class", "marshal.loads", "code.__new__"),
    *("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "subprocess.Popen"),
    *("socket.connect", "socket.bind", "socket.getaddrinfo", "urllib.Request", "ctypes.dlopen"),
    *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.truncate", "os.symlink", "os.chmod"),
    *("shutil.rmtree", "shutil.move", "shutil.copyfile", "tempfile.mkstemp"),
)
"""Audit events of Python; to open a file is forbidden, too, unless it is to be read."""
WRITING: Final = frozenset("wax+")


class Forbidden(BaseException):
    """Something that no reader may do; nobody catches it by mistake."""


class TooLong(BaseException):
    """A reader has not come to an end."""


class _Watch:
    """Whether somebody watches now: a hook of Python cannot be taken away again."""

    on = False
    begun = False


def _hook(event: str, given: tuple[Any, ...]) -> None:
    if not _Watch.on:
        return
    if event == "open":
        path, mode, _ = given
        if mode is not None and WRITING & set(mode):
            raise Forbidden(f"it opens {path} to write")
    elif event in FORBIDDEN:
        raise Forbidden(f"it causes {event} {given!r}"[:200])


@contextmanager
def watched(seconds: float) -> Iterator[None]:
    """A block that may only read and compute. Raises Forbidden, and TooLong after that time.

    Only in the main thread, for signals come nowhere else.
    """
    if not _Watch.begun:
        sys.addaudithook(_hook)
        _Watch.begun = True
    before = signal.signal(signal.SIGALRM, _too_long)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    _Watch.on = True
    try:
        yield
    finally:
        _Watch.on = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TooLong("it has not come to an end")
