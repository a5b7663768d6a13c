"""The one vocabulary in which every verb answers."""

from enum import StrEnum


class Verdict(StrEnum):
    """What is said of a program, a claim or a log."""

    CONFORMS = "conforms"  # checked, nothing wrong
    VIOLATES = "violates"  # the law is broken
    KNOWN = "known"  # broken, and listed as known with a reason
    FIXED = "fixed"  # listed as known, but no longer broken
    INCONCLUSIVE = "inconclusive"  # not answered within the bound: never a pass
    FLAKY = "flaky"  # the same program fails in one run and not in another: never a pass
    UNSUPPORTED = "unsupported"  # the adapter declares that it cannot do this
    ERROR = "error"  # the adapter or the harness failed

    @property
    def passes(self) -> bool:
        """Whether this verdict by itself lets a run pass."""
        return self in (Verdict.CONFORMS, Verdict.KNOWN, Verdict.FIXED)
