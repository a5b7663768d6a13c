"""The claims of the law, evaluated at every small step that a program takes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol

from markstep.spec.design import Design
from markstep.spec.machine import AnyAction
from markstep.spec.schedule import Observer
from markstep.spec.state import State


class Claim(Protocol):
    """What is used of a claim of `markstep.spec.invariants`."""

    @property
    def id(self) -> str:
        """Such as I12."""

    @property
    def statement(self) -> str:
        """One sentence."""

    def holds(self, before: State, action: AnyAction, after: State, design: Design) -> bool:
        """Whether the claim is true of this step."""

    def witnessed(self, before: State, action: AnyAction, after: State, design: Design) -> bool:
        """Whether this step exercises the claim's premise."""


@dataclass(slots=True)
class ClaimCount:
    """How often a claim was evaluated, with its premise true, and found false."""

    checked: int = 0
    witnessed: int = 0
    broken: int = 0


class ClaimWatch:
    """Evaluates claims and remembers the first broken one that is not to be ignored."""

    def __init__(self, claims: Iterable[Claim], ignore: Iterable[str] = ()) -> None:
        self.claims = tuple(claims)
        self.counts = {claim.id: ClaimCount() for claim in self.claims}
        self.ignore = set(ignore)
        """Ids of claims whose violation is already known; they are still counted."""
        self.small_steps = 0
        self._broken: Claim | None = None

    def observer(self, design: Design) -> Observer:
        """What `perform` is to call after each small step."""

        def see(before: State, action: AnyAction, after: State) -> None:
            self.small_steps += 1
            for claim in self.claims:
                self._evaluate(claim, before, action, after, design)

        return see

    def _evaluate(
        self, claim: Claim, before: State, action: AnyAction, after: State, design: Design
    ) -> None:
        count = self.counts[claim.id]
        count.checked += 1
        if claim.witnessed(before, action, after, design):
            count.witnessed += 1
        if not claim.holds(before, action, after, design):
            count.broken += 1
            if self._broken is None and claim.id not in self.ignore:
                self._broken = claim

    def take_broken(self) -> Claim | None:
        """The claim that has been broken since the last call, if any."""
        broken, self._broken = self._broken, None
        return broken


def all_claims() -> Mapping[str, Claim]:
    """Every claim of the law by its id."""
    if find_spec("markstep.spec.invariants") is None:
        return {}
    claims: Mapping[str, Claim] = getattr(import_module("markstep.spec.invariants"), "CLAIMS", {})
    return claims
