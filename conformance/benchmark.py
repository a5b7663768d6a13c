"""What the law, the court and the executor cost. A benchmark, not a test: nothing here can fail.

    markstep bench            or            python -m markstep.conformance.benchmark [--json FILE]

Times of the executor are ratios within one run: against the direct call of the same function under
`jax.jit`, and against eager `jax.numpy`. Each time is the best of a few repetitions. Each figure is
printed as soon as it is measured, and says so where it misses what is wanted.
"""

import argparse
import gc
import json
import platform
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from markstep.conformance import peak
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
SIDES = (8, 128)
"""Of the parameters: so small that only calls count, and as in a small network."""
PROGRAMS = 300
REPEATS = 5
ROUNDS = 10
WIDTH = 53
"""Of the names of figures."""

Arrays: TypeAlias = list[jax.Array]


@dataclass(frozen=True, slots=True)
class Row:
    """One measured figure."""

    subject: str
    figure: str
    value: float
    unit: str
    at_least: float | None = None
    at_most: float | None = None

    @property
    def wanted(self) -> str:
        """The bound as it is printed; nothing if any value will do."""
        if self.at_least is not None:
            return f"≥ {self.at_least:g}"
        return "" if self.at_most is None else f"≤ {self.at_most:g}"

    @property
    def missed(self) -> bool:
        """Whether the value is on the wrong side of its bound."""
        too_low = self.at_least is not None and self.value < self.at_least
        return too_low or (self.at_most is not None and self.value > self.at_most)

    def line(self) -> str:
        """The figure as text."""
        text = f"{f'{self.subject}: {self.figure}':<{WIDTH}}  {self.value:>12.4g} {self.unit:<9}"
        return f"{text} {self.wanted:<8}{'missed' * self.missed}".rstrip()

    def plain(self) -> dict[str, Any]:
        """The figure for JSON."""
        return {**asdict(self), "missed": self.missed}


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
        Row("law", "small steps", small / seconds, "per s", at_least=20_000),
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
    return [Row("lockstep with the reference", "actions", rate, "per s", at_least=300)]


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
    wanted = 3 if length == 1_000 else None
    traced, cached = f"chain of {length}: trace", f"chain of {length}: cached step"
    return [
        Row(traced, "time", best(trace) * per_op, "µs/op", at_most=2),
        Row(traced, "memory", traced_bytes(trace) / length, "bytes/op", at_most=500),
        Row(cached, "time", lazy * per_op, "µs/op", at_most=wanted),
        Row(cached, "against jit", lazy / direct, "×"),
        Row(cached, "against eager jax.numpy", lazy / eager, "×"),
    ]


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


def sgd_rows(side: int) -> list[Row]:
    """One step of gradient descent on many parameters, against one jitted call with donation.

    The lazy step is that of PyTorch's SGD for single tensors; in two operations it is what a
    person would write by hand.
    """
    start = [np.full((side, side), i, np.float32) for i in range(PARAMETERS)]
    steps: dict[str, Callable[[], Any]] = {
        "lazy": lazy_sgd(start, scaled=True),
        "by hand": lazy_sgd(start, scaled=False),
        "jit": direct_sgd(start),
    }
    times = dict.fromkeys(steps, float("inf"))
    # in turns: what else the machine does is then the same for all of them
    for _ in range(ROUNDS):
        for name, step in steps.items():
            times[name] = min(times[name], best(step, 20))
    subject = f"SGD on {PARAMETERS} of {side}×{side}"
    return [
        Row(subject, "lazy step", times["lazy"] * 1e6, "µs"),
        Row(subject, "lazy step in two operations", times["by hand"] * 1e6, "µs"),
        Row(subject, "jit with donation", times["jit"] * 1e6, "µs"),
        Row(subject, "ratio", times["lazy"] / times["jit"], "×", at_most=2),
        Row(subject, "ratio in two operations", times["by hand"] / times["jit"], "×"),
    ]


def lazy_sgd(start: Sequence[np.ndarray[Any, Any]], *, scaled: bool) -> Callable[[], list[Tensor]]:
    """A step on an executor of its own: trace, barrier, wait. It gives the parameters."""
    executor = Executor("xla")
    parameters = [executor.tensor(array) for array in start]
    held = [
        (parameter, executor.tensor(array))
        for parameter, array in zip(parameters, start, strict=True)
    ]

    def step() -> list[Tensor]:
        for parameter, gradient in held:
            parameter.sub_(gradient, alpha=0.01)
        executor.mark_step(wait=True)
        return parameters

    def step_by_hand() -> list[Tensor]:
        for parameter, gradient in held:
            parameter -= gradient * 0.01
        executor.mark_step(wait=True)
        return parameters

    return step if scaled else step_by_hand


def direct_sgd(start: Sequence[np.ndarray[Any, Any]]) -> Callable[[], Arrays]:
    """The same step as one call of a jitted function."""

    def update(parameters: Arrays, gradients: Arrays) -> Arrays:
        return [p - g * 0.01 for p, g in zip(parameters, gradients, strict=True)]

    donating = jax.jit(update, donate_argnums=0)
    held: Arrays = [jnp.array(array) for array in start]
    gradients: Arrays = [jnp.array(array) for array in start]

    def step() -> Arrays:
        nonlocal held
        held = donating(held, gradients)
        jax.block_until_ready(held)  # type: ignore[no-untyped-call]
        return held

    return step


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


# ---- peak memory ----------------------------------------------------------------------------


def peak_rows() -> list[Row]:
    """Peak memory of a loop of in-place updates of one large array, in arrays beyond the start."""
    subject = f"in-place loop on {peak.ELEMENTS * 4 >> 20} MiB"
    return [Row(subject, name, peak.measured(kind), "arrays") for kind, name in peak.KINDS.items()]


# ---- all of it ------------------------------------------------------------------------------


def measure() -> Iterator[Row]:
    """Every figure, as it is measured."""
    yield from model_rows()
    yield from lockstep_rows()
    for length in CHAINS:
        yield from chain_rows(length)
    for side in SIDES:
        yield from sgd_rows(side)
    yield from long_chain_rows()
    yield from peak_rows()


def main(arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Measure, print, and give the figures as JSON values."""
    parser = argparse.ArgumentParser(prog="python -m markstep.conformance.benchmark")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args(arguments)
    rows = []
    for row in measure():
        rows.append(row.plain())
        print(row.line(), flush=True)
    system = f"Python {platform.python_version()}, jax {jax.__version__}"
    found = {"platform": system, "rows": rows}
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
