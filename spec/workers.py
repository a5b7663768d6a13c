"""Processes that work for a search: Ctrl-C is for the one that keeps it, and they end with that."""

import os
import signal
from multiprocessing import active_children, parent_process
from threading import Thread


def begin() -> None:
    """The first thing that such a process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=end_with_parent, daemon=True).start()


def end_with_parent() -> None:
    """Wait until the process that keeps the search has ended, however it did, then end."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def end_all() -> None:
    """End the processes that work for this one, whatever they are at."""
    for process in active_children():
        process.kill()
