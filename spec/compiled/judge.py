"""The claims about states as one kernel: which of them a packed state breaks."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from markstep.spec.compiled import on_numpy
from markstep.spec.compiled.kernel import Kernel, kernel, packed_field
from markstep.spec.compiled.levels import columns_of
from markstep.spec.compiled.moves import unknown
from markstep.spec.compiled.on_numpy import BLOCK
from markstep.spec.compiled.program import Program
from markstep.spec.compiled.visited import Words
from markstep.spec.invariants import CLAIMS, Step
from markstep.spec.proofs.expressions import const, ite, make
from markstep.spec.proofs.merging import merging
from markstep.spec.proofs.symbolic import lift, lower, summary
from markstep.spec.sorts import sorts
from markstep.spec.state import Buffer, Record, State
from markstep.spec.vocabulary import EvictCache


def broken_claims(program: Program, claims: Sequence[str]) -> Kernel:
    """For each claim about states whether a packed state breaks it: the claims' own text."""
    layout = program.layout
    with merging(layout.records, layout.buffers):
        state = blanked(unknown(layout, None))
        # A claim about states looks at the state after a step only: the step does not matter.
        step = Step(state, EvictCache(), state, program.design)
        held = [lift(summary(partial(CLAIMS[id].predicate, step))) for id in claims]
    return kernel(packed_field(layout), [make("not", e) for e in held])


def blanked(state: State) -> State:
    """The state with rows that are not there as the rules leave them: packed, they are zero."""
    rows = [(record, Record(), lift(record.live)) for record in state.records]
    some = [(b, Buffer(), make("not", make("eq", lift(b.status), const(0)))) for b in state.buffers]
    for row, blank, there in (*rows, *some):
        for name in sorts(type(row)):
            chosen = ite(there, lift(getattr(row, name)), lift(getattr(blank, name)))
            setattr(row, name, lower(chosen))
    return state


class Judge:
    """Looks at states as a search finds them."""

    def __init__(
        self,
        program: Program,
        claims: Sequence[str],
        compiled: Callable[[Kernel], Any] = on_numpy.compiled,
    ) -> None:
        self.claims = claims
        self.wanted = set(claims)
        """Those that are still of interest."""
        self.run = compiled(broken_claims(program, claims))

    def __call__(self, states: Words) -> Iterator[tuple[str, int]]:
        """Claims that some of the states break, each with the position of the first such state."""
        for start in range(0, len(states) if self.wanted else 0, BLOCK):
            some = states[start : start + BLOCK]
            for claim, broken in zip(self.claims, self.run(columns_of(some)), strict=True):
                if claim in self.wanted and np.any(broken):
                    first = int(np.argmax(np.broadcast_to(broken, len(some))))
                    yield claim, start + first
