"""What can happen next in a state, and why the rest cannot: asked of the law, action by action."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from markstep.conformance.guards import Guard, fired
from markstep.conformance.show import show, show_observation, tensor
from markstep.spec import vocabulary as v
from markstep.spec.design import Design
from markstep.spec.machine import (
    ACTIONS,
    ENVIRONMENT,
    AnyAction,
    blocked,
    enabled,
    environment_may,
    names,
    step,
)
from markstep.spec.observe import outcome
from markstep.spec.schedule import fits, perform
from markstep.spec.search.alphabet import FAMILIES, Bound, moves
from markstep.spec.search.optional import OPTIONAL_FAMILIES
from markstep.spec.state import Phase, State

TRIED = 24
"""Ways to take one action that are tried."""
SHOWN = 6
"""And that are listed."""


@dataclass(frozen=True, slots=True)
class Way:
    """One action that can happen next, and how it would end."""

    action: AnyAction
    ended: str
    guards: tuple[Guard, ...]

    def __str__(self) -> str:
        why = f" ({'; '.join(map(str, self.guards))})" if self.guards and self.ended else ""
        return show(self.action) + (f" → {self.ended}{why}" if self.ended else "")


@dataclass(frozen=True, slots=True)
class Choice:
    """An action of the table: the ways in which it can happen next, or why it cannot."""

    id: str
    name: str
    ways: tuple[Way, ...]
    refusal: str = ""


def choices(state: State, design: Design, whole: bool) -> Iterator[Choice]:
    """Every action of the table. ``whole``: an action is taken with all steps of its call."""
    tried = candidates(state, design)
    for cls, rule in ACTIONS.items():
        given = tried.get(cls, [])
        ways = tuple(way(state, a, design, whole) for a in given if possible(state, a, design))
        refusal = "" if ways else why_not(state, cls, given, design)
        yield Choice(rule.id, cls.__name__, ways, refusal)


def candidates(state: State, design: Design) -> dict[type, list[AnyAction]]:
    """Actions worth trying, by class: those that a search would try, and some that it need not."""
    tried: dict[type, list[AnyAction]] = {}
    live = sum(record.live for record in state.records)
    bound = Bound(live + 1, families=(*FAMILIES, *OPTIONAL_FAMILIES), reduced=False)
    for action in moves(state, design, bound):
        tried.setdefault(type(action), []).append(action)
    if state.idle:
        living = tuple(sorted(state.tensors))
        for more in (v.EvictCache(), v.SyncLive(), v.GetSeed()):
            tried.setdefault(type(more), []).append(more)
        if living:
            tried.setdefault(v.DumpGraph, []).append(v.DumpGraph(living))
    return {cls: list(islice(dict.fromkeys(some), TRIED)) for cls, some in tried.items()}


def possible(state: State, action: AnyAction, design: Design) -> bool:
    """Whether an action can happen now, and can be meant."""
    return enabled(state, action, design) and fits(state, action)


def way(state: State, action: AnyAction, design: Design, whole: bool) -> Way:
    """How an action would end."""
    take = perform if whole else step
    after, guards = fired(lambda: take(state, action, design))
    if after is None or after.call.phase != Phase.IDLE or isinstance(action, ENVIRONMENT):
        return Way(action, "", guards)
    if after.device.crashed:
        return Way(action, "the process dies", guards)
    raised = after.raised != v.ErrorKind.NONE
    return Way(action, show_observation(outcome(after)) if raised else "", guards)


def why_not(state: State, cls: type, given: Sequence[AnyAction], design: Design) -> str:
    """Why no action of a class can happen now: the first condition of the law that fails."""
    if state.device.crashed:
        return "the process has died"
    if cls in ENVIRONMENT:
        return why_no_end(state, given, design)
    phase = ACTIONS[cls].phase
    if phase != state.call.phase:
        return where_it_stands(state)
    if phase != Phase.IDLE:
        return "the call waits for the running execution" if blocked(state, design) else ""
    wrong = [reason for action in given[:1] for reason in wrong_names(state, action)]
    return wrong[0] if wrong else "shapes do not fit" if given else "there is no tensor for it"


def why_no_end(state: State, given: Sequence[AnyAction], design: Design) -> str:
    """Why the running execution cannot end so."""
    if not state.execution.running:
        return "nothing runs on the device"
    if given and not any(environment_may(state, action, design) for action in given):
        return "the running program does not fit its arguments: it can only fail"
    return "it is sure to fail: the program asks too much"


def where_it_stands(state: State) -> str:
    """Which step is next instead."""
    if state.call.phase == Phase.IDLE:
        return "no call is running"
    following = [(r.id, c.__name__) for c, r in ACTIONS.items() if r.phase == state.call.phase]
    return f"a call is running, and its next step is {' '.join(following[0])}"


def wrong_names(state: State, action: AnyAction) -> Iterator[str]:
    """Names that the action uses and nobody has, or gives out and somebody has."""
    used, new = names(action)
    yield from (f"{tensor(name)} does not exist" for name in used if name not in state.tensors)
    yield from (f"{tensor(name)} exists already" for name in new if name in state.tensors)
