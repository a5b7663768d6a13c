"""One mutant before one detector, in the process that is to be lied to.

Nothing of the law or the executor may be imported before the lie is installed: it is imported here
when a trial begins.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from time import monotonic

from markstep.conformance.mutants.catalogue import Mutant
from markstep.conformance.mutants.patching import install

HANG_S = 8.0
"""How long one action of a mutant may take."""
BRIEF_S = 10.0
"""How long a detector may look at what is true."""


class Fate(StrEnum):
    """What became of a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    UNDECIDED = "undecided"
    """The time that it was given was not enough to say."""
    ERROR = "error"
    """The trial itself failed: the mutant cannot even be loaded, or its process died."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One mutant and one detector."""

    mutant: str
    detector: str
    fate: Fate
    by: str = ""
    """The claim or the rule that was seen to be broken."""
    field: str = ""
    """What differed first, if a rule was."""
    steps: int = 0
    """Actions in lockstep until then; for a search states, for logs steps, for proofs cases."""
    seconds: float = 0.0
    """Until then, from when everything was imported."""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What a detector says: nothing if ``by`` is empty."""

    steps: int
    by: str = ""
    field: str = ""


@dataclass(frozen=True, slots=True)
class Terms:
    """How hard a detector tries."""

    profile: str = "standard"
    seed: int = 0
    budget: float = 60.0
    """Seconds for one mutant and one detector."""
    logs: Path | None = None
    """A directory of recorded logs."""
    compiled: Path | None = None
    """A directory where trials share what XLA has compiled; most programs are those of others."""

    def sharing(self, folder: Path) -> "Terms":
        """The same, with a directory for what is compiled."""
        return replace(self, compiled=folder)

    def brief(self) -> "Terms":
        """The same for what is true: nothing will be found, so most of the budget is spared."""
        return replace(self, budget=min(self.budget, BRIEF_S))


class OutOfTimeError(Exception):
    """A detector has used up its budget."""

    def __init__(self, steps: int) -> None:
        super().__init__(steps)
        self.steps = steps


Clock = Callable[[int], None]
"""Told how far a detector has come. Raises OutOfTimeError."""


def attempt(mutant: Mutant | None, detector: str, terms: Terms) -> Trial:
    """Let a detector look for the lie; without one, for anything wrong with what is true."""
    name = name_of(mutant)
    if mutant is not None:
        install(mutant)
    detect, begin = prepare(detector), monotonic()

    def clock(steps: int) -> None:
        if monotonic() - begin > terms.budget:
            raise OutOfTimeError(steps)

    try:
        found = detect(mutant, terms, clock)
    except OutOfTimeError as out:
        return Trial(name, detector, Fate.UNDECIDED, "", "", out.steps, monotonic() - begin)
    fate = Fate.KILLED if found.by else Fate.SURVIVED
    seconds = round(monotonic() - begin, 3)
    return Trial(name, detector, fate, found.by, found.field, found.steps, seconds)


def name_of(mutant: Mutant | None) -> str:
    """The id of a mutant, or that of the truth."""
    return mutant.id if mutant is not None else "none"


def prepare(detector: str) -> Callable[[Mutant | None, Terms, Clock], Found]:
    """Import what a detector needs, with the lie in it."""
    from markstep.conformance.mutants import detectors

    return detectors.DETECTORS[detector]
