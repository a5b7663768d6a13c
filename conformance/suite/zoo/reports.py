"""The bug zoo: reports about real executors, and the trace that shows each of those that fit."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from markstep.spec.machine import AnyAction
from markstep.spec.trace import SUFFIX, Trace, loads

HERE = files("markstep.conformance.suite.zoo")


@dataclass(frozen=True, slots=True)
class Report:
    """One report."""

    id: str
    kind: str
    source: str
    link: str
    says: str
    """What the user saw."""
    mechanism: str
    """Why it happened."""
    claims: tuple[str, ...] = ()
    """What of the law its trace would break."""
    live: bool = False
    """The trace breaks one of the claims under the design torch_xla_2_9, too."""
    left_out: str = ""
    """Why there is no trace of it."""

    @property
    def file(self) -> str:
        """The name of its trace."""
        return f"{self.id}{SUFFIX}"


@cache
def reports() -> dict[str, Report]:
    """All reports, by their ids."""
    table = tomllib.loads((HERE / "reports.toml").read_text(encoding="utf-8"))
    listed = [{**entry, "claims": tuple(entry.get("claims", ()))} for entry in table["report"]]
    return {entry["id"]: Report(**entry) for entry in listed}


def trace_of(report: Report) -> Trace:
    """The trace that shows a report that fits."""
    return loads((HERE / report.file).read_text(encoding="utf-8"), report.file)


def zoo() -> Iterator[tuple[Report, tuple[AnyAction, ...]]]:
    """Every report that fits, with its program."""
    for report in reports().values():
        if not report.left_out:
            yield report, trace_of(report).actions


def traces() -> set[str]:
    """The names of the trace files that are there."""
    return {entry.name for entry in HERE.iterdir() if entry.name.endswith(SUFFIX)}
