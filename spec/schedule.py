"""Running whole calls: the facts that the payload decides, and a fair environment.

`perform` takes one action of the program and goes on, step by step, until the call has ended. Where
the explorer would try every fact, the facts are computed here from the real payload. A call that
must wait is given the end of the running execution.
"""

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import TypeAlias

from markstep.spec.design import Design
from markstep.spec.evaluator import HUGE, MOST_ELEMENTS, result_shape
from markstep.spec.graph import GraphPayload
from markstep.spec.ir import Node, ordered
from markstep.spec.layouts import suits
from markstep.spec.machine import AnyAction, Internal, blocked, enabled, take
from markstep.spec.ops import OPS
from markstep.spec.randomness import FIRST_SEED, MAX_BOUND, MODULUS
from markstep.spec.rules.errors import is_output
from markstep.spec.rules.execution import Await, Barrier, Lock, Schedule
from markstep.spec.rules.reading import Download, Read
from markstep.spec.rules.scalars import inlined
from markstep.spec.rules.sync import Collect, Compile, Extract, Install, Lookup, PostOrder, Upload
from markstep.spec.rules.views import can_be_viewed, out_of_date
from markstep.spec.state import NONE, Device, Phase, State, bit, has
from markstep.spec.views import Views
from markstep.spec.vocabulary import (
    Apply,
    AssignInPlace,
    BindData,
    CompleteExecution,
    CopyFromHost,
    CopyInto,
    CreateFromHost,
    CreatePlaceholder,
    DType,
    FailExecution,
    Fill,
    LoadShards,
    MarkSharding,
    Number,
    Random,
    RunCached,
    SetEager,
    SetSeed,
    Sharding,
    TensorName,
    UseSpmd,
    ViewOf,
)

Observer: TypeAlias = Callable[[State, AnyAction, State], None]
"""Called with every small step: before, action, after."""
Ending: TypeAlias = Callable[[State, Design], AnyAction]
"""Chooses how the running execution ends."""
Partitioner: TypeAlias = Callable[[State], tuple[Sharding, ...] | None]
"""Says how the outputs of the program that is to run lie, where it knows."""


class NotEnabledError(AssertionError):
    """A call cannot go on as it is told to."""


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


def initial_state(seed: int = FIRST_SEED, spmd: bool = False, functional: bool = True) -> State:
    """A fresh process with the real payload; ``functional``: with functionalization."""
    payload = GraphPayload()
    payload.set_seed(seed)
    return State(payload=payload, device=Device(spmd=spmd), views=Views(functional))


def perform(
    state: State,
    action: AnyAction,
    design: Design,
    observer: Observer | None = None,
    ending: Ending | None = None,
    partitioner: Partitioner | None = None,
) -> State | None:
    """The state after an action of the program and all steps of the call that it begins.

    None: the action is not enabled, or its shapes do not fit. The observer sees every small step;
    ``ending`` says how an execution that the call waits for ends, else the payload does. Raises
    NotEnabledError when it cannot end so.
    """
    if not enabled(state, action, design) or not fits(state, action):
        return None
    after, action = state.draft(), with_facts(state, action, design)
    take(after, action, design)
    if observer is not None:
        observer(state, action, after)
    while after.call.phase != Phase.IDLE:
        before = after
        choose = ending if ending is not None and blocked(before, design) else next_move
        move = choose(before, design)
        if isinstance(move, Schedule) and before.device.spmd:
            move = Schedule(choice_of(before, partitioner))
        if not enabled(before, move, design):
            raise NotEnabledError(f"{move} is not enabled at {before.call.phase!r}")
        if observer is not None:  # without one, nobody sees the states in between
            after = before.draft()
        take(after, move, design)
        if observer is not None:
            observer(before, move, after)
    return after


