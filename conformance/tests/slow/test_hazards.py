"""The law itself, searched: sound keeps every claim, torch_xla breaks exactly those it is said to.

Two records and three buffers contain every hazard of semantics.md §6b that one plain device shows:
H-01 to H-08, H-13 and H-27. Those of several devices, H-09, H-11 and H-14 to H-16, need SPMD mode.
"""

import pytest

from markstep.spec.design import SOUND, TORCH_XLA_2_9
from markstep.spec.invariants import CLAIMS, SPMD
from markstep.spec.search.alphabet import Bound
from markstep.spec.search.explore import explore

pytestmark = pytest.mark.slow

ENOUGH = Bound(2, 3, actions=5, processes=2)
"""No claim that torch_xla breaks needs a longer program."""
ELSEWHERE = {"I30", "I77", *SPMD}
"""Claims that it breaks only with actions of an optional family, or with values; these have tests
of their own."""
ON_DEVICES = Bound(2, 2, actions=5, families=("sharding",), processes=2)
"""What torch_xla breaks in SPMD mode, but for what needs numbers or tensors without data."""


def test_torch_xla_breaks_exactly_the_claims_that_it_is_said_to_break() -> None:
    result = explore(TORCH_XLA_2_9, ENOUGH)
    assert result.exhausted
    said = {claim.id for claim in CLAIMS.values() if claim.broken_by_torch_xla}
    assert set(result.counterexamples) == said - ELSEWHERE
    hazards = {hazard for id in result.counterexamples for hazard in CLAIMS[id].hazards}
    assert hazards >= {"H-13", "H-27", *(f"H-0{n}" for n in range(1, 9))}


def test_torch_xla_shows_its_hazards_on_several_devices() -> None:
    result = explore(TORCH_XLA_2_9, ON_DEVICES)
    assert result.exhausted
    elsewhere = {"I08", "I23", "I25", "I86"}
    said = {id for id in SPMD if CLAIMS[id].broken_by_torch_xla}
    assert set(result.counterexamples) & set(SPMD) == said - elsewhere
    hazards = {hazard for id in result.counterexamples for hazard in CLAIMS[id].hazards}
    assert hazards >= {"H-14", "H-15", "H-16"}


def test_torch_xla_dies_of_a_program_of_the_other_mode_and_of_dumping_too_early() -> None:
    families = ("sharding", "scalars", "placeholder")
    result = explore(TORCH_XLA_2_9, Bound(1, 2, actions=5, families=families, processes=2))
    broken = result.counterexamples
    assert {"I08", "I23", "I25", "I43", "I86"} <= set(broken)
    hazards = {hazard for id in broken for hazard in CLAIMS[id].hazards}
    assert hazards >= {"H-09", "H-11"}


def test_sound_has_none_of_them() -> None:
    result = explore(SOUND, ON_DEVICES)
    assert result.exhausted
    assert result.counterexamples == {}


def test_sound_breaks_none_within_the_same_bound() -> None:
    result = explore(SOUND, ENOUGH)
    assert result.exhausted
    assert result.counterexamples == {}


def test_sound_with_one_tensor_is_exhausted() -> None:
    result = explore(SOUND, Bound(1, 3, processes=2))
    assert result.exhausted
    assert result.counterexamples == {}
