"""Whether recorded logs are what the law says: `markstep monitor`.

Held to the design that describes the recorded system, a log must be explained step by step. Held to
any other design, it must be explained all the same, by the design of the recorded system, and the
answer is the list of claims that the system breaks, each with the shortest prefix of a log.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from markstep.conformance.changes import diff_states
from markstep.conformance.logs.logrun import Break, LogVerdict, Unexplained, run_log
from markstep.conformance.logs.recorded import Difference, brief
from markstep.conformance.recording.judging import grave_hazard, judge_recording
from markstep.conformance.recording.lines import VERSION, version_of
from markstep.conformance.report.model import ClaimCount, Failure, Report, Subject
from markstep.conformance.show import show
from markstep.conformance.verdict import Verdict
from markstep.spec.design import Design
from markstep.spec.machine import ENVIRONMENT
from markstep.spec.vocabulary import Observation

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called after every log: how many are done, how many there are."""

CANDIDATES = 3
"""Other explanations that a failure lists."""


@dataclass(slots=True)
class MonitorReport:
    """What is said of several logs."""

    design: Design
    logs: list[LogVerdict] = field(default_factory=list)
    seconds: float = 0.0
    interrupted: bool = False

    @property
    def verdict(self) -> Verdict:
        """The gravest verdict of a log; unsupported only if no log is supported."""
        said = {log.verdict for log in self.logs}
        for grave in (Verdict.ERROR, Verdict.VIOLATES, Verdict.INCONCLUSIVE):
            if grave in said:
                return grave
        if conflicts(self.logs):
            return Verdict.VIOLATES
        return Verdict.CONFORMS if Verdict.CONFORMS in said else Verdict.UNSUPPORTED

    @property
    def breaks(self) -> dict[str, Break]:
        """For each claim that some log breaks, the shortest prefix that does; by id."""
        shortest: dict[str, Break] = {}
        for log in self.logs:
            for id, found in log.breaks.items():
                if id not in shortest or found.prefix < shortest[id].prefix:
                    shortest[id] = found
        return dict(sorted(shortest.items()))

    def to_report(self) -> Report:
        """The report that every verb prints."""
        systems = {log.system.partition(" ")[::2] for log in self.logs if log.system}
        report = Report(
            command="monitor",
            adapter=", ".join(sorted({name for name, _ in systems})),
            adapter_version=", ".join(sorted({version for _, version in systems})),
            design=self.design.name,
            duration_s=self.seconds,
            programs=len(self.logs),
            verdict=self.verdict,
            interrupted=self.interrupted,
        )
        for log in self.logs:
            _add(report, log)
        report.failures += [broken_claim(found, self) for found in self.breaks.values()]
        report.failures += [key_conflict(*pair) for pair in conflicts(self.logs)]
        report.notes += notes(self)
        return report


def monitor_log(path: str | Path, design: Design, explained_by: Design | None = None) -> LogVerdict:
    """Hold one log to a design; ``explained_by``: what describes the recorded system, if that is
    not what its header says."""
    if version_of(Path(path)) == VERSION:
        return judge_recording(Path(path), design)
    return run_log(path, design, explained_by)


def monitor_logs(
    paths: Iterable[str | Path],
    design: Design,
    progress: Progress | None = None,
    explained_by: Design | None = None,
) -> MonitorReport:
    """Hold every log to a design; what one log shows does not hide what the others show."""
    found, given, begin = MonitorReport(design), list(paths), time.perf_counter()
    try:
        for path in given:
            found.logs.append(monitor_log(path, design, explained_by))
            if progress is not None:
                progress(len(found.logs), len(given))
    except KeyboardInterrupt:
        found.interrupted = True
    found.seconds = time.perf_counter() - begin
    return found


def monitor(
    paths: Iterable[str | Path],
    design: Design,
    progress: Progress | None = None,
    explained_by: Design | None = None,
) -> Report:
    """`markstep monitor`: as `monitor_logs`, as the report that every verb prints."""
    return monitor_logs(paths, design, progress, explained_by).to_report()


# ---- the report ------------------------------------------------------------------------------


def _add(report: Report, log: LogVerdict) -> None:
    """Count what a log exercised, and list it."""
    report.steps += log.accepted
    report.small_steps += log.small_steps
    for action, raised in log.taken:
        report.count_action(action, Observation(raised))
    for id, seen in log.watch.counts.items() if log.watch is not None else ():
        count = report.claims.setdefault(id, ClaimCount())
        count.checked += seen.checked
        count.witnessed += seen.witnessed
        count.broken += id in log.breaks
    report.subjects.append(Subject(str(log.path), log.verdict, log.accepted, message(log)))
    if log.unexplained is not None:
        report.failures.append(unexplained_step(log, log.unexplained))
    if log.followed:
        report.notes.append(f"{log.path.name}: {log.followed}")
    for hazard in log.hazards:
        if hazard.violates:
            report.failures.append(grave_hazard(log, hazard))
        else:
            report.notes.append(f"{log.path.name}: {hazard}")


