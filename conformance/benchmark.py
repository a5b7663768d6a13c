"""What the law, the court and the executor cost. A benchmark, not a test: nothing here can fail.

    markstep bench            or            python -m markstep.conformance.benchmark [--json FILE]

Times of the executor are ratios within one run: against the direct call of the same function under
`jax.jit`, and against eager `jax.numpy`. Each time is the best of a few repetitions.
"""

import argparse
import gc
import json
import platform
import resource
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from markstep.conformance.check import check
from markstep.conformance.programs.generate import decode
from markstep.conformance.programs.source import program_bytes
from markstep.impl.executor import Executor
from markstep.impl.tensors import Tensor
from markstep.spec.design import SOUND
from markstep.spec.schedule import initial_state, perform
from markstep.spec.vocabulary import Action

CHAINS = (10, 100, 1_000, 10_000)
LONG_CHAIN = 300_000
PIECE = 1_000
PARAMETERS = 100
PROGRAMS = 300
PEAK_ELEMENTS = 16 * 2**20
"""64 MiB of float32: large beside everything else in the process."""
PEAK_STEPS = 8
REPEATS = 5

Arrays: TypeAlias = list[jax.Array]


@dataclass(frozen=True, slots=True)
class Row:
    """One measured figure."""

    subject: str
    figure: str
    value: float
    unit: str
    wanted: str = ""


