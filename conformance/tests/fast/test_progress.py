"""The progress bar: only for a person who has waited for a while."""

import io
import sys
from typing import Any

from markstep.conformance.cli import progress
from markstep.conformance.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(stderr: io.StringIO, patience: float, monkeypatch: Any) -> str:
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setattr(progress, "PATIENCE_S", patience)
    monkeypatch.setattr(progress, "EVERY_S", 0.0)
    with Progress("programs") as tell:
        for done in range(3):
            tell(done, 3)
    return stderr.getvalue()


def test_a_bar_is_shown_on_a_terminal_when_the_work_takes_long(monkeypatch: Any) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert "programs" in shown(Terminal(), 0.0, monkeypatch)


def test_short_work_shows_no_bar(monkeypatch: Any) -> None:
    assert shown(Terminal(), 60.0, monkeypatch) == ""


def test_nothing_is_written_into_a_file(monkeypatch: Any) -> None:
    assert shown(io.StringIO(), 0.0, monkeypatch) == ""
