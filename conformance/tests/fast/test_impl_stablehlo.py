"""StableHLO: pending graphs as modules, and modules run as operations."""

import random

import jax
import numpy as np
import pytest
from jax import export

from markstep.impl import hlo
from markstep.impl.errors import ExecutorError
from markstep.impl.executor import Executor
from markstep.spec.vocabulary import ErrorKind

SQUARE = np.arange(4, dtype=np.float32).reshape(2, 2)
MAIN = """
module {
  func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
    %0 = stablehlo.add %x, %x : tensor<2x2xf32>
    return %0 : tensor<2x2xf32>
  }
}
"""


@pytest.fixture
def executor():
    return Executor("xla")


def test_a_pending_graph_is_written_in_three_forms_and_nothing_changes(executor):
    x = executor.tensor(SQUARE)
    y = x @ x + 1
    before = executor.describe(y), executor.counters
    text, code = executor.stablehlo([y]), executor.stablehlo([y], "bytecode")
    assert "stablehlo.dot_general" in text
    assert code.startswith(b"ML\xefR")
    assert executor.stablehlo([y], "hlo").startswith("HloModule")
    assert (executor.describe(y), executor.counters) == before


@pytest.mark.parametrize("form", ["text", "bytecode"])
def test_what_was_written_gives_the_same_values_when_it_is_run(executor, form):
    x = executor.tensor(SQUARE)
    y = x @ x + 1
    (z,) = executor.run_stablehlo(executor.stablehlo([y], form), [x])
    assert (z.numpy() == y.numpy()).all()


def test_a_module_of_jax_export_runs_on_pending_values(executor):
    exported = export.export(jax.jit(lambda x, y: (x + y, x * y)))(
        *[jax.ShapeDtypeStruct((2, 2), np.float32)] * 2
    )
    x = executor.tensor(SQUARE)
    y = x + 1
    plus, times = executor.run_stablehlo(exported.mlir_module_serialized, [x, y])
    assert (plus.numpy() == SQUARE * 2 + 1).all()
    assert (times.numpy() == SQUARE * (SQUARE + 1)).all()


def test_its_results_are_scheduled_like_those_of_a_sync(executor):
    executor = Executor("xla", manual=True)
    x = executor.tensor(SQUARE)
    x += 1
    executor.sync([x], wait=False)
    (z,) = executor.run_stablehlo(MAIN, [x])  # waits for its argument, under the lock
    assert executor.running
    assert executor.complete()
    assert (z.numpy() == 2 * (SQUARE + 1)).all()


def test_the_same_module_is_compiled_once(executor):
    x = executor.tensor(SQUARE)
    for _ in range(3):
        executor.run_stablehlo(MAIN, [x])
    executor.wait_device()
    assert executor.counters["UncachedCompile"] == 1
    assert executor.counters["CachedCompile"] == 2


def refused(executor, module, tensors, text):
    with pytest.raises(ExecutorError, match=text) as raised:
        executor.run_stablehlo(module, tensors)
    assert raised.value.kind == ErrorKind.BAD_ARGUMENT
    assert "\n" not in str(raised.value)


def test_wrong_uses_are_told_in_one_line(executor):
    x, flat = executor.tensor(SQUARE), executor.tensor([1.0])
    refused(executor, MAIN, [x, x], "cannot take")
    refused(executor, MAIN, [flat], "cannot take")
    refused(executor, b"garbage", [x], "not a StableHLO module")
    refused(executor, "module {}", [x], "no function `main`")
    refused(executor, MAIN.replace("2x2", "?x2"), [x], "fixed sizes")
    refused(executor, MAIN.replace("f32", "f64"), [x], "f64")
    with pytest.raises(ExecutorError, match="none of the tensors is pending"):
        executor.stablehlo([flat])
    with pytest.raises(ExecutorError, match="text, bytecode or hlo"):
        executor.stablehlo([x + 1], "svg")
    assert (x.numpy() == SQUARE).all()


def test_a_graph_that_does_not_lower_is_told_and_lost_nothing(executor):
    x = executor.tensor(SQUARE)
    bad = executor.call("failing_compile", x)
    with pytest.raises(ExecutorError) as raised:
        executor.stablehlo([bad])
    assert raised.value.kind == ErrorKind.COMPILE_FAILED
    assert executor.describe(bad).ir


def test_damaged_bytes_never_end_this_process(executor):
    """MLIR's reader dies of some of them: it reads in a process of its own."""
    x = executor.tensor(SQUARE)
    code = executor.stablehlo([x + 1], "bytecode")
    for seed in range(4):
        rng, damaged = random.Random(seed), bytearray(code)
        for _ in range(4):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            module = hlo.read(bytes(damaged))
        except ExecutorError as error:
            assert error.kind == ErrorKind.BAD_ARGUMENT
        else:
            assert module.results


def test_a_reader_that_dies_is_an_error_of_the_bytes(executor, monkeypatch, tmp_path):
    script = tmp_path / "dies.py"
    script.write_text("import os; os.abort()")
    monkeypatch.setattr(hlo.hlo_reader, "__file__", str(script))
    refused(executor, b"unlucky", [executor.tensor(SQUARE)], "MLIR cannot read")
