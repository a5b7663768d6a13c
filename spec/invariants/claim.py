"""What a claim of the law is: an id, one sentence, why it matters, a predicate, and a witness.

A claim looks at one small step: the state before, the action, the state after, and the design.
The explorer, lockstep, the log monitor and the manual all use these objects; there is no second
text. The number of a claim is its number in semantics.md §6; numbers above 86 are ours.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from markstep.spec.design import Design
from markstep.spec.machine import AnyAction
from markstep.spec.state import Phase, Record, State


@dataclass(frozen=True, slots=True)
class Step:
    """One small step of the machine, as a claim sees it."""

    before: State
    action: AnyAction
    after: State
    design: Design

    @property
    def returned(self) -> bool:
        """A call of the program has ended in this step."""
        return self.before.call.phase != Phase.IDLE and self.after.call.phase == Phase.IDLE

    @property
    def newly_lost(self) -> int:
        """Mask of the records that lost their value since the last call ended."""
        return self.after.lost & ~self.before.lost

    def live(self) -> list[Record]:
        """The live records afterwards."""
        return [record for record in self.after.records if record.live]


Predicate: TypeAlias = Callable[[Step], bool]


class Kind(StrEnum):
    """What a claim quantifies over."""

    STATE = "state"
    """Every reachable state."""
    STEP = "step"
    """Every small step from a reachable state."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of the law."""

    id: str
    name: str
    statement: str
    why: str
    kind: Kind
    predicate: Predicate
    witness: Predicate
    """The premise was really exercised, so that the claim is not vacuous."""
    broken_by_torch_xla: bool
    """Status V of semantics.md §6 for the single-device core."""
    hazards: tuple[str, ...] = ()
    """The hazards of semantics.md §6b that show as violations of this claim."""

    def holds(self, before: State, action: AnyAction, after: State, design: Design) -> bool:
        """Whether a small step respects the claim."""
        return self.predicate(Step(before, action, after, design))

    def witnessed(self, before: State, action: AnyAction, after: State, design: Design) -> bool:
        """Whether a small step exercises the claim's premise."""
        return self.witness(Step(before, action, after, design))


CLAIMS: dict[str, Claim] = {}
"""Every claim about states and steps by id."""


def claim(
    id: str,
    kind: Kind,
    witness: Predicate,
    *,
    why: str,
    broken: bool = False,
    hazards: tuple[str, ...] = (),
) -> Callable[[Predicate], Claim]:
    """Make a predicate a claim of the law; its docstring is the statement."""

    def register(predicate: Predicate) -> Claim:
        name = getattr(predicate, "__name__", id)
        statement = " ".join((predicate.__doc__ or "").split())
        made = Claim(id, name, statement, why, kind, predicate, witness, broken, hazards)
        if id in CLAIMS:
            raise ValueError(f"two claims have the id {id}")
        CLAIMS[id] = made
        return made

    return register
