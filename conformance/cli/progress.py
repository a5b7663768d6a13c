"""A progress bar on standard error, if that is a terminal and the work takes long."""

import sys
from time import monotonic
from types import TracebackType
from typing import Any, Self

from markstep.conformance.cli.interrupts import check

PATIENCE_S = 2.0
"""Work that ends sooner shows no bar."""
EVERY_S = 0.1


class Progress:
    """Called as ``progress(done, total)`` as often as one likes."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.begin = self.last = monotonic()
        self.on = sys.stderr.isatty()
        self.bar: Any = None
        self.task: Any = None

    def __call__(self, done: int, total: int | None = None) -> None:
        """Tell how far the work is."""
        check()
        now = monotonic()
        if not self.on or now - self.begin < PATIENCE_S or now - self.last < EVERY_S:
            return
        self.last = now
        if self.bar is None:
            self._start()
        self.bar.update(self.task, completed=done, total=total)

    def _start(self) -> None:
        from rich import progress
        from rich.console import Console

        self.bar = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            progress.TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self.task = self.bar.add_task(self.what, total=None)
        self.bar.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.bar is not None:
            self.bar.stop()
