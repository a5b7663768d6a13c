"""One step against its size, on every executor that is installed, measured in one run.

A step is a chain of additions on four numbers that is recorded, evaluated and read; what can be
compiled is compiled, and what can be cached is in the cache. The executors take turns, so that
what else the machine does is the same for all of them.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias, TypeVar

from markstep.conformance.benchmark import best
from markstep.conformance.benchmarks.series import Series

SIZES = (1, 3, 10, 30, 100, 300, 1_000)
ROUNDS = 3
REPEATS = 5
TOO_LONG_S = 1.0
"""An executor whose step takes longer is not asked for larger ones."""

Step: TypeAlias = Callable[[], Any]
Tell: TypeAlias = Callable[[str], object]
T = TypeVar("T")


def reference(size: int) -> Step:
    """The lazy executor of this project."""
    from markstep.impl.executor import Executor

    x = Executor("xla").tensor(ones())

    def step() -> Any:
        y = x
        for _ in range(size):
            y = y + x
        return y.numpy()

    return step


def jitted(size: int) -> Step:
    """The chain as one function that JAX has compiled: there is nothing to record."""
    import jax
    import numpy as np

    x, call = jax.numpy.ones(4), jax.jit(lambda x: chain(x, size))
    return lambda: np.asarray(call(x))


def eager(size: int) -> Step:
    """Every addition at once, by JAX."""
    import jax
    import numpy as np

    x = jax.numpy.ones(4)
    return lambda: np.asarray(chain(x, size))


def torch_eager(size: int) -> Step:
    """Every addition at once, by PyTorch."""
    x = import_module("torch").ones(4)
    return lambda: chain(x, size).numpy()


def torch_xla(size: int) -> Step:
    """The lazy executor of PyTorch/XLA."""
    device = import_module("torch_xla").device()
    x = import_module("torch").ones(4).to(device)
    return lambda: chain(x, size).cpu()


def mlx(size: int) -> Step:
    """Lazy arrays of MLX."""
    import numpy as np

    x = import_module("mlx.core").ones(4)
    return lambda: np.asarray(chain(x, size))


def tinygrad(size: int) -> Step:
    """Lazy tensors of tinygrad."""
    x = import_module("tinygrad").Tensor([1.0] * 4).realize()
    return lambda: chain(x, size).numpy()


EXECUTORS: dict[str, tuple[str, Callable[[int], Step]]] = {
    "markstep": ("jax", reference),
    "jax.jit": ("jax", jitted),
    "jax, eager": ("jax", eager),
    "torch, eager": ("torch", torch_eager),
    "torch_xla": ("torch_xla", torch_xla),
    "mlx": ("mlx", mlx),
    "tinygrad": ("tinygrad", tinygrad),
}
"""By name: the package that is needed, and what makes a step of a size."""


def ones() -> Any:
    """Four numbers."""
    import numpy as np

    return np.ones(4, np.float32)


def chain(x: Any, size: int) -> Any:
    """The additions."""
    y = x
    for _ in range(size):
        y = y + x
    return y


def installed() -> Iterator[tuple[Series, Callable[[int], Step]]]:
    """The executors that can be measured here."""
    for name, (package, make) in EXECUTORS.items():
        if find_spec(package) is not None:
            what = " ".join((make.__doc__ or "").split())
            yield Series(name, what, version_of(package)), make


def version_of(package: str) -> str:
    """The version of an installed package."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return package


def measure(tell: Tell, sizes: Sequence[int] = ()) -> list[Series]:
    """The times of all executors, side by side. ``tell`` is told each line."""
    found = list(installed())
    for size in sizes or SIZES:
        running = [(one, attempt(one, size, partial(make, size), tell)) for one, make in found]
        steps = [(one, step) for one, step in running if step is not None]
        for _ in range(ROUNDS):
            for one, step in steps:
                seconds = attempt(one, size, partial(best, step, REPEATS), tell)
                if seconds is not None:
                    one.seconds[size] = min(seconds, one.seconds.get(size, seconds))
        for one, _ in steps:
            if size in one.seconds:
                tell(f"{one.name:<14} {size:>6} operations  {one.seconds[size] * 1e6:>12.1f} µs")
    return [one for one, _ in found]


def attempt(one: Series, size: int, work: Callable[[], T], tell: Tell) -> T | None:
    """What some work on an executor gives, if it has neither failed before nor become slow."""
    if one.failed or max(one.seconds.values(), default=0.0) > TOO_LONG_S:
        return None
    try:
        return work()
    except Exception as error:  # it is somebody else's: say so, and go on without it
        text = str(error).splitlines()[0] if str(error) else ""
        one.failed = f"{size} operations: {type(error).__name__}: {text}"
        one.seconds.pop(size, None)
        tell(f"{one.name:<14} {one.failed}")
        return None
