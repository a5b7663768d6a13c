"""The claims of the law, by id. Importing this package collects them all."""

from collections.abc import Iterable

from markstep.spec.design import Design
from markstep.spec.invariants import buffers, donation, keys, locks, programs, records, sync
from markstep.spec.invariants.claim import CLAIMS, Claim, Kind, Step
from markstep.spec.invariants.keys import GRAPH_CLAIMS, GraphClaim
from markstep.spec.machine import AnyAction
from markstep.spec.state import State

__all__ = ["CLAIMS", "GRAPH_CLAIMS", "Claim", "GraphClaim", "Kind", "Step", "broken"]

_FAMILIES = (records, buffers, donation, sync, programs, locks, keys)
"""Imported so that each registers its claims."""

CLAIMS_IN_ORDER: tuple[Claim, ...] = tuple(CLAIMS[id] for id in sorted(CLAIMS))


def broken(
    before: State,
    action: AnyAction,
    after: State,
    design: Design,
    claims: Iterable[Claim] = CLAIMS_IN_ORDER,
) -> list[Claim]:
    """The claims that a small step breaks."""
    step = Step(before, action, after, design)
    return [claim for claim in claims if not claim.predicate(step)]
