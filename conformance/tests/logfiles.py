"""Recorded logs for tests: where they lie, how one is changed and written elsewhere."""

import copy
import gzip
import json
from pathlib import Path
from typing import Any

LOGS = sorted((Path(__file__).parent / "logs").rglob("*.jsonl.gz"))


def name_of(path: Path) -> str:
    """Profile and file name."""
    return f"{path.parent.name}/{path.name}"


def named(name: str) -> Path:
    """The log of a profile and a seed, as in "core/p0020"."""
    return Path(__file__).parent / "logs" / f"{name}.jsonl.gz"


def lines_of(path: Path) -> list[Any]:
    """The lines of a log as JSON values: header, then steps."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write(path: Path, lines: list[Any]) -> Path:
    """A log of JSON values."""
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return path


HEADER: dict[str, Any] = {
    "format": "markstep-raw-log",
    "version": 1,
    "system": "torch_xla",
    "system_version": "2.9.0",
    "torch": "2.9.1",
    "profile": "core",
    "seed": 0,
    "devices": 1,
    "devices_used": 1,
    "spmd": False,
    "functionalization": True,
    "env": {"PJRT_DEVICE": "CPU"},
    "eager": False,
    "initial_seed": 101,
}


def header(**changes: object) -> dict[str, Any]:
    """A header, changed."""
    return {**HEADER, **changes}


def changed(lines: list[Any], line: int, **changes: object) -> list[Any]:
    """A copy of a log with other fields in one line."""
    lines = copy.deepcopy(lines)
    lines[line].update(changes)
    return lines
