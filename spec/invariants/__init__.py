"""The claims of the law, by id. Importing this package collects them all."""

from collections.abc import Iterable

from markstep.spec.design import TORCH_XLA_2_9, Design
from markstep.spec.invariants import (
    buffers,
    calls,
    donation,
    keys,
    lemmas,
    loading,
    locks,
    placing,
    programs,
    randomness,
    records,
    sharding,
    sync,
)
from markstep.spec.invariants.claim import CLAIMS, Claim, Kind, Step
from markstep.spec.invariants.keys import GRAPH_CLAIMS, GraphClaim
from markstep.spec.machine import AnyAction
from markstep.spec.state import State

__all__ = [
    "CLAIMS",
    "FAMILIES",
    "GRAPH_CLAIMS",
    "LEFT_OUT",
    "PAYLOAD",
    "SPMD",
    "Claim",
    "GraphClaim",
    "Kind",
    "Step",
    "broken",
    "by_number",
]

FAMILIES = (
    records,
    buffers,
    donation,
    sync,
    programs,
    locks,
    randomness,
    sharding,
    loading,
    placing,
    keys,
    lemmas,
    calls,
)
"""The modules of claims, imported so that each registers its own."""

LEFT_OUT: dict[str, str] = {
    "I05": "the host is the only other place of data in this core",
    "I17": "views are in no search: a test says it of random programs (test_views)",
    "I18": "as I17",
    "I19": "how often the ir of a record was assigned is not counted",
    "I24": "pieces are not counted: sharded data has one on each device",
    "I38": "auto-sharding is not modelled yet",
    "I44": "split: what force compiles in is the donors, which I36 demands in the key; that force "
    "itself is in the key contradicts I48",
    "I51": "the auxiliary maps of graphs and shapes are not modelled",
    "I53": "logging is not modelled",
    "I55": "a call is of one state, and each device has its own (spec/devices.py)",
    "I68": "a call takes the lock of one device; calls come one at a time",
    "I81": "a key is made without looking at the values of leaves: it has no other input",
}
"""Invariants of semantics.md §6 that are no claims of this core, and why."""


PAYLOAD = ("I09", "I21", "I49", "I54", "I64", "I65", "I75", "I77")
"""Claims that are about the payload, at least in part: with the payload erased they say nothing."""


def by_number(id: str) -> tuple[int, str]:
    """The place of a claim in a list: I99 comes before I100."""
    digits = "".join(filter(str.isdigit, id))
    return int(digits or 0), id


CLAIMS_IN_ORDER: tuple[Claim, ...] = tuple(CLAIMS[id] for id in sorted(CLAIMS, key=by_number))


SPMD: tuple[str, ...] = tuple(
    claim.id
    for claim in CLAIMS_IN_ORDER
    if claim.predicate.__module__ in (sharding.__name__, loading.__name__, placing.__name__)
)
"""Claims that say nothing while SPMD mode is off, as it is in every state that is proved about."""


PRICE_OF: dict[str, tuple[str, ...]] = {
    "sound_ir_node": ("I79", "I85"),
    "sound_host_state": ("I12", "I78", "I80", "I84", "I121"),
    "sound_option": ("I12", "I78", "I80", "I84", "I121"),
    "sound_stub_leaf": ("I56", "I99", "I126"),
}
"""What the alternatives of lazy loading break, by design (docs/reference/designs-compared.md)."""


def broken_by(design: Design) -> frozenset[str]:
    """The claims that a design is known to break: those of torch_xla 2.9 are marked."""
    if design != TORCH_XLA_2_9:
        return frozenset(PRICE_OF.get(design.name, ()))
    return frozenset(claim.id for claim in CLAIMS.values() if claim.broken_by_torch_xla)


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
