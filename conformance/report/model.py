"""The outcome of one run: what was exercised, what was checked, what failed.

`Report.to_json` is the form for scripts; its schema is `report.schema.json` beside this file.
"""

from dataclasses import dataclass, field
from typing import Any

from markstep.conformance.exit_codes import ExitCode, worst
from markstep.conformance.show import show
from markstep.conformance.verdict import Verdict
from markstep.spec.machine import AnyAction, rule_of
from markstep.spec.vocabulary import ErrorKind, Observation

FORMAT = 1
"""Version of the JSON report; raised when an older reader would misread it."""


@dataclass
class ActionCount:
    """How often an action was taken."""

    exercised: int = 0
    refused: int = 0
    """It was not enabled, and was refused as it must be."""
    errors: int = 0
    """It was enabled, and ended with an error that the law predicts."""


@dataclass
class ClaimCount:
    """How often a claim was looked at, by small steps."""

    checked: int = 0
    witnessed: int = 0
    """Its premise was really exercised."""
    broken: int = 0
    complete: bool = True
    """Everything within the bound was looked at."""
    known: bool = False
    """The design that is asked for is known to break it."""
    listed: bool = False
    """It is on a list of known failures."""

    @property
    def verdict(self) -> Verdict:
        """A claim that was never exercised, or not everywhere, is inconclusive."""
        if self.broken:
            return Verdict.KNOWN if self.known or self.listed else Verdict.VIOLATES
        if self.listed and self.witnessed:
            return Verdict.FIXED
        sure = self.witnessed and self.complete
        return Verdict.CONFORMS if sure else Verdict.INCONCLUSIVE


@dataclass
class Failure:
    """One thing that went wrong, with the shortest program found that shows it."""

    id: str
    """A claim, an action, a log's name, or LOCKSTEP."""
    statement: str
    """What should have been true, in one sentence."""
    program: tuple[AnyAction, ...]
    step: int
    """Index of the failing action in the program."""
    expected: str
    observed: str
    changed: list[str] = field(default_factory=list)
    """What the law says changed at the failing step: one line each."""
    verdict: Verdict = Verdict.VIOLATES
    adapter: str = ""
    design: str = "sound"
    seed: int | None = None
    issue: str | None = None
    """What this is known as: hazards of semantics.md §6b."""
    trace_file: str | None = None
    replay: str = ""
    """The command that shows this failure again."""
    name: str = ""
    """The claim's or action's name, e.g. placeholder_has_one_writer."""
    code: str = ""
    """The program in the words of the executor's users, where the adapter can write it."""
    code_file: str | None = None
    shortening: str = ""
    """Whether the program can be shorter, where one was made short."""
    field: str = ""
    """What differs first, where that is known."""


@dataclass
class Subject:
    """A log or a trace file that was looked at by itself."""

    name: str
    verdict: Verdict
    steps: int = 0
    message: str = ""


@dataclass
class Report:
    """Everything that a run found."""

    command: str
    adapter: str = ""
    adapter_version: str = ""
    design: str = "sound"
    profile: str = ""
    seed: int | None = None
    spec_version: str = ""
    platform: str = ""
    duration_s: float = 0.0
    programs: int = 0
    steps: int = 0
    small_steps: int = 0
    actions: dict[str, ActionCount] = field(default_factory=dict)
    """By action id (A03)."""
    claims: dict[str, ClaimCount] = field(default_factory=dict)
    """By claim id (I12)."""
    failures: list[Failure] = field(default_factory=list)
    verdict: Verdict = Verdict.CONFORMS
    notes: list[str] = field(default_factory=list)
    vacuous: list[str] = field(default_factory=list)
    """Why a pass would mean nothing: witnesses that the profile demands and nobody saw."""
    subjects: list[Subject] = field(default_factory=list)
    """One per log or trace file, where the run is about files."""
    again: str = ""
    """The command that does the same once more."""
    fixed: list[str] = field(default_factory=list)
    """What is listed as a known failure and did not fail."""
    strict: bool = False
    """Such a thing is a failure, too."""
    interrupted: bool = False
    """The user pressed Ctrl-C: the report covers what was done until then."""

    def count_action(self, action: AnyAction, ended: Observation | None) -> None:
        """Count one action; None means that it was not enabled."""
        count = self.actions.setdefault(rule_of(type(action)).id, ActionCount())
        if ended is None:
            count.refused += 1
            return
        count.exercised += 1
        count.errors += ended.error != ErrorKind.NONE

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of the command that this is the report of."""
        if self.interrupted:
            return ExitCode.INTERRUPTED
        verdicts = {self.verdict, *(failure.verdict for failure in self.failures)}
        codes = [CODES.get(verdict, ExitCode.CONFORMS) for verdict in verdicts]
        if self.strict and self.fixed:
            codes.append(ExitCode.VIOLATES)
        if self.vacuous or not self.steps:
            codes.append(ExitCode.VACUOUS)
        return worst(codes)

    @property
    def rates(self) -> dict[str, float]:
        """Work per second."""
        seconds = max(self.duration_s, 1e-9)
        done = {"programs": self.programs, "steps": self.steps, "small_steps": self.small_steps}
        return {f"{name}_per_s": round(n / seconds, 1) for name, n in done.items()}

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values, as `report.schema.json` describes them."""
        plain = ("command", "adapter", "adapter_version", "design", "profile", "seed")
        more = (
            "spec_version",
            "platform",
            "programs",
            "steps",
            "small_steps",
            "interrupted",
            "again",
        )
        return {
            "format": FORMAT,
            "verdict": self.verdict.value,
            "exit_code": int(self.exit_code),
            **{name: getattr(self, name) for name in (*plain, *more)},
            "duration_s": round(self.duration_s, 3),
            "rates": self.rates,
            "actions": {i: vars(self.actions[i]).copy() for i in sorted(self.actions)},
            "claims": {
                i: {"verdict": self.claims[i].verdict.value, **vars(self.claims[i])}
                for i in sorted(self.claims)
            },
            "subjects": [vars(subject).copy() for subject in self.subjects],
            "failures": [failure_to_json(failure) for failure in self.failures],
            "vacuous": list(self.vacuous),
            "fixed": list(self.fixed),
            "notes": list(self.notes),
        }


CODES = {
    Verdict.VIOLATES: ExitCode.VIOLATES,
    Verdict.INCONCLUSIVE: ExitCode.INCONCLUSIVE,
    Verdict.FLAKY: ExitCode.INCONCLUSIVE,
    Verdict.ERROR: ExitCode.ERROR,
    Verdict.UNSUPPORTED: ExitCode.VACUOUS,
}
"""The exit code of each verdict that does not pass."""


def failure_to_json(failure: Failure) -> dict[str, Any]:
    """A failure as JSON values; the program as readable text, the trace file has the rest."""
    return {
        **{name: value for name, value in vars(failure).items() if name != "program"},
        "verdict": failure.verdict.value,
        "program": [show(action) for action in failure.program],
    }
