"""A model that is annotated, traced and compiled before any of it is loaded, and what that costs.

    python -m markstep.conformance.benchmarks.sharding [--mib 1024] [--tensors 100] [--json FILE]

Eight virtual devices of the CPU share the memory of the host, so the peak counts both. Each way to
load runs in a process of its own. A step is a pass through all tensors and an update of each.

eager: each tensor is sent when it is annotated, then the step is traced and compiled.
lazy:  all tensors are annotated on the host; the first step sends them.
stub:  tensors without data are annotated; each gets its data after the step is compiled.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import isqrt
from pathlib import Path
from time import perf_counter, process_time
from typing import Final, TypeAlias

import numpy as np

from markstep.impl.aval import HostArray
from markstep.impl.executor import Executor
from markstep.impl.mesh import Mesh
from markstep.impl.tensors import Tensor
from markstep.spec import pieces as law

DEVICES: Final = 8
MESH: Final = Mesh(range(DEVICES), (4, 2), ("data", "model"))
PARTITION: Final = ("data", "model")
BATCH: Final = 8
LATER_STEPS: Final = 8
SENT: Final = "OutboundData"
Loader: TypeAlias = Callable[["Model"], None]


@dataclass(frozen=True)
class Figures:
    """What one way costs. Times in seconds; memory in bytes beyond what the process began with.

    ``before``: bytes sent until the step is compiled; ``total``: until the first step is done;
    ``pieces``: those of all pieces, by the law's arithmetic. ``ready``: until the step is compiled;
    ``first``: until the first step is done; ``later``: the fastest of some later ones, and what
    that takes in processor time.
    """

    way: str
    pieces: int
    before: int
    total: int
    peak: int
    ready: float
    first: float
    later: float
    processor: float
    compiled: int
    value: float


class Model:
    """Weights and the step over them."""

    def __init__(self, tensors: int, side: int) -> None:
        self.executor = Executor("xla", devices=DEVICES, inline_scalars="all")
        self.executor.use_spmd()
        self.tensors, self.side = tensors, side
        self.weights: list[Tensor] = []

    def data(self, number: int) -> HostArray:
        """The data of one tensor, as a checkpoint would give it."""
        return np.full((self.side, self.side), 1 / (self.side + number), np.float32)

    def traced(self) -> Tensor:
        """One step: a chain of matrix products, and an update of each factor."""
        executor = self.executor
        hidden = executor.full((BATCH, self.side), 1.0)
        for weight in self.weights:
            hidden = hidden @ weight
        total = hidden.sum()
        scale = total.maximum(1.0).minimum(1.0)  # as a gradient would: known only after the pass
        for weight in self.weights:
            weight *= scale
        return total


def load_eager(model: Model) -> None:
    """Each tensor is sent when it is annotated."""
    model.weights = [marked(model, model.data(n), lazy=False) for n in range(model.tensors)]


def annotate_lazily(model: Model) -> None:
    """Each tensor stays on the host."""
    model.weights = [marked(model, model.data(n), lazy=True) for n in range(model.tensors)]


def annotate_stubs(model: Model) -> None:
    """There are no data."""
    executor, shape = model.executor, (model.side, model.side)
    stubs = [executor.placeholder(shape) for _ in range(model.tensors)]
    model.weights = [executor.mark_sharding(stub, MESH, PARTITION) for stub in stubs]


def load_stubs(model: Model) -> None:
    """Each gets its data: the step is traced anew, and is the program that is compiled already."""
    annotate_stubs(model)
    for number, weight in enumerate(model.weights):
        model.executor.bind_data(weight, model.data(number))


def marked(model: Model, data: HostArray, lazy: bool) -> Tensor:
    """Host data with the annotation that all have."""
    executor = model.executor
    return executor.mark_sharding(executor.tensor(data, upload=False), MESH, PARTITION, lazy=lazy)


WAYS: Final[dict[str, tuple[Loader, Loader | None]]] = {
    "eager": (load_eager, None),
    "lazy": (annotate_lazily, None),
    "stub": (annotate_stubs, load_stubs),
}
"""How to annotate, and how to load once the step is compiled, if the step does not do it."""


def measure(way: str, tensors: int, side: int) -> Figures:
    """One way, in this process."""
    warm_jax()
    annotate, load = WAYS[way]
    at_start, began = peak(), perf_counter()
    model = Model(tensors, side)
    executor = model.executor
    annotate(model)
    total = model.traced()
    executor.warm_up([total, *model.weights], sync=True)
    ready, before = perf_counter() - began, executor.counters[SENT]
    if load is not None:
        load(model)
        total = model.traced()
    executor.mark_step(wait=True)
    value = total.item()
    first, reached, sent = perf_counter() - began, peak() - at_start, executor.counters[SENT]
    times = [step_time(model) for _ in range(LATER_STEPS)]
    later, processor = (min(column) for column in zip(*times, strict=True))
    placed = law.placement(law.Mesh(MESH.shape, MESH.devices), (0, 1))
    pieces = tensors * law.bytes_sent((side, side), placed, 4)
    missed = executor.counters["UncachedCompile"]
    return Figures(
        way, pieces, before, sent, reached, ready, first, later, processor, missed, value
    )


def warm_jax() -> None:
    """What starting JAX and compiling anything takes is no part of the figures."""
    small = Model(1, DEVICES)
    load_eager(small)
    total = small.traced()
    small.executor.mark_step(wait=True)
    total.item()


def step_time(model: Model) -> tuple[float, float]:
    """Seconds of one more step, and of the processors in it."""
    began, used = perf_counter(), process_time()
    total = model.traced()
    model.executor.mark_step(wait=True)
    total.item()
    return perf_counter() - began, process_time() - used


def peak() -> int:
    """The most memory that this process has held, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def in_a_process(way: str, tensors: int, side: int) -> Figures:
    """The figures of a fresh interpreter, which prints them."""
    command = [sys.executable, "-m", __spec__.name, "--way", way]
    command += ["--tensors", str(tensors), "--side", str(side)]
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={DEVICES}"
    environment = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()[-300:]}")
    return Figures(**json.loads(done.stdout))


