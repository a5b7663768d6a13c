"""States per second and bytes per state: the plain rules, the generated step, and Spin.

    python -m markstep.conformance.benchmarks.explorer [--records 2] [--buffers 3] [--families core]

All search one model in one run and must find the same number of states. Times are of the search
alone; what making and compiling the code takes is printed beside them. Processor time is the
measure where other work shares the machine. Without a C compiler or Spin their rows are left out.
"""

import argparse
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, process_time

from markstep.conformance.benchmarks.promela import texts
from markstep.spec.compiled.engines import MAKERS, Engine
from markstep.spec.compiled.exploring import LevelSearch, go_on
from markstep.spec.compiled.judge import Judge
from markstep.spec.compiled.levels import Stepper, Steps
from markstep.spec.compiled.on_c import NoCompiler, compiler
from markstep.spec.compiled.program import Program
from markstep.spec.compiled.steps_c import CStepper
from markstep.spec.design import SOUND
from markstep.spec.search.alphabet import Bound
from markstep.spec.search.explore import explore

SPIN_FLAGS = ("-O2", "-march=native", "-w", "-DSAFETY", "-DNOREDUCE", "-DNOBOUNDCHECK", "-DNOFAIR")
SPIN_WAYS = {
    "Spin, breadth first": (("-DBFS",), ("-E", "-w24")),
    "Spin, depth first": ((), ("-E", "-m10000000", "-w24")),
}
INIT = 1
"""Spin also counts the state before the model has set its first state."""


@dataclass(frozen=True)
class Line:
    """One engine's result."""

    engine: str
    states: int
    wall: float
    processor: float
    bytes: float
    making: float = 0.0
    """Seconds to make the code and compile it, in wall time."""


def plain(bound: Bound) -> Line:
    """The rules themselves, in one process."""
    started, used = monotonic(), process_time()
    result = explore(SOUND, bound)
    wall, processor = monotonic() - started, process_time() - used
    return Line("rules", result.states, wall, processor, 0)


def generated(name: str, program: Program, make: Callable[[Program], Steps]) -> Line:
    """The generated step: once to make the code, once to measure."""
    started = monotonic()
    stepper = make(program)
    go_on(LevelSearch(program, stepper, Judge(program, ())))
    making = monotonic() - started
    search = LevelSearch(program, stepper, Judge(program, ()))
    started, used = monotonic(), process_time()
    go_on(search)
    wall, processor = monotonic() - started, process_time() - used
    states = search.result.states
    return Line(name, states, wall, processor, search.bytes / states, making - wall)


def spin(program: Program) -> Iterator[Line]:
    """The same model in Spin."""
    with TemporaryDirectory(prefix="markstep-spin-") as folder:
        for name, text in texts(program).items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        run(["spin", "-a", "model.pml"], folder)
        for name, (flags, options) in SPIN_WAYS.items():
            started = monotonic()
            run([compiler(), *SPIN_FLAGS, *flags, "-o", "pan", "pan.c"], folder)
            making = monotonic() - started
            started, used = monotonic(), children()
            text = run(["./pan", *options], folder)
            wall, processor = monotonic() - started, children() - used
            states = int(seen(r"(\d+) states, stored", text))
            memory = float(seen(r"([\d.]+)\s+equivalent memory usage", text)) * 2**20
            bytes_ = memory / states
            yield Line(name, states - INIT, wall, processor, bytes_, making)


def run(command: list[str], folder: str) -> str:
    """The output of a command that must succeed."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {(done.stdout + done.stderr)[:300]}")
    return done.stdout


def seen(pattern: str, text: str) -> str:
    """What Spin says in a line."""
    match = re.search(pattern, text)
    if match is None:
        raise RuntimeError(f"Spin did not say {pattern!r}")
    return match[1]


def children() -> float:
    """Processor time of finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(bound: Bound, with_rules: bool, with_jax: bool) -> Iterator[Line]:
    """Every engine that is here."""
    program = Program(SOUND, bound)
    yield generated("numpy", program, Stepper)
    if with_jax:
        yield generated("JAX", program, MAKERS[Engine.JAX])
    try:
        compiler()
    except NoCompiler as error:
        print(error, file=sys.stderr)
    else:
        yield generated("C", program, CStepper)
        yield generated("C, 2 threads", program, lambda p: CStepper(p, threads=2))
        if shutil.which("spin"):
            yield from spin(program)
    if with_rules:
        yield plain(bound)


def main() -> None:
    """Print one line for each engine as soon as it is known."""
    parser = argparse.ArgumentParser(prog="python -m markstep.conformance.benchmarks.explorer")
    parser.add_argument("--records", type=int, default=2)
    parser.add_argument("--buffers", type=int, default=3)
    parser.add_argument("--families", nargs="+", default=["core"])
    parser.add_argument("--rules", action="store_true", help="also the plain rules: slow")
    parser.add_argument("--jax", action="store_true", help="also JAX: compiles for minutes")
    given = parser.parse_args()
    bound = Bound(given.records, given.buffers, families=tuple(given.families))
    titles = (
        "engine",
        "states",
        "wall s",
        "cpu s",
        "states/s",
        "states/cpu s",
        "B/state",
        "made s",
    )
    print("{:<20} {:>9} {:>8} {:>8} {:>10} {:>12} {:>8} {:>7}".format(*titles), flush=True)
    counts = set()
    for line in measure(bound, given.rules, given.jax):
        counts.add(line.states)
        print(
            f"{line.engine:<20} {line.states:>9} {line.wall:>8.2f} {line.processor:>8.2f}"
            f" {line.states / line.wall:>10.0f} {line.states / line.processor:>12.0f}"
            f" {line.bytes:>8.1f} {line.making:>7.1f}",
            flush=True,
        )
    if len(counts) != 1:
        sys.exit(f"the engines disagree on the number of states: {sorted(counts)}")


if __name__ == "__main__":
    main()
