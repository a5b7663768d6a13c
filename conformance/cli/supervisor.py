"""A run of code that is not ours, in a process of its own: that may end without a verdict.

An adapter in this process, or native code that it calls, can end the process with exit code 0: that
would look as if everything conformed. So another process waits for a verdict that is said.
"""

import os
import signal
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from threading import Thread
from typing import NoReturn

from markstep.conformance.cli.interrupts import end
from markstep.conformance.cli.usage import complain, open_streams
from markstep.conformance.exit_codes import ExitCode

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
FROM_TERMINAL = 0x80
"""SI_KERNEL: the terminal has sent the signal, and to the other process as well."""


def foreign(arguments: Sequence[str]) -> bool:
    """Whether a command line brings an adapter of somebody else into this process."""
    if not arguments or arguments[0] not in ("run", "replay"):
        return False
    for word, following in zip(arguments, (*arguments[1:], ""), strict=True):
        option, _, value = word.partition("=")
        if option == "--adapter" and not shipped(value or following):
            return True
    return False


def shipped(adapter: str) -> bool:
    """Whether an adapter comes with markstep, or runs elsewhere."""
    if ":" in adapter:
        return adapter.startswith("exec:")
    points = entry_points(group="markstep.adapters", name=adapter)
    return all(point.value.startswith("markstep.conformance.") for point in points)


def supervise(work: Callable[[], ExitCode]) -> NoReturn:
    """Do the work in a fork, and end as it says that it ended."""
    open_streams()
    signals = {*PASSED_ON, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)  # none is missed
    said, saying = os.pipe()
    alive, living = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(said)
        os.close(living)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        Thread(target=end_when_closed, args=(alive,), daemon=True).start()
        code = work()
        os.write(saying, bytes([code]))
        end(code)
    os.close(saying)
    os.close(alive)
    status = wait(child, signals)
    os.set_blocking(said, False)  # a fork of the child may live on and hold the pipe
    try:
        verdict = os.read(said, 1)
    except BlockingIOError:
        verdict = b""
    if verdict:
        os._exit(verdict[0])
    if status < 0 and -status in PASSED_ON:
        os._exit(128 - status)
    complain(f"adapter: it ended the process ({how(status)}) before there was a verdict")
    os._exit(ExitCode.ERROR)


def end_when_closed(pipe: int) -> NoReturn:
    """End with the process that waits, however that ended."""
    os.read(pipe, 1)
    os._exit(ExitCode.ERROR)


def wait(child: int, signals: set[signal.Signals]) -> int:
    """The exit status of the child; until then, what we are told to do it is told to do."""
    while True:
        heard = signal.sigwaitinfo(signals)
        if heard.si_signo != signal.SIGCHLD:
            if heard.si_code != FROM_TERMINAL:
                os.kill(child, heard.si_signo)
            continue
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid == child:
            return os.waitstatus_to_exitcode(status)


def how(status: int) -> str:
    """An exit status in words."""
    return f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
