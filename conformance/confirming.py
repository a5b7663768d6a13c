"""Whether a failure comes again, and the shortest program that shows it.

An executor that answers the same program differently is *flaky*: neither of its answers is a
finding by itself, and both are reported.
"""

from dataclasses import dataclass

from markstep.conformance.claims import ClaimWatch, all_claims
from markstep.conformance.lockstep.play import Player
from markstep.conformance.lockstep.session import Counts, ProgramResult
from markstep.conformance.programs.shrink import Budget, Program, shrink
from markstep.conformance.verdict import Verdict

AGAIN = 4
"""Further runs of a program that does not fail each time, to say how often it does."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What is known of a failure after the program was run again."""

    result: ProgramResult
    """Of the shortest program that fails in this way."""
    verdict: Verdict
    others: tuple[str, ...] = ()
    """What the same program showed in other runs."""
    shortening: str = ""
    """Whether the program can be shorter."""
    note: str = ""


def signature_of(result: ProgramResult) -> tuple[str, ...]:
    """Failures with equal signatures count as one."""
    if result.divergence is not None:
        return result.divergence.signature
    where = type(result.program[result.step]).__name__ if result.step >= 0 else "reset"
    return "LOCKSTEP", result.message, where


def confirm(player: Player, result: ProgramResult, budget: Budget | None = None) -> Confirmed:
    """Run a failing program again, make it short, and run that again. What hangs is left alone."""
    if result.hung:
        return Confirmed(result, result.verdict)
    again = _Again(player, result)
    needed = result.program[: result.step + 1]
    if not again.fails(needed) and (needed == result.program or not again.fails(result.program)):
        return again.flaky(result)
    budget = budget or Budget()
    short = shrink(again.best.program, again.fails, budget, player.design)
    if not again.fails(short):
        return again.flaky(again.best)
    if budget.ended:
        shortening = f"not to the end: the budget ({budget}) was spent"
    else:
        shortening = f"1-minimal, after {budget.spent} runs"
    return Confirmed(again.best, again.best.verdict, shortening=shortening)


class _Again:
    """Runs programs, and remembers the last that failed in the same way."""

    def __init__(self, player: Player, result: ProgramResult) -> None:
        self.player, self.best, self.signature = player, result, signature_of(result)
        self.refused = len(result.program)
        self.claims = [claim for id, claim in all_claims().items() if id == self.signature[0]]

    def fails(self, program: Program) -> bool:
        """A program may not have more impossible actions than those that failed before it."""
        counts = Counts()
        ended = self.player.given(program, ClaimWatch(self.claims), counts)
        same = signature_of(ended) == self.signature and counts.refused <= self.refused
        if same:
            self.best, self.refused = ended, counts.refused
        return same

    def flaky(self, result: ProgramResult) -> Confirmed:
        """A result that did not come again: what the program shows in further runs."""
        others = [
            self.player.given(result.program, ClaimWatch(self.claims), Counts())
            for _ in range(AGAIN)
        ]
        same = sum(signature_of(other) == self.signature for other in others)
        if result.verdict == Verdict.ERROR:
            note = f"{self.signature[0]}: not reproduced when run once more"
            return Confirmed(result, result.verdict, note=note)
        different = [_shown(other) for other in others if signature_of(other) != self.signature]
        told = tuple(
            f"{different.count(t)} of {AGAIN} further runs: {t}" for t in _unique(different)
        )
        if not told:
            told = (
                f"all of {AGAIN} further runs fail like the first, but one before them did not",
            )
        elif same:
            told = (f"{same} of {AGAIN} further runs: the same", *told)
        return Confirmed(result, Verdict.FLAKY, told)


def _unique(texts: list[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _shown(result: ProgramResult) -> str:
    """What one run showed, in short."""
    found = result.divergence
    if found is not None:
        return f"at step {result.step}, {found.id}: {found.observed}"
    if result.verdict == Verdict.CONFORMS:
        return "as expected"
    return f"{result.verdict.value} at step {result.step}: {result.message}"
