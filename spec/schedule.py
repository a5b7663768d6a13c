"""Running whole calls: the facts that the payload decides, and a fair environment.

`perform` takes one action of the program and goes on, step by step, until the call has ended. Where
the explorer would try every fact, the facts are computed here from the real payload. A call that
must wait is given the end of the running execution.
"""

from collections.abc import Callable
from typing import TypeAlias

from markstep.spec.design import Design
from markstep.spec.graph import GraphPayload
from markstep.spec.ir import Node, post_order
from markstep.spec.machine import AnyAction, Internal, blocked, step
from markstep.spec.rules.execution import Await, Barrier, Lock, Schedule
from markstep.spec.rules.reading import Download, Read
from markstep.spec.rules.sync import Collect, Compile, Extract, Install, Lookup, PostOrder, Upload
from markstep.spec.state import Phase, State, rows
from markstep.spec.vocabulary import CompleteExecution, FailExecution

Observer: TypeAlias = Callable[[State, AnyAction, State], None]
"""Called with every small step: before, action, after."""

FACTLESS: dict[Phase, Internal] = {
    Phase.READ: Read(),
    Phase.COLLECT: Collect(),
    Phase.UPLOAD: Upload(),
    Phase.EXTRACT: Extract(),
    Phase.POST_ORDER: PostOrder(),
    Phase.INSTALL: Install(),
    Phase.LOCK: Lock(),
    Phase.SCHEDULE: Schedule(),
    Phase.AWAIT: Await(),
    Phase.BARRIER: Barrier(),
    Phase.DOWNLOAD: Download(),
}


def initial_state() -> State:
    """A fresh process with the real payload."""
    return State(payload=GraphPayload())


def perform(
    state: State, action: AnyAction, design: Design, observer: Observer | None = None
) -> State | None:
    """The state after an action of the program and all steps of the call that it begins.

    None: the action is not enabled. The observer sees every small step.
    """
    after = step(state, action, design)
    if after is None:
        return None
    if observer is not None:
        observer(state, action, after)
    while after.call.phase != Phase.IDLE:
        before, move = after, next_move(after, design)
        moved = step(before, move, design)
        if moved is None:
            raise AssertionError(f"{move} is not enabled at {before.call.phase!r}")
        after = moved
        if observer is not None:
            observer(before, move, after)
    return after


def next_move(state: State, design: Design) -> AnyAction:
    """What happens next in a running call: the device first if the call waits for it."""
    if blocked(state, design):
        return end_of_execution(state, design)
    if state.call.phase == Phase.LOOKUP:
        return lookup_facts(state)
    if state.call.phase == Phase.COMPILE:
        return Compile(fails=any(n.op == "failing_compile" for n in _graph(state)))
    return FACTLESS[state.call.phase]


def end_of_execution(state: State, design: Design) -> CompleteExecution | FailExecution:
    """How the running execution ends: the payload knows whether its program can run."""
    execution = state.execution
    nodes = execution.program.order if execution.program is not None else ()
    if execution.doomed or any(node.op == "expand_huge" for node in nodes):
        return FailExecution(deletes=not design.failure_keeps_donors)
    return CompleteExecution(spares=spared(state))


def spared(state: State) -> int:
    """Donors that no result can reuse: the runtime leaves a buffer whose size matches no output."""
    program = state.execution.program
    free = [(root.shape, root.dtype) for root in program.roots] if program is not None else []
    mask = 0
    for row in rows(state.execution.donors):
        layout = (state.buffers[row].shape, state.buffers[row].dtype)
        if layout in free:
            free.remove(layout)
        else:
            mask |= 1 << row
    return mask


def lookup_facts(state: State) -> Lookup:
    """Whether the key hits, and whether the program found there is the graph's own."""
    call, payload = state.call, state.payload
    program = payload.find(call.key)
    if program is None:
        return Lookup(hit=False)
    contents = tuple(state.buffers[row].contents for row in call.leaves)
    own = payload.own_program(call.roots)
    foreign = payload.run(program, contents) != payload.run(own, contents)
    return Lookup(True, foreign, program.parameters != len(call.leaves))


def _graph(state: State) -> list[Node]:
    return post_order([node for node in state.call.roots if node is not None])
