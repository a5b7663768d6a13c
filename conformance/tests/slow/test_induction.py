"""Proofs by induction: some claims are proved, a broken rule is found, and replays confirm it."""

import pytest

from markstep.spec.design import SOUND, Design
from markstep.spec.proofs.obligations import Finding, check_case
from markstep.spec.proofs.prove import provable, replay
from markstep.spec.proofs.states import Case
from markstep.spec.rules import donation, sync
from markstep.spec.state import Phase, State

pytestmark = pytest.mark.slow


def donors_needed_or_not(s: State, design: Design) -> int:
    """A broken `choose_donors`: it forgets what is needed afterwards (H-05)."""
    return donation.barrier_donors(s, design) | donation.user_donors(s, design)


def post_order() -> Finding:
    return check_case(Case(2, 2, Phase.POST_ORDER, False), SOUND, provable([]))


def test_a_rule_that_donates_too_much_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "I98" not in {gap.claim for gap in post_order().gaps}
    monkeypatch.setattr(sync, "choose_donors", donors_needed_or_not)
    found = {gap.claim: gap for gap in post_order().gaps}
    assert "I98" in found
    assert replay(found["I98"], SOUND).after.call.donors != 0


def test_the_schedule_is_safe_because_of_the_lemma_about_donors() -> None:
    case = Case(2, 2, Phase.SCHEDULE, False)
    with_lemma = check_case(case, SOUND, provable([]))
    assert "I34" not in {gap.claim for gap in with_lemma.gaps}
    without = check_case(case, SOUND, [id for id in provable([]) if id != "I98"])
    gaps = {gap.claim: gap for gap in without.gaps}
    assert "I34" in gaps
    replay(gaps["I34"], SOUND)
