"""Several devices in one process: golden traces 13 and 14, and what is one device's own."""

from typing import Any

import jax
import numpy as np
import pytest

from markstep.conformance.suite.devices import PLACED, Placed
from markstep.impl.errors import ExecutorError
from markstep.impl.executor import Executor
from markstep.spec import vocabulary as v

SECOND = 1


@pytest.fixture(params=["interpret", "xla"])
def pair(request: pytest.FixtureRequest) -> tuple[Executor, Executor]:
    first = Executor(request.param)
    return first, first.on_device(SECOND)


def do(pair: tuple[Executor, Executor], device: int, live: dict[int, Any], action: Any) -> Any:
    """One action of a golden trace on the executors."""
    executor = pair[device]
    match action:
        case v.CreateFromHost():
            live[action.out] = executor.tensor(np.reshape(np.float32(action.value), action.shape))
        case v.AssignInPlace():
            live[action.target] += action.scalar
        case v.CopyInto():
            live[action.target].copy_(live[action.source])
        case v.Sync():
            executor.sync([live[name] for name in action.tensors])
        case v.StepBarrier():
            executor.mark_step(wait=action.wait)
        case v.ReadOne():
            return tuple(live[action.tensor].numpy().ravel().tolist())
        case v.ReadMany():
            executor.read_many([live[name] for name in action.tensors])
        case v.SetSeed():
            executor.set_seed(action.seed)
        case v.GetSeed():
            return executor.get_seed()
    return None


@pytest.mark.parametrize("scenario", PLACED, ids=lambda s: s.id)
def test_the_executor_does_what_is_written(scenario: Placed, pair: Any) -> None:
    live: dict[int, Any] = {}
    for device, step in scenario.steps:
        before, error, value = pair[device].counters, "none", None
        try:
            value = do(pair, device, live, step.action)
        except ExecutorError as raised:
            error = raised.kind.value
        assert error == step.expected("sound")[1]
        if step.value is not None:
            assert value == step.value
        if step.compiled:
            counter = {"hit": "CachedCompile", "miss": "UncachedCompile"}[step.compiled]
            assert pair[device].counters[counter] == before[counter] + 1


def test_a_program_runs_where_its_tensors_are_and_gives_its_buffers_away_there() -> None:
    first = Executor("xla")
    second = first.on_device(SECOND)
    for executor in (first, second):
        x = executor.tensor([1.0, 2.0])
        executor.mark_step(wait=True)
        old = x.record.handle
        x += 1
        executor.mark_step(wait=True)
        assert old is not None and old.deleted
        assert x.numpy().tolist() == [2, 3]
        place = jax.local_devices()[executor is second]
        assert x.record.handle.value.devices() == {place}
    assert (first.counters["UncachedCompile"], second.counters["UncachedCompile"]) == (1, 0)


def test_what_was_compiled_on_the_second_device_is_a_hit_on_the_first() -> None:
    first = Executor("xla")
    second = first.on_device(SECOND)
    for executor, misses in ((second, 1), (first, 0)):
        x = executor.tensor([1.0, 2.0]) * 2 + 1
        assert x.numpy().tolist() == [3, 5]
        assert executor.counters["UncachedCompile"] == misses


def test_a_barrier_of_one_device_leaves_the_other_alone(pair: Any) -> None:
    x, y = (executor.tensor([1.0]) + 1 for executor in pair)
    pair[0].mark_step(wait=True)
    assert (x.record.ir, y.record.ir is None) == (None, False)
    assert y.numpy().tolist() == [2]


def test_what_cannot_be_copied_changes_nothing(pair: Any) -> None:
    x, y = pair[0].tensor([1.0]) + 1, pair[1].tensor([1.0, 2.0])
    with pytest.raises(ExecutorError, match="cannot update"):
        y.copy_(x)
    assert x.record.ir is not None
    assert y.numpy().tolist() == [1, 2]


@pytest.mark.parametrize("number", [-1, 99])
def test_a_device_that_there_is_not(number: int) -> None:
    with pytest.raises(ExecutorError, match=f"there is no device {number}: JAX has 8"):
        Executor("xla").on_device(number)


def test_in_spmd_mode_there_is_no_second_device() -> None:
    executor = Executor("xla")
    executor.use_spmd()
    with pytest.raises(ExecutorError, match="work as one"):
        executor.on_device(SECOND)


def test_spmd_mode_is_refused_where_devices_work_apart(pair: Any) -> None:
    with pytest.raises(ExecutorError, match="work apart"):
        pair[0].use_spmd()
    assert pair[0].tensor([1.0]).numpy().tolist() == [1]


def test_the_switches_are_those_of_the_process(pair: Any) -> None:
    pair[1].allow_execution(False)
    with pytest.raises(ExecutorError, match="compiled or executed"):
        pair[0].sync([pair[0].tensor([1.0]) + 1])
    pair[0].allow_execution(True)
    pair[0].set_eager(True)
    assert (pair[1].tensor([1.0]) + 1).record.ir is None


def test_the_first_device_by_its_number_compiles_nothing_anew() -> None:
    first = Executor("xla")
    again = first.on_device(0)
    assert [(one.tensor([1.0]) * 3).numpy().tolist() for one in (first, again)] == [[3], [3]]
    assert (again.counters["UncachedCompile"], again.counters["CachedCompile"]) == (0, 1)
