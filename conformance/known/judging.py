"""What becomes of a report in the light of the failures that are known."""

from collections.abc import Iterable, Sequence
from datetime import date

from markstep.conformance.known.lists import KnownFailure
from markstep.conformance.report.model import Failure, Report
from markstep.conformance.verdict import Verdict


class Known:
    """The entries that concern one executor today, and what is to be said of the others."""

    def __init__(
        self, entries: Iterable[KnownFailure], adapter: str, version: str, today: date
    ) -> None:
        self.notes: list[str] = []
        self.entries: list[KnownFailure] = []
        for entry in entries:
            if not entry.concerns(adapter, version):
                self.notes.append(f"{entry.source}: {entry.id} is not about {adapter} {version}")
            elif entry.expired(today):
                self.notes.append(f"{entry.source}: {entry.id} counts again since {entry.expires}")
            else:
                self.entries.append(entry)

    @property
    def claims(self) -> frozenset[str]:
        """Invariants that are listed: they are counted, and no failure."""
        return frozenset(entry.id for entry in self.entries if entry.is_claim)

    def covers(self, id: str, field: str) -> KnownFailure | None:
        """The entry for a divergence from a rule, if there is one."""
        fitting = (e for e in self.entries if e.id == id and e.field in ("", field))
        return next(fitting, None)

    def judge(self, report: Report) -> None:
        """Mark what is listed, and say what is listed without reason."""
        for id in self.claims & report.claims.keys():
            report.claims[id].listed = True
        for entry in self.entries:
            seen = _seen(entry, report)
            if seen is Verdict.FIXED:
                report.fixed.append(f"{entry.id}: listed as known in {entry.source}, not broken")
            elif seen is Verdict.INCONCLUSIVE:
                self.notes.append(f"{entry.source}: {entry.id} was not exercised")
        report.notes += self.notes


def _seen(entry: KnownFailure, report: Report) -> Verdict:
    """Whether a listed failure was seen, was not although it could have been, or could not."""
    if entry.is_claim:
        count = report.claims[entry.id]
        if count.broken:
            return Verdict.KNOWN
        return Verdict.FIXED if count.witnessed else Verdict.INCONCLUSIVE
    if any(
        failure.id == entry.id and failure.verdict is Verdict.KNOWN for failure in report.failures
    ):
        return Verdict.KNOWN
    exercised = entry.id in report.actions and report.actions[entry.id].exercised
    return Verdict.FIXED if exercised else Verdict.INCONCLUSIVE


def excuse(failure: Failure, field: str, known: Known) -> None:
    """A failure that is listed is known, with the reason."""
    entry = known.covers(failure.id, field)
    if entry is not None and failure.verdict in (Verdict.VIOLATES, Verdict.FLAKY):
        failure.verdict, failure.issue = Verdict.KNOWN, str(entry)


def real(failures: Sequence[Failure]) -> int:
    """How many failures are not known."""
    return sum(failure.verdict is not Verdict.KNOWN for failure in failures)
