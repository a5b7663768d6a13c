"""A step of a log on one device or on several: who does it, and what all of them show then."""

from dataclasses import replace

from markstep.conformance.logs.arguments import NotModelled
from markstep.conformance.logs.partition import Partition
from markstep.conformance.logs.taking import Ended, take
from markstep.spec.design import Design
from markstep.spec.devices import Process, act, homes
from markstep.spec.machine import AnyAction
from markstep.spec.schedule import Observer
from markstep.spec.state import State
from markstep.spec.vocabulary import Action, AssignInPlace


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
    check_operands(process, actions[0])
    ended: list[Ended] = []

    def part(_: int, state: State, first: AnyAction) -> tuple[State, State]:
        ended.append(take(state, (first, *actions[1:]), law, observer))
        return ended[-1].returned, ended[-1].settled

    after = act(process, device, actions[0], part, law)
    assert after is not None  # `take` raises where an action is not enabled
    if not ended:  # refused: an error, and nothing has changed
        ended = [Ended(actions, process.last, after.last, after.last, program=actions)]
    return replace(together(ended), came=process.states, went=after.states, home=after.acted)


def together(ended: list[Ended]) -> Ended:
    """The parts of a step as one: it returns as the last of them does."""
    return replace(
        ended[-1],
        actions=tuple(action for one in ended for action in one.actions),
        program=tuple(action for one in ended for action in one.program),
        ends=tuple(end for one in ended for end in one.ends),
    )


def check_operands(process: Process, action: Action) -> None:
    """Raises NotModelled for an op in place whose operands are on two devices."""
    found = homes(process, action)
    if isinstance(action, AssignInPlace) and len(found) > 1:
        where = " and ".join(f"CPU:{device}" for device in found)
        raise NotModelled(f"an op in place whose operands are on {where} is not modelled yet")
