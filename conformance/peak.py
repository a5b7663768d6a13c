"""Peak memory of a loop of in-place updates, each kind in a process of its own.

python -m markstep.conformance.peak lazy|jit-donate|jit
"""

import resource
import subprocess
import sys
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from markstep.impl.executor import Executor

ELEMENTS: Final = 16 * 2**20
"""64 MiB of float32: large beside everything else in the process."""
STEPS: Final = 8
KINDS: Final = {
    "lazy": "lazy",
    "jit-donate": "jit with donation",
    "jit": "jit without donation",
}


def measured(kind: str) -> float:
    """Run one kind in a fresh interpreter, which prints its peak."""
    command = [sys.executable, "-m", "markstep.conformance.peak", kind]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def peak(kind: str) -> float:
    """Peak memory of this process beyond what one array needs, in arrays."""
    start = np.ones(ELEMENTS, np.float32)
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
    for _ in range(STEPS):
        x += 1.0
        executor.mark_step(wait=True)


def direct_loop(start: np.ndarray[Any, Any], kind: str) -> None:
    """The same with a jitted function."""
    donated = (0,) if kind == "jit-donate" else ()
    update = jax.jit(lambda x: x + 1.0, donate_argnums=donated)
    x = jnp.array(start)
    for _ in range(STEPS):
        x = update(x)
        x.block_until_ready()


if __name__ == "__main__":
    print(peak(sys.argv[1]))
