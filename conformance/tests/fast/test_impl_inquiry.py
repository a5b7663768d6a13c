"""What an executor says about itself: keys, compilations, live buffers, pinned programs."""

import numpy as np
import pytest

from markstep.impl.errors import ExecutorError
from markstep.impl.executor import Executor
from markstep.impl.graph import Key
from markstep.spec.vocabulary import ErrorKind


@pytest.fixture
def executor():
    return Executor("interpret")


def ones(executor, size=2):
    return executor.tensor(np.ones(size, np.float32))


def test_equal_graphs_have_nothing_to_explain(executor):
    a, b = ones(executor), ones(executor)
    assert executor.explain_key([a + b], [b + a]) == []
    assert executor.explain_key([a + 0.5], [b + 0.25]) == []  # numbers are parameters


def test_each_ingredient_is_named(executor):
    a, b, long = ones(executor), ones(executor), ones(executor, 3)
    explain = executor.explain_key
    assert explain([a + b], [a * b]) == ["ops: op 0 is add and mul"]
    assert explain([a + b], [a + a]) == [
        "wiring: operand 1 of op 0 (add) is parameter 1 and parameter 0",
        "parameters: parameter 1 is float32[2] and none",
    ]
    assert explain([-a], [-long]) == ["parameters: parameter 0 is float32[2] and float32[3]"]
    assert explain([-a], [-a, -b])[0] == "results: 1 and 2"
    assert (
        "two functions of that name"
        in explain([executor.apply(lambda x: x, a)], [executor.apply(lambda x: x, a)])[0]
    )


def test_every_ingredient_of_the_key_is_explained():
    """A key that gets one more field gets one more line here."""
    assert set(Key._fields) == {
        "ops", "arities", "places", "parameters", "layouts", "donors", "spmd",
    }  # fmt: skip


def test_a_compilation_is_known_by_the_line_that_caused_it(executor):
    a = ones(executor)
    executor.sync([a + 1])
    executor.sync([a * 1])
    first, second = executor.compilations
    assert "test_impl_inquiry.py:" in first.where
    assert first.because == ()
    assert second.because == ("ops: op 0 is add and mul",)
    assert (first.number, second.number) == (1, 2)
    executor.sync([a + 1])
    assert len(executor.compilations) == executor.cached_programs == 2


def test_a_changing_shape_is_why_it_compiles_again(executor):
    for size in (2, 3):
        executor.sync([-ones(executor, size)])
    assert executor.compilations[-1].because == (
        "parameters: parameter 0 is float32[2] and float32[3]",
    )


def test_live_buffers_name_their_holders(executor):
    a = ones(executor, 100)
    executor.sync([a])
    borrowed, pending = a.clone(), a * 0.5
    (big,) = [live for live in executor.live_buffers() if live.size == 400]
    assert big.holders == (
        f"tensor {a.id}",
        f"tensor {borrowed.id} (borrowed)",
        f"pending graph of tensor {pending.id}",
    )
    (half,) = [live for live in executor.live_buffers() if live.size == 4]
    assert set(half.holders) == {"scalar cache", f"pending graph of tensor {pending.id}"}
    before = len(executor.live_buffers())
    del a, borrowed, pending
    assert len(executor.live_buffers()) == before - 1


def test_an_execution_and_its_recipes_hold_what_they_read():
    executor = Executor("interpret", manual=True)
    a = ones(executor)
    b = a + 1
    executor.sync([b], wait=False)
    holders = {name for live in executor.live_buffers() for name in live.holders}
    assert {f"recipe of tensor {b.id}", "execution 1"} <= holders
    executor.complete()
    assert not any("execution" in n for live in executor.live_buffers() for n in live.holders)


