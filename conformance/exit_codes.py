"""How every verb of the command line ends."""

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes. If several apply, the first of 4, 1, 5, 3 that applies is the code."""

    CONFORMS = 0
    """Everything that was asked for was checked, and nothing is wrong."""
    VIOLATES = 1
    """The law is broken: by the executor, by a log or, in a search, by the design itself."""
    USAGE = 2
    """An unknown option or name, or a file that cannot be read, written or understood."""
    INCONCLUSIVE = 3
    """A bound or a time limit was reached before an answer."""
    ERROR = 4
    """The adapter or the harness failed; a log has a record that no reduction rule covers."""
    VACUOUS = 5
    """Nothing was checked, or a witness that the profile demands was never seen."""
    INTERRUPTED = 130
    """Ctrl-C. The report covers what was done until then."""


def worst(codes: "list[ExitCode]") -> ExitCode:
    """The code of a command to which several apply."""
    return min(codes, key=ORDER.index, default=ExitCode.VACUOUS)


ORDER = [
    ExitCode.INTERRUPTED,
    ExitCode.USAGE,
    ExitCode.ERROR,
    ExitCode.VIOLATES,
    ExitCode.VACUOUS,
    ExitCode.INCONCLUSIVE,
    ExitCode.CONFORMS,
]
