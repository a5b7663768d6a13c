"""The executor when there is a lot: deep graphs, long loops, the end of the process."""

import subprocess
import sys

import jax
import numpy as np
import pytest

from markstep.impl import Executor, ExecutorError

DEEP = 300_000


def chain(tensor, length):
    for _ in range(length):
        tensor = tensor + 1
    return tensor


@pytest.mark.slow
def test_a_deep_graph_is_traced_and_dropped():
    ex = Executor("interpret", manual=True)
    top = chain(ex.tensor([1.0]), DEEP)
    assert ex.counters["DestroyXlaTensor"] == DEEP
    del top
    assert ex.counters["DestroyXlaTensor"] == DEEP + 1


@pytest.mark.slow
def test_a_deep_graph_is_synced_in_pieces():
    ex = Executor("interpret")
    tensor = ex.tensor([1.0])
    for _ in range(DEEP // 1000):
        tensor = chain(tensor, 1000)
        ex.sync([tensor], wait=False)
    assert ex.read(tensor) == DEEP + 1


@pytest.mark.slow
def test_a_deep_graph_is_evaluated_fails_and_recovers():
    ex = Executor("interpret", manual=True)
    tensor = chain(ex.tensor([1.0]), DEEP)
    ex.sync([tensor], wait=False)
    later = chain(tensor, DEEP)
    ex.fail()
    with pytest.raises(ExecutorError):
        ex.wait_device()
    ex.clear_cache()
    assert ex.read(later) == 2 * DEEP + 1


@pytest.mark.slow
def test_many_live_tensors_are_dropped_at_once():
    ex = Executor("interpret", manual=True)
    kept = [ex.tensor([1.0])]
    for _ in range(DEEP // 10):
        kept.append(kept[-1] + 1)
    ex.mark_step()
    ex.complete()
    kept.clear()
    assert len(ex._ctx.live) == 0


def test_an_update_loop_reuses_one_buffer():
    ex = Executor("xla")
    x = ex.tensor(np.zeros(1 << 18, np.float32))
    x += 1
    ex.mark_step(wait=True)
    places, arrays = set(), set()
    for _ in range(10):
        x += 1
        ex.mark_step(wait=True)
        arrays.add(sum(a.nbytes for a in jax.live_arrays() if a.nbytes == 1 << 20))
        places.add(x.record.handle.value.unsafe_buffer_pointer())
    assert len(places) == 1
    assert arrays == {1 << 20}, "one array of that size is alive, as with jit and donate_argnums"
    assert x[0].item() == 11


def run(program):
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_importing_starts_nothing():
    out = run(
        "import threading; from markstep import impl; import jax._src.xla_bridge as bridge;"
        "print(bridge.backends_are_initialized(), threading.active_count())"
    )
    assert out.split() == ["False", "1"]


def test_a_process_with_a_running_execution_ends():
    run(
        "import jax, time; from markstep import impl\n"
        "def late(a):\n    time.sleep(0.5); return a\n"
        "def slow(a): return jax.pure_callback(late, jax.typeof(a), a)\n"
        "x = impl.apply(slow, impl.tensor([1.0])); impl.mark_step()\n"
        "assert impl.default.running\n"
    )


def test_work_can_still_be_done_while_the_process_ends():
    out = run(
        "import atexit; from markstep import impl\n"
        "x = impl.tensor([1.0])\n"
        "def late():\n    y = x + 1; impl.mark_step(); print(y.numpy()[0])\n"
        "atexit.register(late)\n"
    )
    assert out.split() == ["2.0"]


def test_a_process_with_an_untold_failure_ends():
    run(
        "from markstep import impl\n"
        "x = impl.call('failing_execute', impl.tensor([1.0])); impl.mark_step()\n"
    )
