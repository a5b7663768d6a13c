"""Facts about single functions hold, and each search finds what speaks against a broken law."""

import pytest

from markstep.spec.design import TORCH_XLA_2_9
from markstep.spec.proofs import facts
from markstep.spec.proofs.facts import FACTS, Fact
from markstep.spec.rules import sync
from markstep.spec.state import Record


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.name)
def test_the_fact_holds(fact: Fact) -> None:
    assert fact.against() is None


def test_a_collection_that_forgets_own_leaves_is_not_total(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(record: Record) -> None:
        """A broken `leaf_to_handle`."""

    monkeypatch.setattr(sync, "leaf_to_handle", nothing)
    assert facts.decision_is_total() is not None


def test_the_decision_does_depend_on_the_clone_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = facts.looked_at
    monkeypatch.setattr(facts, "looked_at", lambda s: [e for i, e in enumerate(whole(s)) if i != 2])
    assert "is_cloned" in (facts.decision_is_determined() or "")


def test_keys_of_torch_xla_do_not_tell_programs_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "SOUND", TORCH_XLA_2_9)
    assert "parameter 1" in (facts.keys_tell_programs_apart() or "")


def test_a_seed_that_stays_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "next_step_seed", lambda seed: (4 + 5 * seed) % 2**64)
    assert (facts.steps_move() or "").startswith("{'seed': ")
    assert facts.seeds_come_back() is not None
