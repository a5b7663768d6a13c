"""What a program of several threads may see: what the law shows when its actions come one by one.

Every merge of the threads counts, and an execution that will fail may end at any moment. What is
compared is how each action ended, with its value, and the value of every tensor afterwards.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from markstep.spec.design import SOUND, Design
from markstep.spec.observe import outcome
from markstep.spec.schedule import end_of_execution, initial_state, perform, sure_to_fail
from markstep.spec.state import State
from markstep.spec.vocabulary import (
    Action,
    GraphHash,
    Observation,
    ReadOne,
    WaitDevice,
)


@dataclass(frozen=True, slots=True)
class Concurrent:
    """Actions before, of each thread, and the tensors that are read when all is over."""

    setup: tuple[Action, ...]
    threads: tuple[tuple[Action, ...], ...]

    @property
    def ending(self) -> tuple[Action, ...]:
        """Wait, then read whatever was made: nothing may be lost, and the device must be free."""
        names = {
            name
            for actions in (self.setup, *self.threads)
            for action in actions
            if getattr(action, "op", "") != "failing_execute"
            for name in ((getattr(action, "out", None)),)
            if name is not None
        }
        return (WaitDevice(), WaitDevice(), *map(ReadOne, sorted(names)))


Seen = tuple[tuple[Observation, ...], ...]
"""For each thread, and last for the ending, how each action ended."""


def comparable(action: Action, seen: Observation) -> Observation:
    """What is compared: names of programs are an executor's own."""
    return Observation(seen.error) if isinstance(action, GraphHash) else seen


def allowed(program: Concurrent, design: Design = SOUND) -> set[Seen]:
    """Every outcome that the law has. Raises ValueError if it refuses an action of the program."""
    state = initial_state()
    for action in program.setup:
        state = _done(state, action, design)
    empty: list[tuple[Observation, ...]] = [() for _ in program.threads]
    return set(_merges(state, program, empty, design))


def _done(state: State, action: Action, design: Design) -> State:
    after = perform(state, action, design)
    if after is None:
        raise ValueError(f"the law does not have {action} here")
    return after


def _merges(
    state: State, program: Concurrent, seen: list[tuple[Observation, ...]], design: Design
) -> Iterator[Seen]:
    if state.execution.running:
        # who is told of a failure depends on when it comes; of a success nobody is told
        ended = _done(state, end_of_execution(state, design), design)
        yield from _merges(ended, program, seen, design)
        if not sure_to_fail(state):
            return
    rest = [number for number, done in enumerate(seen) if len(done) < len(program.threads[number])]
    if not rest:
        yield (*seen, _read(state, program.ending, design))
    for number in rest:
        action = program.threads[number][len(seen[number])]
        after = _done(state, action, design)
        further = list(seen)
        further[number] = (*seen[number], comparable(action, outcome(after)))
        yield from _merges(after, program, further, design)


def _read(state: State, ending: tuple[Action, ...], design: Design) -> tuple[Observation, ...]:
    found = []
    for action in ending:
        state = _done(state, action, design)
        found.append(outcome(state))
    return tuple(found)