def with_facts(state: State, action: AnyAction, design: Design) -> AnyAction:
    """The action of the program with what the scalar cache knows of its number."""
    match action:
        case Apply() if action.scalar is not None:
            number, dtype = action.scalar, state.record_of(action.inputs[0]).dtype
        case AssignInPlace() if action.scalar is not None:
            number, dtype = action.scalar, state.record_of(action.target).dtype
        case Fill():
            number, dtype = action.scalar, action.dtype
        case Random():
            number, dtype = action.bound, DType.S64
        case _:
            return action
    if inlined(number, design) or not isinstance(state.payload, GraphPayload):
        return action
    cached_at, evicts = state.payload.scalar_facts(number, dtype)
    return replace(action, cached_at=cached_at, evicts=evicts)


def fits(state: State, action: AnyAction) -> bool:
    """Whether shapes and dtypes of an action agree: a program can only mean actions that fit."""
    match action:
        case CreateFromHost():
            return is_layout(action) and len(action.value) == prod(action.shape)
        case CreatePlaceholder():
            return is_layout(action)
        case Fill():
            whole = action.dtype == DType.F32 or action.scalar == int(action.scalar)
            return is_layout(action) and whole and prod(action.shape) <= MOST_ELEMENTS
        case Random():
            shape, dtype = _layout(state, action.target)
            small = prod(shape) <= MOST_ELEMENTS and dtype == DType.F32
            return small and 0 < action.bound <= MAX_BOUND
        case SetSeed():
            return 0 <= action.seed < MODULUS
        case CopyFromHost():
            return len(action.value) == prod(state.record_of(action.target).shape)
        case CopyInto():
            return _layout(state, action.target) == _layout(state, action.source)
        case Apply():
            return _result(state, action.op, action.inputs, action.scalar) is not None
        case AssignInPlace():
            inputs = (action.target, *action.others)
            result = _result(state, action.op, inputs, action.scalar)
            return result == _layout(state, action.target)
        case RunCached():
            outs = len(set(action.outs))
            return len(action.outs) == outs >= len(results_of_cached_run(state, action.tensors))
        case CompleteExecution():
            return not sure_to_fail(state)
        case BindData() | LoadShards():
            return len(action.value) == prod(state.record_of(action.tensor).shape)
    return fits_the_mode(state, action)


def fits_the_mode(state: State, action: AnyAction) -> bool:
    """Whether an action about modes, shardings or views agrees with the mode of the process."""
    match action:
        case SetEager():
            viewed = state.views is not None and state.views.objects != {}
            updates = state.views is None or state.views.functional
            return updates and not (action.flag and (state.device.spmd or viewed))
        case UseSpmd():
            return not state.device.eager
        case MarkSharding():
            return suits(state.record_of(action.tensor).shape, action.sharding)
        case ViewOf():
            modes = state.device.spmd or state.device.eager or state.views is None
            return not modes and can_be_shown(state, action)
    return True


def is_layout(action: CreateFromHost | CreatePlaceholder | Fill) -> bool:
    """Whether a tensor can be made so: sizes, and the element types that tensors have."""
    held = action.dtype in (DType.F32, DType.S32)
    return held and all(size >= 0 for size in action.shape)


def can_be_shown(state: State, action: ViewOf) -> bool:
    """Whether a view of a tensor has these sizes; a reshape copies where a view is not possible."""
    shape, sizes = state.record_of(action.source).shape, action.sizes
    if any(size < 0 for size in sizes) or prod(shape) > MOST_ELEMENTS:
        return False
    match action.op:
        case "slice" if len(sizes) == 3 and sizes[0] < len(shape):
            return sizes[1] <= sizes[2] <= shape[sizes[0]]
        case "transpose":
            return len(shape) == 2 and sizes == ()
        case "reshape":
            return prod(shape) == prod(sizes)
        case "view":
            return prod(shape) == prod(sizes) and can_be_viewed(state, action)
    return False


