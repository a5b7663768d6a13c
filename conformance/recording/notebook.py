"""The lines of a recording while they are made: names, places, what is seen where.

Nothing here knows torch: `Eyes` look at the tensors of a real system.
"""

import marshal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, BinaryIO, Protocol
from weakref import ref

from markstep.conformance.recording.lines import Program

MOST_TEXT = 80
"""Characters of a constant that are written down."""


class Eyes(Protocol):
    """How to look at a real system without disturbing it."""

    def number(self, tensor: Any) -> int:
        """The id of the record behind a tensor object."""

    def settle(self, tensors: Sequence[Any]) -> None:
        """Wait until what was just started shows its results, or never will."""

    def shows(self, tensor: Any) -> dict[str, Any]:
        """What a tensor shows, as a line has it, but for the number of its buffer: its address."""

    def counters(self) -> dict[str, int]:
        """Every counter."""


class Notebook:
    """Writes a recording to a file."""

    def __init__(self, file: BinaryIO, header: Program, eyes: Eyes, home: Path) -> None:
        """``home``: the directory of the user's program; places in it are named."""
        self.file, self.eyes, self.home = file, eyes, str(home)
        self._lines: list[dict[str, object]] = []
        self.known: dict[int, tuple[ref[Any], str]] = {}
        """Address of a tensor object → it, and the name of its record."""
        self._held: dict[str, set[int]] = {}
        """Name of a record → addresses of the tensor objects that hold it."""
        self._dying: set[str] = set()
        self._of_number: dict[int, str] = {}
        self._shown: dict[str, dict[str, Any]] = {}
        self._handles: dict[str, int] = {}
        self._sources: dict[int, tuple[ref[Any], int, int]] = {}
        self._places: dict[int, tuple[CodeType, str | None]] = {}
        """By address: the hash of a code object covers all that is in it."""
        self._counted = eyes.counters()
        self._lines.append(header.to_json())

    # ---- names ------------------------------------------------------------------------------

    def name(self, tensor: Any) -> str:
        """The name of the record behind a tensor object, new if nobody has seen it."""
        known = self.known.get(id(tensor))
        if known is not None:
            return known[1]
        number = self.eyes.number(tensor)
        return self.same(tensor, self._of_number.setdefault(number, f"t{number}"))

    def same(self, tensor: Any, name: str) -> str:
        """A tensor object is another one over a record that has a name."""
        key = id(tensor)
        if key not in self.known:
            self.known[key] = ref(tensor, lambda _: self._gone(key)), name
            self._held.setdefault(name, set()).add(key)
        return name

    def _gone(self, key: int) -> None:
        _, name = self.known.pop(key)
        holders = self._held[name]
        holders.discard(key)
        if not holders:
            self._dying.add(name)

    def source(self, array: Any, version: int) -> int:
        """A number for a host array in one version of its contents."""
        known = self._sources.get(id(array))
        if known is not None and known[0]() is array and known[1] == version:
            return known[2]
        number = len(self._sources) + 1 if known is None else known[2] + 1_000_000
        self._sources[id(array)] = ref(array), version, number
        return number

    def place(self) -> str:
        """The innermost line of the user's program that runs, as file:line."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            code = frame.f_code
            known = self._places.get(id(code))
            if known is None:
                known = self._places[id(code)] = code, self._place_of(code.co_filename)
            if known[1] is not None:
                return f"{known[1]}:{frame.f_lineno}"
            frame = frame.f_back
        return ""

    def _place_of(self, file: str) -> str | None:
        inside = file.startswith(self.home) and "site-packages" not in file
        return str(Path(file).relative_to(self.home)) if inside else None

    # ---- lines ------------------------------------------------------------------------------

    def line(
        self, action: str, args: dict[str, object], error: BaseException | None = None
    ) -> None:
        """An op, an upload or a switch."""
        self._lines.append(self._entry(action, args, error))

    def _entry(
        self, action: str, args: dict[str, object], error: BaseException | None
    ) -> dict[str, object]:
        entry: dict[str, object] = {"action": action, "args": args}
        if place := self.place():
            entry["at"] = place
        if error is not None:
            first = (str(error).splitlines() or [""])[0][:300]
            entry["outcome"] = {"error": {"type": type(error).__name__, "message": first}}
        return entry

    def before(self) -> None:
        """A call that syncs, reads or asks begins: say which records are gone, and save."""
        gone = sorted(self._dying, key=lambda name: int(name[1:]))
        dead = [name for name in gone if not self._held[name]]
        self._dying.clear()
        for name in dead:
            del self._held[name]
            self._shown.pop(name, None)
        if dead:
            self._lines.append({"action": "drop", "args": {"tensors": dead}})
        self.save()

    def after(
        self,
        action: str,
        args: dict[str, object],
        error: BaseException | None = None,
        only: Sequence[str] | None = None,
    ) -> None:
        """It has ended: look at the tensors, or at some of them."""
        entry = self._entry(action, args, error)
        entry["tensors"] = self._look(list(self._held) if only is None else only)
        now = self.eyes.counters()
        moved = {n: now[n] - self._counted.get(n, 0) for n in now}
        entry["counters"] = {n: by for n, by in moved.items() if by}
        self._counted = now
        self._lines.append(entry)

    def _look(self, names: Sequence[str]) -> dict[str, object]:
        """What has changed of what tensors show."""
        found = {}
        for name in names:
            for key in self._held.get(name, ()):
                tensor = self.known[key][0]()
                if tensor is not None:
                    found[name] = tensor
                    break
        fresh = [t for n, t in found.items() if not _is_empty(self._shown.get(n))]
        self.eyes.settle(fresh)
        seen = {name: self.eyes.shows(tensor) for name, tensor in found.items()}
        self._number_buffers(seen)
        changed = {n: entry for n, entry in seen.items() if self._shown.get(n) != entry}
        self._shown.update(changed)
        return dict(changed)

    def _number_buffers(self, seen: dict[str, dict[str, Any]]) -> None:
        for entry in seen.values():
            data = entry.get("data")
            if data is not None and data["handle"] is not None:
                data["handle"] = self._handles.setdefault(data["handle"], len(self._handles) + 1)

    def save(self) -> None:
        """Write what is not written yet: a crash loses no more than the call that it is in.

        As blocks of `marshal`, which costs a tenth of JSON; `markstep record` makes lines of them.
        """
        marshal.dump(self._lines, self.file)
        self._lines.clear()
        self.file.flush()

    def end(self, status: int) -> None:
        """The program has ended."""
        with suppress(RuntimeError):  # a system that is broken cannot be looked at any more
            self.before()
        self._lines.append({"action": "end", "args": {"status": status}})
        self.save()


def _is_empty(entry: dict[str, Any] | None) -> bool:
    """Whether a tensor showed a placeholder already when it was looked at last."""
    data = (entry or {}).get("data")
    return data is not None and data["state"] == "placeholder"


def constant(value: object) -> object:
    """An argument of an op that is no tensor, as it is written down."""
    if isinstance(value, bool | int) or value is None:
        return value
    if isinstance(value, float) and abs(value) < float("inf"):
        return value
    return str(value)[:MOST_TEXT]
