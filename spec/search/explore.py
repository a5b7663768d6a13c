"""Searching every reachable state within a bound, with the payload erased.

A state is visited once up to renaming (`canonical.py`). Paths are ordered by the number
of program actions and failures in them, so the first violation of a claim is a shortest program
that violates it; the steps of a call cost nothing. The search goes on behind a violation.

A state in the middle of a call that has exactly one successor is not stored: all its steps are
judged, and what can be reached from it can be reached from its successor.

The frontier is expanded in batches, by several processes if wanted, and the results are merged in
the order of the frontier: they do not depend on the number of processes.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from multiprocessing import get_context
from time import monotonic

from markstep.spec.design import Design
from markstep.spec.search.alphabet import Bound
from markstep.spec.search.expand import Expand, Expansion, expand
from markstep.spec.search.search import Exploration, Search
from markstep.spec.workers import begin

Watch = Callable[[Search], bool]
"""Called between batches; the search stops when it says so."""
Batches = Callable[[list[Expand]], Iterator[Expansion]]

BATCH = 256
"""States that are expanded together."""
CHUNK = 8
"""States that a process is given at a time."""


def explore(design: Design, bound: Bound, watch: Watch | None = None) -> Exploration:
    """Visit every state within the bound and judge every step between them."""
    search = Search.begun(design, bound)
    go_on(search, watch)
    return search.result


def go_on(
    search: Search, watch: Watch | None = None, stop: Callable[[], bool] = lambda: False
) -> None:
    """Expand what is left of a search, until nothing is, a limit is reached, or ``watch`` stops.

    ``stop`` is asked after every state; the batch that it ends is expanded again when the search
    goes on.
    """
    result, before, started = search.result, search.result.seconds, monotonic()
    with batches(result.bound.processes) as run:
        while not search.done:
            if not search.now and not search.rising:
                search.next_level()
            search.rise()
            if search.too_much() and not search.done:
                break
            numbers = [search.now[i] for i in range(min(BATCH, len(search.now)))]
            expansions = list(takewhile(lambda _: not stop(), run(search.tasks(numbers))))
            if len(expansions) < len(numbers):
                break
            for number, found in zip(numbers, expansions, strict=True):
                search.merge(number, found)
                search.now.popleft()
            search.note(before + monotonic() - started)
            if watch is not None and watch(search):
                break
    search.note(before + monotonic() - started)


@contextmanager
def batches(processes: int) -> Iterator[Batches]:
    """A way to expand a batch of states, in order: here, or in other processes."""
    if processes <= 1:
        yield lambda batch: map(expand, batch)
        return
    with get_context("forkserver").Pool(processes, begin) as pool:
        yield lambda batch: pool.imap(expand, batch, chunksize=CHUNK)