def results_of_cached_run(state: State, tensors: tuple[TensorName, ...]) -> list[int]:
    """The record rows that a run by key has a result for: each needs a name. What is out of date
    will be pending work of its own."""
    late = [name for name in tensors if out_of_date(state, name)]
    members = dict.fromkeys((state.tensors[n], n if n in late else None) for n in tensors)
    pending = [r for r, record in enumerate(state.records) if record.handle == NONE]
    return [r for r, n in members if n is not None or (r in pending and is_output(state, r))]


def _layout(state: State, name: TensorName) -> tuple[tuple[int, ...], DType]:
    record = state.record_of(name)
    return record.shape, record.dtype


def _result(
    state: State, op: str, inputs: tuple[TensorName, ...], scalar: Number | None
) -> tuple[tuple[int, ...], DType] | None:
    """The layout of an op's result, or None when the op does not take these operands."""
    facts = OPS.get(op)
    layouts = [_layout(state, name) for name in inputs]
    if facts is None or len(inputs) != facts.tensors or (scalar is None) == facts.number:
        return None
    if len({dtype for _, dtype in layouts}) != 1:
        return None
    if op == "failing_execute":
        return (HUGE,), layouts[0][1]
    shapes = [shape for shape, _ in layouts] + ([()] if scalar is not None else [])
    try:
        return result_shape(op.removesuffix("_scalar"), tuple(shapes)), layouts[0][1]
    except ValueError:
        return None


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
    if sure_to_fail(state):
        return FailExecution(deletes=not design.failure_keeps_donors)
    return CompleteExecution(spares=spared(state))


def choice_of(state: State, partitioner: Partitioner | None = None) -> tuple[Sharding, ...]:
    """How the outputs of the program that is to run lie: a program has one choice for good. Where
    nobody says, they lie like the first parameter that is cut and that they can lie like."""
    payload, call = state.payload, state.call
    known = payload.settled(call.key)
    if known is None and partitioner is not None:
        known = partitioner(state)
    if known is not None:
        return known
    cut = [state.buffers[row].sharding for row in call.leaves]
    roots = [state.records[r].shape for r in call.output_order]
    return tuple(
        next(
            (one for one in cut if one != Sharding.REPLICATED and suits(shape, one)),
            Sharding.REPLICATED,
        )
        for shape in roots
    )


def sure_to_fail(state: State) -> bool:
    """Whether the running program cannot end well: arguments do not fit, or it asks too much."""
    program = state.execution.program
    huge = program is not None and any(node.op == "expand_huge" for node in program.order)
    return state.execution.doomed or huge


def spared(state: State) -> int:
    """Donors that no result takes over: each result takes the first donor, by parameter number,
    that has its layout; the runtime leaves the others alone."""
    program = state.execution.program
    layouts = [(root.shape, root.dtype) for root in program.roots] if program is not None else []
    mask = 0
    for row in state.execution.arguments:
        layout = (state.buffers[row].shape, state.buffers[row].dtype)
        if has(state.execution.donors, row) and layout in layouts:
            layouts.remove(layout)
        elif has(state.execution.donors, row):
            mask |= bit(row)
    return mask


def lookup_facts(state: State) -> Lookup:
    """Whether the key hits, and whether the program found there is the graph's own."""
    call, payload = state.call, state.payload
    program, own = payload.peek(call.key), payload.own_program(call.roots)
    if program is None or own is None:
        return Lookup(hit=False)
    arguments = [state.buffers[row] for row in call.leaves]
    if program.layouts != tuple((buffer.shape, buffer.dtype) for buffer in arguments):
        return Lookup(True, misfits=True)
    lies = tuple(buffer.sharding for buffer in arguments)
    if program.spmd and program.shardings != lies:
        return Lookup(True, foreign=True)
    given = program.run(tuple(buffer.contents for buffer in arguments))
    leaves = payload.number_parameters(call.roots, call.params)
    meant = own.run(tuple(state.buffers[row].contents for row in leaves))
    plain = state.device.spmd and not program.spmd
    return Lookup(True, foreign=given != meant, plain=plain)


def _graph(state: State) -> tuple[Node, ...]:
    return ordered(tuple([node for node in state.call.roots if node is not None]))
