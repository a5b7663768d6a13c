"""`markstep mutants`: the kill matrix as a table, as JSON and as a page of the manual."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from rich.table import Table

from markstep.conformance.check import PROFILES
from markstep.conformance.cli.files import check_apart, check_writable, write_atomically
from markstep.conformance.cli.progress import Progress
from markstep.conformance.cli.usage import UsageError, complain, pick, reader_may_leave
from markstep.conformance.exit_codes import ExitCode
from markstep.conformance.mutants.catalogue import CatalogueError, Mutant, read_catalogue
from markstep.conformance.mutants.matrix import ROOMS, Matrix, cell
from markstep.conformance.mutants.page import mutants_page
from markstep.conformance.mutants.patching import changed, source_of
from markstep.conformance.mutants.running import MOST_PROCESSES, run_trials
from markstep.conformance.mutants.trials import Fate, Terms, Trial
from markstep.conformance.report.console import console, print_table

RECORDED = Path(__file__).parents[1] / "tests" / "logs"
"""The logs of the repository; they are not part of an installation."""


@dataclass(frozen=True, slots=True)
class MatrixFiles:
    """Where a matrix comes from and goes to."""

    json: Path | None = None
    page: Path | None = None
    resume: Path | None = None
    """The JSON of an earlier run: what it has tried is not tried again."""


def mutants_verb(
    only: list[str],
    detectors: list[str],
    terms: Terms,
    processes: int,
    files: MatrixFiles,
    command: str,
) -> ExitCode:
    """`markstep mutants`."""
    matrix = Matrix(chosen(only), chosen_detectors(detectors), terms, command=command)
    check_terms(terms, processes)
    check_apart(("--json", files.json), ("--write", files.page))
    check_writable("--json", files.json)
    check_writable("--write", files.page)
    if files.resume is not None:
        take_earlier(matrix, files.resume)
    if not matrix.tasks():
        what = "none of these detectors can see these mutants"
        raise UsageError("--detector", what, "the lies of impl/ are seen by random and scenarios")
    truth = run(matrix, processes)
    with reader_may_leave():
        print_matrix(matrix)
    if files.json is not None:
        text = json.dumps(matrix.to_json(), indent=1, ensure_ascii=False)
        write_atomically(files.json, text + "\n")
    if files.page is not None:
        write_atomically(files.page, mutants_page(matrix))
    for trial in truth:
        found = trial.by or trial.message
        complain(f"mutants: {trial.detector} takes what is true for a lie: {found}")
    return ExitCode.ERROR if truth else matrix.exit_code


def take_earlier(matrix: Matrix, path: Path) -> None:
    """Take the trials of an earlier matrix on the same terms. Raises UsageError."""
    try:
        matrix.take(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise UsageError(f"--resume {path}", error.strerror or str(error), "check it") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        what = "is not the JSON of a matrix"
        raise UsageError(f"--resume {path}", what, "give what --json has written") from error


def chosen(only: list[str]) -> list[Mutant]:
    """The mutants that are asked for, or all. Raises UsageError."""
    try:
        every = read_catalogue()
        for id in only:
            pick("--only", id, every, "mutant")
        mutants = [mutant for id, mutant in every.items() if not only or id in only]
        for mutant in mutants:
            changed(mutant, source_of(mutant))
    except CatalogueError as error:
        text = "the catalogue is not that of this source"
        raise UsageError("mutants", f"{text}: {error}") from error
    return mutants


def chosen_detectors(given: list[str]) -> list[str]:
    """The detectors that are asked for, in their order, or all. Raises UsageError."""
    names = [name for text in given for name in text.split(",")]
    for name in names:
        pick("--detector", name, ROOMS)
    return [name for name in ROOMS if not names or name in names]


def check_terms(terms: Terms, processes: int) -> None:
    """Raises UsageError."""
    pick("--profile", terms.profile, PROFILES)
    if terms.seed < 0:
        raise UsageError("--seed", f"{terms.seed} is negative", "give a number from 0 on")
    if not 0 < terms.budget < float("inf"):
        raise UsageError("--budget", f"{terms.budget:g} seconds", "give a positive number")
    if not 1 <= processes <= MOST_PROCESSES:
        what = f"{processes} is not from 1 to {MOST_PROCESSES}"
        raise UsageError("--processes", what, "give the number of processors")
    if terms.logs is not None and not terms.logs.is_dir():
        raise UsageError(f"--logs {terms.logs}", "is no directory", "check the path")


def run(matrix: Matrix, processes: int) -> list[Trial]:
    """Do all trials, and the same with what is true. Those of the truth that failed."""
    begin, tasks = monotonic(), matrix.tasks()
    with TemporaryDirectory(prefix="markstep-") as folder, Progress("trials") as progress:
        terms = matrix.terms.sharing(Path(folder))
        truth = run_trials([(None, d) for d in matrix.used()], terms, processes)

        def watch(trial: Trial) -> None:
            matrix.add(trial)
            progress(len(matrix.trials), len(tasks))

        wrong = [trial for trial in truth if trial.fate in (Fate.KILLED, Fate.ERROR)]
        left = [task for task in tasks if (task[0].id, task[1]) not in matrix.trials]
        try:
            run_trials(left if not wrong else [], terms, processes, watch)
        except KeyboardInterrupt:
            matrix.interrupted = True
    matrix.seconds += monotonic() - begin
    return wrong


def print_matrix(matrix: Matrix) -> None:
    """The table, and what it comes to."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("id", *matrix.detectors, "lie"):
        table.add_column(name, header_style="bold", no_wrap=name != "lie", overflow="fold")
    for mutant in matrix.mutants:
        trials = matrix.of(mutant)
        said = f"{mutant.says} (equivalent)" if mutant.equivalent else mutant.says
        table.add_row(mutant.id, *(cell(trials, name) for name in matrix.detectors), said)
    to = console()
    print_table(table, to)
    to.print()
    for line in summary(matrix):
        to.print(line)


def summary(matrix: Matrix) -> Iterator[str]:
    """One line for each detector, one for each mutant that is not as it should be, and the end."""
    for name in matrix.used():
        found = matrix.summary(name)
        yield (
            f"{name}: {found.killed} of {found.tried} killed, after {found.median_steps} steps at "
            f"the median and {found.most_steps} at most; {found.seconds:.0f} s"
        )
    for mutant in matrix.mutants:
        code = matrix.verdict(mutant)
        if code is not ExitCode.CONFORMS:
            text = "; ".join(filter(None, (trial.message for trial in matrix.of(mutant))))
            yield f"{mutant.id}: {matrix.fate(mutant)}{f': {text}' if text else ''}"
    code = matrix.exit_code
    yield (
        f"{len(matrix.mutants)} mutants, {len(matrix.trials)} trials in {matrix.seconds:.0f} s   "
        f"exit {int(code)}"
    )
