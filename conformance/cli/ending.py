"""How a verb with a report ends: traces of failures are saved, it is printed, and it is written."""

import json
import platform
from collections.abc import Callable, Iterator
from pathlib import Path

from markstep.conformance.cli.files import append_text, write_atomically
from markstep.conformance.cli.outputs import Outputs
from markstep.conformance.cli.usage import UsageError, complain, reader_may_leave
from markstep.conformance.exit_codes import ExitCode, worst
from markstep.conformance.report.console import console, print_last, print_report
from markstep.conformance.report.model import Report
from markstep.conformance.report.traces import save_traces
from markstep.spec import SPEC_VERSION


def finish(report: Report, outputs: Outputs) -> ExitCode:
    """Save the traces of failures, print the report, write it where it is wanted.

    What cannot be written keeps nothing else from being: the verdict is worth the whole run.
    """
    report.spec_version = report.spec_version or SPEC_VERSION
    report.platform = report.platform or f"Python {platform.python_version()}, {platform.system()}"
    wrong = []
    for part in parts(report, outputs):
        try:
            part()
        except UsageError as error:
            wrong.append(str(error))
    for line in wrong:
        complain(line)
    return worst([report.exit_code, ExitCode.USAGE]) if wrong else report.exit_code


def parts(report: Report, outputs: Outputs) -> Iterator[Callable[[], None]]:
    """What there is to write. The traces come first: the report names their files."""
    out, summary_file = outputs.out, outputs.summary
    if out is not None:
        yield lambda: save_traces(report, out)
    yield lambda: print_it(report, outputs)
    for path, text in (
        (outputs.json, as_json),
        (outputs.junit_xml, as_junit),
        (outputs.html, as_page),
        (outputs.badge, as_badge),
    ):
        if path is not None:
            yield written(path, text, report)
    if summary_file is not None:
        yield lambda: append_text(summary_file, as_summary(report))


def written(path: Path, text: Callable[[Report], str], report: Report) -> Callable[[], None]:
    """The report in some form, in a file."""
    return lambda: write_atomically(path, text(report))


def print_it(report: Report, outputs: Outputs) -> None:
    """The report on standard output, or its last line."""
    with reader_may_leave():
        if outputs.quiet:
            print_last(report, console())
        else:
            print_report(report, console(), outputs.verbose)


def as_json(report: Report) -> str:
    """Everything that the terminal shows, for programs."""
    return json.dumps(report.to_json(), indent=1, ensure_ascii=False) + "\n"


def as_junit(report: Report) -> str:
    """The verdicts as test cases."""
    from markstep.conformance.report.junit import to_junit

    return to_junit(report)


def as_page(report: Report) -> str:
    """One page for a browser."""
    from markstep.conformance.html.report import report_page

    return report_page(report)


def as_badge(report: Report) -> str:
    """The outcome as a picture."""
    from markstep.conformance.html.badge import badge

    return badge(report)


def as_summary(report: Report) -> str:
    """The outcome in Markdown."""
    from markstep.conformance.report.summary import summary

    return summary(report)
