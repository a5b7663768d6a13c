"""Ctrl-C during a search: it ends between two steps, so that what was found is whole."""

import signal
from threading import current_thread, main_thread
from typing import Any, Self


class Interrupts:
    """While it is entered, the first Ctrl-C asks the search to stop; the next one interrupts."""

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
        signal.signal(signal.SIGINT, self.before)

    def __exit__(self, *about: object) -> None:
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)
