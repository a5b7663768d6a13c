"""Names and sentences of ids, for reports."""

from functools import cache

from markstep.spec.machine import ACTIONS


@cache
def action_names() -> dict[str, str]:
    """The class name of each action by its id."""
    return {rule.id: cls.__name__ for cls, rule in ACTIONS.items()}


@cache
def claim_names() -> dict[str, tuple[str, str]]:
    """(name, statement) of each claim by its id."""
    from markstep.spec.invariants import CLAIMS, GRAPH_CLAIMS

    names = {id: (claim.name, claim.statement) for id, claim in CLAIMS.items()}
    return names | {id: (claim.name, claim.statement) for id, claim in GRAPH_CLAIMS.items()}


def known_hazards(id: str) -> str | None:
    """The hazards of semantics.md §6b that show as violations of a claim, if there are any."""
    from markstep.spec.invariants import CLAIMS

    claim = CLAIMS.get(id)
    return ", ".join(claim.hazards) if claim is not None and claim.hazards else None
