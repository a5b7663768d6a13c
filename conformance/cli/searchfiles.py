"""Files that an exploration reads and writes: checkpoints, programs, a page of the manual."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TypeAlias

from markstep.conformance.cli.files import (
    check_directory,
    check_regular,
    check_writable,
    stream_atomically,
    write_atomically,
)
from markstep.conformance.cli.usage import UsageError
from markstep.conformance.programs.covering import cover
from markstep.conformance.report.model import Report
from markstep.conformance.report.pages import explored_page
from markstep.conformance.show import counted
from markstep.spec.design import Design
from markstep.spec.search.alphabet import Bound
from markstep.spec.search.checkpoint import (
    MAGIC,
    CheckpointError,
    begins_checkpoint,
    law,
    load,
    save,
)
from markstep.spec.search.search import Exploration, Search
from markstep.spec.search.space import Space
from markstep.spec.trace import SUFFIX, Trace, dumps

Tell: TypeAlias = Callable[[int, int | None], None]
"""Told how much is done, and how much there seems to be."""

EVERY_S = 60.0
"""Seconds of searching between two checkpoints."""


@dataclass
class SearchFiles:
    """Where an exploration comes from and what it leaves."""

    checkpoint: Path | None = None
    """Written now and then, and when the search stops."""
    resume: Path | None = None
    """A checkpoint to go on from."""
    emit: Path | None = None
    """Directory for programs that take every move of the space."""
    page: Path | None = None
    """The result as a page of the manual."""
    html: Path | None = None
    """The states as a page to walk through."""

    def check(self) -> None:
        """Fail before the work. Raises UsageError."""
        if self.resume is not None and self.emit is not None:
            what = "a checkpoint does not hold the moves between states"
            raise UsageError("--emit-tests", what, "leave out --resume")
        check_writable("--resume" if self.checkpoint is None else "--checkpoint", self.kept)
        check_checkpoint("--checkpoint", self.checkpoint)
        check_checkpoint("--resume", self.resume)
        check_writable("--write", self.page)
        if self.emit is not None:
            check_directory("--emit-tests", self.emit)

    @property
    def kept(self) -> Path | None:
        """Where checkpoints go: a search that goes on keeps its file."""
        return self.checkpoint or self.resume

    def begin(self, design: Design, bound: Bound) -> Search:
        """A new search, or the one in the file. Raises UsageError."""
        law()  # as the text is now: it may be edited while the search runs
        if self.resume is None:
            search = Search.begun(design, bound)
            search.edges = None if self.emit is None else []
            return search
        try:
            return load(self.resume.read_bytes(), design, bound)
        except CheckpointError as error:
            raise UsageError(f"--resume {self.resume}", str(error)) from error
        except OSError as error:
            what = f"cannot be read: {(error.strerror or str(error)).lower()}"
            raise UsageError(f"--resume {self.resume}", what, "check the path") from error

    def keep(self, search: Search) -> None:
        """Write a checkpoint, if that is wanted. Raises UsageError."""
        if self.kept is not None:
            stream_atomically(self.kept, lambda file: save(search, file))


def check_checkpoint(option: str, path: Path | None) -> None:
    """Refuse to write over a file that is something else. Raises UsageError."""
    if path is None or not path.exists():
        return
    check_regular(option, path)
    try:
        with path.open("rb") as file:
            begin = file.read(len(MAGIC))
    except OSError as error:
        what = f"cannot be read: {(error.strerror or str(error)).lower()}"
        raise UsageError(f"{option} {path}", what, "check the path") from error
    if begin and not begins_checkpoint(begin):
        advice = "give a new file or a checkpoint of markstep"
        raise UsageError(f"{option} {path}", "is not a checkpoint", advice)


class Keeper:
    """Writes a checkpoint now and then."""

    def __init__(self, files: SearchFiles) -> None:
        self.files, self.last = files, monotonic()

    def __call__(self, search: Search) -> None:
        """Called between two batches."""
        if monotonic() - self.last >= EVERY_S:
            self.files.keep(search)
            self.last = monotonic()


def emit_programs(search: Search, directory: Path, report: Report, tell: Tell) -> None:
    """Write programs that take every move of a space, and say what they do not take and why."""
    found = cover(Space.of(search), tell)
    design = search.result.design.name
    for number, program in enumerate(found.programs, 1):
        path = directory / f"explored-{design}-{number:03}{SUFFIX}"
        write_atomically(path, dumps(Trace(program, design)))
    length = sum(map(len, found.programs))
    report.notes.append(
        f"{counted(len(found.programs), 'program')} with {counted(length, 'action')} in "
        f"{directory}: {found.covered} of the {found.moves} moves of the space are taken"
    )
    for why, number in found.left_out.most_common():
        report.notes.append(f"not taken: {counted(number, 'move')}, because {why.value}")


def write_page(result: Exploration, page: Path, command: str) -> None:
    """The result as a page of the manual."""
    write_atomically(page, explored_page(result, command))


def write_walk(search: Search, page: Path, report: Report, command: str, tell: Tell) -> None:
    """The states as a page to walk through."""
    from markstep.conformance.html.space import space_page

    write_atomically(page, space_page(search, report, command, tell))
