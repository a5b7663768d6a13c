"""Saved traces: one file for each failure that has a program."""

import re
from pathlib import Path
from shlex import quote

from markstep.conformance.cli.files import write_atomically
from markstep.conformance.report.model import Failure, Report
from markstep.spec.trace import SUFFIX, Trace, dumps

MOST = 50
"""Failures of one run whose traces are saved."""


def save_traces(report: Report, directory: Path) -> None:
    """Write the traces of failures that have none yet, and say how to replay them."""
    taken: set[str] = set()
    for failure in report.failures[:MOST]:
        if not failure.program or failure.trace_file is not None:
            continue
        path = directory / _name(failure, report, taken)
        write_atomically(path, dumps(trace_of(failure, report)))
        failure.trace_file = str(path)
        if failure.code:
            script = path.with_name(path.name.removesuffix(SUFFIX) + ".py")
            write_atomically(script, failure.code)
            failure.code_file = str(script)
        if not failure.replay:
            adapter = f" --adapter {quote(failure.adapter)}" if failure.adapter else ""
            failure.replay = f"markstep replay {quote(str(path))}{adapter}"


def trace_of(failure: Failure, report: Report) -> Trace:
    """The trace of a failure."""
    return Trace(
        actions=failure.program,
        design=failure.design,
        adapter=failure.adapter or None,
        seed=failure.seed,
        profile=report.profile or None,
        ids=(failure.id,),
    )


def _name(failure: Failure, report: Report, taken: set[str]) -> str:
    """A name that says what it is and does not collide within a run."""
    parts = [failure.id, failure.adapter, failure.design]
    stem = "-".join(re.sub(r"[^A-Za-z0-9_.]+", "_", part) for part in parts if part)
    name, number = stem, 1
    while name in taken:
        number += 1
        name = f"{stem}-{number}"
    taken.add(name)
    return f"{name}{SUFFIX}"
