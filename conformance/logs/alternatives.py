"""Why a step of a log is not explained: what else could have happened, and what that would show.

Two things are tried from the state before the step: other ends of the execution, which the law
leaves to the device, and the other named designs. None of these makes the step accepted; they tell
a maintainer where to look.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from markstep.conformance.logs.prediction import Memory, predict
from markstep.conformance.logs.rawrecord import RawStep
from markstep.conformance.logs.recorded import Difference, Table, compare
from markstep.conformance.logs.taking import Ended, take
from markstep.spec.design import Design
from markstep.spec.machine import AnyAction, enabled
from markstep.spec.named_designs import DESIGNS
from markstep.spec.schedule import Ending, NotEnabledError, end_of_execution
from markstep.spec.state import State, bit, rows
from markstep.spec.vocabulary import BufferStatus, CompleteExecution, FailExecution

SHOWN = 3
"""Differences that a candidate lists."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something else that could have happened, and how far it explains the step."""

    what: str
    differences: tuple[Difference, ...]

    def __str__(self) -> str:
        if not self.differences:
            return f"{self.what}: would explain the step"
        listed = "; ".join(map(str, self.differences[:SHOWN]))
        more = len(self.differences) - SHOWN
        return f"{self.what}: {listed}{f'; and {more} more' if more > 0 else ''}"


def candidates(
    ended: Ended, raw: RawStep, observed: Table, memory: Memory, design: Design
) -> tuple[Candidate, ...]:
    """The candidates for a step that ended otherwise than recorded, the nearest first."""
    found = [
        Candidate(what, compare(predict(other, raw, memory), observed))
        for what, other in others(ended, design)
    ]
    return tuple(sorted(found, key=lambda one: len(one.differences)))


def others(ended: Ended, design: Design) -> Iterator[tuple[str, Ended]]:
    """Every other way in which the step could have been taken."""
    if ended.ends:
        for what, ending in endings(ended, design):
            yield from _try(what, ended, design, ending)
    for other in DESIGNS.values():
        if other.name != design.name:
            yield from _try(f"under the design {other.name}", ended, other, end_of_execution)


def endings(ended: Ended, design: Design) -> Iterator[tuple[str, Ending]]:
    """Other ends of the executions of a step than those that were taken."""
    taken = ended.ends[-1]
    if not isinstance(taken, FailExecution):
        yield "if the execution fails", at_the_end(FailExecution())
        if not design.failure_keeps_donors:
            yield "if it fails and consumes its donors", at_the_end(FailExecution(deletes=True))
    if not isinstance(taken, CompleteExecution) or taken.spares:
        yield "if it consumes every donor", at_the_end(CompleteExecution())
    for row in donors_of(ended):
        yield f"if it spares buffer {row}", at_the_end(CompleteExecution(bit(row)))


def donors_of(ended: Ended) -> list[int]:
    """The buffer rows that the executions of a step could consume."""
    found = 0
    state = ended.returned
    if state.execution.running:
        found |= state.execution.donors
    for action in ended.ends:
        if isinstance(action, CompleteExecution):
            found |= action.spares
    deleted = BufferStatus.DELETED
    for row, buffer in enumerate(ended.settled.buffers):
        earlier = ended.before.buffers[row].status if row < len(ended.before.buffers) else None
        if buffer.status == deleted and earlier != deleted:
            found |= bit(row)
    return list(rows(found))


def at_the_end(action: AnyAction) -> Ending:
    """Every execution ends with this action, where that is possible."""

    def ending(state: State, design: Design) -> AnyAction:
        possible = enabled(state, action, design)
        return action if possible else end_of_execution(state, design)

    return ending


def _try(what: str, ended: Ended, design: Design, ending: Ending) -> Iterator[tuple[str, Ended]]:
    try:
        other = take(ended.before, ended.actions, design, ending=ending)
    except NotEnabledError:
        return
    yield what, other
