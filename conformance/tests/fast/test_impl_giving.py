"""Giving a tensor up: its buffer may be consumed while somebody still has the tensor object."""

import re

import numpy as np
import pytest

from markstep.impl import Executor, ExecutorError, Tensor


def given_up(executor: Executor, tensor: Tensor) -> str:
    """Gives a tensor up; the line where that happens, as messages name it."""
    executor.donate(tensor)
    return re.escape(f"{__file__}:{given_up.__code__.co_firstlineno + 2}")


@pytest.fixture
def real() -> Executor:
    return Executor()


def test_the_buffer_is_consumed_and_later_uses_say_where_it_went(real) -> None:
    x = real.tensor(np.arange(4.0, dtype=np.float32))
    real.mark_step()
    y = x * 2
    buffer = x.record.handle
    line = given_up(real, x)
    real.mark_step(wait=True)
    assert buffer.deleted
    assert y.numpy().tolist() == [0.0, 2.0, 4.0, 6.0]
    with pytest.raises(ExecutorError, match=rf"no-value.* was given away at {line} in step 1"):
        x.numpy()
    z = x + 1
    with pytest.raises(ExecutorError, match=rf"deleted.* was given away at {line} in step 1"):
        z.numpy()
    with pytest.raises(ExecutorError, match=rf"no buffer of its own .* given away at {line}"):
        real.donate(x)


def test_a_donated_buffer_is_one_that_explain_donation_names(real) -> None:
    x = real.tensor([1.0, 2.0])
    y = x + 1
    assert [fate.donated for fate in real.explain_donation([y])] == [False]
    real.donate(x)
    assert [fate.donated for fate in real.explain_donation([y])] == [True]


def test_what_another_tensor_needs_is_not_consumed_and_strictly_not_given(real) -> None:
    x = real.tensor([1.0, 2.0])
    copy, y = x.clone(), x + 1
    with pytest.raises(ExecutorError, match=rf"tensor {copy.id} shows its buffer, too"):
        real.donate(x, strict=True)
    assert x.numpy().tolist() == [1.0, 2.0]
    real.donate(x)
    real.sync([y])
    assert copy.numpy().tolist() == [1.0, 2.0]
    assert y.numpy().tolist() == [2.0, 3.0]


def test_a_tensor_that_nothing_reads_is_freed_at_once(real) -> None:
    x = real.tensor([1.0, 2.0])
    real.donate(x, strict=True)
    assert real.live_buffers() == []
    x.copy_([3.0, 4.0])
    assert x.numpy().tolist() == [3.0, 4.0]


def test_an_execution_that_fails_has_consumed_nothing(ex) -> None:
    x = ex.tensor([1.0, 2.0])
    ex.sync([x])
    y = x + 1
    ex.donate(x)
    ex.mark_step()
    ex.fail()
    with pytest.raises(ExecutorError, match="execution-failed"):
        y.numpy()
    assert y.numpy().tolist() == [2.0, 3.0]


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda ex, x: x + 1, "still to be computed"),
        (lambda ex, x: x.clone(), "borrowed from another tensor"),
        (lambda ex, x: ex.tensor([1.0], upload=False), "on the host"),
        (lambda ex, x: ex.placeholder((2,)), "never filled"),
    ],
)
def test_what_has_no_buffer_of_its_own_cannot_be_given(ex, make, why: str) -> None:
    x = ex.tensor([1.0, 2.0])
    tensor = make(ex, x)
    with pytest.raises(ExecutorError, match=why):
        ex.donate(tensor)
    assert not ex.describe(x).donate
