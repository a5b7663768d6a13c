"""`markstep designs`: a table of designs and properties, computed."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from markstep.conformance import designtable
from markstep.conformance.adapters.alternatives import shows
from markstep.conformance.cli.files import (
    check_apart,
    check_directory,
    check_writable,
    write_atomically,
)
from markstep.conformance.cli.progress import Progress
from markstep.conformance.cli.usage import UsageError, pick, reader_may_leave
from markstep.conformance.designtable import Column
from markstep.conformance.exit_codes import ExitCode
from markstep.conformance.report import designpages
from markstep.spec.named_designs import DESIGNS
from markstep.spec.trace import Trace, dumps


def designs_verb(
    names: Sequence[str],
    limits: dict[str, int | None],
    pages: dict[str, Path | None],
    traces: Path | None,
    command: str,
) -> ExitCode:
    """Explore every design, print the table and write its pages. ``pages``: by option."""
    chosen = [DESIGNS[pick("--design", name, DESIGNS)] for name in names]
    given: dict[str, Any] = {name: value for name, value in limits.items() if value is not None}
    for name, value in given.items():
        if value < 1:
            raise UsageError(f"--{name}", f"{value} is not positive", "give a number from 1 on")
    check_apart(*((f"--{option}", page) for option, page in pages.items()))
    for option, page in pages.items():
        check_writable(f"--{option}", page)
    if traces is not None:
        check_directory("--traces", traces)
    bound = replace(designtable.BOUND, **given)
    with Progress("designs") as progress:
        found = designtable.columns(chosen or designtable.COMPARED, bound, progress, shows)
    with reader_may_leave():
        print(designpages.terminal(found))
    if traces is not None:
        write_traces(found, traces)
    for option, page in pages.items():
        if page is not None:
            write_atomically(page, text_of(option, page, found, command, traces))
    cut = any(not column.result.exhausted for column in found)
    return ExitCode.INCONCLUSIVE if cut else ExitCode.CONFORMS


def text_of(
    option: str, page: Path, found: Sequence[Column], command: str, traces: Path | None
) -> str:
    """A page in the form that its option asks for."""
    if option == "html":
        return designpages.html(found, command)
    place = None
    if traces is not None:
        place = os.path.relpath(traces, page.parent)
    return designpages.markdown(found, command, place)


def write_traces(found: Sequence[Column], directory: Path) -> None:
    """The counterexamples that the table names, each as a trace that `markstep replay` runs."""
    directory.mkdir(parents=True, exist_ok=True)
    for (claim, _), ((design, broken), *_) in designpages.grouped(found).items():
        if broken.path:
            trace = Trace(broken.trace, design=design, ids=(claim,))
            write_atomically(directory / designpages.trace_name(design, claim), dumps(trace))
