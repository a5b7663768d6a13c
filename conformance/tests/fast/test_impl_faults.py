"""The executor's faults: nothing is lost, the owner is told once, the device is never wedged."""

import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from executor_cases import ROW, data, refused

import markstep.impl.syncing
from markstep.impl import Executor
from markstep.spec.vocabulary import BufferStatus, ErrorKind, IrKind

TWICE = [2.0, 4.0, 6.0, 8.0]
FAILED = ErrorKind.EXECUTION_FAILED


# ---- compilation ----------------------------------------------------------------------------


def test_a_compilation_that_fails_changes_nothing_but_what_was_collected(ex):
    leaf, host = ex.tensor(ROW), ex.tensor(ROW, upload=False)
    good, bad = leaf + 2, ex.call("failing_compile", leaf)
    seen = ex.describe(good)
    error = refused(ErrorKind.COMPILE_FAILED, ex.sync, [leaf, host, good, bad])
    assert "failing_compile" in str(error)
    assert ex.describe(good) == seen
    assert ex.describe(leaf).data == ex.describe(host).data == BufferStatus.VALUE
    assert not ex.running
    assert ex.read(good).tolist() == [3.0, 4.0, 5.0, 6.0]


def test_an_injected_compile_failure_is_not_cached(ex):
    y = data(ex) * 2
    ex.inject.compile = 1
    refused(ErrorKind.COMPILE_FAILED, ex.read, y)
    assert ex.read(y).tolist() == TWICE
    assert ex.counters["UncachedCompile"] == 2
    assert ex.counters["CreateCompileHandles"] == 1


# ---- executions that somebody waits for -----------------------------------------------------


def test_the_waiting_call_takes_the_error_and_no_record_carries_it(ex):
    x = data(ex)
    y = x * 2
    ex.inject.execution = 1
    error = refused(FAILED, ex.sync, [y])
    assert f"tensor {y.id}" in str(error)
    seen = ex.describe(y)
    assert (seen.ir, seen.data, seen.failed) == (IrKind.OP, BufferStatus.NONE, False)
    ex.wait_device()
    assert ex.read(y).tolist() == TWICE


def test_a_program_that_fails_by_itself_fails_each_time_it_is_tried(ex):
    y = ex.call("failing_execute", data(ex))
    for _ in range(2):
        refused(FAILED, ex.sync, [y])
        refused(FAILED, ex.read_many, [y])
    assert ex.describe(y).ir == IrKind.OP
    assert not ex.running


def test_an_evaluation_that_keeps_work_pending_fails_without_a_trace(ex):
    y = data(ex) * 2
    ex.inject.execution = 1
    refused(FAILED, ex.read_many, [y])
    assert ex.read_many([y])[0].tolist() == TWICE


# ---- executions that nobody waits for -------------------------------------------------------


def test_every_record_that_shows_the_failed_result_carries_the_error_until_one_is_told(ex):
    x = data(ex)
    y, other = x * 2, x * 3
    ex.sync([y], wait=False)
    deep, copy = (y + 1) * y, y.clone()
    ex.fail()
    assert [ex.describe(t).failed for t in (x, y, other, deep, copy)] == [0, 1, 0, 1, 1]
    assert ex.read(other).tolist() == [3.0, 6.0, 9.0, 12.0], "unrelated work is not disturbed"
    refused(FAILED, ex.read_many, [x, deep])
    assert not any(ex.describe(t).failed for t in (y, deep, copy))
    ex.sync_live()
    assert ex.read(y).tolist() == ex.read(copy).tolist() == TWICE
    assert ex.read(deep).tolist() == [6.0, 20.0, 42.0, 72.0]


def graphs_over(y):
    inner = y + 1
    return [y + y, (y + 1) * y, inner * -inner, -inner * inner]


def test_a_failed_result_gives_its_work_back_with_the_sharing_it_had(ex):
    x = data(ex)
    y = x * 2
    ex.sync([y], wait=False)
    results = graphs_over(y)
    ex.fail()
    refused(FAILED, ex.wait_device)
    fresh = x * 2
    assert ex.graph_hash([y, *results]) == ex.graph_hash([fresh, *graphs_over(fresh)])


def test_a_borrowed_leaf_is_borrowed_again_after_a_failure(ex):
    x = data(ex)
    y = x.clone()
    ex.sync([y], wait=False)
    ex.fail()
    assert ex.describe(y).is_cloned
    x += 1
    refused(FAILED, ex.sync, [x, y])
    ex.sync([x])
    assert ex.read(y).tolist() == ROW


def test_the_oldest_failure_is_told_first_and_each_one_once(ex):
    x = data(ex)
    y, z = x * 2, x * 3
    for work in (y, z):
        ex.sync([work], wait=False)
        ex.fail()
    first = refused(FAILED, ex.sync, [z, y])
    second = refused(FAILED, ex.wait_device)
    assert "execution 1," in str(first)
    assert "execution 2," in str(second)
    ex.sync([z, y])


def test_an_error_dies_with_its_records(ex):
    y = data(ex) * 2
    ex.sync([y], wait=False)
    ex.fail()
    del y
    ex.wait_device()


def test_an_error_of_replaced_contents_is_dropped(ex):
    x = data(ex)
    y, z = x * 2, x * 3
    ex.sync([y, z], wait=False)
    ex.fail()
    y.copy_(x)
    z.copy_(ROW)
    ex.wait_device()