def test_a_pinned_program_stays():
    executor = Executor("interpret", cache_size=1)
    a = ones(executor)
    kept, other = a + 1, a * 3
    assert not executor.pin([kept])  # nothing to keep yet
    executor.warm_up([kept])
    assert executor.pin([kept])
    executor.warm_up([other])
    executor.clear_cache()
    before = executor.counters["UncachedCompile"]
    executor.warm_up([kept])
    assert executor.counters["UncachedCompile"] == before
    assert executor.pin([kept], False)
    executor.clear_cache()
    executor.warm_up([kept])
    assert executor.counters["UncachedCompile"] == before + 1


def test_a_fork_of_the_random_numbers_leaves_the_stream_alone(executor):
    other = Executor("interpret")
    executor.randint((2,), 100)
    other.randint((2,), 100)
    with executor.forked_rng():
        inside = executor.randint((4,), 100).numpy()
        executor.set_seed(5)
        executor.mark_step()
    after = executor.randint((4,), 100).numpy()
    assert (after == other.randint((4,), 100).numpy()).all()
    assert (inside == after).all()


def refused(deed, *parts):
    with pytest.raises(ExecutorError) as raised:
        deed()
    assert raised.value.kind == ErrorKind.REFUSED
    text = str(raised.value)
    assert text.count("test_impl_inquiry.py:") == 2  # who asked, and who forbade
    assert all(part in text for part in parts)


def test_a_region_refuses_what_it_forbids_and_nothing_is_damaged(executor):
    a = ones(executor)
    b, host = a + 1, executor.tensor(np.ones(2, np.float32), upload=False)
    before = [executor.describe(t) for t in (a, b, host)]
    with executor.forbid():
        refused(executor.mark_step, f"tensor {b.id} would be computed")
        refused(lambda: executor.read(b), f"tensor {b.id} would be fetched")
        refused(lambda: executor.read_many([b, host]), f"tensor {b.id} would be fetched")
        refused(lambda: executor.warm_up([b]), f"tensor {b.id} would be compiled")
        refused(lambda: ones(executor), "8 bytes would be sent")
        refused(lambda: host + 1, "8 bytes would be sent")
        assert executor.read(host).tolist() == [1, 1]
        assert (b * 1).shape == (2,)  # tracing is free
    assert [executor.describe(t) for t in (a, b, host)] == before
    assert executor.read(b).tolist() == [2, 2]


def test_regions_nest_and_forbid_only_what_they_name(executor):
    a = ones(executor)
    with executor.forbid("compile"):
        refused(lambda: executor.sync([a + 1]), "compiled")
        with executor.forbid("transfer"):
            refused(lambda: executor.read(a), "fetched")
        assert executor.read(a).tolist() == [1, 1]
    executor.sync([a + 1])
    with executor.forbid("compile"):
        executor.sync([a + 1])  # a hit
    with pytest.raises(ExecutorError, match="'sing' cannot be forbidden"), executor.forbid("sing"):
        pass


def test_a_region_ends_by_an_error_too(executor):
    with pytest.raises(ZeroDivisionError), executor.forbid():
        raise ZeroDivisionError
    assert executor.read(ones(executor)).tolist() == [1, 1]


def test_each_parameter_of_a_step_has_a_fate_and_a_reason(executor):
    updated, shared, marked, plain = (ones(executor) for _ in range(4))
    executor.sync([updated, shared, marked, plain])
    copy = shared.clone()
    executor.set_donation(marked)
    updated += plain * 0.5
    shared += marked
    found = executor.explain_donation([updated, shared])
    reasons = [(fate.donated, fate.because) for fate in found]
    assert (True, "a result takes the place of its tensor, and nothing else needs it") in reasons
    assert (
        False,
        f"a result takes the place of its tensor, but it is needed: tensor {copy.id} (borrowed)",
    ) in reasons
    assert (False, f"it is marked, but it is needed: tensor {marked.id}") in reasons
    assert (False, "no result takes the place of its tensor, and it is not marked") in reasons
    assert (False, "read-only: a number that later graphs use too") in reasons
    executor.sync([updated, shared])
    assert (copy.numpy() == 1).all()
