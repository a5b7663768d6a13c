"""Many trials, each in a process of its own, forked from one that has JAX loaded but nothing else.

Each trial is given up when it is far beyond its budget: a lie may hang where nobody looks.
"""

import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext, ForkServerProcess
from time import monotonic
from typing import TypeAlias

from markstep.conformance.mutants.catalogue import Mutant
from markstep.conformance.mutants.trials import HANG_S, Fate, Terms, Trial, attempt, name_of

LOADED_BEFORE = ["jax", "jax.numpy", "numpy", "z3"]
"""What costs time to import and is no part of what lies."""
GRACE_S = 2 * HANG_S + 20
"""Seconds beyond the budget after which a trial is given up."""
MOST_PROCESSES = 2 * (os.cpu_count() or 1)

Task: TypeAlias = tuple[Mutant | None, str]
"""A mutant, or none: then nothing is changed; and the name of a detector."""
Watch: TypeAlias = Callable[[Trial], None]


@dataclass(slots=True)
class Worker:
    """A trial that runs."""

    task: Task
    process: ForkServerProcess
    end: Connection
    deadline: float


def run_trials(
    tasks: Sequence[Task], terms: Terms, processes: int, watch: Watch = lambda trial: None
) -> list[Trial]:
    """Every trial, in the order of the tasks; ``watch`` is told of each as it ends."""
    found: dict[tuple[str, str], Trial] = {}
    for trial in _as_they_end(tasks, terms, processes):
        found[trial.mutant, trial.detector] = trial
        watch(trial)
    return [found[name_of(mutant), detector] for mutant, detector in tasks]


def _as_they_end(tasks: Sequence[Task], terms: Terms, processes: int) -> Iterator[Trial]:
    context = get_context("forkserver")
    context.set_forkserver_preload(LOADED_BEFORE)
    todo, running = deque(tasks), list[Worker]()
    try:
        while todo or running:
            while todo and len(running) < processes:
                running.append(_begin(context, todo.popleft(), terms))
            left = max(0.0, min(worker.deadline for worker in running) - monotonic())
            wait([worker.end for worker in running], left)
            ended = [w for w in running if w.end.poll() or monotonic() > w.deadline]
            for worker in ended:
                running.remove(worker)
                yield _ended(worker)
    finally:
        for worker in running:
            worker.process.kill()


def _begin(context: ForkServerContext, task: Task, terms: Terms) -> Worker:
    if task[0] is None or task[0].equivalent:
        terms = terms.brief()
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_trial, args=(theirs, *task, terms))
    process.start()
    theirs.close()
    return Worker(task, process, ours, monotonic() + terms.budget + GRACE_S)


def _trial(end: Connection, mutant: Mutant | None, detector: str, terms: Terms) -> None:
    """What the process does. It ends at once, also if threads of an executor hang."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that keeps the matrix
    try:
        trial = attempt(mutant, detector, terms)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        trial = Trial(name_of(mutant), detector, Fate.ERROR, message=text)
    end.send(trial)
    end.close()
    os._exit(0)


def _ended(worker: Worker) -> Trial:
    mutant, detector = worker.task
    try:
        if worker.end.poll():
            return worker.end.recv()  # type: ignore[no-any-return]
        text = "given up: it went on long after its time"
    except EOFError:
        worker.process.join()
        text = f"its process died, exit code {worker.process.exitcode}"
    finally:
        worker.process.kill()
        worker.process.join()
        worker.end.close()
    return Trial(name_of(mutant), detector, Fate.ERROR, message=text)
