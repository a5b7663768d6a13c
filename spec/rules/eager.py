"""Eager mode: what is traced is computed at once, by a call of its own.

An op of the alphabet is computed as one, though torch_xla computes each of the calls that make up
``failing_execute``; a tensor of host data is sent and nothing is computed, where torch_xla computes
the empty tensor that the data are copied into: recorded logs say so by two actions (A26, A07).

Source: XLAGraphExecutor::ApplyEagerSync; semantics.md §2.4 (create_from_value, set_ir), §3.17.
"""

from markstep.spec.rules.calls import call_about
from markstep.spec.state import NONE, CallKind, Record, State, bit
from markstep.spec.vocabulary import ErrorKind, TensorName

RESULT = TensorName(-1)
"""The tensor object that an in-place op holds until the result has been computed."""


def compute(s: State, r: int, replaces: int = NONE) -> None:
    """Evaluate what an op has just traced into a new record: force, neither sync nor wait.

    ``replaces``: the record whose place the result takes once the call returns.
    """
    call = call_about(s, CallKind.EAGER, [r])
    call.force, call.target, call.replaces = True, r, replaces


def conclude(s: State, error: ErrorKind) -> None:
    """The result of an in-place op takes the place of the old record; that of an op that raises is
    gone, with every tensor object that shows it, and what was to be replaced stays."""
    call = s.call
    if error == ErrorKind.NONE and call.replaces == NONE:
        return
    if error == ErrorKind.NONE:
        s.records[call.replaces] = s.records[call.target]
        if s.views is not None:
            s.views.touched |= {call.replaces}
    s.records[call.target] = Record()
    s.device.stored_about &= ~bit(call.target)
    s.payload.count("DestroyXlaTensor")
    for name in [n for n, row in s.tensors.items() if row == call.target]:
        s.tensors.pop(name)


def timer(s: State, lazy: str, eager: str) -> None:
    """Sample a timer that has a name of its own in eager mode."""
    s.payload.count(eager if s.device.eager else lazy)