def message(log: LogVerdict) -> str:
    """What there is to say about one log, on one line."""
    if log.error is not None:
        return str(log.error)
    if log.unexplained is not None:
        step = (
            f"step {log.unexplained.step} ({log.unexplained.action}, line {log.unexplained.line})"
        )
        return f"{step}: {'; '.join(map(str, log.unexplained.differences[:CANDIDATES]))}"
    if log.out_of_time:
        return f"{log.accepted} of {log.steps} steps in {log.seconds:.0f} s"
    if log.hazards:
        return f"{len(log.hazards)} hazards"
    return f"breaks {', '.join(sorted(log.breaks))}" if log.breaks else ""


def unexplained_step(log: LogVerdict, found: Unexplained) -> Failure:
    """The failure of a log that the law does not explain."""
    law = log.explained_by or log.design
    last = max(i for i, a in enumerate(log.program) if not isinstance(a, ENVIRONMENT))
    return Failure(
        id=str(log.path),
        name=f"line {found.line}, step {found.step}, {found.action}",
        statement=f"The law under {law.name} predicts everything that a log shows.",
        program=log.program,
        step=last,
        expected=_side(found.differences, lambda one: one.expected),
        observed=_side(found.differences, lambda one: one.observed),
        changed=[
            *diff_states(found.ended.before, found.ended.settled),
            *nearer(found),
        ],
        design=law.name,
    )


def nearer(found: Unexplained) -> list[str]:
    """The other explanations that leave less unexplained than the law itself."""
    better = [c for c in found.candidates if len(c.differences) < len(found.differences)]
    if not better:
        return ["otherwise: no other end of an execution and no other design explains more"]
    return [f"otherwise, {candidate}" for candidate in better[:CANDIDATES]]


def _side(differences: Iterable[Difference], value: Callable[[Difference], object]) -> str:
    return ", ".join(f"{one.field} {brief(value(one))}" for one in differences)


def broken_claim(found: Break, of: MonitorReport) -> Failure:
    """The failure of a claim that the recorded system breaks."""
    claim = found.claim
    logs = sum(claim.id in log.breaks for log in of.logs)
    law = next((log.explained_by for log in of.logs if log.explained_by), of.design)
    where, small = f"the {found.prefix} steps up to {found.path}:{found.line}", show(found.action)
    return Failure(
        id=claim.id,
        name=claim.name,
        statement=claim.statement,
        program=found.program,
        step=max(i for i, a in enumerate(found.program) if not isinstance(a, ENVIRONMENT)),
        expected="the claim holds after every small step",
        observed=f"broken in {logs} of {len(of.logs)} logs; shortest: {where}, {small}",
        changed=list(found.changed),
        design=law.name,
    )


def conflicts(logs: Iterable[LogVerdict]) -> list[tuple[LogVerdict, LogVerdict, str]]:
    """Logs that show one hash for graphs that the law tells apart: (earlier log, log, hash)."""
    found = []
    seen: dict[str, tuple[object, LogVerdict]] = {}
    for log in logs:
        for key, text in log.keys:
            known, earlier = seen.setdefault(text, (key, log))
            if known != key:
                found.append((earlier, log, text))
    return found


def recordings(logs: Iterable[LogVerdict]) -> int:
    """How many recordings the logs must come from: the hash of a graph covers the compilation
    environment too, so that one graph has one hash within a recording only."""
    hashes: dict[object, set[str]] = {}
    for log in logs:
        for key, text in log.keys:
            hashes.setdefault(key, set()).add(text)
    return max(map(len, hashes.values()), default=1)


def key_conflict(earlier: LogVerdict, log: LogVerdict, text: str) -> Failure:
    """The failure of a log that contradicts another one."""
    return Failure(
        id=str(log.path),
        name="hashes between logs",
        statement="Different graphs have different hashes.",
        program=(),
        step=-1,
        expected=f"another hash than that of a different graph in {earlier.path}",
        observed=text,
        design=log.design.name,
    )


def notes(of: MonitorReport) -> list[str]:
    """What a reader should know about the numbers."""
    explained = [log for log in of.logs if not log.recording]
    whole = sum(log.accepted == log.steps and log.error is None for log in explained)
    laws = sorted({log.explained_by.name for log in of.logs if log.explained_by is not None})
    said = []
    if explained:
        by = "".join(f" by {law}" for law in laws)
        said.append(f"{whole} of {len(explained)} logs are explained whole{by}")
    if (places := recordings(of.logs)) > 1:
        said.append(f"equal graphs have {places} hashes: the logs are of {places} recordings")
    if any(log.watch is not None for log in of.logs):
        said.append(f"{len(of.breaks)} claims are broken by the recorded system")
    return said
