"""The executor's donations: what is consumed, and what is never."""

import numpy as np
import pytest
from executor_cases import ROW, data, growth, refused, stub

from markstep.impl import Executor
from markstep.spec.vocabulary import ErrorKind

# ---- donation -------------------------------------------------------------------------------


def device_array(ex, tensor):
    """The array behind a tensor, to see whether it is really deleted."""
    return tensor.record.handle.value


@pytest.mark.parametrize("offset", range(0, 64, 16))
def test_an_update_in_a_barrier_consumes_the_old_buffer(offset):
    ex = Executor("xla")
    # memory that the device could share with the host at some alignments only
    block = np.zeros(1 << 12, np.uint8)
    begin = -block.ctypes.data % 64 + offset
    x = data(ex, block[begin : begin + 1024].view(np.float32))
    old = device_array(ex, x)
    place = old.unsafe_buffer_pointer()
    x += 1
    ex.mark_step(wait=True)
    assert old.is_deleted()
    assert device_array(ex, x).unsafe_buffer_pointer() == place, "it was reused in place"
    assert ex.counters["InputOutputAliasCount.sum"] == 1


def test_a_donor_that_no_result_can_reuse_is_deleted_when_the_execution_succeeded():
    for mode in ("xla", "interpret"):
        ex = Executor(mode, manual=True)
        x = data(ex)
        buffer = x.record.handle
        ex.set_donation(x)
        total = x.sum()
        del x
        ex.sync([total], wait=False)
        assert not buffer.deleted
        ex.complete()
        assert buffer.deleted and buffer.value is None
        assert ex.read(total) == 10


@pytest.mark.parametrize("keep", ["clone", "copy", "graph", "stub graph", "host"])
def test_what_something_still_needs_is_never_donated(ex, keep):
    x = data(ex)
    other = {
        "clone": lambda: x.clone(),
        "copy": lambda: ex.tensor(ROW).copy_(x),
        "graph": lambda: x * 1,
        "stub graph": lambda: stub(ex) + x,
        "host": lambda: None,
    }[keep]()
    buffer = x.record.handle or x.record.ir
    x += 1
    ex.sync([x])
    assert buffer.deleted == (keep == "host")
    if keep in ("clone", "copy", "graph"):
        assert ex.read(other).tolist() == ROW


def test_the_recipe_of_a_running_execution_keeps_its_inputs(ex):
    x = data(ex)
    y = x * 2
    ex.sync([y], wait=False)
    x += 1
    ex.inject.execution = 0
    ex.warm_up([x], sync=True)
    ex.fail()  # y is pending again, and needs the old buffer of x
    ex.sync([x])
    refused(ErrorKind.EXECUTION_FAILED, ex.read, y)
    assert ex.read(y).tolist() == [2.0, 4.0, 6.0, 8.0]


def test_donors_found_while_an_execution_runs_spare_what_its_failure_would_need(ex):
    x = data(ex)
    y, buffer = x * 2, x.record.ir
    ex.inject.execution = 1
    ex.sync([y], wait=False)
    x += 1
    before = ex.counters["UncachedCompile"]
    ex.sync([x])  # waits for the first execution, which fails
    assert not buffer.deleted
    assert ex.counters["UncachedCompile"] == before + 1, "and need not think again"
    refused(ErrorKind.EXECUTION_FAILED, ex.read, y)
    assert ex.read(y).tolist() == [2.0, 4.0, 6.0, 8.0]


@pytest.mark.parametrize(
    ("sync", "config", "marked", "donated"),
    [
        (True, False, False, False),
        (True, False, True, True),
        (False, False, True, False),
        (False, True, True, True),
        (False, True, False, False),
    ],
)
def test_user_marks_count_with_sync_or_with_the_config(ex, sync, config, marked, donated):
    x = data(ex)
    buffer = x.record.handle
    ex.set_donor_config(config)
    ex.set_donation(x, marked)
    y = x + 2
    del x
    ex.sync([y], sync=sync)
    assert buffer.deleted == donated


def test_evaluations_that_keep_pending_work_donate_nothing(ex):
    ex.set_donor_config(True)
    x = data(ex)
    ex.set_donation(x)
    x += 1
    for _ in range(2):
        assert ex.read_many([x])[0].tolist() == [2.0, 3.0, 4.0, 5.0]


def test_donors_are_part_of_the_key_and_warm_up_can_plan_them(ex):
    x = data(ex)
    x += 1
    ex.warm_up([x])
    ex.warm_up([x], sync=True)
    assert ex.counters["UncachedCompile"] == 2
    assert growth(ex, ex.mark_step)[:2] == (1, 0)


def test_scalars_are_never_donated(ex):
    x = data(ex)
    for _ in range(2):
        x *= 2.5
        ex.mark_step(wait=True)
    assert ex.read(x)[0] == 6.25
    assert ex.counters["DeviceDataCacheMiss"] == 1


def rotate(*arrays):
    return [array + 1 for array in reversed(arrays)]


def test_each_result_takes_over_the_buffer_that_it_updates():
    ex = Executor("xla")
    tensors = [data(ex) for _ in range(4)]
    fresh = tensors[0] * 2  # a result of the same shape that updates nothing
    for tensor, new in zip(tensors, reversed(ex.apply(rotate, *tensors)), strict=True):
        tensor.copy_(new)
    del tensor, new
    places = [t.record.ir.operands[0].operands[i] for i, t in enumerate(tensors)]
    places = [leaf.value.unsafe_buffer_pointer() for leaf in places]
    ex.sync([fresh, *tensors])
    assert [device_array(ex, t).unsafe_buffer_pointer() for t in tensors] == places
    assert ex.read(fresh).tolist() == [2.0, 4.0, 6.0, 8.0]
    assert ex.read(tensors[3]).tolist() == [2.0, 3.0, 4.0, 5.0]
