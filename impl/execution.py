"""One run of a program: what goes in, what it fills, what it gives away.

Source: LazyGraphExecutor::Async, XLAGraphExecutor::Async; semantics.md §1.9.
"""

from collections.abc import Sequence

import jax

from markstep.impl.aval import Array
from markstep.impl.errors import Failure
from markstep.impl.lower import Program
from markstep.impl.node import Buffer


class InjectedFailure(Exception):
    """The fault that a test asked for."""


class Execution:
    """A scheduled run. It owns the device until it is settled.

    ``placeholders`` are filled with the results; a read that keeps its tensors pending has none
    and takes ``results``. ``waited``: the call that started it takes its error, no record does.
    ``claimed``: some thread is running it. ``settled``: its effects are visible. ``counted``: its
    success shows in ``ExecuteComputation`` (torch_xla does not count runs by hash there).
    ``end``: how it ended, results or cause, while its effects are not visible yet.
    ``timer``: the metric that samples how long it takes.
    """

    __slots__ = (
        "arguments",
        "claimed",
        "counted",
        "donors",
        "end",
        "failure",
        "number",
        "outputs",
        "placeholders",
        "program",
        "results",
        "settled",
        "sure_to_fail",
        "timer",
        "waited",
    )

    def __init__(
        self,
        program: Program,
        arguments: list[Buffer],
        outputs: list[int],
        donors: list[Buffer],
        *,
        waited: bool,
    ) -> None:
        self.number = 0
        self.program = program
        self.arguments = arguments
        self.outputs = outputs
        self.donors = donors
        self.waited = waited
        self.placeholders: list[Buffer] = []
        self.results: Sequence[Array] = ()
        self.failure: Failure | None = None
        self.end: tuple[Sequence[Array], BaseException | None] | None = None
        self.claimed = False
        self.settled = False
        self.counted = True
        self.sure_to_fail = False
        self.timer = ""

    def run(self, place: jax.Device | None = None) -> Sequence[Array]:
        """The results, computed to the end on a device. Raises whatever the program raises."""
        if self.sure_to_fail:
            raise InjectedFailure("the execution was made to fail")
        return self.program.on(place)(self.arguments)
