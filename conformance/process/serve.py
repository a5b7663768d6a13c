"""The executor's side of the process protocol, for adapters written in Python.

from markstep.conformance.process.serve import serve

serve(MyAdapter())
"""

import os
import sys
from dataclasses import replace
from typing import BinaryIO

from markstep.conformance.adapter import Adapter, one_line
from markstep.conformance.process.messages import (
    Hello,
    Json,
    MessageError,
    decode_apply,
    encode_hello,
    encode_observation,
    encode_view,
    from_line,
    to_line,
)
from markstep.spec.vocabulary import Action, ErrorKind, GraphHash, Observation


def serve(adapter: Adapter, given: BinaryIO | None = None, out: BinaryIO | None = None) -> None:
    """Answer questions until `bye` or the end of the input.

    What the executor prints goes to standard error: standard output is for messages. An exception
    that leaves the adapter is answered with `fault`.
    """
    given = given or sys.stdin.buffer
    out = out or own_output()
    server = Server(adapter)
    described = getattr(adapter, "described_by", "")
    hello = Hello(adapter.name, adapter.version, adapter.capabilities, described)
    say(out, "hello", encode_hello(hello))
    for line in given:
        kind, body = server.answer(line)
        if kind == "bye":
            break
        say(out, kind, body)
    adapter.close()


class Server:
    """Turns lines into calls of an adapter, and what it gives into messages."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self._keys: dict[object, int] = {}

    def answer(self, line: bytes) -> tuple[str, Json]:
        """The answer to one line."""
        try:
            return self._answer(*from_line(line))
        except Exception as error:
            return "fault", {"message": one_line(error)}

    def _answer(self, question: str, body: Json) -> tuple[str, Json]:
        match question:
            case "reset":
                self.adapter.reset()
                self._keys.clear()
                return "done", {}
            case "apply":
                return "observation", encode_observation(self._apply(decode_apply(body)))
            case "observe":
                return "view", encode_view(self.adapter.observe())
            case "bye":
                return "bye", {}
        raise MessageError(f"unknown question {question[:40]!r}")

    def _apply(self, action: Action) -> Observation:
        """Keys of graphs are opaque: only which of them are equal is said."""
        observation = self.adapter.apply(action)
        if isinstance(action, GraphHash) and observation.error == ErrorKind.NONE:
            number = self._keys.setdefault(observation.value, len(self._keys))
            return replace(observation, value=number)
        return observation


def own_output() -> BinaryIO:
    """Standard output for messages alone: from now on, whatever else prints does so on stderr."""
    messages = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return messages


def say(out: BinaryIO, kind: str, body: Json) -> None:
    """Send one message."""
    out.write(to_line(kind, body))
    out.flush()
