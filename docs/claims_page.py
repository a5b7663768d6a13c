"""The page of the claims, and that of the rules."""

import inspect

from tables import flat, table

from markstep.spec.invariants import (
    CLAIMS_IN_ORDER,
    GRAPH_CLAIMS,
    LEFT_OUT,
    Claim,
    GraphClaim,
    by_number,
)
from markstep.spec.machine import ACTIONS, PARTS, Rule
from markstep.spec.state import Phase


def claims_page() -> str:
    """The page of the claims, by what they speak of."""
    graphs = [GRAPH_CLAIMS[id] for id in sorted(GRAPH_CLAIMS, key=by_number)]
    return (
        "# Invariants\n\n"
        "Every claim of the law, in its own words. Under the design `sound` all of them hold; the\n"
        "column *broken by* says that `torch_xla_2_9` breaks it, and through which of the known\n"
        "hazards; a dash: through none that was known before.\n"
        "A claim has the number of its invariant in [the\n"
        "description](../explanation/semantics.md) §6; from `I87` on, and with a letter, they are\n"
        "our own.\n\n"
        "## Of states and steps\n\n"
        "A *state* claim speaks of every reachable state, a *step* claim of every small step.\n\n"
        + table(
            ("id", "kind", "claim", "why it matters", "broken by"),
            [(claim_id(c), c.kind.value, *claim_text(c)) for c in CLAIMS_IN_ORDER],
        )
        + "\n## Of graphs\n\n"
        "The graph law: checked by enumeration of all small graphs.\n\n"
        + table(
            ("id", "claim", "why it matters", "broken by"),
            [(claim_id(g), *claim_text(g)) for g in graphs],
        )
        + "\n## Left out\n\n"
        "Invariants of the description that are no claims of this core, and why.\n\n"
        + table(("id", "why"), sorted(LEFT_OUT.items()))
        + "\nThis page does not say to which bound a claim was explored.\n"
    )


def claim_id(claim: Claim | GraphClaim) -> str:
    """Anchor and id of a claim."""
    return f'<a id="{claim.id}"></a>{claim.id}'


def claim_text(claim: Claim | GraphClaim) -> tuple[str, str, str]:
    """Statement with name, reason, and how torch_xla breaks it."""
    through = ", ".join(claim.hazards) or "–"
    broken = f"`torch_xla_2_9`: {through}" if claim.broken_by_torch_xla else ""
    return f"`{claim.name}`: {flat(claim.statement)}", claim.why, broken


def rules_page() -> str:
    """The page of the rules: every row of the action table with the text of its rule."""
    rows = [
        (f'<a id="{r.id}"></a>{r.id}', f"`{kind.__name__}`", phase(r), f"`{r.cpp}`", rule_text(r))
        for kind, r in (ACTIONS | PARTS).items()
    ]
    return (
        "# Rules\n\n"
        "What each action does, as its rule says. Rules from `A40` on are the small steps of a\n"
        "call; the column *phase* says when each is next.\n\n"
        + table(("id", "action", "phase", "C++", "rule"), rows)
        + "\nGuards carry their ids in the text of the rules, in `spec/rules/`.\n"
    )


def phase(rule: Rule) -> str:
    """The phase of a call in which a rule is the next step."""
    return "" if rule.phase == Phase.IDLE else rule.phase.name.lower().replace("_", " ")


def rule_text(rule: Rule) -> str:
    """The docstring of a rule without its id."""
    return flat(inspect.getdoc(rule.effect) or "").removeprefix(f"{rule.id}.").strip()
