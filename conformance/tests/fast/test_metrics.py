"""The report of metrics has the form of torch_xla's, and counts what the law counts."""

import re

import pytest

from markstep.conformance.adapters.reference import ReferenceAdapter
from markstep.conformance.lockstep.session import run_program
from markstep.conformance.lockstep.views import COMPARED_COUNTERS
from markstep.conformance.verdict import Verdict
from markstep.impl import Executor, ExecutorError
from markstep.impl.metrics import SAMPLES_KEPT, TIMES, Metrics, show_bytes, show_time, show_value
from markstep.spec.design import SOUND
from markstep.spec.vocabulary import (
    Apply,
    AssignInPlace,
    CreateFromHost,
    ReadOne,
    SetEager,
    TensorName,
    WaitDevice,
)

METRIC = re.compile(
    r"Metric: \w+\n  TotalSamples: \d+\n  Accumulator: [\w.]+\n"
    r"(  ValueRate: [\w.]+ / second\n  Rate: [\d.e+]+ / second\n)?"
    r"  Percentiles: 1%=[\w.]+; 5%=[\w.]+; 10%=[\w.]+; 20%=[\w.]+; 50%=[\w.]+; 80%=[\w.]+; "
    r"90%=[\w.]+; 95%=[\w.]+; 99%=[\w.]+\n"
)
COUNTER = re.compile(r"Counter: \w+\n  Value: \d+\n")


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (411, "000.411us"),
        (115_706, "115.706us"),
        (3_318_193, "003ms318.193us"),
        (15_736_003_811, "15s736ms003.811us"),
        (369_401_746_001, "06m09s401ms746.001us"),
        (90_061_000_000_000, "01d01h01m01s000ms000.000us"),
    ],
)
def test_times_are_written_as_torch_xla_writes_them(nanoseconds: int, text: str) -> None:
    assert show_time(nanoseconds) == text


def test_bytes_and_values_too() -> None:
    assert [show_bytes(size) for size in (4, 116797, 3 * 2**30)] == ["4.00B", "114.06KB", "3.00GB"]
    assert show_value(12) == "12.00"


def test_percentiles_are_samples_in_order() -> None:
    metrics = Metrics()
    for value in (64, 4):
        metrics.add("OutboundData", value)
    assert "20%=4.00B; 50%=64.00B" in metrics.report({})


def test_all_samples_count_and_the_latest_are_kept() -> None:
    metrics = Metrics()
    for value in range(SAMPLES_KEPT + 10):
        metrics.add("TensorsGraphSize", value)
    assert metrics.by_name["TensorsGraphSize"].count == SAMPLES_KEPT + 10
    assert "1%=20.00" in metrics.report({})


def test_the_report_has_the_form_of_torch_xla() -> None:
    ex = Executor()
    assert ex.metrics_report() == ""
    x = ex.tensor([1.0, 2.0])
    for _ in range(2):
        x += 2
        ex.mark_step(wait=True)
    x.numpy()
    report = ex.metrics_report()
    assert re.fullmatch(f"({METRIC.pattern})+({COUNTER.pattern})+", report)
    names = re.findall(r"(?:Metric|Counter): (\w+)", report)
    assert {"CompileTime", "ExecuteTime", "InboundData", "OutboundData", "MarkStep"} <= set(names)
    assert len(names) == len(set(names))


def test_failures_are_sampled_too() -> None:
    ex = Executor("interpret")
    for faulty, timer in (("failing_compile", "CompileTime"), ("failing_execute", "ExecuteTime")):
        with pytest.raises(ExecutorError):
            ex.call(faulty, ex.tensor([1.0])).numpy()
        assert ex.counters[timer] == 1


def test_the_samples_of_timers_are_compared_with_the_law() -> None:
    assert {"CompileTime", "ExecuteTime"} <= COMPARED_COUNTERS.keys() & {*TIMES}
    t, u = TensorName(0), TensorName(1)
    program = [CreateFromHost(t, (1, 2), (2,)), Apply(u, "neg", (t,)), ReadOne(u), SetEager()]
    program += [AssignInPlace(t, "neg"), WaitDevice(), ReadOne(t)]
    assert run_program(program, ReferenceAdapter(), SOUND).verdict == Verdict.CONFORMS
    assert run_program(program, Forgetful(), SOUND).verdict == Verdict.VIOLATES


class Forgetful(ReferenceAdapter):
    """An executor whose timer of eager mode stands still."""

    def observe(self):
        view = super().observe()
        view.counters["EagerOpExecuteTime"] = 0
        return view
