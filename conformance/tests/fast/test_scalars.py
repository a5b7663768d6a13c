"""Numbers: which are inlined, what the scalar cache holds, and whom its buffers belong to."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from markstep.conformance.adapters.reference import ReferenceAdapter
from markstep.conformance.check import check
from markstep.conformance.lockstep.session import run_program
from markstep.conformance.verdict import Verdict
from markstep.impl import Executor, ExecutorError
from markstep.spec.design import SOUND, TORCH_XLA_2_9, SpecialScalars
from markstep.spec.graph import GraphPayload
from markstep.spec.payload import SCALAR_CAPACITY
from markstep.spec.schedule import initial_state, perform, with_facts
from markstep.spec.search.alphabet import Bound
from markstep.spec.search.explore import explore
from markstep.spec.search.naming import renamed_action
from markstep.spec.state import NONE
from markstep.spec.vocabulary import (
    AssignInPlace,
    CreateFromHost,
    DType,
    Fill,
    IrKind,
    ReadOne,
    SetDonation,
    Sync,
    TensorName,
)

T0, T1 = TensorName(0), TensorName(1)
SCALARS = Bound(1, 2, actions=4, families=("core", "donation", "scalars"))


def run(*program, design=SOUND):
    state = initial_state()
    for action in program:
        state = perform(state, action, design)
        assert state is not None, action
    return state


def updates(*numbers):
    return [AssignInPlace(T0, "add_scalar", (), number) for number in numbers]


def in_lockstep(program, factory=ReferenceAdapter, design=SOUND):
    return run_program(tuple(program), factory(), design)


def test_I30_a_donation_mark_reaches_a_cached_number_in_torch_xla_alone() -> None:
    broken = explore(TORCH_XLA_2_9, SCALARS)
    assert len(broken.counterexamples["I30"]) <= 12
    assert {"I30", "I29"} & set(explore(SOUND, SCALARS).counterexamples) == set()


def test_a_number_that_was_donated_away_is_wrong_in_every_later_graph() -> None:
    marked = [Fill(T0, (), 2), SetDonation(T0), *updates(1), Sync((T0,))]
    state = run(*marked, Fill(T1, (2,), 2), ReadOne(T1), design=TORCH_XLA_2_9)
    assert state.raised == "deleted"
    assert run(*marked, Fill(T1, (2,), 2), ReadOne(T1)).value == (2, 2)


def test_the_facts_of_a_number_are_where_the_cache_has_it_and_what_it_displaces() -> None:
    first = CreateFromHost(T0, (0,), (1,))
    full = run(first, *updates(*range(2, 2 + SCALAR_CAPACITY)))
    again, new = updates(2, 1000)
    assert with_facts(full, again, SOUND).cached_at != NONE
    displaced = with_facts(full, new, SOUND).evicts
    assert isinstance(full.payload, GraphPayload)
    assert displaced == full.payload.scalars[2, DType.F32]
    assert not run(first, *updates(*range(2, 3 + SCALAR_CAPACITY))).buffers[displaced].cached


def test_the_executor_displaces_the_number_that_was_not_used_for_longest() -> None:
    numbers = [*range(2, 2 + SCALAR_CAPACITY), 2, 1000, 2, 3]
    program = [CreateFromHost(T0, (0,), (1,)), *updates(*numbers), ReadOne(T0)]
    assert in_lockstep(program).verdict == Verdict.CONFORMS


@pytest.mark.parametrize("value", [SpecialScalars.EVERY_NUMBER, SpecialScalars.NONE])
def test_D22_the_executor_can_inline_all_numbers_or_none(value) -> None:
    law = replace(SOUND, name=value.value, special_scalars=value)
    factory = partial(ReferenceAdapter, "interpret", design=law)
    assert check(factory, design=law, profile="tiny").verdict == Verdict.CONFORMS
    program = [Fill(T0, (), 1), Fill(T1, (2, 2), 3), *updates(5), ReadOne(T0), ReadOne(T1)]
    assert in_lockstep(program, factory, law).verdict == Verdict.CONFORMS
    assert in_lockstep(program, factory).verdict == Verdict.VIOLATES


def test_facts_are_renamed_with_the_rows_that_they_name() -> None:
    action = Fill(T0, (), 2, cached_at=1)
    assert renamed_action(action, (), (7, 8), 5) == Fill(TensorName(5), (), 2, cached_at=8)


def test_a_tensor_of_one_number_is_not_sent() -> None:
    ex = Executor()
    x = ex.full((2, 3), 2.5)
    assert ex.counters["CreateDataHandles"] == 1
    assert x.numpy().tolist() == [[2.5] * 3] * 2
    assert ex.full((), 7, "int32").numpy() == np.int32(7)
    assert ex.describe(ex.full((), 1)).ir == IrKind.CONST
    with pytest.raises(ExecutorError, match="not a value of int32"):
        ex.full((2,), 2.5, "int32")
