"""Work on a thread of its own, given up when it does not get on: an executor may hang.

A thread that is given up cannot be stopped; it is a daemon, and what it works on must look at
`Pulse.stopped`. A hang that holds the interpreter's own lock cannot be found in this way.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, TypeVar

from markstep.conformance.adapter import AdapterError, one_line

T = TypeVar("T")

LIMIT_S = 60.0
"""How long one action may take; XLA needs well under a second, a loaded machine longer."""


class Hang(AdapterError):
    """An action took longer than the limit."""


@dataclass(slots=True)
class Pulse:
    """How work and watcher talk to each other."""

    beats: int = 0
    """The work gets on."""
    stopped: bool = False
    """The watcher has given up."""

    def beat(self) -> None:
        """To be called before each action. Raises Hang if nobody waits any more."""
        if self.stopped:
            raise Hang("given up")
        self.beats += 1


@dataclass(slots=True)
class _Job:
    work: Callable[[], Any]
    done: threading.Event = field(default_factory=threading.Event)
    result: Any = None
    error: Exception | None = None


class Worker:
    """One thread that does one thing after another."""

    def __init__(self, limit_s: float = LIMIT_S) -> None:
        self.limit_s = limit_s
        self._jobs: SimpleQueue[_Job | None] | None = None

    def call(self, work: Callable[[Pulse], T]) -> T:
        """The result of the work. Raises what it raises, and Hang when it does not get on.

        What would end a thread or the process (SystemExit and its like) is an AdapterError: a
        KeyboardInterrupt is the user's only on the thread that calls.
        """
        pulse = Pulse()
        job = _Job(lambda: work(pulse))
        if self._jobs is None:
            self._jobs = SimpleQueue()
            threading.Thread(target=_serve, args=(self._jobs,), daemon=True).start()
        self._jobs.put(job)
        seen = 0
        try:
            while not job.done.wait(self.limit_s):
                if pulse.beats == seen:
                    raise Hang(f"no answer within {self.limit_s:g} s")
                seen = pulse.beats
        except BaseException:
            pulse.stopped, self._jobs = True, None
            raise
        if job.error is not None:
            raise job.error
        result: T = job.result
        return result

    def close(self) -> None:
        """Let the thread end."""
        if self._jobs is not None:
            self._jobs.put(None)
            self._jobs = None


def _serve(jobs: "SimpleQueue[_Job | None]") -> None:
    while (job := jobs.get()) is not None:
        try:
            job.result = job.work()
        except Exception as error:
            job.error = error
        except BaseException as error:
            job.error = AdapterError(one_line(error))
        job.done.set()
        del job