def test_a_read_that_waits_for_the_device_delivers_what_its_tensor_then_carries(ex):
    y = data(ex) * 2
    ex.inject.execution = 1
    ex.sync([y], wait=False)
    refused(FAILED, ex.read, y)
    assert ex.read(y).tolist() == TWICE


def test_a_sync_that_needs_a_failed_result_raises_and_loses_nothing(ex):
    y = data(ex) * 2
    ex.inject.execution = 1
    ex.sync([y], wait=False)
    z = y + 1
    refused(FAILED, ex.sync, [z])
    assert ex.read(z).tolist() == [3.0, 5.0, 7.0, 9.0]


def test_waiting_for_the_device_never_raises_what_concerns_others(ex):
    x = data(ex)
    y, z = x * 2, x * 3
    ex.inject.execution = 1
    ex.sync([y], wait=False)
    ex.sync([z])
    assert ex.describe(y).failed
    assert ex.describe(z).data == BufferStatus.VALUE


def test_reading_several_tells_a_failure_found_while_waiting_for_the_device(ex):
    x = data(ex)
    y, z = x * 2, x * 3
    ex.inject.execution = 1
    ex.sync([y], wait=False)
    refused(FAILED, ex.read_many, [y, z])
    assert [v.tolist()[0] for v in ex.read_many([y, z])] == [2.0, 3.0]


def test_results_of_a_failed_run_by_hash_are_pending_again(ex):
    y = data(ex) * 2
    (out,) = ex.run_cached([y])
    ex.fail()
    assert not ex.describe(y).failed
    refused(FAILED, ex.read, out)
    assert ex.read(out).tolist() == TWICE


def test_clear_pending_forgets_the_errors_of_what_it_forgets(ex):
    y = data(ex) * 2
    ex.sync([y], wait=False)
    ex.fail()
    ex.clear_pending()
    ex.wait_device()


# ---- donation and failure -------------------------------------------------------------------


def test_a_failure_deletes_no_donor(ex):
    x = data(ex)
    old = x.record.handle
    x += 1
    ex.sync([x], wait=False)
    ex.fail()
    assert not old.deleted
    refused(FAILED, ex.read, x)
    ex.sync([x])
    assert old.deleted
    assert ex.read(x).tolist() == [2.0, 3.0, 4.0, 5.0]


def huge(x):
    return jnp.broadcast_to(x.sum(), (2**42,))


def broken(x):
    return jax.pure_callback(lambda _: np.zeros(3, x.dtype), jax.typeof(x), x)  # wrong shape


@pytest.mark.parametrize("culprit", [broken, huge])
def test_a_program_that_fails_on_the_device_has_consumed_nothing(culprit):
    ex = Executor("xla")
    x = data(ex)
    bad = ex.apply(culprit, x)
    x += 1
    refused(FAILED, ex.sync_live)
    del bad
    ex.sync_live()
    assert ex.read(x).tolist() == [2.0, 3.0, 4.0, 5.0]


# ---- the worker -----------------------------------------------------------------------------


def test_a_failing_worker_frees_the_device():
    ex = Executor("xla")
    x = data(ex)
    bad = ex.call("failing_execute", x)
    for _ in range(3):
        ex.sync([bad], wait=False)
        refused(FAILED, ex.wait_device)
    assert ex.read(x * 2).tolist() == TWICE


def interrupt(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("where", ["Execution.run", "Buffer.__init__", "start"])
def test_an_interrupt_is_passed_on_and_loses_nothing(ex, monkeypatch, where):
    x = data(ex)
    y, z = x * 2, x * 3
    owner, _, name = f"{markstep.impl.syncing.__name__}.{where}".rpartition(".")
    monkeypatch.setattr(f"{owner}.{name}", interrupt)
    with pytest.raises(KeyboardInterrupt):
        ex.sync([y, z])
    monkeypatch.undo()
    assert not ex.running
    assert [ex.read(t).tolist()[0] for t in (y, z)] == [2.0, 3.0]


def test_reading_while_the_worker_runs():
    ex = Executor("interpret")
    gate = threading.Event()

    def wait(array):
        assert gate.wait(30)
        return array * 2

    def held(array):
        return jax.pure_callback(wait, jax.typeof(array), array)

    x, host = data(ex), ex.tensor(ROW, upload=False)
    y = ex.apply(held, x)
    ex.sync([y], wait=False)
    traced = y + x
    assert ex.running
    assert ex.read(host).tolist() == ROW
    assert ex.describe(traced).ir == IrKind.OP
    gate.set()
    assert ex.read(traced).tolist() == [3.0, 6.0, 9.0, 12.0]


def test_many_threads_share_one_executor():
    ex = Executor("interpret")
    x, failures = data(ex), []

    def work(number):
        try:
            y = x * number
            for _ in range(30):
                y += x
                ex.sync([y], wait=number % 2 == 0)
            assert ex.read(y).tolist() == [(number + 30) * v for v in ROW]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures
    assert not any(thread.is_alive() for thread in threads)


def test_completing_or_failing_nothing_is_refused(ex):
    refused(ErrorKind.BAD_ARGUMENT, ex.complete)
    refused(ErrorKind.BAD_ARGUMENT, ex.fail)
