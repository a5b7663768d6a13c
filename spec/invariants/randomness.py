"""Claims about random numbers: the seed that is known, that which a graph computes, and its buffer.

Source: semantics.md §6, RNG.
"""

from markstep.spec.invariants.claim import Kind, Step, claim
from markstep.spec.state import NONE, CallKind, Record, State, has
from markstep.spec.vocabulary import BufferStatus, ErrorKind, Random


def seed_is_safe(s: State) -> bool:
    """The buffer of the seed has its value, and nobody donates it."""
    row = s.device.seed
    donors = s.execution.donors | s.call.donors
    return s.buffers[row].status == BufferStatus.VALUE and not has(donors, row)


@claim(
    "I31",
    Kind.STATE,
    lambda t: t.after.device.seed != NONE,
    why="Every random tensor of the step reads it.",
)
def the_seed_is_not_donated(t: Step) -> bool:
    """The buffer of the seed has a value, and is not a donor of anything."""
    return t.after.device.seed == NONE or seed_is_safe(t.after)


@claim(
    "I75",
    Kind.STATE,
    lambda t: t.after.device.seed != NONE,
    why="The seed can be asked for without executing anything, and set again.",
)
def the_running_seed_is_what_the_graph_gives(t: Step) -> bool:
    """The running seed is the value of the seed's graph, or the seed itself where there is none."""
    row = t.after.device.seed
    return t.after.payload.seeds_are_right(t.after.buffers[row].contents if row != NONE else None)


@claim(
    "I76",
    Kind.STEP,
    lambda t: stepped(t) and t.before.device.seed != NONE,
    why="A program that is run again draws the same numbers, and each step others.",
)
def a_step_has_the_seed_that_follows(t: Step) -> bool:
    """A step barrier that does not raise makes the seed that of the next step, unused."""
    if not stepped(t):
        return True
    return t.after.device.seed == NONE and t.after.payload.seed_follows(t.before.payload)


def stepped(t: Step) -> bool:
    """A step barrier has ended without an error."""
    barrier = t.returned and t.before.call.kind == CallKind.STEP_BARRIER
    return barrier and t.after.raised == ErrorKind.NONE


@claim(
    "I77",
    Kind.STEP,
    lambda t: t.before.device.eager and drawn(t) is not None,
    why="Switching the mode must not change the numbers of a program.",
    broken=True,
)
def the_mode_does_not_change_the_numbers(t: Step) -> bool:
    """A draw uses the seed that follows the running one, in eager mode as in lazy mode."""
    record = drawn(t)
    contents = [buffer.contents for buffer in t.after.buffers]
    return record is None or t.after.payload.draws_from_next(
        record.node, contents, t.before.payload
    )


def drawn(t: Step) -> Record | None:
    """The record of the random tensor that has just been traced, if one has: a tensor that shows a
    part of another shows a part of the draw."""
    if not isinstance(t.action, Random) or t.after.raised != ErrorKind.NONE:
        return None
    if t.after.views is not None and t.after.views.is_view(t.action.target):
        return None
    if t.after.call.kind == CallKind.EAGER:
        return t.after.records[t.after.call.target]
    return t.after.record_of(t.action.target)
