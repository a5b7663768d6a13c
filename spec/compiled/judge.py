"""The claims about states as one kernel: which of them a packed state breaks."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from markstep.spec.compiled.kernel import Kernel, kernel, packed_field
from markstep.spec.compiled.levels import columns_of
from markstep.spec.compiled.moves import unknown
from markstep.spec.compiled.on_numpy import BLOCK, compiled
from markstep.spec.compiled.program import Program
from markstep.spec.compiled.visited import Words
from markstep.spec.invariants import CLAIMS_IN_ORDER, Claim, Kind, Step
from markstep.spec.proofs.expressions import const, ite, make
from markstep.spec.proofs.merging import merging
from markstep.spec.proofs.symbolic import lift, lower, summary
from markstep.spec.state import Buffer, Record, State, sorts
from markstep.spec.vocabulary import EvictCache

STATE_CLAIMS: tuple[Claim, ...] = tuple(c for c in CLAIMS_IN_ORDER if c.kind == Kind.STATE)


def broken_claims(program: Program) -> Kernel:
    """For each claim about states whether a packed state breaks it: the claims' own text."""
    layout = program.layout
    with merging(layout.records, layout.buffers):
        state = blanked(unknown(layout, None))
        # A claim about states looks at the state after a step only: the step does not matter.
        step = Step(state, EvictCache(), state, program.design)
        held = [lift(summary(partial(claim.predicate, step))) for claim in STATE_CLAIMS]
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


@dataclass
class Judge:
    """Looks at states as a search finds them, and keeps the first that breaks each claim."""

    program: Program
    violated: dict[str, bytes] = field(default_factory=dict)
    """The first packed state that breaks a claim."""
    judged: int = 0

    def __post_init__(self) -> None:
        self.run = compiled(broken_claims(self.program))

    def __call__(self, states: Words) -> None:
        """Judge some states."""
        self.judged += len(states)
        for start in range(0, len(states), BLOCK):
            some = states[start : start + BLOCK]
            answers: list[Any] = self.run(columns_of(some))
            for claim, broken in zip(STATE_CLAIMS, answers, strict=True):
                if claim.id not in self.violated and np.any(broken):
                    first = int(np.argmax(np.broadcast_to(broken, len(some))))
                    self.violated[claim.id] = some[first].tobytes()
