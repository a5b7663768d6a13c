"""Pictures of the manual: programs, drawn as the reports draw them."""

from markstep.conformance.html.elements import standalone
from markstep.conformance.html.picture import draw
from markstep.conformance.html.timeline import timeline
from markstep.spec.design import TORCH_XLA_2_9
from markstep.spec.search.alphabet import Bound
from markstep.spec.search.explore import explore

SMALL = Bound(records=1, actions=3, families=("core", "faults"))
"""The bound of the tutorial."""


def lost_value() -> str:
    """The shortest program with which torch_xla loses a value by a call that raises."""
    program = explore(TORCH_XLA_2_9, SMALL).counterexamples["I58"]
    last = len(program) - 1
    title = "A tensor is read, compiling fails, and its value is lost: step by step"
    return standalone(draw(timeline(program, TORCH_XLA_2_9.name, last, "I58"), last, "I58", title))
