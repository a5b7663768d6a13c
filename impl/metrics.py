"""Metrics: samples of times, bytes and sizes, and the report that torch_xla's users know.

A report gives, for each metric, how many samples there were, their sum, their rate over the latest
ones and their percentiles, and then every counter that has moved.

Source: torch_xla/csrc/runtime/metrics.cc (CreateMetricReport, MetricFnTime, MetricFnBytes);
semantics.md §1.12.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Final

SAMPLES_KEPT: Final = 1024
PERCENTILES: Final = (0.01, 0.05, 0.1, 0.2, 0.5, 0.8, 0.9, 0.95, 0.99)
TIME_PARTS: Final = (("d", 86400e9, 2), ("h", 3600e9, 2), ("m", 60e9, 2), ("s", 1e9, 2))
MILLISECOND, MICROSECOND = 1e6, 1e3
BYTE_PARTS: Final = (("TB", 2**40), ("GB", 2**30), ("MB", 2**20), ("KB", 2**10))

TIMES: Final = (
    "CompileTime",
    "EagerOpCompileTime",
    "EagerOpExecuteTime",
    "ExecuteReplicatedTime",
    "ExecuteTime",
    "TransferFromDeviceTime",
    "TransferToDeviceTime",
)
BYTES: Final = ("InboundData", "OutboundData")
VALUES: Final = ("InputOutputAliasCount", "TensorsGraphSize")


def show_time(nanoseconds: float) -> str:
    """As ``1h02m05s003ms000.250us``, from the first part that is not zero."""
    text = ""
    parts = (*TIME_PARTS, ("ms", MILLISECOND, 3))
    for suffix, size, width in parts:
        whole = int(nanoseconds // size)
        if whole or text:
            text += f"{whole:0{width}d}{suffix}"
            nanoseconds -= whole * size
    return f"{text}{nanoseconds / MICROSECOND:07.3f}us"


def show_bytes(size: float) -> str:
    """As ``1.50KB``."""
    for suffix, unit in BYTE_PARTS:
        if size >= unit:
            return f"{size / unit:.2f}{suffix}"
    return f"{size:.2f}B"


def show_value(value: float) -> str:
    """With two digits."""
    return f"{value:.2f}"


class Metric:
    """Samples of one quantity: all are counted and added up, the latest are kept."""

    __slots__ = ("count", "samples", "show", "total")

    def __init__(self, show: Callable[[float], str]) -> None:
        self.show = show
        self.count, self.total = 0, 0.0
        self.samples: deque[tuple[int, float]] = deque(maxlen=SAMPLES_KEPT)

    def add(self, value: float) -> None:
        """One sample."""
        self.count += 1
        self.total += value
        self.samples.append((time.perf_counter_ns(), value))

    def lines(self, name: str) -> Iterator[str]:
        """The part of a report about this metric."""
        samples = list(self.samples)
        yield f"Metric: {name}"
        yield f"  TotalSamples: {self.count}"
        yield f"  Accumulator: {self.show(self.total)}"
        seconds = (samples[-1][0] - samples[0][0]) / 1e9
        values = sorted(value for _, value in samples)
        if seconds > 0:
            yield f"  ValueRate: {self.show(sum(values) / seconds)} / second"
            yield f"  Rate: {len(values) / seconds:g} / second"
        shown = [f"{p * 100:g}%={self.show(values[int(p * len(values))])}" for p in PERCENTILES]
        yield f"  Percentiles: {'; '.join(shown)}"


class Timed:
    """A block whose time is one sample. Written out, because it is part of every step."""

    __slots__ = ("begin", "metric")

    def __init__(self, metric: Metric) -> None:
        self.metric = metric

    def __enter__(self) -> None:
        self.begin = time.perf_counter_ns()

    def __exit__(self, *_: object) -> None:
        metric, now = self.metric, time.perf_counter_ns()
        metric.count += 1
        metric.total += now - self.begin
        metric.samples.append((now, now - self.begin))


class Metrics:
    """The metrics of one device, by torch_xla's names.

    No metric but those of ``fetched`` is sampled by two threads at once: the lock of the device is
    held, or the device itself.
    """

    def __init__(self) -> None:
        self.by_name: dict[str, Metric] = {name: Metric(show_time) for name in TIMES}
        self.by_name |= {name: Metric(show_bytes) for name in BYTES}
        self.by_name |= {name: Metric(show_value) for name in VALUES}
        self._fetching = threading.Lock()

    def add(self, name: str, value: float) -> None:
        """One sample of a metric."""
        self.by_name[name].add(value)

    def fetched(self, size: int, nanoseconds: int) -> None:
        """Samples of one transfer from the device."""
        with self._fetching:
            self.by_name["TransferFromDeviceTime"].add(nanoseconds)
            self.by_name["InboundData"].add(size)

    def timed(self, name: str) -> "Timed":
        """Samples how long its block takes, whether it succeeds or not."""
        return Timed(self.by_name[name])

    def counts(self) -> dict[str, int]:
        """How many samples each timer has."""
        return {name: self.by_name[name].count for name in TIMES}

    def report(self, counters: Mapping[str, int]) -> str:
        """Everything that has moved, in the form of ``torch_xla.debug.metrics.metrics_report``."""
        lines: list[str] = []
        for name, metric in sorted(self.by_name.items()):
            if metric.count:
                lines += metric.lines(name)
        for name, value in sorted(counters.items()):
            if value and name.partition(".")[0] not in self.by_name:
                lines += [f"Counter: {name}", f"  Value: {value}"]
        return "\n".join(lines) + "\n" if lines else ""
