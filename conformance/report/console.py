"""A report for people: what ran, what was exercised, each failure, one line that repeats it.

Plain text without colour where the output is not a terminal or NO_COLOR is set.
"""

import os
import sys
from collections.abc import Iterable
from typing import IO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from markstep.conformance.exit_codes import ExitCode
from markstep.conformance.report.model import ActionCount, ClaimCount, Failure, Report, Subject
from markstep.conformance.report.names import action_names, claim_names, claims_in_order
from markstep.conformance.show import counted, show_program
from markstep.conformance.verdict import Verdict

COLOURS = {
    Verdict.CONFORMS: "green",
    Verdict.KNOWN: "green",
    Verdict.FIXED: "cyan",
    Verdict.VIOLATES: "bold red",
    Verdict.ERROR: "bold magenta",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.FLAKY: "yellow",
    Verdict.UNSUPPORTED: "dim",
}
MARKS = {Verdict.CONFORMS: "✓", Verdict.VIOLATES: "✗", Verdict.ERROR: "!", Verdict.FLAKY: "~"}
PLAIN_WIDTH = 1000
"""Where nobody looks, lines are not broken: one row, one line."""
LONGEST = 40
"""Lines of a program that are printed; the trace file has all."""


class PlainConsole(Console):
    """Leaves a closed pipe to the caller; rich would end the process."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console(file: IO[str] | None = None) -> Console:
    """A console on which nothing in a text is taken for markup."""
    stream = file or sys.stdout
    width = None if stream.isatty() else PLAIN_WIDTH
    return PlainConsole(
        file=stream,
        width=width,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
        markup=False,
        emoji=False,
        highlight=False,
    )


def print_report(report: Report, to: Console, verbose: bool = False) -> None:
    """The whole report: header, tables, failures, verdict."""
    print_header(report, to)
    about_files = bool(report.subjects) and not verbose
    claims = {id: c for id, c in report.claims.items() if c.broken or not about_files}
    if claims:
        print_table(claim_table(claims), to)
    if report.actions and not about_files:
        to.print()
        print_table(action_table(report.actions), to)
    if report.subjects:
        print_subjects(report.subjects, to, verbose)
    for failure in report.failures:
        print_failure(failure, report, to)
    print_verdict(report, to)


def print_header(report: Report, to: Console) -> None:
    """What is compared with what: versions first, so that a pasted log can be understood."""
    parts = {
        "spec": report.spec_version,
        "adapter": f"{report.adapter} {report.adapter_version}".strip(),
        "design": report.design,
        "profile": report.profile,
        "seed": "" if report.seed is None else str(report.seed),
    }
    shown = "   ".join(f"{name} {value}" for name, value in parts.items() if value)
    to.print(Text(f"markstep {report.command}", "bold"), Text(f"  {shown}"))
    if report.platform:
        to.print(Text(report.platform, "dim"))


def print_table(table: Table, to: Console) -> None:
    """A table; without blanks at the ends of lines where it is not for a terminal."""
    if to.is_terminal:
        to.print(table)
        return
    with to.capture() as captured:
        to.print(table)
    for line in captured.get().splitlines():
        to.out(line.rstrip())


def claim_table(claims: dict[str, ClaimCount]) -> Table:
    """One line per claim: was it broken, and was it exercised at all."""
    table = _table("id", "invariant", "verdict", "checked", "witnessed", "broken")
    names = claim_names()
    for id in claims_in_order(claims):
        count = claims[id]
        said = _verdict(count.verdict)
        if count.verdict == Verdict.INCONCLUSIVE:
            said = Text("not witnessed", "yellow")
        numbers = map(str, (count.checked, count.witnessed, count.broken or ""))
        table.add_row(id, names.get(id, ("", ""))[0], said, *numbers)
    return table


def action_table(actions: dict[str, ActionCount]) -> Table:
    """One line per action: how often it was taken, refused, or ended with an error."""
    table = _table("id", "action", "exercised", "refused", "errors")
    names = action_names()
    for id, count in sorted(actions.items()):
        numbers = (count.exercised, count.refused, count.errors)
        table.add_row(id, names.get(id, ""), *(str(n or "") for n in numbers))
    return table


def print_subjects(subjects: list[Subject], to: Console, verbose: bool) -> None:
    """Logs or traces: all if they are few, else those that do not conform."""
    listed = subjects
    if not verbose and len(subjects) > LONGEST:
        listed = [s for s in subjects if not s.verdict.passes]
        to.print(Text(f"{len(subjects) - len(listed)} of {len(subjects)} conform"))
    cut = listed if verbose else listed[:LONGEST]
    table = _table("file", "verdict", "steps", "")
    for subject in cut:
        table.add_row(subject.name, _verdict(subject.verdict), str(subject.steps), subject.message)
    if cut:
        print_table(table, to)
    if len(cut) < len(listed):
        to.print(Text(f"… and {len(listed) - len(cut)} more; --verbose lists all", "dim"))


def print_failure(failure: Failure, report: Report, to: Console) -> None:
    """One failure in the form that every verb prints."""
    to.print()
    for line in failure_lines(failure, report):
        to.print(line, soft_wrap=True)


def failure_lines(failure: Failure, report: Report) -> Iterable[Text]:
    """The lines of one failure."""
    mark = MARKS.get(failure.verdict, "·")
    name = failure.name or action_names().get(failure.id) or claim_names().get(failure.id, ("",))[0]
    head = Text(f"{mark} {failure.id} {name}".rstrip(), COLOURS[failure.verdict])
    adapter = f"{failure.adapter or report.adapter} {report.adapter_version}".strip()
    about = [f"adapter {adapter}" if adapter else "", f"design {failure.design}"]
    about += [f"spec {report.spec_version}" if report.spec_version else ""]
    about += [f"at step {failure.step} of {len(failure.program)}"] if failure.program else []
    yield head.append(f"   {'   '.join(filter(None, about))}", "dim")
    yield Text(f"  {failure.statement}")
    yield from _program(failure)
    for i, line in enumerate(failure.changed):
        yield _labelled("changed" if i == 0 else "", line)
    yield _labelled("expected", failure.expected)
    yield _labelled("observed", failure.observed)
    more = (failure.shortening, failure.issue, failure.trace_file, failure.code_file)
    for label, value in zip(("shortened", "known as", "trace", "code"), more, strict=True):
        if value:
            yield _labelled(label, value)
    if failure.replay:
        yield _labelled("replay", failure.replay)


def _program(failure: Failure) -> Iterable[Text]:
    lines = show_program(failure.program, failure.step).splitlines()
    end = min(failure.step + 1, len(lines)) if failure.step >= 0 else len(lines)
    begin = max(0, end - LONGEST)
    if begin:
        yield Text(f"    … {begin} actions before", "dim")
    for i, line in enumerate(lines[begin:end], begin):
        yield Text(f"  {line}", "bold" if i == failure.step else "")


def _labelled(label: str, text: str) -> Text:
    first, *rest = text.splitlines() or [""]
    lines = "".join(f"\n{'':13}{line}" for line in rest)
    return Text(f"  {label:<11}", "dim").append(f"{first}{lines}", "none")


def print_verdict(report: Report, to: Console) -> None:
    """The last lines: the verdict, the amount of work, what stays open, how to run it again."""
    for fixed in report.fixed:
        to.print(Text(f"fixed: {fixed}", "yellow" if report.strict else ""), soft_wrap=True)
    for note in (*report.vacuous, *report.notes):
        to.print(Text(f"note: {note}"), soft_wrap=True)
    to.print()
    print_last(report, to)
    if report.again:
        to.print(Text(f"again  {report.again}", "dim"), soft_wrap=True)


def print_last(report: Report, to: Console) -> None:
    """The one line that says it all."""
    word = Text("interrupted", "yellow") if report.interrupted else _verdict(report.verdict)
    if report.exit_code == ExitCode.VACUOUS and not report.interrupted:
        word = Text("vacuous", "yellow")
    to.print(word, Text(f"  {amount(report)}   exit {int(report.exit_code)}"), soft_wrap=True)


def amount(report: Report) -> str:
    """How much was done, in a few words."""
    parts = [f"{report.duration_s:.1f} s"]
    if report.subjects:
        parts.insert(0, counted(len(report.subjects), "file"))
    elif report.programs:
        parts.insert(0, counted(report.programs, "program"))
    if report.steps:
        parts.insert(-1, f"{counted(report.steps, 'step')} ({report.rates['steps_per_s']:.0f}/s)")
    if report.small_steps:
        rate = report.rates["small_steps_per_s"]
        parts.insert(-1, f"{counted(report.small_steps, 'small step')} ({rate:.0f}/s)")
    if report.claims:
        seen = sum(bool(count.witnessed) for count in report.claims.values())
        parts.insert(-1, f"{seen} of {len(report.claims)} witnesses seen")
    if report.failures:
        parts.insert(-1, counted(len(report.failures), "failure"))
    return ", ".join(parts)


def _verdict(verdict: Verdict) -> Text:
    return Text(verdict.value, COLOURS[verdict])


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), title_justify="left")
    for name in columns:
        numeric = name in ("checked", "witnessed", "broken", "exercised", "refused", "errors")
        table.add_column(
            name,
            justify="right" if numeric or name == "steps" else "left",
            header_style="bold",
            no_wrap=name != "",
            overflow="fold",
        )
    return table
