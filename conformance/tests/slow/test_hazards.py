"""The law itself, searched: sound keeps every claim, torch_xla breaks exactly those it is said to.

Two records and three buffers contain every hazard of semantics.md §6b that one plain device shows:
H-01 to H-08, H-13 and H-27.
"""

import pytest

from markstep.spec.alphabet import Bound
from markstep.spec.design import SOUND, TORCH_XLA_2_9
from markstep.spec.explore import explore
from markstep.spec.invariants import CLAIMS

pytestmark = pytest.mark.slow

DEEPER = {"I40"}
"""Claims that torch_xla breaks only in longer programs: random runs show it."""


def test_torch_xla_breaks_exactly_the_claims_that_it_is_said_to_break() -> None:
    result = explore(TORCH_XLA_2_9, Bound(2, 3, max_states=30_000, processes=2))
    said = {claim.id for claim in CLAIMS.values() if claim.broken_by_torch_xla}
    assert said - set(result.counterexamples) <= DEEPER
    assert set(result.counterexamples) <= said
    hazards = {hazard for id in result.counterexamples for hazard in CLAIMS[id].hazards}
    assert {f"H-0{n}" for n in range(1, 9)} <= hazards


def test_sound_breaks_none_as_far_as_the_search_goes() -> None:
    result = explore(SOUND, Bound(2, 3, max_states=15_000, processes=2))
    assert result.counterexamples == {}


def test_sound_with_one_tensor_is_exhausted() -> None:
    result = explore(SOUND, Bound(1, 3, processes=2))
    assert result.exhausted
    assert result.counterexamples == {}
