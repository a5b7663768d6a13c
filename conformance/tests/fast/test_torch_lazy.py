"""What can be tested of the adapter of `torch._lazy` where torch is not installed."""

from importlib.util import find_spec

import pytest

from markstep.conformance.adapter import AdapterError
from markstep.conformance.known.lists import read_list
from markstep.conformance.torch_lazy.adapter import TorchLazyAdapter
from markstep.spec import vocabulary as v
from markstep.spec.design import SOUND, TORCH_XLA_2_9, Design, differences
from markstep.spec.invariants import CLAIMS
from markstep.spec.named_designs import DESIGNS, TORCH_LAZY_2_9
from markstep.spec.schedule import initial_state, perform
from markstep.spec.vocabulary import Action, TensorName

A, B, X, Y, Z, P, Q, R = map(TensorName, range(8))
F05: tuple[Action, ...] = (
    v.CreateFromHost(A, (1, 2), (2,)),
    v.CreateFromHost(B, (5, 7), (2,)),
    v.Apply(X, "sub", (A, B)),
    v.Apply(Y, "sub", (A, B)),
    v.Apply(Z, "add", (X, Y)),
    v.ReadOne(Z),
    v.Apply(P, "sub", (A, B)),
    v.Apply(Q, "sub", (B, A)),
    v.Apply(R, "add", (P, Q)),
    v.ReadOne(R),
)


@pytest.mark.parametrize(("design", "value"), [(TORCH_LAZY_2_9, (8, 10)), (SOUND, (0, 0))])
def test_the_law_gives_the_wrong_value_of_f05(design: Design, value: tuple[int, ...]) -> None:
    state = initial_state()
    for action in F05:
        after = perform(state, action, design)
        assert after is not None
        state = after
    assert state.value == value


def test_the_design_differs_from_that_of_torch_xla_in_three_fields() -> None:
    assert DESIGNS["torch_lazy_2_9"] == TORCH_LAZY_2_9
    changed = {"donor_safety", "key_has_force", "special_scalars"}
    assert set(differences(TORCH_LAZY_2_9, TORCH_XLA_2_9)) == changed


def test_what_is_known_of_it_are_claims() -> None:
    listed = read_list("torch_lazy_2_9")
    assert {entry.id for entry in listed} <= CLAIMS.keys()
    assert all(entry.concerns("torch_lazy", "2.9.1") and entry.reason for entry in listed)


@pytest.mark.skipif(find_spec("torch") is not None, reason="torch is installed")
def test_without_torch_the_adapter_says_what_to_install() -> None:
    with pytest.raises(AdapterError, match="pip install torch"):
        TorchLazyAdapter()
