"""Ctrl-C: the first one ends the work in an orderly way, the second one the process.

A KeyboardInterrupt can get lost, in a callback of a library for example. That somebody wants to
stop is therefore remembered, too, and work that takes long asks between two of its pieces.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from threading import enumerate as enumerate_threads
from typing import Any, NoReturn, Self

LAST_LINE = b"markstep: interrupted\n"


def leave(number: int, frame: object) -> NoReturn:
    """End now, with all processes that work for this one."""
    end_workers()
    os.write(2, LAST_LINE)
    os._exit(128 + signal.SIGINT)


def end(code: int) -> NoReturn:
    """End when everything is done and written. Python must not tear itself down while a thread that
    was given up is inside native code: the process would be aborted, whatever the verdict."""
    if any(thread.daemon for thread in enumerate_threads()):
        end_workers()
        os._exit(code)
    sys.exit(code)


def end_workers() -> None:
    """End the processes that work for this one, if there are any."""
    if "multiprocessing" in sys.modules:
        from markstep.spec.workers import end_all

        end_all()


class _Asked:
    """Whether somebody wants to stop, and nobody has heard of it."""

    now = False


def interrupt(number: int, frame: object) -> NoReturn:
    """The first Ctrl-C: KeyboardInterrupt, now and, if that gets lost, at the next `check`."""
    signal.signal(signal.SIGINT, leave)
    _Asked.now = True
    raise KeyboardInterrupt


def check() -> None:
    """To be called between two pieces of work. Raises the KeyboardInterrupt that got lost."""
    if _Asked.now:
        _Asked.now = False
        raise KeyboardInterrupt


@contextmanager
def interruptible() -> Iterator[None]:
    """While it is entered the first Ctrl-C interrupts and the next one ends the process; where
    Ctrl-C is ignored, as in the background, it still is."""
    before, told = signal.getsignal(signal.SIGINT), sys.unraisablehook
    ours = before in (signal.default_int_handler, leave) and current_thread() is main_thread()

    def tell(lost: "sys.UnraisableHookArgs") -> None:
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            told(lost)

    if ours:
        _Asked.now = False
        signal.signal(signal.SIGINT, interrupt)
        sys.unraisablehook = tell  # of an interrupt that gets lost, `check` tells
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, before)
            sys.unraisablehook = told


class Interrupts:
    """While it is entered, the first Ctrl-C asks the search to stop; the next one ends it."""

    def __init__(self) -> None:
        self.asked = False
        self.before: Any = None

    def __enter__(self) -> Self:
        if current_thread() is main_thread():
            self.before = signal.signal(signal.SIGINT, self.ask)
        return self

    def ask(self, number: int, frame: object) -> None:
        """Remember that somebody wants to stop."""
        self.asked = True
        signal.signal(signal.SIGINT, leave if self.before is interrupt else self.before)

    def __exit__(self, *about: object) -> None:
        if self.before is not None and not self.asked:
            signal.signal(signal.SIGINT, self.before)