def shown(figures: Figures, eager: Figures) -> str:
    """One line of the table; memory and times also against eager loading."""
    return (
        f"{figures.way:<6} {figures.before:>14} {figures.total / figures.pieces:>8.3f}"
        f" {figures.peak / figures.pieces:>7.2f} {figures.peak / eager.peak:>7.2f}"
        f" {figures.ready:>8.2f} {figures.first:>8.2f} {figures.first / eager.first:>7.2f}"
        f" {figures.later:>8.3f} {figures.later / eager.later:>7.2f}"
        f" {figures.processor:>8.3f} {figures.processor / eager.processor:>7.2f}"
        f" {figures.compiled:>8}"
    )


TITLES: Final = (
    f"{'way':<6} {'bytes before':>14} {'sent':>8} {'peak':>7} {'ratio':>7} {'ready s':>8}"
    f" {'first s':>8} {'ratio':>7} {'step s':>8} {'ratio':>7}"
    f" {'cpu s':>8} {'ratio':>7} {'programs':>8}"
)


def main() -> None:
    """Print a line for each way as soon as it is known."""
    parser = argparse.ArgumentParser(prog="python -m markstep.conformance.benchmarks.sharding")
    parser.add_argument("--mib", type=int, default=1024, help="size of the model")
    parser.add_argument("--tensors", type=int, default=100)
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--side", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.mib < 1 or given.tensors < 1:
        parser.error("--mib and --tensors are at least 1")
    side = given.side or isqrt(given.mib * 2**20 // (4 * given.tensors)) // DEVICES * DEVICES
    if side < DEVICES:
        parser.error(f"{given.tensors} tensors of {given.mib} MiB together are too small")
    if given.way:
        print(json.dumps(asdict(measure(given.way, given.tensors, side))))
        return
    print(f"{given.tensors} tensors of {side} x {side}; peak and sent in sizes of the model")
    print(TITLES, flush=True)
    rows: list[Figures] = []
    for way in WAYS:
        rows.append(in_a_process(way, given.tensors, side))
        print(shown(rows[-1], rows[0]), flush=True)
    if given.json:
        given.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    if len({row.value for row in rows}) > 1:
        sys.exit(f"the ways disagree on the value: {[row.value for row in rows]}")


if __name__ == "__main__":
    main()
