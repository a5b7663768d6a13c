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
from markstep.spec.machine import AnyAction, names
from markstep.spec.rules.abroad import ApplyAbroad, Lend, Stranger
from markstep.spec.schedule import Observer, initial_state, perform
from markstep.spec.state import State
from markstep.spec.vocabulary import ErrorKind, TensorName

Part: TypeAlias = tuple[int, Callable[[object], AnyAction]]
"""The device that does it, and what it does, given the value of the part before it."""

Take: TypeAlias = Callable[[int, State, AnyAction], tuple[State, State] | None]
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


def parts(
    process: Process, device: int | None, action: v.Action, design: Design
) -> tuple[Part, ...]:
    """Who does what. ``device``: where something new is made, or whose tensors are meant; none: the
    first one, or all of them where an action can be about all.

    Empty: the call is refused, because its tensors are not on one device (C++: CollectSyncTensors
    demands a unique device) or, for an op, because no program can compute it. Without D46 it is
    traced all the same (finding F07); so would be one in place, which nobody has recorded.
    """
    found = homes(process, action)
    if len(found) > 1 and isinstance(action, v.CopyInto):
        return across(process, action)
    if len(found) > 1 and isinstance(action, v.Apply) and not design.ops_stay_on_a_device:
        return abroad(process, action)
    if len(found) > 1:
        return ()
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


def abroad(process: Process, action: v.Apply) -> tuple[Part, ...]:
    """An op on tensors of two devices is traced on that of the first one."""
    home = process.home(action.inputs[0])
    assert home is not None
    guests = {
        place: (name, device)
        for place, name in enumerate(action.inputs)
        if (device := process.home(name)) is not None and device != home
    }
    strangers = []
    for place, (name, device) in guests.items():
        record = process.states[device].record_of(name)
        strangers.append(Stranger(place, record.shape, record.dtype))
    own = tuple(name for place, name in enumerate(action.inputs) if place not in guests)
    made = ApplyAbroad(action.out, action.op, own, tuple(strangers))
    lent: list[Part] = [(device, _lending(name)) for name, device in guests.values()]
    return (*lent, (home, lambda _: made))


def _lending(name: TensorName) -> Callable[[object], AnyAction]:
    return lambda _: Lend(name)


def _nested(value: object) -> v.Nested:
    assert isinstance(value, tuple)
    return value


def act(
    process: Process, device: int | None, action: v.Action, take: Take, design: Design
) -> Process | None:
    """The process after an action, up to the first part that raises; None: it is not enabled.

    What is refused raises BAD_ARGUMENT and changes nothing.
    """
    todo, value = parts(process, device, action, design), None
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

    def take(_: int, state: State, part: AnyAction) -> tuple[State, State] | None:
        after = perform(state, part, design, observer)
        return None if after is None else (after, after)

    return act(process, device, action, take, design)
