"""What a search wants to know of each step: claims about steps, and premises of claims.

The text is the claims' own, run on the symbols of the state before and after a move. Each answer is
one bit; eight of them are a byte of what the generated step gives.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from markstep.spec.compiled.ordering import shifted, union
from markstep.spec.design import Design
from markstep.spec.invariants import CLAIMS, Step
from markstep.spec.machine import AnyAction
from markstep.spec.proofs.expressions import Expr, const, ite, make
from markstep.spec.proofs.symbolic import ERRORS, lift, summary
from markstep.spec.state import State

BITS = 8


@dataclass(frozen=True)
class Watch:
    """Claims that a search looks at in each step, in the order of their bits."""

    broken: tuple[str, ...] = ()
    """Claims about steps: the bit tells that the step breaks it."""
    met: tuple[str, ...] = ()
    """Claims: the bit tells that the step exercises its premise."""

    @property
    def size(self) -> int:
        """Bytes of answers."""
        return -(-(len(self.broken) + len(self.met)) // BITS)

    def answers(self, before: State, action: AnyAction, after: State, d: Design) -> list[Expr]:
        """The bytes, as expressions over the state before."""
        raised: Any = after.raised
        if isinstance(raised, int):  # the same on all paths
            after.raised = ERRORS[raised]
        step = Step(before, action, after, d)
        bits = [make("not", asked(CLAIMS[id].predicate, step)) for id in self.broken]
        bits += [asked(CLAIMS[id].witness, step) for id in self.met]
        return [packed(bits[i : i + BITS]) for i in range(0, len(bits), BITS)]


def asked(question: Any, step: Step) -> Expr:
    """What a claim says of a step on symbols."""
    answer = lift(summary(partial(question, step)))
    return make("not", make("eq", answer, const(0)))


def packed(bits: Sequence[Expr]) -> Expr:
    """Truths as the bits of a byte."""
    return union(shifted(ite(bit, const(1), const(0)), i) for i, bit in enumerate(bits))
