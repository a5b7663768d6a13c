"""Lists of known failures: TOML files that say what is broken, since when, and why that is so.

    extends = ["torch_xla_2_9_0"]      # a shipped list, or a file beside this one

    [[known]]
    id = "I34"                         # an invariant, or the id of a rule
    reason = "a user's donation mark overrules other holders"
    adapter = "torch_xla*"             # optional; as in a shell
    version = "2.9.*"                  # optional
    field = "value"                    # optional, for rules: what differs
    link = "https://…"                 # optional
    expires = 2027-06-30               # optional; from then on it counts again

A list is read by these fields and nothing else; the first thing that is not so is a ListError.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import date, datetime
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path
from typing import Any

from markstep.spec.invariants import CLAIMS
from markstep.spec.machine import ACTIONS

SUFFIX = ".toml"
MAX_BYTES = 2**20
DEEPEST = 8
"""Lists that extend each other."""


class ListError(ValueError):
    """A list is not as it should be: file, place, what is wrong."""


@dataclass(frozen=True, slots=True)
class KnownFailure:
    """One failure that is known."""

    id: str
    reason: str
    adapter: str = "*"
    version: str = "*"
    field: str = ""
    link: str = ""
    expires: date | None = None
    source: str = ""
    """The list that it is from."""

    def concerns(self, adapter: str, version: str) -> bool:
        """Whether it is about this executor."""
        return fnmatchcase(adapter, self.adapter) and fnmatchcase(version, self.version)

    def expired(self, today: date) -> bool:
        """Whether it counts as a failure again."""
        return self.expires is not None and today >= self.expires

    @property
    def is_claim(self) -> bool:
        """Whether it is about an invariant."""
        return self.id in CLAIMS

    def __str__(self) -> str:
        link = f" ({self.link})" if self.link else ""
        return f"{self.id}: {self.reason}{link}"


def shipped() -> dict[str, str]:
    """The lists that come with markstep: name → text."""
    here = files("markstep.conformance.known")
    names = sorted(entry.name for entry in here.iterdir() if entry.name.endswith(SUFFIX))
    return {n.removesuffix(SUFFIX): (here / n).read_text(encoding="utf-8") for n in names}


def read_list(name: str, depth: int = 0) -> list[KnownFailure]:
    """The entries of a list and of those that it extends. Raises ListError.

    ``name``: that of a shipped list, or a path.
    """
    if depth > DEEPEST:
        raise ListError(f"{name}: lists extend each other more than {DEEPEST} deep")
    known, path = shipped(), Path(name)
    text = known[name] if name in known else _text(path)
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ListError(f"{name}: not TOML: {str(error) or 'nested too deep'}") from None
    return list(_entries(table, name, path.parent, depth))


def _text(path: Path) -> str:
    if path.exists() and not path.is_file():
        raise ListError(f"{path}: is no regular file; give a TOML file")
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        lists = ", ".join(shipped())
        raise ListError(f"{path}: {error.strerror}; shipped lists: {lists}") from None
    if len(data) > MAX_BYTES:
        raise ListError(f"{path}: larger than {MAX_BYTES >> 10} KiB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ListError(f"{path}: byte {error.start}: not UTF-8") from None


def _entries(
    table: dict[str, Any], source: str, folder: Path, depth: int
) -> Iterator[KnownFailure]:
    for key in table:
        if key not in ("extends", "known"):
            raise ListError(f"{source}: unknown key {key!r}; known: extends, known")
    extends, entries = table.get("extends", []), table.get("known", [])
    if not (isinstance(extends, list) and all(isinstance(name, str) for name in extends)):
        raise ListError(f"{source}: extends must be a list of names")
    if not (isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)):
        raise ListError(f"{source}: known must be tables, [[known]]")
    for name in extends:
        yield from read_list(name if name in shipped() else str(folder / name), depth + 1)
    for number, entry in enumerate(entries):
        yield _entry(entry, source, f"{source}: known[{number}]")


FIELDS = tuple(f.name for f in fields(KnownFailure) if f.name != "source")


def _entry(entry: dict[str, Any], source: str, where: str) -> KnownFailure:
    for key, value in entry.items():
        if key not in FIELDS:
            raise ListError(f"{where}: unknown field {key!r}; known: {', '.join(FIELDS)}")
        day = isinstance(value, date) and not isinstance(value, datetime)
        if key == "expires" and not day:
            raise ListError(f"{where}.expires: must be a date such as 2027-06-30")
        if key != "expires" and not isinstance(value, str):
            raise ListError(f"{where}.{key}: must be text")
    for key in ("id", "reason"):
        if not entry.get(key):
            raise ListError(f"{where}: {key} is missing")
    if entry["id"] not in CLAIMS and entry["id"] not in {rule.id for rule in ACTIONS.values()}:
        what = "is neither an invariant nor a rule"
        raise ListError(f"{where}.id: {entry['id'][:40]!r} {what}; see `markstep list`")
    return KnownFailure(**entry, source=source)
