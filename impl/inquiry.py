"""What a person asks of an executor when something is slow, large or surprising."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from markstep.impl import cached, explaining, holders
from markstep.impl.calls import Calls
from markstep.impl.explaining import Compilation
from markstep.impl.holders import Fate, LiveBuffer
from markstep.impl.regions import Deed
from markstep.impl.tensors import Tensor


class Inquiry(Calls):
    """The part of ``Executor`` that explains and guards. Nothing here executes or waits."""

    def explain_key(self, a: Iterable[Tensor], b: Iterable[Tensor]) -> list[str]:
        """Why the pending graphs of two lists of tensors do not share a program.

        One line for each ingredient of the key that differs; none if they share it.
        """
        first, second = self._records(a), self._records(b)
        return explaining.differences(cached.key(self._ctx, first), cached.key(self._ctx, second))

    @property
    def compilations(self) -> list[Compilation]:
        """The last compilations, with the line that caused each, and in what the program differs
        from the most similar one that was there."""
        with self._ctx.lock:
            return list(self._ctx.compilations)

    @property
    def cached_programs(self) -> int:
        """How many compiled programs the cache holds."""
        with self._ctx.lock:
            return len(self._ctx.cache)

    def live_buffers(self) -> list[LiveBuffer]:
        """Every device buffer with contents and who keeps it, the largest first."""
        with self._ctx.lock:
            return holders.live_buffers(self._ctx)

    def explain_donation(self, tensors: Iterable[Tensor]) -> list[Fate]:
        """What a step barrier would do with each parameter of these tensors' program: give it away
        or keep it, and why."""
        with self._ctx.lock:
            outputs, graph = cached.walk(self._records(tensors))
            return holders.fates(self._ctx, outputs, graph)

    def pin(self, tensors: Iterable[Tensor], flag: bool = True) -> bool:
        """Keep the program of these tensors (``graph_hash``) in the cache, whatever else comes.

        False if there is no such program: ``warm_up`` makes it. ``flag`` off lets it go again.
        """
        with self._ctx.lock:
            return self._ctx.cache.pin(cached.key(self._ctx, self._records(tensors)), flag)

    def metrics_report(self) -> str:
        """Times, bytes, sizes and counters since the executor was made, in the form of
        ``torch_xla.debug.metrics.metrics_report``."""
        with self._ctx.lock:
            return self._ctx.metrics.report(self._ctx.snapshot())

    def forbid(self, *deeds: Deed) -> AbstractContextManager[None]:
        """A region in which "compile", "execute" or "transfer" (default: all three) is refused.

        Whoever tries gets REFUSED with the line of the call; no tensor changes by it.
        """
        return self._ctx.regions.forbid(deeds)

    @contextmanager
    def forked_rng(self) -> Iterator[None]:
        """Random numbers inside are drawn from where the seed stands, and leave it there."""
        ctx = self._ctx
        with ctx.lock:
            step, running, node = ctx.seeds.step, ctx.seeds.running, ctx.seeds.node
        try:
            yield
        finally:
            with ctx.lock:
                ctx.seeds.set(step, running)
                ctx.seeds.node = node
