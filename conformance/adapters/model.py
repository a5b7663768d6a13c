"""The law itself as an executor: it must agree with itself, whatever the design."""

from collections.abc import Mapping

from markstep.conformance.adapter import ALL_CAPABILITIES
from markstep.conformance.lockstep.views import law_outcome, law_view, looked_at
from markstep.spec import SPEC_VERSION
from markstep.spec.design import SOUND, Design
from markstep.spec.schedule import initial_state, perform
from markstep.spec.state import State
from markstep.spec.vocabulary import Action, ErrorKind, Observation, View


class ModelAdapter:
    """Performs actions on a state of its own."""

    name = "model"
    version = SPEC_VERSION
    capabilities = ALL_CAPABILITIES

    def __init__(self, design: Design = SOUND) -> None:
        self.design = design
        self.reset()

    def reset(self) -> None:
        """A fresh process."""
        self.state: State = initial_state()
        self._seen: Mapping[str, int] = {}

    def apply(self, action: Action) -> Observation:
        """One action, to the end of its call."""
        after = perform(self.state, action, self.design)
        if after is None:
            return Observation(ErrorKind.BAD_ARGUMENT, message=f"not possible here: {action}")
        self.state = after
        return law_outcome(after, action)

    def observe(self) -> View:
        """The view of every tensor, and how far each counter moved."""
        if not self.state.device.crashed:
            self.state = looked_at(self.state, self.design)
        view = law_view(self.state, self._seen)
        self._seen = self.state.payload.totals()
        return view

    def close(self) -> None:
        """Nothing is held."""
