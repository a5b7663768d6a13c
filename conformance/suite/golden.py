"""The golden traces held to what is written down for each of their steps."""

from markstep.conformance.show import show, tensor
from markstep.conformance.suite.devices import Placed
from markstep.conformance.suite.scenarios import SCENARIOS, Scenario, Step
from markstep.spec.devices import perform_on, process
from markstep.spec.machine import AnyAction
from markstep.spec.named_designs import DESIGNS
from markstep.spec.observe import abstract_state, outcome
from markstep.spec.rules.sync import Lookup
from markstep.spec.schedule import initial_state, perform
from markstep.spec.state import State
from markstep.spec.vocabulary import ErrorKind, FailExecution

GOLDEN_DESIGNS = ("sound", "torch_xla_2_9")


class Notes:
    """What the small steps of one action show."""

    def __init__(self) -> None:
        self.lookups: list[str] = []
        self.leaves: tuple[int, ...] = ()

    def see(self, before: State, action: AnyAction, after: State) -> None:
        """Note one small step."""
        if isinstance(action, Lookup):
            self.lookups.append("hit" if action.hit else "miss")
            self.leaves = before.call.leaves


def first_mismatch() -> str | None:
    """The id of the first golden trace that the law does not reproduce; None: it does all."""
    for scenario in SCENARIOS:
        if any(mismatch(scenario, design) for design in GOLDEN_DESIGNS):
            return scenario.id
    return None


def mismatch(scenario: Scenario, design: str) -> str | None:
    """What of a golden trace is not as written under a design."""
    state = initial_state()
    for step in scenario.steps:
        notes = Notes()
        after = perform(state, step.action, DESIGNS[design], notes.see)
        if after is None:
            return f"{show(step.action)}: is not enabled"
        found = _differs(step, design, after, notes)
        if found is not None:
            return f"{show(step.action)}: {found}"
        state = after
    return None


def misplaced(scenario: Placed, design: str) -> str | None:
    """What of a golden trace of two devices is not as written under a design."""
    both = process(2)
    for device, step in scenario.steps:
        notes = Notes()
        after = perform_on(both, device, step.action, DESIGNS[design], notes.see)
        if after is None:
            return f"{show(step.action)}: is not enabled"
        found = _differs(step, design, after.last, notes, after.states)
        if found is not None:
            return f"{show(step.action)}: {found}"
        both = after
    return None


def _differs(
    step: Step, design: str, state: State, notes: Notes, states_of: tuple[State, ...] = ()
) -> str | None:
    states, error = step.expected(design)
    shown = {
        name: abstract_state(one, one.record_of(name)).value
        for one in states_of or (state,)
        for name in one.tensors
    }
    found = [shown[name] for name in sorted(shown)]
    ended = ErrorKind.NONE if isinstance(step.action, FailExecution) else outcome(state).error
    if (found, ended) != (states, error):
        return f"{' '.join(found)} ! {ended.value}, not {' '.join(states)} ! {error}"
    if step.value is not None and error == "none" and outcome(state).value != step.value:
        return f"gives {outcome(state).value}, not {step.value}"
    sound, _, torch_xla = step.compiled.partition("/")
    lookups = [torch_xla if torch_xla and design != "sound" else sound] if sound else notes.lookups
    if notes.lookups != lookups:
        return f"the cache says {notes.lookups}, not {lookups}"
    named = _parameters(state, notes.leaves) if step.parameters else ""
    return None if named == step.parameters else f"parameters {named}, not {step.parameters}"


def _parameters(state: State, leaves: tuple[int, ...]) -> str:
    """Parameters by the tensor that owns the buffer, or by the number that a scalar has."""
    owners = {state.record_of(name).leaf: tensor(name) for name in state.tensors}
    return " ".join(owners.get(row) or _number(state, row) for row in leaves)


def _number(state: State, row: int) -> str:
    contents = state.buffers[row].contents
    return str(contents[0]) if contents else "nothing"
