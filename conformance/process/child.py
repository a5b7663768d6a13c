"""An executor in a child process, behind the adapter protocol.

    markstep run --adapter 'exec:./my_executor --flag'

A child that is killed by a signal in the middle of an action has crashed: that is an observation.
A child that ends otherwise, says what is no message, or is silent for too long breaks the protocol:
that is an error of the adapter, never a finding about the law.
"""

import os
import select
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic
from typing import IO, Any

from markstep.conformance.adapter import VIEWS, AdapterError
from markstep.conformance.process.messages import (
    MAX_LINE,
    Json,
    MessageError,
    decode_hello,
    decode_observation,
    decode_view,
    encode_apply,
    from_line,
    to_line,
)
from markstep.spec.vocabulary import Action, ErrorKind, Observation, View

ANSWER_S = 45.0
"""How long an answer may take. Less than what an action of any adapter may take, so that a silent
child is killed and not left behind."""
GOODBYE_S = 2.0
"""How long a child may take to end after `bye`."""
CHUNK = 65536


class Died(Exception):
    """The child has ended, or is no use any more. ``signal``: what killed it, if anything did."""

    def __init__(self, how: str, signal: str = "") -> None:
        super().__init__(how)
        self.signal = signal


class Child:
    """One running child: lines out, lines in, within a time."""

    def __init__(self, command: Sequence[str], answer_s: float = ANSWER_S) -> None:
        self.answer_s = answer_s
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the child
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=True,  # Ctrl-C is for markstep; what it starts ends with it
            )
        except OSError as error:
            self._errors.close()
            raise AdapterError(f"cannot start {command[0]!r}: {error.strerror or error}") from None
        self._left = b""

    def ask(self, kind: str, body: Json) -> tuple[str, Json]:
        """The answer to a question. Raises Died and MessageError."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(to_line(kind, body))
            self._process.stdin.flush()
        except OSError:
            raise self._end() from None
        return self.listen()

    def listen(self) -> tuple[str, Json]:
        """The next message. Raises Died and MessageError."""
        return from_line(self._line())

    def _line(self) -> bytes:
        assert self._process.stdout is not None
        out, until = self._process.stdout.fileno(), monotonic() + self.answer_s
        pieces = [self._left]
        size = len(self._left)
        while b"\n" not in pieces[-1]:
            ready, _, _ = select.select([out], [], [], max(0.0, until - monotonic()))
            if not ready:
                self.kill()
                raise Died(f"no answer within {self.answer_s:g} s")
            piece = os.read(out, CHUNK)
            if not piece:
                raise self._end(b"".join(pieces))
            pieces.append(piece)
            size += len(piece)
            if size > MAX_LINE:
                self.kill()
                raise MessageError(f"a line is longer than {MAX_LINE >> 20} MiB")
        line, _, self._left = b"".join(pieces).partition(b"\n")
        return line

    def _end(self, unfinished: bytes = b"") -> Died:
        """How the child has ended."""
        try:
            status = self._process.wait(GOODBYE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return Died("closed its output and went on")
        last = self._last_words()
        if status < 0:
            name = _signal_name(-status)
            return Died(f"killed by {name}{last}", name)
        cut = " in the middle of a line" if unfinished else ""
        return Died(f"ended with exit status {status}{cut}{last}")

    def _last_words(self) -> str:
        """The last line that the child wrote to standard error."""
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - CHUNK))
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        return f": {lines[-1].strip()[:300]}" if lines else ""

    def close(self) -> None:
        """Say goodbye; a child that does not go is killed."""
        if self._process.poll() is None:
            try:
                assert self._process.stdin is not None
                self._process.stdin.write(to_line("bye", {}))
                self._process.stdin.close()
                self._process.wait(GOODBYE_S)
            except (OSError, subprocess.TimeoutExpired):
                pass
        self.kill()

    def kill(self) -> None:
        """End the child and all that it has started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None and not stream.closed:
                with suppress(OSError):  # what was not sent is lost with the child
                    stream.close()


class ProcessAdapter:
    """The adapter of one command. The child is started at once, and again after a crash."""

    described_by = ""

    def __init__(self, command: str | Sequence[str], answer_s: float = ANSWER_S) -> None:
        """``command``: words, or one text that is split as a shell does. Raises AdapterError."""
        try:
            self.command = shlex.split(command) if isinstance(command, str) else list(command)
        except ValueError as error:
            raise AdapterError(f"cannot read the command {command!r}: {error}") from None
        if not self.command:
            raise AdapterError("exec: needs a command, as in 'exec:./my_executor --flag'")
        self.answer_s = answer_s
        self._child: Child | None = None
        self._start()

    def _start(self) -> Child:
        child = Child(self.command, self.answer_s)
        try:
            kind, body = child.listen()
            if kind != "hello":
                raise MessageError(f"the first message is {kind[:40]!r}, not 'hello'")
            hello = decode_hello(body)
        except (Died, MessageError) as error:
            child.kill()
            raise AdapterError(f"{self.command[0]}: {error}") from None
        self.name, self.version = hello.name, hello.version
        self.capabilities = hello.capabilities
        if hello.described_by:
            self.described_by = hello.described_by
        self._child = child
        return child

    def reset(self) -> None:
        """A fresh process, as far as the executor is concerned. Raises AdapterError."""
        self._asked("reset", {}, "done")

    def apply(self, action: Action) -> Observation:
        """One action; CRASH if the child is killed by a signal. Raises AdapterError."""
        if self._child is None:
            return Observation(ErrorKind.CRASH, message="the process has died before")
        try:
            return decode_observation(self._asked("apply", encode_apply(action), "observation"))
        except Died as died:
            return Observation(ErrorKind.CRASH, message=str(died))
        except MessageError as error:
            raise self._broken(error) from None

    def observe(self) -> View:
        """What the executor shows; nothing if it shows none, or has crashed."""
        if self._child is None or VIEWS not in self.capabilities:
            return View({})
        try:
            return decode_view(self._asked("observe", {}, "view"))
        except (Died, MessageError) as error:
            raise self._broken(error) from None

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.close()
            self._child = None

    def _asked(self, question: str, body: Json, answer: str) -> Any:
        """The body of the answer that belongs to a question. Raises Died only for a crash."""
        child = self._child or self._start()
        try:
            kind, found = child.ask(question, body)
        except Died as died:
            self._drop()
            if died.signal and question == "apply":
                raise
            raise AdapterError(f"{self.command[0]}: {died}") from None
        except MessageError as error:
            raise self._broken(error) from None
        if kind == "fault":
            raise self._broken(MessageError(f"says: {_first_line(found)}"))
        if kind != answer:
            raise self._broken(MessageError(f"answers {question!r} with {kind[:40]!r}"))
        return found

    def _broken(self, error: Exception) -> AdapterError:
        self._drop()
        return AdapterError(f"{self.command[0]}: {error}")

    def _drop(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child = None


def _first_line(value: Json) -> str:
    text = str(value.get("message", "") if isinstance(value, dict) else value)
    return (text.strip().splitlines() or ["nothing"])[0][:300]


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
