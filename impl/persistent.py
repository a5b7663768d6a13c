"""Compiled programs in a directory: they survive the process, and processes may share them.

An entry is one file, named by what it was compiled from. It is written under another name first
and renamed, so that nobody sees half of one; it says where it was made and how its bytes sum up.
What is truncated, changed or from elsewhere is compiled again, with a warning, and replaced.
Entries are machine code: only those of this user or of root are loaded.

Source: torch_xla::runtime::util::PersistentCache; semantics.md §3 (57), §7
(XLA_PERSISTENT_CACHE_PATH, _READ_ONLY).
"""

import hashlib
import json
import os
import tempfile
import warnings
from pathlib import Path
from typing import Final

from markstep.impl.errors import bad_argument

MAGIC: Final = b"markstep program 1\n"
SUFFIX: Final = ".program"
LONGEST_HEADER: Final = 4096


class Directory:
    """The entries of one directory. ``readonly``: nothing is written, replaced or removed."""

    def __init__(self, path: str | os.PathLike[str], readonly: bool, environment: str) -> None:
        """``environment``: where programs are made; one from elsewhere is not loaded. Raises
        BAD_ARGUMENT if the directory cannot be used."""
        self.path, self.readonly, self.environment = Path(path), readonly, environment
        self.warned = False
        try:
            if not readonly:
                self.path.mkdir(parents=True, exist_ok=True)
            os.listdir(self.path)
        except OSError as cause:
            raise bad_argument(f"no programs can be kept in {self.path}: {cause}") from cause

    def file(self, name: str) -> Path:
        """Where the entry of a name lies, if there is one."""
        return self.path / f"{name}{SUFFIX}"

    def load(self, name: str) -> bytes | None:
        """The bytes of an entry; None if there is none, or none that can be trusted (warned)."""
        try:
            with open(self.file(name), "rb") as file:
                if os.fstat(file.fileno()).st_uid not in (os.geteuid(), 0):
                    raise ValueError("it belongs to another user")
                return checked(file.read(), name, self.environment)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as cause:
            self.reject(name, str(cause))
            return None

    def reject(self, name: str, why: str) -> None:
        """Say that an entry is of no use."""
        then = "the program is compiled again" + (" and replaced" if not self.readonly else "")
        warnings.warn(f"{self.file(name)}: {why}; {then}", RuntimeWarning, stacklevel=2)

    def store(self, name: str, body: bytes) -> None:
        """Keep an entry in the place of any other of the name. A disk that takes no more is told of
        once, and changes nothing."""
        if self.readonly:
            return
        try:
            self._write(self.file(name), entry(name, body, self.environment))
        except OSError as cause:
            if not self.warned:
                text = f"{self.path}: programs are not kept: {cause}"
                warnings.warn(text, RuntimeWarning, stacklevel=2)
            self.warned = True

    def _write(self, path: Path, data: bytes) -> None:
        descriptor, temporary = tempfile.mkstemp(prefix=".writing-", dir=self.path)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise


def entry(name: str, body: bytes, environment: str) -> bytes:
    """An entry as bytes: what it is, a line that describes it, the program."""
    header = {"name": name, "environment": environment, "size": len(body), "sha256": digest(body)}
    return MAGIC + json.dumps(header).encode() + b"\n" + body


def checked(data: bytes, name: str, environment: str) -> bytes:
    """The program in an entry. Raises ValueError with the reason why it cannot be trusted."""
    if not data.startswith(MAGIC):
        raise ValueError("not a program of this format")
    line, end, body = data[len(MAGIC) :].partition(b"\n")
    try:
        header = json.loads(line.decode()) if end and len(line) <= LONGEST_HEADER else None
    except RecursionError:
        header = None
    if not isinstance(header, dict) or header.get("name") != name:
        raise ValueError("its description is damaged, or that of another program")
    if header.get("environment") != environment:
        raise ValueError(f"made in another environment ({header.get('environment')})")
    if header.get("size") != len(body):
        raise ValueError(f"truncated: {len(body)} bytes of {header.get('size')}")
    if header.get("sha256") != digest(body):
        raise ValueError("damaged: the checksum differs")
    return body


def digest(body: bytes) -> str:
    """The checksum of a program."""
    return hashlib.sha256(body).hexdigest()
