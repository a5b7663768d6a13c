"""The claims of the law, evaluated at every small step that a program takes."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from markstep.conformance.report.model import ClaimCount
from markstep.spec.design import Design
from markstep.spec.invariants import CLAIMS, Claim, Step
from markstep.spec.machine import AnyAction
from markstep.spec.schedule import Observer
from markstep.spec.state import State


class Broken(NamedTuple):
    """A claim, and the small step that broke it first."""

    claim: Claim
    step: Step


class ClaimWatch:
    """Evaluates claims and remembers the broken ones that are not to be ignored."""

    def __init__(self, claims: Iterable[Claim], ignore: Iterable[str] = ()) -> None:
        self.claims = tuple(claims)
        self.counts = {claim.id: ClaimCount() for claim in self.claims}
        self._pairs = [(claim, self.counts[claim.id]) for claim in self.claims]
        self.ignore = set(ignore)
        """Ids of claims whose violation is already known; they are still counted."""
        self.small_steps = 0
        self._broken: dict[str, Broken] = {}

    def observer(self, design: Design) -> Observer:
        """What `perform` is to call after each small step."""

        def see(before: State, action: AnyAction, after: State) -> None:
            self.small_steps += 1
            step = Step(before, action, after, design)
            for claim, count in self._pairs:
                count.checked += 1
                count.witnessed += claim.witness(step)
                if not claim.predicate(step):
                    count.broken += 1
                    if claim.id not in self.ignore:
                        self._broken.setdefault(claim.id, Broken(claim, step))

        return see

    def take_broken(self) -> Claim | None:
        """The first claim that has been broken since the last call, if any."""
        broken, self._broken = self._broken, {}
        return next(iter(broken.values())).claim if broken else None

    def take_new(self) -> list[Broken]:
        """All that were broken since the last call; from now on they are known."""
        broken, self._broken = self._broken, {}
        self.ignore.update(broken)
        return list(broken.values())


def all_claims() -> Mapping[str, Claim]:
    """Every claim about states and steps, by its id."""
    return CLAIMS
