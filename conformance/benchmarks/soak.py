"""A soak: very many random steps on one executor, which must end as light as it was at first.

    python -m markstep.conformance.benchmarks.soak [--steps 1000000] [--seed 0]

Programs of the generator run one after the other on the same executor; between two of them every
tensor is dropped. What is left then may not grow: records, device buffers, memory of the process.
Programs are interpreted, because compiling so many would measure XLA.
"""

import argparse
import gc
import sys
from dataclasses import dataclass
from itertools import cycle
from time import perf_counter

from markstep.conformance.adapters.reference import ReferenceAdapter
from markstep.conformance.programs.generate import decode
from markstep.conformance.programs.source import program_bytes
from markstep.impl.executor import Executor
from markstep.impl.lower import CompileMode
from markstep.spec.vocabulary import AllowExecution, SetDonorConfig

CACHE = 64
"""Programs that are kept: few, so that the cache is full soon and its size is not what grows."""
PROGRAMS = 300
"""So many different ones, again and again: to make one costs more than to run it."""
FIRST = 1_000
SETTLED = 20_000
"""Steps after which the caches of ops and shapes are full, and memory is compared from."""
KEEPERS = frozenset({"scalar cache", "seed of this step"})
"""What holds buffers for later graphs, and never more than a few."""
SLACK = 1.05
"""How much more memory the end may show: what an allocator does not give back at once."""


class Soaked(ReferenceAdapter):
    """The reference executor, which a reset does not replace."""

    def __init__(self) -> None:
        super().__init__("interpret")

    def _new_executor(self, mode: CompileMode) -> Executor:
        return Executor(mode, manual=True, cache_size=CACHE)

    def drop_all(self) -> None:
        """The end of a program: what runs ends, switches go back, every tensor is dropped."""
        if self._executor.running:
            self._executor.complete()
        self.apply(AllowExecution(True))
        self.apply(SetDonorConfig(False))
        self._tensors.clear()
        self._results.clear()


@dataclass(frozen=True, slots=True)
class Weight:
    """What is left between two programs after so many steps, but for what is kept for later graphs.
    ``memory`` in bytes."""

    steps: int
    records: int
    buffers: int
    programs: int
    memory: int

    def line(self) -> str:
        """The figures as text."""
        return (
            f"after {self.steps:>9} steps: {self.records} records, {self.buffers} device buffers, "
            f"{self.programs} programs, {self.memory / 2**20:.1f} MiB"
        )


def weigh(adapter: Soaked, steps: int) -> Weight:
    """What there is now."""
    gc.collect()
    executor = adapter._executor
    counters = executor.counters
    records = counters["CreateXlaTensor"] - counters["DestroyXlaTensor"]
    kept = [live for live in executor.live_buffers() if not KEEPERS.issuperset(live.holders)]
    return Weight(steps, records, len(kept), executor.cached_programs, resident())


def resident() -> int:
    """Bytes of this process that are in memory (Linux); elsewhere the most there ever were."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def soak(steps: int, seed: int = 0) -> list[Weight]:
    """The weights after the first steps, after the caches are full, and at the end."""
    programs = cycle([decode(program_bytes(seed, number)) for number in range(PROGRAMS)])
    adapter, done = Soaked(), 0
    weights: list[Weight] = []
    marks = sorted({min(mark, steps) for mark in (FIRST, SETTLED, steps)})
    while marks:
        program = next(programs)
        for action in program:
            adapter.apply(action)
        adapter.drop_all()
        done += len(program)
        if done >= marks[0]:
            marks = [mark for mark in marks if mark > done]
            weights.append(weigh(adapter, done))
    return weights


def grown(weights: list[Weight]) -> list[str]:
    """What the end has more of than the beginning, in words."""
    settled, last = weights[min(1, len(weights) - 1)], weights[-1]
    found = []
    if last.records:
        found.append(f"{last.records} records live, and no tensor")
    if last.buffers:
        found.append(f"{last.buffers} device buffers live, and no tensor")
    if last.memory > settled.memory * SLACK:
        found.append(f"{last.memory - settled.memory} bytes more than after {settled.steps} steps")
    return found


def main() -> int:
    """Soak, print the weights; 1 if something has grown."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.steps < 1:
        parser.error("--steps: at least 1")
    begin = perf_counter()
    weights = soak(given.steps, given.seed)
    for weight in weights:
        print(weight.line())
    found = grown(weights)
    print(f"{weights[-1].steps / (perf_counter() - begin):.0f} steps/s")
    print("\n".join(f"grown: {text}" for text in found) or "nothing has grown")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
