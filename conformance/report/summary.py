"""A report as a few lines of Markdown, for the summary of a CI job."""

from collections.abc import Iterator

from markstep.conformance.report.console import MARKS, amount
from markstep.conformance.report.model import Failure, Report
from markstep.conformance.report.names import action_names, claim_names
from markstep.conformance.show import show_program

MOST = 20
"""Failures that are shown; a summary is not the report."""


def summary(report: Report) -> str:
    """The Markdown text."""
    said = "interrupted" if report.interrupted else report.exit_code.name.lower()
    lines = [
        f"## markstep {report.command}: {said}",
        "",
        f"{cell(about(report))}. {amount(report)}, exit code {int(report.exit_code)}.",
        "",
        *failures(report),
        *(f"- {cell(note)}" for note in (*report.vacuous, *report.notes)),
    ]
    if report.again:
        lines += ["", "Again:", "", *fenced(report.again, "sh")]
    return "\n".join(lines) + "\n"


def about(report: Report) -> str:
    """What is compared with what."""
    parts = [
        f"Adapter {report.adapter} {report.adapter_version}".strip() if report.adapter else "",
        f"design {report.design}",
        f"profile {report.profile}" if report.profile else "",
        f"seed {report.seed}" if report.seed is not None else "",
        f"specification {report.spec_version}",
    ]
    return ", ".join(filter(None, parts))


def failures(report: Report) -> Iterator[str]:
    """A table of the failures, then each with its program to fold out."""
    if not report.failures:
        return
    yield from ("| | id | what is broken | known as |", "|---|---|---|---|")
    for failure in report.failures[:MOST]:
        said = f"{MARKS.get(failure.verdict, '·')} {failure.verdict.value}"
        what = f"`{name(failure)}`: {cell(failure.statement)}"
        yield f"| {said} | {cell(failure.id)} | {what} | {cell(failure.issue or '')} |"
    yield ""
    if len(report.failures) > MOST:
        yield from (f"… and {len(report.failures) - MOST} more.", "")
    for failure in report.failures[:MOST]:
        yield from folded(failure)


def folded(failure: Failure) -> Iterator[str]:
    """The program of a failure, and the command that shows it again."""
    yield from (f"<details><summary>{cell(failure.id)} {name(failure)}</summary>", "")
    if failure.program:
        yield from fenced(show_program(failure.program, failure.step))
    yield from fenced(f"expected  {failure.expected}\nobserved  {failure.observed}")
    if failure.replay:
        yield from fenced(failure.replay, "sh")
    yield from ("</details>", "")


def name(failure: Failure) -> str:
    """Of the claim or action that is broken."""
    found = action_names().get(failure.id) or claim_names().get(failure.id, ("",))[0]
    return cell(failure.name or found or failure.id)


def cell(text: str) -> str:
    """A text on one line, without what Markdown and HTML would take for their own."""
    one = " ".join(text.split())
    for letter, instead in (("&", "&amp;"), ("<", "&lt;"), ("|", "\\|"), ("`", "'")):
        one = one.replace(letter, instead)
    return one


def fenced(text: str, language: str = "") -> list[str]:
    """A block of code, with a fence that the text does not contain."""
    fence = "```"
    while fence in text:
        fence += "`"
    return [f"{fence}{language}", text, fence, ""]
