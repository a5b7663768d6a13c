"""A step of a log on one device or on several: who does it, and what all of them show then."""

from dataclasses import replace

from markstep.conformance.logs.arguments import NotModelled
from markstep.conformance.logs.partition import Partition
from markstep.conformance.logs.taking import Ended, take
from markstep.spec.design import Design
from markstep.spec.devices import Process, homes, parts
from markstep.spec.schedule import Observer
from markstep.spec.state import State
from markstep.spec.vocabulary import Action, Apply, AssignInPlace, ErrorKind


def take_step(
    process: Process,
    device: int | None,
    actions: tuple[Action, ...],
    law: Design,
    observer: Observer | None,
    partition: Partition | None,
) -> Ended:
    """Take the actions of a step where its tensors are."""
    if len(process.states) == 1:
        return take(process.states[0], actions, law, observer, partition=partition)
    came = process.states
    todo = parts(process, device, actions[0])
    if not todo:
        return refused(process, actions)
    ended, value = list[Ended](), None
    for number, do in todo:
        first = do(value)
        step = take(process.states[number], (first, *actions[1:]), law, observer)
        process = process.after(number, step.settled)
        ended.append(replace(step, came=came, went=process.states, home=number))
        value = step.returned.value
        if step.returned.raised != ErrorKind.NONE:
            break
    return together(ended)


def together(ended: list[Ended]) -> Ended:
    """The parts of a step as one: it returns as the last of them does."""
    return replace(
        ended[-1],
        actions=tuple(action for one in ended for action in one.actions),
        program=tuple(action for one in ended for action in one.program),
        ends=tuple(end for one in ended for end in one.ends),
    )


def refused(process: Process, actions: tuple[Action, ...]) -> Ended:
    """A call whose tensors are on two devices: an error, and nothing has changed."""
    if isinstance(actions[0], Apply | AssignInPlace):
        where = " and ".join(f"CPU:{device}" for device in homes(process, actions[0]))
        raise NotModelled(f"an op whose operands are on {where} is not modelled yet")
    state = raising(process.last)
    states = process.states
    return Ended(actions, process.last, state, state, program=actions, came=states, went=states)


def raising(state: State) -> State:
    """The state after a call that was refused."""
    after = state.draft()
    after.raised, after.value = ErrorKind.BAD_ARGUMENT, None
    return after
