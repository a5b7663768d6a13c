"""One thread at a time: a lock whose every taking is a decision about who goes on.

An executor that guards its state by one lock can be interrupted exactly where a thread takes that
lock, or waits under it. With `Turns` in the place of the lock, its condition and its pool of
workers, the order of the threads is a list of choices: it can be enumerated, and played again.
"""

import threading
from collections.abc import Callable
from typing import Any, Final, TypeAlias

PATIENCE: Final = 60.0
"""Seconds after which a thread that does not come back hangs."""

Choice: TypeAlias = Callable[[list[int], int], int]
"""Which of the tasks (numbers, ascending) goes on; with the one that went on last."""


class WedgedError(AssertionError):
    """Nobody can go on, and somebody has not finished: the device stays locked."""


class Abandoned(BaseException):
    """Raised in the threads of a run that was given up."""


class Task:
    """A thread of the program, or a piece of work that the executor gave to a worker."""

    def __init__(self, number: int, work: Callable[[], object]) -> None:
        self.number = number
        self.work = work
        self.turn = threading.Semaphore(0)
        self.ready: Callable[[], bool] = lambda: True
        self.done = False
        self.cause: BaseException | None = None


class Turns:
    """The tasks of one run. Exactly one of them runs at a time; ``choose`` says which."""

    def __init__(self, choose: Choice) -> None:
        self.choose = choose
        self.tasks: list[Task] = []
        self.current: Task | None = None
        self.over = threading.Semaphore(0)
        self.wedged = False
        self.lock = TurnLock(self)
        self.condition = TurnCondition(self.lock)

    def spawn(self, work: Callable[[], object]) -> None:
        """A task that may begin at the next decision; before ``run``, when the run begins."""
        self.tasks.append(Task(len(self.tasks), work))
        threading.Thread(target=self._live, args=(self.tasks[-1],), daemon=True).start()

    def run(self) -> None:
        """Play all tasks to their ends.

        Raises WedgedError if they stop, and what a task raised that no program may see.
        """
        self._pass_on(None)
        if not self.over.acquire(timeout=PATIENCE):
            raise WedgedError(f"a thread has not come back for {PATIENCE:g} s")
        self.current = None
        if self.wedged:
            raise WedgedError("every thread waits for another one")
        for task in self.tasks:
            if task.cause is not None:
                raise task.cause

    def submit(self, work: Callable[..., object], *given: Any) -> None:
        """The executor's pool of workers: each piece of work is a task."""
        self.spawn(lambda: work(*given))

    def pause(self, ready: Callable[[], bool]) -> None:
        """A decision: the calling task goes on when it is chosen again and ``ready``.

        Outside a run there is one thread only, and it must be ready.
        """
        task = self.current
        if task is None:
            if not ready():
                raise WedgedError("the only thread waits for nobody")
            return
        task.ready = ready
        self._pass_on(task)
        if self.wedged:
            raise Abandoned

    def _live(self, task: Task) -> None:
        task.turn.acquire()
        try:
            if not self.wedged:
                task.work()
        except Abandoned:
            pass
        except BaseException as cause:
            task.cause = cause
        task.done = True
        self._pass_on(task)

    def _pass_on(self, last: Task | None) -> None:
        """Let the chosen task go on; the calling one sleeps unless it is the chosen one."""
        waiting = [task for task in self.tasks if not task.done]
        ready = [task.number for task in waiting if self.wedged or task.ready()]
        if not waiting:
            self.over.release()
            return
        if not ready:
            self.wedged = True
            ready = [task.number for task in waiting]
        number = ready[0] if self.wedged else self.choose(ready, last.number if last else -1)
        following = self.tasks[number]
        if following is last:
            return
        self.current = following
        following.turn.release()
        if last is not None and not last.done:
            last.turn.acquire()


class TurnLock:
    """A reentrant lock. To take it is a decision, unless the task has it already."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.owner: Task | None = None
        self.depth = 0

    def acquire(self) -> bool:
        """Take the lock when it is free and the task's turn has come."""
        if self.depth == 0 or self.owner is not self.turns.current:
            self.turns.pause(lambda: self.depth == 0)
            self.owner = self.turns.current
        self.depth += 1
        return True

    def release(self) -> None:
        """Give it back, as often as it was taken."""
        self.depth -= 1

    __enter__ = acquire

    def __exit__(self, *raised: object) -> None:
        self.release()


class TurnCondition:
    """To wait is to give the lock away until somebody has notified and the lock is free."""

    def __init__(self, lock: TurnLock) -> None:
        self.lock = lock
        self.notified = 0

    def wait(self) -> bool:
        """Sleep until the next notification, with the lock given back meanwhile."""
        depth, self.lock.depth = self.lock.depth, 0
        seen = self.notified
        self.lock.turns.pause(lambda: self.notified > seen and self.lock.depth == 0)
        self.lock.owner, self.lock.depth = self.lock.turns.current, depth
        return True

    def notify_all(self) -> None:
        """Everybody who waits may go on."""
        self.notified += 1
