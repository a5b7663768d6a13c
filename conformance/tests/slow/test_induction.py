"""Proofs by induction: some claims are proved, a broken rule is found, and replays confirm it."""

import pytest

from markstep.spec.design import SOUND, Design
from markstep.spec.proofs.enumeration import check_by_enumeration
from markstep.spec.proofs.obligations import Finding, Gap, check_case
from markstep.spec.proofs.prove import Outcome, provable, prove, replay
from markstep.spec.proofs.reach import reached
from markstep.spec.proofs.states import OPENED, RANDOM, Case
from markstep.spec.rules import (
    annotations,
    donation,
    errors,
    execution,
    randomness,
    sync,
    transfer,
)
from markstep.spec.search.alphabet import Bound
from markstep.spec.sorts import EAGER, SPMD
from markstep.spec.state import Phase, Record, State
from markstep.spec.vocabulary import DType, TensorName

pytestmark = pytest.mark.slow


def donors_needed_or_not(s: State, design: Design) -> int:
    """A broken `choose_donors`: it forgets what is needed afterwards (H-05)."""
    return donation.barrier_donors(s, design) | donation.user_donors(s, design)


def done(*args: object) -> bool:
    """A step that is left out, and said to be done."""
    return True


def unsent_seed(s: State) -> None:
    """A broken `upload_seed`: a row, but nothing in it."""
    s.device.seed = transfer.new_buffer(s, (), DType.S64)


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


BLANK = ("I06", "I13", "I29", "I95")
"""Claims that the actions of a program cannot break, by both methods."""


def test_both_methods_prove_what_programs_cannot_break() -> None:
    case = Case(1, 1, Phase.IDLE, False)
    by_z3 = check_case(case, SOUND, provable([]))
    tried = check_by_enumeration(case, SOUND, provable([]), BLANK)
    assert (by_z3.gaps, by_z3.unknown, tried.gaps, tried.unknown) == ([], [], [], [])
    assert tried.paths > 50_000


@pytest.mark.parametrize(
    ("missing", "phase", "id"),
    [("I104", Phase.AWAIT, "I62"), ("I103", Phase.BARRIER, "I66"), ("I102", Phase.BARRIER, "I66")],
)
def test_both_methods_miss_the_same_lemma(missing: str, phase: Phase, id: str) -> None:
    case, assumed = Case(1, 1, phase, False), [id for id in provable([]) if id != missing]
    by_z3 = check_case(case, SOUND, assumed)
    tried = check_by_enumeration(case, SOUND, assumed, (id,))
    assert {gap.claim for gap in by_z3.gaps} == {gap.claim for gap in tried.gaps} == {id}
    for gap in (*by_z3.gaps, *tried.gaps):
        replay(gap, SOUND)


def nothing(*args: object) -> None:
    """A step that is left out."""


def gaps_of(case: Case) -> dict[str, Gap]:
    found = check_case(case, SOUND, provable([], case.modes))
    return {gap.claim: gap for gap in found.gaps}


MISSED = {
    "a source that is not loaded": (
        *(execution, "load_sources", nothing),
        *(Case(1, 2, Phase.SCHEDULE, False, modes=(SPMD,)), "I129"),
    ),
    "a mark that annotates nothing": (
        *(annotations, "set_spec", done),
        *(Case(1, 1, Phase.IDLE, False, modes=(SPMD,)), "I131"),
    ),
    "an eager result that stays": (
        *(errors, "conclude", nothing),
        *(Case(2, 2, Phase.SCHEDULE, False, modes=(EAGER,)), "I134"),
    ),
    "a seed that is not sent": (
        *(randomness, "upload_seed", unsent_seed),
        *(Case(1, 2, Phase.IDLE, False, modes=(RANDOM,)), "I31"),
    ),
}
"""What a rule may forget, where, in which case, and which claim notices."""


@pytest.mark.parametrize("name", MISSED)
def test_in_modes_too_what_a_rule_forgets_is_found(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, function, wrong, case, claim = MISSED[name]
    assert gaps_of(case) == {}
    monkeypatch.setattr(module, function, wrong)
    replay(gaps_of(case)[claim], SOUND)


def test_modes_are_proved_for_one_record() -> None:
    proof = prove(SOUND, [], 1, 1, modes=OPENED)
    assert proof.closed
    assert set(proof.outcomes.values()) == {Outcome.PROVED}
    assert {"I10", "I80", "I129", "I134"} <= set(proof.outcomes)


def test_everything_is_proved_for_one_record() -> None:
    proof = prove(SOUND, [], 1, 2)
    assert proof.closed
    assert set(proof.outcomes.values()) == {Outcome.PROVED}


def test_the_explorer_is_asked_whether_a_state_can_be_reached() -> None:
    empty, lost = State(), State(records=[Record(live=True, id=1)], tensors={TensorName(0): 0})
    assert reached([lost, empty], SOUND, Bound(1, 1, max_states=200)) == {1}
