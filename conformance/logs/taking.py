"""One step of a raw log, taken by the law.

A step of a log is settled: the call has returned and the execution that it started has ended. The
only thing that is not deterministic is how that execution ends, so it can be given.
"""

from dataclasses import dataclass

from markstep.conformance.logs.partition import Partition
from markstep.conformance.logs.recorded import ANYTHING
from markstep.spec.design import Design
from markstep.spec.machine import ENVIRONMENT, AnyAction, enabled, step
from markstep.spec.rules import views
from markstep.spec.rules.sync import Extract
from markstep.spec.schedule import (
    Ending,
    NotEnabledError,
    Observer,
    end_of_execution,
    perform,
)
from markstep.spec.state import NO_OWNER, SCALAR_OWNER, CallKind, State, rows
from markstep.spec.vocabulary import (
    ErrorKind,
    GraphHash,
    Look,
    ReadSpec,
    TensorName,
)


@dataclass(frozen=True, slots=True)
class Ended:
    """One step of a log, taken by the law."""

    actions: tuple[AnyAction, ...]
    before: State
    returned: State
    """When the call returned or raised."""
    settled: State
    """When the execution has ended, too."""
    key: object = None
    """The last key that was asked for."""
    inputs: tuple[object, ...] = ()
    """Run by key: the owners of the buffers that the program was given. Those of cached scalars are
    records that lived for a moment, which the law does not name."""
    last: AnyAction | None = None
    """The last small step of the call."""
    ends: tuple[AnyAction, ...] = ()
    """How executions ended during the step."""
    elsewhere: bool = False
    """The call was about to run a program on data of another device."""
    program: tuple[AnyAction, ...] = ()
    """The actions that were taken, and the end of the execution that the call did not wait for."""
    came: tuple[State, ...] = ()
    went: tuple[State, ...] = ()
    """With several devices: the states of all of them before and after the step."""
    home: int = 0
    """The device that acted last."""

    @property
    def all_before(self) -> tuple[State, ...]:
        """The state of each device before the step."""
        return self.came or (self.before,)

    @property
    def all_settled(self) -> tuple[State, ...]:
        """The state of each device after it."""
        return self.went or (self.settled,)


INPUT_IDS: dict[int, object] = {SCALAR_OWNER: ANYTHING, NO_OWNER: -127389}
"""What is shown for an input of a run by key that belongs to no record."""


@dataclass(slots=True)
class Notes:
    """What has to be caught while a step is under way."""

    observer: Observer | None = None
    key: object = None
    inputs: tuple[object, ...] = ()
    last: AnyAction | None = None
    ends: tuple[AnyAction, ...] = ()
    elsewhere: bool = False

    def __call__(self, before: State, action: AnyAction, after: State) -> None:
        self.last = action
        self.elsewhere = any(before.buffers[row].elsewhere for row in rows(before.call.params))
        if isinstance(action, ENVIRONMENT):
            self.ends = (*self.ends, action)
        if isinstance(action, Extract) and before.call.kind == CallKind.RUN_CACHED:
            owners = (after.buffers[row].owner for row in after.call.leaves)
            self.inputs = tuple(INPUT_IDS.get(id, id) for id in owners)
        if self.observer is not None:
            self.observer(before, action, after)


def take(
    state: State,
    actions: tuple[AnyAction, ...],
    design: Design,
    observer: Observer | None = None,
    ending: Ending = end_of_execution,
    partition: Partition | None = None,
) -> Ended:
    """Take the actions of one step, up to the first that raises, and let the execution end. In SPMD
    mode the recorder then looks at every tensor, which reads its annotation."""
    notes, before, taken = Notes(observer), state, list[AnyAction]()
    for action in actions:
        state = _whole_call(state, action, design, notes, ending, partition)
        taken.append(action)
        if state.raised != ErrorKind.NONE:
            break
        if isinstance(action, GraphHash):
            notes.key = state.value
    returned, last = state, notes.last
    while state.execution.running and not state.device.crashed:
        taken.append(ending(state, design))
        state = _small_step(state, taken[-1], design, notes)
    if partition is not None and not state.device.crashed:
        for name in sorted(state.tensors):
            taken.append(ReadSpec(name))
            state = _small_step(state, taken[-1], design, notes)
    for name in out_of_date(state):
        taken.append(Look(name))
        state = _small_step(state, taken[-1], design, notes)
    seen = (notes.key, notes.inputs, last, notes.ends, notes.elsewhere)
    return Ended(actions, before, returned, state, *seen, program=tuple(taken))


def out_of_date(state: State) -> list[TensorName]:
    """The tensors that the recorder's look brings up to date, in the order in which it looks."""
    if state.device.crashed:
        return []
    return sorted(name for name in state.tensors if views.out_of_date(state, name))


def _whole_call(
    state: State,
    action: AnyAction,
    design: Design,
    notes: Notes,
    ending: Ending,
    partition: Partition | None,
) -> State:
    """All small steps of one action. Raises NotEnabledError with the reason."""
    if not enabled(state, action, design):
        raise NotEnabledError("a tensor that it names does not exist, or a new name is in use")
    chosen = partition.of(action) if partition is not None else None
    after = perform(state, action, design, notes, ending, chosen)
    if after is None:
        raise NotEnabledError("the shapes or dtypes of its tensors do not fit")
    return after


def _small_step(state: State, action: AnyAction, design: Design, notes: Notes) -> State:
    after = step(state, action, design)
    if after is None:
        raise NotEnabledError(f"{type(action).__name__} is not enabled")
    notes(state, action, after)
    return after
