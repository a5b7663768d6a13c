"""What a program makes of its tensors and buffers, step by step: the facts of a picture.

Everything is asked of the law: the program is run once more under the design it was judged by.
"""

import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from markstep.conformance.show import show, show_end, tensor
from markstep.spec.design import Design
from markstep.spec.invariants import CLAIMS, Claim
from markstep.spec.machine import AnyAction, rule_of
from markstep.spec.named_designs import DESIGNS
from markstep.spec.observe import abstract_state
from markstep.spec.rules.transfer import buffers_in_use
from markstep.spec.state import Phase, State, has, rows
from markstep.spec.trace import Trace
from markstep.spec.vocabulary import AbstractState, TensorName

SmallStep: TypeAlias = tuple[State, AnyAction, State]
"""Before, action, after."""

MEANS: dict[AbstractState, str] = {
    AbstractState(value): text
    for value, text in re.findall(r'= "(\w+)"  # (.*)', inspect.getsource(AbstractState))
}
"""What the vocabulary says of each state, in the comment behind it: there is one text."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A tensor or a buffer after a step."""

    state: str
    """One word: the abstract state of a tensor, the status of a buffer."""
    about: str = ""
    """Of a tensor, what it shares; of a buffer, who uses it."""
    identity: int = 0
    """Of a buffer: new when another buffer has come to its row."""
    shared: bool = False
    """Of a buffer: several refer to it."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The state after one step."""

    number: int
    """Of the action in the program."""
    action: AnyAction
    ended: str
    """How the step ended, if not simply well."""
    state: State
    tensors: dict[TensorName, Seen]
    buffers: dict[int, Seen]
    part: int = 0
    """Of the steps of one call: the how many-th after the first."""
    wrong: bool = False
    """Here it goes wrong."""

    @property
    def label(self) -> str:
        """The number of the step as text."""
        return f"{self.number}.{self.part}" if self.part else str(self.number)

    @property
    def text(self) -> str:
        """The step as one line of Python, with its end; the steps of a call are indented."""
        indent = "" if rule_of(type(self.action)).phase == Phase.IDLE else "  "
        return indent + show(self.action) + (f"  → {self.ended}" if self.ended else "")

    @property
    def running(self) -> str:
        """What the device does."""
        return "runs" if self.state.execution.running else ""


def timeline(
    program: Sequence[AnyAction], design: str, failing: int = -1, claim: str = ""
) -> list[Moment]:
    """The moments of a program under a design, one for each action.

    Of the failing action every small step is shown, and it goes wrong where the claim is broken
    first; if it is none of the law's claims, at the end.
    """
    moments: list[Moment] = []
    steps: list[SmallStep] = []
    run = Trace(tuple(program), design).run(lambda *step: steps.append(step))
    for number, (before, action, after) in enumerate(run):
        parts, steps[:] = steps.copy(), []
        if number == failing and len(parts) > 1:
            moments += parts_of(number, parts, DESIGNS[design], CLAIMS.get(claim))
            continue
        how, state = show_end(before, action, after), after or before
        moments.append(moment(number, action, state, how, wrong=number == failing))
    return moments


def parts_of(
    number: int, steps: Sequence[SmallStep], design: Design, claim: Claim | None
) -> Iterator[Moment]:
    """The small steps of one action."""
    broken = [i for i, s in enumerate(steps) if claim and not claim.holds(*s, design)]
    wrong = broken[0] if broken else len(steps) - 1
    for i, (before, action, after) in enumerate(steps):
        how = show_end(before, action, after)
        yield moment(number, action, after, how, part=i, wrong=i == wrong)


def moment(
    number: int, action: AnyAction, state: State, how: str, part: int = 0, wrong: bool = False
) -> Moment:
    """What can be drawn of a state."""
    seen, held = dict(tensors(state)), dict(buffers(state))
    return Moment(number, action, how, state, seen, held, part, wrong)


def tensors(state: State) -> Iterator[tuple[TensorName, Seen]]:
    """Every tensor object in the order of creation."""
    for name in sorted(state.tensors):
        row = state.tensors[name]
        others = [n for n, r in state.tensors.items() if r == row and n != name]
        shares = f"= {' '.join(map(tensor, others))}" if others else ""
        record = state.records[row]
        yield name, Seen(str(abstract_state(state, record)), shares, record.id)


def buffers(state: State) -> Iterator[tuple[int, Seen]]:
    """Every buffer record that something refers to."""
    for row in rows(buffers_in_use(state)):
        buffer, using = state.buffers[row], users(state, row)
        said = [" ".join(filter(None, (kind, *names))) for kind, names in using.items()]
        many = sum(len(names) or 1 for names in using.values()) > 1
        yield row, Seen(buffer.status.name, ", ".join(said), buffer.number, many)


def users(state: State, row: int) -> dict[str, list[str]]:
    """Who refers to a buffer record: as a handle, through a leaf, to evaluate pending work, or
    something that is no tensor."""
    found: dict[str, list[str]] = {}
    for name, at in sorted(state.tensors.items()):
        record = state.records[at]
        if record.handle == row:
            found.setdefault("", []).append(tensor(name))
        if record.leaf == row:
            found.setdefault("leaf", []).append(tensor(name))
        elif has(record.reads, row):
            found.setdefault("read by", []).append(tensor(name))
    if state.buffers[row].cached:
        found["scalar cache"] = []
    if state.device.seed == row:
        found["seed"] = []
    if state.execution.running and has(state.execution.params, row):
        donated = has(state.execution.donors, row)
        found["running, donated" if donated else "running"] = []
    return found
