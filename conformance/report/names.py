"""Names and sentences of ids, for reports."""

from collections.abc import Iterable
from functools import cache

from markstep.spec.machine import ACTIONS, PARTS


@cache
def action_names() -> dict[str, str]:
    """The class name of each action by its id."""
    return {rule.id: cls.__name__ for cls, rule in (ACTIONS | PARTS).items()}


@cache
def claim_names() -> dict[str, tuple[str, str]]:
    """(name, statement) of each claim by its id."""
    from markstep.spec.invariants import CLAIMS, GRAPH_CLAIMS, Claim, GraphClaim

    claims: dict[str, Claim | GraphClaim] = {**CLAIMS, **GRAPH_CLAIMS}
    return {id: (claims[id].name, claims[id].statement) for id in claims_in_order(claims)}


def claims_in_order(ids: Iterable[str]) -> list[str]:
    """Ids of claims by number."""
    from markstep.spec.invariants import by_number

    return sorted(ids, key=by_number)


def known_hazards(id: str) -> str | None:
    """The hazards of semantics.md §6b that show as violations of a claim, if there are any."""
    from markstep.spec.invariants import CLAIMS

    claim = CLAIMS.get(id)
    return ", ".join(claim.hazards) if claim is not None and claim.hazards else None
