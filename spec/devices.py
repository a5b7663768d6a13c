"""Several devices in one process, without SPMD.

A call is of one device, and the rules are those of one device: its records, its lock, its running
seed and its cached scalars are its own. Programs, ids, counters and switches are the process's. So
a process is one state for each device, and what the process shares goes from the state that has
acted to the others. Two calls never run at once here; that is the business of threads.
Source: semantics.md §1.6 (DeviceContextArena), §1.7, §1.10–1.11, §3 (45).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from markstep.spec import vocabulary as v
from markstep.spec.design import Design
from markstep.spec.machine import names
from markstep.spec.schedule import Observer, initial_state, perform
from markstep.spec.state import State
from markstep.spec.vocabulary import ErrorKind, TensorName

Part: TypeAlias = tuple[int, Callable[[object], v.Action]]
"""The device that does it, and what it does, given the value of the part before it."""

Take: TypeAlias = Callable[[int, State, v.Action], tuple[State, State] | None]
"""How a device takes its part: the states when the call returned and when it had ended for good;
none where it is not enabled."""

SHARED = ("next_record_id", "next_execution_id")
SWITCHES = ("donor_config", "allow_execution", "eager", "crashed")
"""Fields of the state and of its device that belong to the process."""


@dataclass(frozen=True, slots=True)
class Process:
    """``states``: one for each device. ``acted``: the device of the last call."""

    states: tuple[State, ...]
    acted: int = 0

    @property
    def last(self) -> State:
        """The state that shows how the last call ended."""
        return self.states[self.acted]

    def home(self, name: TensorName) -> int | None:
        """The device on which a tensor lives, if it does."""
        return next((d for d, state in enumerate(self.states) if name in state.tensors), None)

    def after(self, device: int, state: State) -> "Process":
        """The process when one of its devices has got on."""
        states = [state if d == device else carried(state, s) for d, s in enumerate(self.states)]
        return Process(tuple(states), device)


def process(devices: int, fresh: State | None = None) -> Process:
    """A fresh process: each device in the given state, or in that with a real payload."""
    return Process((fresh or initial_state(),) * devices)


def carried(source: State, target: State) -> State:
    """The state of another device, with what the process shares as the source has it."""
    copy = target.draft()
    for name in SHARED:
        setattr(copy, name, getattr(source, name))
    for name in SWITCHES:
        setattr(copy.device, name, getattr(source.device, name))
    copy.payload.share(source.payload)
    return copy


def homes(process: Process, action: v.Action) -> tuple[int, ...]:
    """The devices of the tensors that an action names, each once."""
    found = [process.home(name) for name in names(action)[0]]
    return tuple(dict.fromkeys(home for home in found if home is not None))


def parts(process: Process, device: int | None, action: v.Action) -> tuple[Part, ...]:
    """Who does what. ``device``: where something new is made, or whose tensors are meant; none: the
    first one, or all of them where an action can be about all.

    Empty: the call is refused, because its tensors are not on one device (C++: CollectSyncTensors
    demands a unique device) or, for an op, because no program can compute it. That is so under
    every design, though torch_xla traces such an op and dies when it is evaluated (finding F07).
    """
    found = homes(process, action)
    if len(found) > 1:
        return across(process, action) if isinstance(action, v.CopyInto) else ()
    if isinstance(action, v.WaitDevice):
        return tuple((d, lambda _: action) for d in range(len(process.states)))
    if isinstance(action, v.SyncLive) and device is None:
        live = [d for d, state in enumerate(process.states) if state.tensors] or [0]
        return ((live[0], lambda _: action),) if len(live) == 1 else ()
    (home,) = found or (device or 0,)
    return ((home, lambda _: action),)


def across(process: Process, action: v.CopyInto) -> tuple[Part, ...]:
    """A copy from device to device goes through the host: the source is read, and the target keeps
    the host data until it is used (C++: XLANativeFunctions::_copy_from)."""
    source, target = process.home(action.source), process.home(action.target)
    assert source is not None and target is not None
    return (
        (source, lambda _: v.ReadOne(action.source)),
        (target, lambda value: v.CopyFromHost(action.target, _nested(value), upload=False)),
    )


def _nested(value: object) -> v.Nested:
    assert isinstance(value, tuple)
    return value


def act(process: Process, device: int | None, action: v.Action, take: Take) -> Process | None:
    """The process after an action, up to the first part that raises; None: it is not enabled.

    What is refused raises BAD_ARGUMENT and changes nothing.
    """
    todo, value = parts(process, device, action), None
    if not todo:
        refused = process.last.draft()
        refused.raised, refused.value = ErrorKind.BAD_ARGUMENT, None
        return process.after(process.acted, refused)
    for number, do in todo:
        taken = take(number, process.states[number], do(value))
        if taken is None:
            return None
        returned, after = taken
        process, value = process.after(number, after), returned.value
        if returned.raised != ErrorKind.NONE:
            break
    return process


def perform_on(
    process: Process,
    device: int | None,
    action: v.Action,
    design: Design,
    observer: Observer | None = None,
) -> Process | None:
    """As `act`, by whole calls."""

    def take(_: int, state: State, part: v.Action) -> tuple[State, State] | None:
        after = perform(state, part, design, observer)
        return None if after is None else (after, after)

    return act(process, device, action, take)