def best(work: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Seconds of the fastest of a few runs."""
    times = []
    for _ in range(repeats):
        begin = perf_counter()
        work()
        times.append(perf_counter() - begin)
    return min(times)


# ---- the law and the court ------------------------------------------------------------------


def model_rows() -> list[Row]:
    """How fast the law runs by itself, without an executor and without claims."""
    programs = [decode(program_bytes(0, number)) for number in range(PROGRAMS)]
    small = 0

    def count(before: object, action: object, after: object) -> None:
        nonlocal small
        small += 1

    for program in programs:
        run_model(program, count)
    seconds = best(lambda: run_models(programs))
    actions = sum(map(len, programs))
    return [
        Row("law", "small steps", small / seconds, "per s", "≥ 20000"),
        Row("law", "actions of programs", actions / seconds, "per s"),
    ]


def run_models(programs: Sequence[Sequence[Action]]) -> None:
    """Every program on a fresh state."""
    for program in programs:
        run_model(program)


def run_model(program: Sequence[Action], observer: Callable[..., None] | None = None) -> None:
    """One program on a fresh state."""
    state = initial_state()
    for action in program:
        state = perform(state, action, SOUND, observer) or state


def lockstep_rows() -> list[Row]:
    """How fast law, claims and executor run in lockstep, as in `markstep run`."""
    report = check("reference", profile="small", seed=0)
    rate = report.steps / report.duration_s
    return [Row("lockstep with the reference", "actions", rate, "per s", "≥ 300")]


# ---- the executor ---------------------------------------------------------------------------


def chain_rows(length: int) -> list[Row]:
    """A chain of additions on four numbers: tracing, memory, and a step whose program is cached."""
    executor = Executor("xla")
    x = executor.tensor(np.ones(4, np.float32))
    x.numpy()

    def trace() -> Tensor:
        y = x
        for _ in range(length):
            y = y + x
        return y

    def step() -> None:
        trace().numpy()

    step()
    direct, eager = chain_directly(length)
    lazy, per_op = best(step), 1e6 / length
    rows = [
        Row("trace", "time", best(trace) * per_op, "µs/op", "≤ 2"),
        Row("trace", "memory", traced_bytes(trace) / length, "bytes/op", "≤ 500"),
        Row("cached step", "time", lazy * per_op, "µs/op", "≤ 3" if length == 1_000 else ""),
        Row("cached step", "against jit", lazy / direct, "×"),
        Row("cached step", "against eager jax.numpy", lazy / eager, "×"),
    ]
    return [Row(f"chain of {length}: {r.subject}", *list(asdict(r).values())[1:]) for r in rows]


def chain_directly(length: int) -> tuple[float, float]:
    """(seconds of the same chain as one jitted call, of the same chain in eager jax.numpy)."""
    x = jnp.ones(4, jnp.float32)

    def chain(x: jax.Array) -> jax.Array:
        y = x
        for _ in range(length):
            y = jnp.add(y, x)
        return y

    jitted = jax.jit(chain)
    np.asarray(jitted(x))
    return best(lambda: np.asarray(jitted(x))), best(lambda: np.asarray(chain(x)), 3)


def traced_bytes(trace: Callable[[], Tensor]) -> int:
    """Bytes that a traced and unfinished chain occupies."""
    gc.collect()  # also empties the free lists, whose memory would not be counted
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = trace()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del kept
    return after - before


def sgd_rows() -> list[Row]:
    """One step of gradient descent on many parameters, against one jitted call with donation."""
    start = [np.full((8, 8), i, np.float32) for i in range(PARAMETERS)]
    executor = Executor("xla")
    lazy = [(executor.tensor(array), executor.tensor(array)) for array in start]

    def step() -> None:
        for parameter, gradient in lazy:
            parameter -= gradient * 0.01
        executor.mark_step(wait=True)

    def update(parameters: Arrays, gradients: Arrays) -> Arrays:
        return [p - g * 0.01 for p, g in zip(parameters, gradients, strict=True)]

    donating = jax.jit(update, donate_argnums=0)
    held, gradients = ([jnp.array(array) for array in start] for _ in range(2))

    def direct() -> None:
        nonlocal held
        held = donating(held, gradients)
        for array in held:
            array.block_until_ready()

    for _ in range(3):
        step()
        direct()
    ours, theirs = best(step, 20), best(direct, 20)
    subject = f"SGD on {PARAMETERS} parameters"
    return [
        Row(subject, "lazy step", ours * 1e6, "µs"),
        Row(subject, "jit with donation", theirs * 1e6, "µs"),
        Row(subject, "ratio", ours / theirs, "×", "≤ 2"),
    ]


def long_chain_rows() -> list[Row]:
    """A very long chain: synced in pieces, and dropped untouched."""
    executor = Executor("xla")
    x = executor.tensor(np.zeros(4, np.float32))

    def in_pieces() -> None:
        nonlocal x
        y = x
        for i in range(LONG_CHAIN):
            y = y + 1.0
            if i % PIECE == PIECE - 1:
                executor.sync([y])

    def dropped() -> None:
        y = x
        for _ in range(LONG_CHAIN):
            y = y + 1.0

    return [
        Row(f"chain of {LONG_CHAIN}", "synced in pieces", best(in_pieces, 1), "s"),
        Row(f"chain of {LONG_CHAIN}", "traced and dropped", best(dropped, 1), "s"),
    ]


# ---- peak memory, each kind in a process of its own -----------------------------------------


def peak_rows() -> list[Row]:
    """Peak memory of a loop of in-place updates of one large array, in arrays beyond the start."""
    peaks = {kind: measured_peak(kind) for kind in ("lazy", "jit-donate", "jit")}
    subject = f"in-place loop on {PEAK_ELEMENTS * 4 >> 20} MiB"
    names = {"lazy": "lazy", "jit-donate": "jit with donation", "jit": "jit without donation"}
    return [Row(subject, names[kind], peak, "arrays") for kind, peak in peaks.items()]


def measured_peak(kind: str) -> float:
    """Run one kind in a fresh interpreter, which prints its peak."""
    command = [sys.executable, "-m", "markstep.conformance.benchmark", "--peak", kind]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def peak(kind: str) -> float:
    """Peak memory of this process beyond what one array needs, in arrays."""
    start = np.ones(PEAK_ELEMENTS, np.float32)
    work = lazy_loop if kind == "lazy" else direct_loop
    small = start[:1024].copy()
    work(small, kind)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    work(start, kind)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 1 if sys.platform == "darwin" else 1024
    return (after - before) * unit / start.nbytes


def lazy_loop(start: np.ndarray[Any, Any], kind: str) -> None:
    """x += 1 and a barrier, again and again."""
    executor = Executor("xla")
    x = executor.tensor(start)
    for _ in range(PEAK_STEPS):
        x += 1.0
        executor.mark_step(wait=True)


def direct_loop(start: np.ndarray[Any, Any], kind: str) -> None:
    """The same with a jitted function."""
    donated = (0,) if kind == "jit-donate" else ()
    update = jax.jit(lambda x: x + 1.0, donate_argnums=donated)
    x = jnp.array(start)
    for _ in range(PEAK_STEPS):
        x = update(x)
        x.block_until_ready()


# ---- all of it ------------------------------------------------------------------------------


def measure() -> list[Row]:
    """Every figure, in the order in which it is printed."""
    rows = model_rows() + lockstep_rows()
    for length in CHAINS:
        rows += chain_rows(length)
    return rows + sgd_rows() + long_chain_rows() + peak_rows()


def table(rows: Sequence[Row]) -> str:
    """The figures as text."""
    lines = [f"{r.subject}: {r.figure}" for r in rows]
    width = max(map(len, lines))
    return "\n".join(
        f"{line:<{width}}  {r.value:>12.4g} {r.unit:<9} {r.wanted}".rstrip()
        for line, r in zip(lines, rows, strict=True)
    )


def main(arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Measure, print, and give the figures as JSON values."""
    parser = argparse.ArgumentParser(prog="python -m markstep.conformance.benchmark")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--peak", choices=("lazy", "jit-donate", "jit"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.peak:
        print(peak(options.peak))
        return {}
    rows = measure()
    print(table(rows))
    found = {
        "platform": f"Python {platform.python_version()}, jax {jax.__version__}",
        "rows": [asdict(row) for row in rows],
    }
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
