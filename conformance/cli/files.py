"""Files that the command line reads and writes."""

import os
import tempfile
from collections.abc import Callable, Iterable
from glob import glob
from pathlib import Path
from typing import BinaryIO

from markstep.conformance.cli.usage import UsageError


def find(option: str, given: Iterable[str], suffixes: tuple[str, ...]) -> list[Path]:
    """The files that are meant: files as they are, what lies in directories, what globs match."""
    found: dict[Path, None] = {}
    for name in given:
        found.update(dict.fromkeys(_meant(option, name, suffixes)))
    return list(found)


def _meant(option: str, name: str, suffixes: tuple[str, ...]) -> list[Path]:
    path = Path(name)
    if path.is_dir():
        inside = (p for suffix in suffixes for p in path.rglob(f"*{suffix}") if p.is_file())
        if files := sorted(inside):
            return files
        what = f"no file whose name ends in {' or '.join(suffixes)} in this directory"
        raise UsageError(f"{option} {name}", what, "give another directory or a file")
    if path.exists():
        check_regular(option, path)
        return [path]
    if matches := sorted(glob(name, recursive=True)):
        return [p for match in matches for p in _meant(option, match, suffixes)]
    what = "nothing matches" if any(c in name for c in "*?[") else "no such file or directory"
    raise UsageError(f"{option} {name}", what, "check the path")


def check_regular(option: str, path: Path) -> None:
    """Refuse what may never end, as a pipe, or cannot be read again. Raises UsageError."""
    if path.exists() and not path.is_file():
        raise UsageError(f"{option} {path}", "is no regular file", "give the name of a file")


def check_apart(*named: tuple[str, Path | None]) -> None:
    """Refuse options that name one file: one would overwrite the other. Raises UsageError."""
    taken: dict[Path, str] = {}
    for option, path in named:
        if path is None or (path.exists() and not path.is_file()):  # a device takes everything
            continue
        other = taken.setdefault(path.resolve(), option)
        if other != option:
            raise UsageError(f"{option} {path}", f"is the file of {other} too", "give another name")


def check_writable(option: str, path: Path | None) -> None:
    """Fail before the work and not after it. Raises UsageError."""
    if path is None:
        return
    if path.is_dir():
        raise UsageError(f"{option} {path}", "is a directory", "give the name of a file in it")
    if path.exists() and not path.is_file():
        return
    _try_directory(option, path.parent)


def check_directory(option: str, path: Path) -> None:
    """As `check_writable` for a directory to write to; it is made later, when it is needed."""
    if path.exists() and not path.is_dir():
        raise UsageError(f"{option} {path}", "is not a directory", "give a directory")
    existing = path
    while not existing.exists():
        existing = existing.parent
    _try_directory(option, existing)


def _try_directory(option: str, directory: Path) -> None:
    try:
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(
            f"{option} {directory}", f"cannot write there: {reason}", "give another place"
        ) from error


def write_atomically(path: Path, text: str) -> None:
    """As `stream_atomically`, of a text."""
    stream_atomically(path, lambda file: file.write(text.encode("utf-8")))


def append_text(path: Path, text: str) -> None:
    """Add to the end of a file, which others may add to as well. Raises UsageError."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        what = f"cannot be written: {error.strerror}"
        raise UsageError(str(path), what, "give another place") from error


def stream_atomically(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file so that nobody ever sees half of it; a device is written as it is, the target of
    a link is written and the link kept. Raises UsageError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        target = path.resolve()
        if target.exists() and not target.is_file():
            with open(target, "wb") as file:
                write(file)
        else:
            _replace(target, write)
    except OSError as error:
        raise UsageError(
            str(path), f"cannot be written: {error.strerror}", "give another place"
        ) from error


def _replace(path: Path, write: Callable[[BinaryIO], object]) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
