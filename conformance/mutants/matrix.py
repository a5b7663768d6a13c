"""The kill matrix: what became of every mutant before every detector, and what it comes to."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from markstep.conformance.exit_codes import ExitCode, worst
from markstep.conformance.mutants.catalogue import Mutant
from markstep.conformance.mutants.trials import Fate, Terms, Trial

FORMAT = 1
"""Version of the JSON form."""
ROOMS: dict[str, tuple[str, ...]] = {
    "random": ("impl", "spec"),
    "scenarios": ("impl", "spec"),
    "zoo": ("impl", "spec"),
    "logs": ("spec",),
    "explorer": ("spec",),
    "prover": ("spec",),
}
"""The detectors, and whose lies each of them can see: logs, searches and proofs are of the law."""


CHANGE = ("file", "function", "old", "new")
"""What a mutant changes."""
DECIDED = (Fate.KILLED, Fate.SURVIVED)


@dataclass
class Matrix:
    """Mutants × detectors."""

    mutants: list[Mutant]
    detectors: list[str]
    terms: Terms
    trials: dict[tuple[str, str], Trial] = field(default_factory=dict)
    seconds: float = 0.0
    command: str = ""
    interrupted: bool = False
    """The user pressed Ctrl-C: what was tried until then is in it."""

    def tasks(self) -> list[tuple[Mutant, str]]:
        """Every trial that can say anything, detector by detector."""
        return [
            (mutant, detector)
            for detector in self.detectors
            for mutant in self.mutants
            if self.sees(detector, mutant)
        ]

    def sees(self, detector: str, mutant: Mutant) -> bool:
        """Whether a detector can say anything of a mutant."""
        has_what_it_takes = {"logs": self.terms.logs is not None, "zoo": bool(mutant.bugs)}
        return mutant.room in ROOMS[detector] and has_what_it_takes.get(detector, True)

    def take(self, told: dict[str, Any]) -> None:
        """Take the trials of an earlier matrix, as JSON, that are on the same terms and of the same
        changes. Those that were not decided are tried again."""
        same = (told["profile"], told["seed"]) == (self.terms.profile, self.terms.seed)
        mutants = {mutant.id: mutant for mutant in self.mutants}
        for entry in told["mutants"] if same else ():
            mutant = mutants.get(entry["id"])
            if mutant is None or any(entry[name] != getattr(mutant, name) for name in CHANGE):
                continue
            for one in entry["trials"]:
                trial = Trial(**{**one, "fate": Fate(one["fate"])})
                if trial.detector in self.detectors and trial.fate in DECIDED:
                    self.add(trial)
        self.seconds += told["duration_s"] if same else 0

    def used(self, room: str | None = None) -> list[str]:
        """The detectors that can say something of a mutant, or of one of a room."""
        said = {name for mutant, name in self.tasks() if room in (None, mutant.room)}
        return [name for name in self.detectors if name in said]

    def add(self, trial: Trial) -> None:
        """Note how a trial ended."""
        self.trials[trial.mutant, trial.detector] = trial

    def of(self, mutant: Mutant) -> list[Trial]:
        """The trials of a mutant, in the order of the detectors."""
        found = (self.trials.get((mutant.id, detector)) for detector in self.detectors)
        return [trial for trial in found if trial is not None]

    def kills(self, detector: str) -> list[Trial]:
        """The mutants that a detector kills."""
        return [t for t in self.trials.values() if t.detector == detector and killed(t)]

    def fate(self, mutant: Mutant) -> Fate:
        """Killed by any detector; else the worst that is known."""
        fates = {trial.fate for trial in self.of(mutant)}
        for fate in (Fate.KILLED, Fate.ERROR, Fate.UNDECIDED, Fate.SURVIVED):
            if fate in fates:
                return fate
        return Fate.UNDECIDED

    def verdict(self, mutant: Mutant) -> ExitCode:
        """What a mutant says of the suite. One that is argued to be no lie has to survive."""
        fate = self.fate(mutant)
        if mutant.equivalent:
            return ExitCode.VIOLATES if fate is Fate.KILLED else ExitCode.CONFORMS
        return {
            Fate.KILLED: ExitCode.CONFORMS,
            Fate.SURVIVED: ExitCode.VIOLATES,
            Fate.UNDECIDED: ExitCode.INCONCLUSIVE,
            Fate.ERROR: ExitCode.ERROR,
        }[fate]

    @property
    def exit_code(self) -> ExitCode:
        """Of the command."""
        if self.interrupted:
            return ExitCode.INTERRUPTED
        return worst([self.verdict(mutant) for mutant in self.mutants])

    def to_json(self) -> dict[str, Any]:
        """For scripts."""
        return {
            "format": FORMAT,
            "command": self.command,
            "exit_code": int(self.exit_code),
            "profile": self.terms.profile,
            "seed": self.terms.seed,
            "budget_s": self.terms.budget,
            "duration_s": round(self.seconds, 1),
            "summary": {detector: asdict(self.summary(detector)) for detector in self.used()},
            "mutants": [
                {
                    **asdict(mutant),
                    "fate": self.fate(mutant).value,
                    "trials": [asdict(trial) for trial in self.of(mutant)],
                }
                for mutant in self.mutants
            ],
        }

    def summary(self, detector: str) -> "Summary":
        """What one detector did."""
        tried = [t for t in self.trials.values() if t.detector == detector]
        kills = self.kills(detector)
        steps = [trial.steps for trial in kills]
        return Summary(
            len(tried),
            len(kills),
            sorted((t.mutant for t in tried if not killed(t)), key=lambda id: int(id[1:])),
            int(median(steps)) if steps else 0,
            max(steps, default=0),
            round(sum(trial.seconds for trial in tried), 1),
        )


@dataclass(frozen=True, slots=True)
class Summary:
    """One detector, all mutants."""

    tried: int
    killed: int
    left: list[str]
    """The mutants that it did not kill."""
    median_steps: int
    most_steps: int
    seconds: float
    """Of all trials together, without the start of their processes."""


def killed(trial: Trial) -> bool:
    """Whether the lie was found out."""
    return trial.fate is Fate.KILLED


def cell(trials: Iterable[Trial], detector: str) -> str:
    """What a table says of one mutant and one detector."""
    for trial in trials:
        if trial.detector == detector:
            if not killed(trial):
                return trial.fate.value
            what = f"{trial.by} {trial.field}" if len(trial.field) < 12 else trial.by
            return f"{what.strip()}, {trial.steps}"
    return "–"
