"""The executor's tensors: making, tracing, updating, copying, forgetting.."""

import numpy as np
import pytest
from executor_cases import ROW, refused

from markstep.impl import Executor, ExecutorError
from markstep.spec.vocabulary import BufferStatus, ErrorKind, IrKind


def state(ex, tensor):
    seen = ex.describe(tensor)
    return seen.ir, seen.data, seen.host, seen.is_cloned


HOST = (IrKind.NONE, BufferStatus.NONE, True, False)
LEAF = (IrKind.LEAF, BufferStatus.NONE, False, False)
LEAF_CLONED = (IrKind.LEAF, BufferStatus.NONE, False, True)
PENDING_OP = (IrKind.OP, BufferStatus.NONE, False, False)
DATA = (IrKind.NONE, BufferStatus.VALUE, False, False)
EMPTY = (IrKind.NONE, BufferStatus.PLACEHOLDER, False, False)


def data(ex, values=ROW):
    tensor = ex.tensor(values)
    ex.sync([tensor])
    assert state(ex, tensor) == DATA
    return tensor


# ---- S1: creation ---------------------------------------------------------------------------


def test_uploaded_data_is_a_leaf_that_its_record_owns(ex):
    x = ex.tensor(ROW)
    assert state(ex, x) == LEAF
    assert ex.describe(x).owner == x.id
    assert ex.counters["CreateDataHandles"] == 1


def test_host_only_data_stays_on_the_host_until_used(ex):
    x = ex.tensor(ROW, upload=False)
    assert state(ex, x) == HOST
    assert ex.counters["CreateDataHandles"] == 0
    ex.call("neg", x)
    assert state(ex, x) == LEAF
    assert ex.counters["CreateDataHandles"] == 1


@pytest.mark.parametrize("upload", [True, False])
def test_host_data_is_copied(ex, upload):
    source = np.ones(1 << 16, np.float32)  # large enough for JAX to share memory if it may
    x = ex.tensor(source, upload=upload)
    source[:] = 5
    ex.read(x)[:] = 7
    assert ex.read(x)[0] == 1


def test_placeholder_is_a_stub(ex):
    x = ex.placeholder((2, 2))
    assert state(ex, x) == EMPTY
    assert ex.describe(x).stub
    refused(ErrorKind.NO_VALUE, ex.read, x)


# ---- S2: tracing ----------------------------------------------------------------------------


def test_operations_are_only_traced(ex):
    x = data(ex)
    before = ex.counters
    y = x + x
    assert state(ex, y) == PENDING_OP
    changed = {k for k, v in ex.counters.items() if v != before[k]}
    assert changed == {"CreateXlaTensor"}


def test_data_used_as_an_operand_gets_a_leaf_beside_the_handle_and_is_owned(ex):
    x = data(ex)
    y = x.clone()
    ex.sync([y])
    x += 1
    ex.sync([x])
    assert ex.describe(x).alias != x.id
    ex.call("neg", x)
    seen = ex.describe(x)
    assert (seen.ir, seen.data) == (IrKind.LEAF, BufferStatus.VALUE)
    assert seen.alias == seen.owner == x.id


