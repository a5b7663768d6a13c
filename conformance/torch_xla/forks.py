"""The fork server: imports torch_xla once, and runs every program in a fresh fork.

    python -m markstep.conformance.torch_xla.forks [--host-only]

The server itself never touches a device: a client that exists before the fork does not work behind
it. A fork answers questions until it is asked to begin again, and then ends; a fork that is killed
by a signal has crashed in the action that it was asked for, and the server says so in its place.
"""

import os
import re
import signal
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from typing import IO, BinaryIO

from markstep.conformance.adapter import Adapter
from markstep.conformance.process.messages import (
    Hello,
    encode_hello,
    encode_observation,
    encode_view,
    from_line,
)
from markstep.conformance.process.serve import Server, own_output, say
from markstep.conformance.torch_xla.settings import HOST_ONLY_OPTION, set_environment
from markstep.spec.vocabulary import ErrorKind, Observation, View

AGAIN = 75
"""Exit status of a fork that was asked to begin again."""
FATAL = re.compile(r"Check failed: .*")


def main(arguments: list[str]) -> int:
    """Serve torch_xla until the end of the input."""
    host_only = HOST_ONLY_OPTION in arguments
    set_environment(host_only)
    from markstep.conformance.torch_xla.executor import TorchXla, about

    # unbuffered: a fork must not read what is meant for the next one
    given = os.fdopen(os.dup(0), "rb", buffering=0)
    return serve_forks(lambda: TorchXla(host_only), Hello(*about(host_only)), given, own_output())


def serve_forks(make: Callable[[], Adapter], hello: Hello, given: BinaryIO, out: BinaryIO) -> int:
    """Answer questions, each program in a fork with an executor of its own. The exit status."""
    say(out, "hello", encode_hello(hello))
    asked_to_reset = crashed = False
    while True:
        with tempfile.TemporaryFile() as errors:
            pid = os.fork()
            if not pid:
                os.dup2(errors.fileno(), 2)
                os._exit(_fork(make(), given, out, asked_to_reset, crashed))
            _, status = os.waitpid(pid, 0)
            asked_to_reset = os.WIFEXITED(status) and os.WEXITSTATUS(status) == AGAIN
            crashed = os.WIFSIGNALED(status)
            if crashed:
                say(out, "observation", encode_observation(_crash(os.WTERMSIG(status), errors)))
            elif not asked_to_reset:
                _pass_on(errors)
                return os.WEXITSTATUS(status)


def _fork(executor: Adapter, given: BinaryIO, out: BinaryIO, asked: bool, crashed: bool) -> int:
    """The exit status of a fork.

    ``asked``: it was started because of a reset, which is still to be answered. ``crashed``: the
    one before has crashed, and was not reset yet.
    """
    server, used = Server(executor), False
    if asked:
        say(out, "done", {})
    for line in iter(given.readline, b""):
        with suppress(ValueError):
            question, _ = from_line(line)
            if question == "bye":
                return 0
            if question == "reset":
                if used or crashed:
                    return AGAIN
                say(out, "done", {})
                continue
            if crashed:
                say(out, *_dead(question))
                continue
            used = used or question == "apply"
        say(out, *server.answer(line))
    return 0


def _dead(question: str) -> tuple[str, object]:
    """What a process that has died shows: nothing."""
    if question == "observe":
        return "view", encode_view(View({}))
    return "observation", encode_observation(Observation(ErrorKind.CRASH))


def _crash(number: int, errors: IO[bytes]) -> Observation:
    errors.seek(0)
    fatal = FATAL.search(errors.read().decode("utf-8", "replace"))
    what = f": {fatal.group(0).strip()}" if fatal else ""
    return Observation(ErrorKind.CRASH, message=f"{signal.Signals(number).name}{what}")


def _pass_on(errors: IO[bytes]) -> None:
    errors.seek(0)
    sys.stderr.buffer.write(errors.read())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
