"""What to say about a step at which the law and the executor part."""

from collections.abc import Iterator
from dataclasses import dataclass

from markstep.conformance.changes import diff_states
from markstep.conformance.lockstep.views import Difference, law_view
from markstep.conformance.show import show_view, tensor
from markstep.spec import machine
from markstep.spec.invariants import Claim
from markstep.spec.state import State
from markstep.spec.vocabulary import Action, ErrorKind


@dataclass(frozen=True, slots=True)
class Divergence:
    """What went wrong at one step, and which law says so."""

    id: str
    """Of the rule (A10) or of the claim (I12)."""
    statement: str
    field: str
    """What differs first; with the id it makes failures of one kind recognisable."""
    expected: str
    observed: str
    changed: tuple[str, ...] = ()
    """What the law changes at this step."""

    @property
    def signature(self) -> tuple[str, str]:
        """Failures with equal signatures count as one."""
        return self.id, self.field


def differing(action: Action, found: list[Difference], before: State, after: State) -> Divergence:
    """A divergence from the rule of an action, with only the fields that differ."""
    rule = machine.ACTIONS[type(action)]
    return Divergence(
        rule.id,
        statement_of(rule),
        found[0].field,
        "; ".join(_labelled(d, d.expected) for d in found),
        "; ".join(_labelled(d, d.observed) for d in found),
        tuple(changes(before, after)),
    )


def broken_claim(claim: Claim, before: State, after: State) -> Divergence:
    """A claim of the law does not hold after a step of the law itself."""
    if after.raised == ErrorKind.NONE:
        ended = "the action returned"
    else:
        ended = f"the action raised {after.raised.value}"
    return Divergence(
        claim.id,
        claim.statement,
        "claim",
        "the invariant holds",
        f"it does not hold; {ended}",
        tuple(diff_states(before, after)),
    )


def _labelled(difference: Difference, text: str) -> str:
    if difference.subject == "outcome":
        return text
    return f"{difference.subject} {difference.field}: {text}"


def statement_of(rule: machine.Rule) -> str:
    """The first sentence of a rule's docstring, without its id."""
    paragraph = " ".join((rule.effect.__doc__ or "").split("\n\n")[0].split())
    sentence, dot, _ = paragraph.removeprefix(f"{rule.id}. ").partition(". ")
    return sentence + dot.strip()


def changes(before: State, after: State) -> Iterator[str]:
    """What a step changes by the law: one line for each tensor or counter that differs."""
    old, new = law_view(before, {}), law_view(after, {})
    for name in sorted({*old.tensors, *new.tensors}):
        here, there = old.tensors.get(name), new.tensors.get(name)
        if here != there:
            left = show_view(here) if here is not None else "nothing"
            right = show_view(there) if there is not None else "nothing"
            yield f"{tensor(name)}: {left} → {right}"
    for counter, value in new.counters.items():
        if value != old.counters[counter]:
            yield f"{counter}: {old.counters[counter]} → {value}"
