"""Where a report goes: the options that all verbs with a report share."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

from cyclopts import Parameter

from markstep.conformance.cli.files import check_apart, check_directory, check_writable
from markstep.conformance.cli.usage import UsageError


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """Files that a report is written to, and how much of it is printed."""

    html: Annotated[
        Path | None, Parameter(help="Write the report, with pictures, as one HTML page.")
    ] = None
    junit_xml: Annotated[
        Path | None, Parameter(help="Write the verdicts as JUnit XML to this file.")
    ] = None
    json: Annotated[
        Path | None, Parameter(name="--json", help="Write the report as JSON to this file.")
    ] = None
    summary: Annotated[
        Path | None, Parameter(help="Append a summary in Markdown, as $GITHUB_STEP_SUMMARY takes.")
    ] = None
    badge: Annotated[Path | None, Parameter(help="Write the outcome as an SVG badge.")] = None
    quiet: Annotated[bool, Parameter(help="Print the last line only.", negative="")] = False
    verbose: Annotated[bool, Parameter(help="Print every table and file.", negative="")] = False
    out: Annotated[Path | None, Parameter(parse=False)] = None
    """Where traces of failures go; None: they are traces already."""

    def check(self, *others: tuple[str, Path | None]) -> None:
        """Fail before the work. Raises UsageError. ``others``: more files, by option."""
        if self.quiet and self.verbose:
            raise UsageError("--quiet", "does not go with --verbose", "leave out one of them")
        names = ("html", "junit_xml", "json", "summary", "badge")
        mine = {f"--{name.replace('_', '-')}": getattr(self, name) for name in names}
        check_apart(*others, *mine.items())
        for option, path in mine.items():
            check_writable(option, path)
        if self.out is not None:
            check_directory("--out", self.out)


Reported: TypeAlias = Annotated[Outputs | None, Parameter(name="*")]
"""As the last parameter of a verb."""
