"""The calls about programs: compile ahead, name, run by name, keep and forget.

Source: the bindings of XLAGraphExecutor, ``torch_xla.runtime.initialize_cache``; semantics.md §3
(3, 40, 44, 47, 48), §4.
"""

from collections.abc import Iterable
from os import PathLike

from markstep.impl import cached, eager, hlo
from markstep.impl.calls import Calls
from markstep.impl.serialized import Stored
from markstep.impl.tensors import Tensor


class ProgramCalls(Calls):
    """Those methods of an executor."""

    def warm_up(self, tensors: Iterable[Tensor], sync: bool = False) -> None:
        """Compile what a read of the tensors (``sync``: a step barrier) would run."""
        cached.warm_up(self._ctx, self._records(tensors), sync=sync)

    def graph_hash(self, tensors: Iterable[Tensor]) -> str:
        """The name of the program that ``warm_up`` would compile."""
        return cached.graph_hash(self._ctx, self._records(tensors))

    def run_cached(self, tensors: Iterable[Tensor]) -> list[Tensor]:
        """Run that program: a new tensor for each pending one, which itself stays pending."""
        ctx = self._ctx
        results = cached.run_cached(ctx, self._records(tensors))
        return [Tensor(ctx, record) for record in results]

    def run_stablehlo(self, module: bytes | str, tensors: Iterable[Tensor]) -> list[Tensor]:
        """Run a StableHLO module (text, bytecode, or of ``jax.export``): a tensor per result."""
        ctx = self._ctx
        results = hlo.run(ctx, module, self._records(tensors))
        with ctx.lock:
            eager.compute(ctx, *results)
        return [Tensor(ctx, record) for record in results]

    def clear_pending(self) -> None:
        """Forget all pending work; what was pending has no value any more."""
        cached.clear_pending(self._ctx)

    def initialize_cache(self, path: str | PathLike[str], *, readonly: bool = False) -> None:
        """Keep compiled programs in a directory, and look for them there: they survive the process,
        and processes may share them. ``readonly``: only look. Not on several devices.

        Programs are machine code: whoever may write to the directory may run code as you. Raises
        BAD_ARGUMENT if the directory cannot be used.
        """
        with self._ctx.lock:
            self._ctx.stored = Stored(path, readonly, self._ctx.count)

    def clear_cache(self) -> None:
        """Every compiled program leaves the cache."""
        with self._ctx.lock:
            self._ctx.cache.clear()

    evict = clear_cache