@pytest.mark.parametrize(
    "bad",
    [
        lambda ex, a, b, i: ex.call("add", a, b),
        lambda ex, a, b, i: ex.call("add", a, i),
        lambda ex, a, b, i: ex.call("matmul", a, b),
        lambda ex, a, b, i: ex.call("no_such_op", a),
        lambda ex, a, b, i: ex.call("neg", a, scalar=2),
        lambda ex, a, b, i: ex.call("neg", a, a),
        lambda ex, a, b, i: ex.call("add_scalar", i, scalar=2.5),
        lambda ex, a, b, i: ex.call("add_scalar", a),
        lambda ex, a, b, i: ex.call_in_place(b, "matmul", b),
        lambda ex, a, b, i: a.copy_(b),
        lambda ex, a, b, i: a.copy_(i),
        lambda ex, a, b, i: a.copy_([1.0]),
        lambda ex, a, b, i: a + "one",
        lambda ex, a, b, i: a[7],
        lambda ex, a, b, i: a.reshape(3),
        lambda ex, a, b, i: a + Executor("interpret").tensor(ROW),
        lambda ex, a, b, i: ex.apply(lambda x, n: x, a, n=[]),
        lambda ex, a, b, i: ex.sync([a, Executor("interpret").tensor(ROW)]),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(ex, bad):
    a, b = ex.tensor(ROW, upload=False), data(ex, [[1.0, 2.0, 3.0]])
    i = ex.tensor([1, 2, 3, 4], upload=False)
    before = [ex.describe(t) for t in (a, b, i)], ex.counters
    refused(ErrorKind.BAD_ARGUMENT, bad, ex, a, b, i)
    assert ([ex.describe(t) for t in (a, b, i)], ex.counters) == before


def test_special_scalars_are_inlined_and_others_are_shared_parameters(ex):
    x = data(ex)
    y = ((x + 1) * 0 - 1 + 2.5) * 2.5 + 3
    text = ex.dump_graph([y])
    assert text.count("constant") == 2  # 1 and 0
    assert text.count("parameter") == 3  # x, 2.5 and 3
    assert ex.counters["DeviceDataCacheMiss"] == 2
    assert ex.read(y).tolist() == [6.75] * 4


def test_scalars_that_only_look_equal_are_different_parameters(ex):
    x = data(ex, [0.0, 1.0])
    assert np.signbit(ex.read(x * 0)).tolist() == [False, False]
    assert np.signbit(ex.read(x * -0.0)).tolist() == [True, True]
    assert np.isnan(ex.read(x + float("nan"))).all()
    misses = ex.counters["DeviceDataCacheMiss"]
    ex.read((x + float("nan")) * -0.0 + np.float32(2) + 2 + 2.0)
    assert ex.counters["DeviceDataCacheMiss"] == misses + 1
    refused(ErrorKind.BAD_ARGUMENT, lambda: x + True)


def test_the_scalar_cache_is_bounded(ex):
    x = data(ex)
    for number in range(2, 140):
        x + number
        x + 5
    assert ex.counters["DeviceDataCacheMiss"] == 138
    x + 5  # in use all the time
    x + 2  # the oldest has left
    assert ex.counters["DeviceDataCacheMiss"] == 139


# ---- S3, S4: updates and copies -------------------------------------------------------------


def test_an_update_is_a_new_record_for_every_tensor_object_that_shares_it(ex):
    x = data(ex)
    y, old = x.detach(), x.id
    counters = ex.counters
    x += 1
    assert y.id == x.id != old
    assert ex.describe(x).alias == old
    assert ex.counters["CreateXlaTensor"] == counters["CreateXlaTensor"] + 1
    assert ex.counters["DestroyXlaTensor"] == counters["DestroyXlaTensor"] + 1
    y *= 2
    assert ex.describe(x).alias == old, "a chain of updates remembers where its buffer came from"
    assert ex.read(x).tolist() == [4.0, 6.0, 8.0, 10.0]


def test_clone_of_data_borrows_a_leaf_and_clone_of_pending_work_shares_it(ex):
    x = data(ex)
    assert state(ex, x.clone()) == LEAF_CLONED
    assert state(ex, (x + x).clone()) == PENDING_OP


def test_later_updates_of_the_source_do_not_reach_a_clone(ex):
    x = data(ex)
    y = x.clone()
    z = ex.tensor([0.0] * 4).copy_(x)
    x += 1
    ex.sync_live()
    assert [ex.read(t).tolist() for t in (x, y, z)] == [[2.0, 3.0, 4.0, 5.0], ROW, ROW]
    numbers = {ex.describe(t).buffer for t in (x, y, z)}
    assert len(numbers) == 3, "each has a buffer of its own after the sync"


def test_copy_into_keeps_the_record_and_into_itself_borrows_nothing(ex):
    x, y = data(ex), data(ex, [5.0] * 4)
    before = x.id
    x.copy_(y)
    assert x.id == before == ex.describe(x).alias
    assert state(ex, x) == LEAF_CLONED
    y.copy_(y)
    assert state(ex, y) == LEAF
    assert ex.read(y).tolist() == [5.0] * 4


@pytest.mark.parametrize(("upload", "expected"), [(True, LEAF), (False, HOST)])
def test_copy_from_host_keeps_the_record(ex, upload, expected):
    x = data(ex)
    before = x.id
    x.copy_([9.0] * 4, upload=upload)
    assert x.id == before
    assert state(ex, x) == expected
    assert ex.read(x).tolist() == [9.0] * 4


# ---- S6, S7: reading ------------------------------------------------------------------------


def test_reading_pending_work_makes_it_data_and_reading_several_does_not(ex):
    x = data(ex)
    y, z = x + x, x * x
    assert [v.tolist() for v in ex.read_many([y, x, y])] == [[2, 4, 6, 8], ROW, [2, 4, 6, 8]]
    assert state(ex, y) == PENDING_OP
    ex.read(z)
    assert state(ex, z) == DATA


def test_what_is_read_belongs_to_the_reader(ex):
    x = ex.tensor(ROW, upload=False)
    y = data(ex)
    for array in (ex.read(x), ex.read(y), *ex.read_many([x, y])):
        array += 1
    assert ex.read(x).tolist() == ex.read(y).tolist() == ROW


def test_a_host_copy_is_given_up_when_there_is_another_source(ex):
    x = ex.tensor(ROW, upload=False)
    ex.read(x)
    assert state(ex, x) == HOST
    ex.sync([x])
    assert ex.describe(x).host and ex.describe(x).data == BufferStatus.VALUE
    ex.read_many([x])
    assert ex.describe(x).host
    ex.read(x)
    assert state(ex, x) == DATA


def test_reading_a_borrowed_leaf_leaves_it_borrowed(ex):
    x = data(ex)
    y = x.clone()
    assert ex.read(y).tolist() == ROW
    assert state(ex, y) == LEAF_CLONED


# ---- S8, S10, S12 ---------------------------------------------------------------------------


def test_clear_pending_makes_stubs_of_work_and_handles_of_leaves(ex):
    leaf, host = ex.tensor(ROW), ex.tensor(ROW, upload=False)
    borrowed, work = leaf.clone(), leaf + leaf
    ex.clear_pending()
    assert state(ex, leaf) == DATA
    assert state(ex, host) == HOST
    assert state(ex, borrowed) == LEAF_CLONED
    assert ex.describe(work).stub
    later = work + 1
    refused(ErrorKind.UNMATERIALIZED, ex.read, later)
    refused(ErrorKind.NO_VALUE, ex.read_many, [leaf, work])


def test_donation_marks_the_buffer_behind_a_handle_or_leaf(ex):
    x = ex.tensor(ROW)
    assert ex.set_donation(x)
    assert ex.describe(x).donate
    assert not ex.set_donation(x + x)
    assert not ex.set_donation(ex.tensor(ROW, upload=False))
    assert ex.set_donation(data(ex), False)
    assert ex.counters["XlaSetBufferDonation"] == 2


def test_a_record_dies_with_its_last_tensor_object(ex):
    x = ex.tensor(ROW)
    y = x.detach()
    del x
    assert ex.counters["DestroyXlaTensor"] == 0
    del y
    assert ex.counters["DestroyXlaTensor"] == 1


def test_dumping_changes_nothing(ex):
    tensors = [ex.tensor(ROW, upload=False), data(ex), data(ex) + 1, ex.placeholder((4,))]
    before = [ex.describe(t) for t in tensors], ex.counters
    text = ex.dump_graph(tensors)
    assert "add(" in text and "host" in text
    assert ([ex.describe(t) for t in tensors], ex.counters) == before


@pytest.mark.parametrize("call", ["sync", "read_many", "warm_up", "graph_hash", "run_cached"])
def test_one_tensor_where_a_list_is_wanted_is_refused(ex, call):
    with pytest.raises(ExecutorError, match="a list of tensors"):
        getattr(ex, call)(ex.tensor([1.0, 2.0]))


def test_sizes_may_be_numpy_numbers_but_not_fractions(ex):
    x = ex.tensor(np.arange(24.0, dtype=np.float32).reshape(2, 3, 4))
    assert x.transpose(np.int64(1), np.int64(0), np.int64(2)).shape == (3, 2, 4)
    assert x.reshape(np.int64(1), 24).shape == (1, 24)
    with pytest.raises(ExecutorError, match="whole numbers"):
        x.reshape(2.0, 12)


def test_whole_numbers_that_do_not_fit_are_refused(ex):
    with pytest.raises(ExecutorError, match="int32"):
        ex.tensor([2**40])
