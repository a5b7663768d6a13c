"""A fault at any boundary between phases loses no tensor and wedges no device, whatever it is.

Every place where the executor goes from one phase to the next is made to fail once, before or after
the phase, in programs that get there: no memory, an error of the compiler or of a program, an
interrupt. Then every tensor can be read, and a barrier over all of them succeeds.
"""

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from markstep.impl import cached, compile, device, loading, reading, syncing
from markstep.impl.errors import ExecutorError
from markstep.impl.execution import Execution
from markstep.impl.executor import Executor

BOUNDARIES = (
    (syncing, "survey"),
    (syncing, "gather"),
    (syncing, "collect"),
    (syncing, "find_donors"),
    (syncing, "look_up"),
    (syncing, "wait_idle"),
    (syncing, "install"),
    (syncing, "start"),
    (syncing, "upload_host"),
    (syncing, "finish"),
    (compile, "compile_graph"),
    (compile, "pair"),
    (Execution, "run"),
    (device, "give_back"),
    (reading, "schedule"),
    (reading, "download"),
    (reading, "to_host"),
    (reading, "finish"),
    (cached, "gather"),
    (cached, "look_up"),
    (cached, "start"),
    (loading, "to_device"),
    (device, "_commit"),
    (device, "_settle"),
    (device, "delete"),
)
FAULTS = (MemoryError, RuntimeError, KeyboardInterrupt)
PAIRS = 60
Values = dict[str, np.ndarray[Any, Any]]


class Fault:
    """Raises once, before or after the phase, when the boundary was passed so many times."""

    def __init__(self, phase: Callable[..., Any], kind: type[BaseException], after: bool) -> None:
        self.phase, self.kind, self.after, self.left = phase, kind, after, 1
        self.passings = 0

    def __call__(self, *args: Any, **named: Any) -> Any:
        if not self.left or self.passings:
            self.passings -= bool(self.left)
            return self.phase(*args, **named)
        self.left -= 1
        if self.after:
            self.phase(*args, **named)
        raise self.kind("no more")

    def __get__(self, owner: Any, kind: type) -> Any:
        return lambda *args, **named: self(owner, *args, **named)


def tensors(ex: Executor) -> tuple[dict[str, Any], Values]:
    """Tensors in every state, and their values."""
    x, y = ex.tensor([1.0, 2.0]), ex.tensor([3.0, 4.0])
    ex.mark_step(wait=True)
    clone, host = x.clone(), ex.tensor([5.0, 6.0], upload=False)
    z = x + y
    x += 1
    known = {"x": [2, 3], "y": [3, 4], "clone": [1, 2], "host": [5, 6], "z": [4, 6]}
    values = {name: np.array(value, np.float32) for name, value in known.items()}
    return {"x": x, "y": y, "clone": clone, "host": host, "z": z}, values


CALLS: dict[str, Callable[[Executor, dict[str, Any]], object]] = {
    "sync_live": lambda ex, t: ex.sync_live(),
    "not waited for": lambda ex, t: (ex.sync([t["x"]], wait=False), ex.wait_device()),
    "sync": lambda ex, t: ex.sync([t["z"], t["host"]]),
    "read": lambda ex, t: ex.read(t["z"]),
    "read_many": lambda ex, t: ex.read_many([t["x"], t["host"], t["y"]]),
    "run_cached": lambda ex, t: (ex.run_cached([t["z"]]), ex.wait_device()),
    "failing": lambda ex, t: (ex.call("failing_execute", t["x"]), ex.sync_live()),
    "warm_up": lambda ex, t: ex.warm_up([t["x"]], sync=True),
}


@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("place", BOUNDARIES, ids=lambda place: str(place[1]))
def test_a_fault_at_a_boundary_loses_nothing(
    place: tuple[Any, str], kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name = place
    happened = 0
    for call in CALLS.values():
        for after in (False, True):
            ex = Executor("interpret", manual=True)
            made, values = tensors(ex)
            fault = Fault(getattr(owner, name), kind, after)
            with monkeypatch.context() as patch:
                patch.setattr(owner, name, fault)
                try:
                    call(ex, made)
                except (ExecutorError, *FAULTS):
                    pass
            happened += not fault.left
            nothing_is_lost(ex, made, values)
    assert happened


@pytest.mark.parametrize("block", range(4))
def test_two_faults_lose_nothing(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    happened = 0
    for number in range(PAIRS):
        random = Random(f"{block} {number}")
        ex = Executor("interpret", manual=True)
        made, values = tensors(ex)
        with monkeypatch.context() as patch:
            faults = []
            for owner, name in random.sample(BOUNDARIES, 2):
                fault = Fault(getattr(owner, name), random.choice(FAULTS), random.random() < 0.5)
                fault.passings = random.choice((0, 0, 1, 2))
                faults.append(fault)
                patch.setattr(owner, name, fault)
            for call in random.choices(list(CALLS.values()), k=4):
                try:
                    call(ex, made)
                except (ExecutorError, *FAULTS):
                    pass
        happened += not any(fault.left for fault in faults)
        nothing_is_lost(ex, made, values)
    assert happened > PAIRS / 10  # where both faults came to pass


def nothing_is_lost(ex: Executor, made: dict[str, Any], values: Values) -> None:
    """Every tensor can be read, after errors are told, and a barrier succeeds."""
    for _ in range(3):
        try:
            ex.wait_device()
            break
        except ExecutorError as error:
            assert error.kind == "execution-failed"
    assert not ex.running
    for name, tensor in made.items():
        assert np.array_equal(read(ex, tensor), values[name]), name
    ex.mark_step(wait=True)
    for name, tensor in made.items():
        assert np.array_equal(ex.read(tensor), values[name]), name


def read(ex: Executor, tensor: Any) -> Any:
    """A value, behind an error that its tensor still has to tell."""
    try:
        return ex.read(tensor)
    except ExecutorError as error:
        assert error.kind == "execution-failed"
        return ex.read(tensor)
