"""Free threads on one executor: whatever the operating system interrupts, no update may be lost.

Every thread has tensors of its own, whose values it knows, and adds to tensors that all share: at
the end each of those holds the sum of all additions. Syncs of everything, reads, compilations and
failing executions go on in between.
"""

import threading
from dataclasses import dataclass, field
from random import Random
from time import monotonic

import numpy as np

from markstep.impl.errors import ExecutorError
from markstep.impl.executor import Executor
from markstep.impl.lower import CompileMode
from markstep.impl.tensors import Tensor
from markstep.spec.vocabulary import ErrorKind

SHARED = 3
LENGTH = 4
LARGEST = 1000
"""Below 2^24, so that float32 is exact; a thread's own tensors begin again from there on."""
TOLD = (ErrorKind.EXECUTION_FAILED, ErrorKind.COMPILE_FAILED)
"""What a sync of everything may be told of another thread's work that fails."""


@dataclass(slots=True)
class Stress:
    """What all threads share, and what they found."""

    executor: Executor
    shared: list[Tensor]
    added: list[int]
    until: float
    actions: int = 0
    told: int = 0
    wrong: list[str] = field(default_factory=list)
    guard: threading.Lock = field(default_factory=threading.Lock)


def stress(
    seconds: float, threads: int = 8, seed: int = 0, mode: CompileMode = "interpret"
) -> Stress:
    """Run free threads for a while; ``wrong`` lists what was lost, in words."""
    executor = Executor(mode)
    shared = [executor.tensor(np.zeros(LENGTH, np.float32)) for _ in range(SHARED)]
    run = Stress(executor, shared, [0] * SHARED, monotonic() + seconds)
    workers = [
        threading.Thread(target=_guarded, args=(run, Random(f"{seed}/{number}")), daemon=True)
        for number in range(threads)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(seconds + 60)
    if any(worker.is_alive() for worker in workers):
        run.wrong.append("a thread hangs")
        return run
    for number, tensor in enumerate(shared):
        _expect(run, f"shared tensor {number}", tensor, run.added[number])
    return run


def _guarded(run: Stress, random: Random) -> None:
    try:
        _work(run, random)
    except BaseException as cause:
        run.wrong.append(f"a thread died: {type(cause).__name__}: {cause}")


def _work(run: Stress, random: Random) -> None:
    executor = run.executor
    own, value, done, told = executor.tensor(np.zeros(LENGTH, np.float32)), 0, 0, 0
    added = [0] * SHARED
    while monotonic() < run.until and not run.wrong:
        done += 1
        choice = random.randrange(10)
        if choice < 4:
            which = random.randrange(SHARED)
            executor.call_in_place(run.shared[which], "add_scalar", scalar=1)
            added[which] += 1
        elif choice < 7:
            own += 1
            value += 1
            copy = own.clone()
            if random.random() < 0.3:
                _expect(run, "a clone", copy, value)
        elif choice == 7:
            _expect(run, "a thread's own tensor", own, value)
            if value > LARGEST:
                own, value = executor.tensor(np.zeros(LENGTH, np.float32)), 0
        else:
            told += not _evaluate(run, random, own)
    with run.guard:
        run.actions += done
        run.told += told
        run.added = [before + now for before, now in zip(run.added, added, strict=True)]
    _expect(run, "a thread's own tensor, at the end,", own, value)


def _evaluate(run: Stress, random: Random, own: Tensor) -> bool:
    """One of the calls that may execute. False: it was told of work that fails."""
    executor, choice = run.executor, random.randrange(6)
    try:
        if choice == 0:
            executor.mark_step(wait=random.random() < 0.5)
        elif choice == 1:
            executor.sync([own, random.choice(run.shared)], wait=random.random() < 0.5)
        elif choice == 2:
            executor.read_many([own, *run.shared])
        elif choice == 3:
            executor.warm_up([own], sync=True)
        elif choice == 4:
            executor.clear_cache()
        else:
            failing = executor.call(random.choice(("failing_compile", "failing_execute")), own)
            executor.sync([failing])
    except ExecutorError as error:
        if error.kind not in TOLD:
            raise
        return False
    return True


def _expect(run: Stress, what: str, tensor: Tensor, value: int) -> None:
    """Read until the read is told of no other thread's failure; the value must be right."""
    for _ in range(100):
        try:
            got = run.executor.read(tensor)
        except ExecutorError as error:
            if error.kind not in TOLD:
                raise
            continue
        if not (got == value).all():
            run.wrong.append(f"{what} is {got.tolist()}, not {value}")
        return
    run.wrong.append(f"{what} cannot be read")
