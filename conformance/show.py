"""Readable text for programs, views and states: actions as Python, states as what changed.

An action is written as the call of its class, with the tensors that it makes on the left:
`t2 = Apply('add', t0, t1)`. Options that have their default value are left out.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, fields
from math import prod
from typing import Any

from markstep.spec import vocabulary as v
from markstep.spec.ir import CONSTANT, DEVICE_DATA, Roots, post_order
from markstep.spec.machine import ACTIONS, ENVIRONMENT, AnyAction, names
from markstep.spec.observe import outcome
from markstep.spec.state import Phase, State

SHORT = {v.DType.F32: "f32", v.DType.S32: "s32"}


def show(action: AnyAction) -> str:
    """One action as one line of Python."""
    outs = names(action)[1]
    positional, skipped = _positional(action)
    options = [
        f"{f.name}={_plain(getattr(action, f.name))}"
        for f in fields(action)
        if f.name not in skipped and not _is_default(f, getattr(action, f.name))
    ]
    call = f"{type(action).__name__}({', '.join([*positional, *options])})"
    return f"{', '.join(map(tensor, outs))} = {call}" if outs else call


def counted(number: int, word: str) -> str:
    """So many of something: 1 file, 2 files."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def show_program(program: Sequence[AnyAction], failing: int | None = None) -> str:
    """A program, one numbered line per action; phases of calls are indented, the failing step is
    marked."""
    width = len(str(max(len(program) - 1, 0)))
    lines = []
    for i, action in enumerate(program):
        mark = ">" if i == failing else " "
        indent = "" if ACTIONS[type(action)].phase == Phase.IDLE else "  "
        lines.append(f"{mark} {i:>{width}}  {indent}{show(action)}")
    return "\n".join(lines)


def show_view(view: v.TensorView) -> str:
    """One tensor as it can be seen: its state, then the names by which it shares things."""
    shape = ",".join(map(str, view.shape))
    parts = [
        seen_state(view),
        f"b{view.buffer}" if view.buffer is not None else "",
        f"r{view.record}",
        f"alias r{view.alias}" if view.alias != view.record else "",
        f"{SHORT[view.dtype]}[{shape}]",
        "+host" if view.host and seen_state(view) != v.AbstractState.HOST else "",
    ]
    return " ".join(filter(None, parts))


def seen_state(view: v.TensorView) -> str:
    """The abstract state as far as a view tells: PEND also stands for STUB, LEAF for LEAFc."""
    if view.data != v.BufferStatus.NONE:
        return {
            v.BufferStatus.VALUE: v.AbstractState.DATA,
            v.BufferStatus.DELETED: v.AbstractState.GONE,
        }.get(view.data, v.AbstractState.PENDING)
    if view.ir != v.IrKind.NONE:
        return v.AbstractState.LEAF if view.ir == v.IrKind.LEAF else v.AbstractState.IR
    return v.AbstractState.HOST if view.host else v.AbstractState.DEAD


def show_observation(observation: v.Observation) -> str:
    """How an action ended, in a few words."""
    if observation.error != v.ErrorKind.NONE:
        text = f": {observation.message}" if observation.message else ""
        return f"error {observation.error}{text}"
    if observation.value is None:
        return "no error"
    return f"value {_plain(observation.value)}"


def show_end(before: State, action: AnyAction, after: State | None) -> str:
    """How a step ended, where that is worth a word."""
    if after is None:
        return "not possible here"
    if after.device.crashed and not before.device.crashed:
        return "the process dies"
    if after.call.phase != Phase.IDLE or isinstance(action, ENVIRONMENT):
        return ""
    return show_observation(outcome(after)) if after.raised != v.ErrorKind.NONE else ""


def tensor(name: int) -> str:
    """A tensor as a Python name."""
    return f"t{name}" if name >= 0 else f"t_{-name}"


def tensors(names: Iterable[int]) -> list[str]:
    """Tensors as Python names."""
    return [tensor(name) for name in names]


def array(value: Sequence[v.Number], shape: tuple[int, ...]) -> str:
    """A flat value as the nested list that its shape makes of it."""
    if not shape:
        return _number(value[0])
    size = prod(shape[1:])
    rows = (value[i * size : (i + 1) * size] for i in range(shape[0]))
    return f"[{', '.join(array(row, shape[1:]) for row in rows)}]"


def _positional(action: AnyAction) -> tuple[list[str], set[str]]:
    """(what is written without a name, fields that are not written as options)."""
    match action:
        case v.CreateFromHost() if _nests(action.value, action.shape):
            return [array(action.value, action.shape)], {"out", "value", "shape"}
        case v.CreateFromHost() | v.CopyFromHost():
            target = tensors([action.target]) if isinstance(action, v.CopyFromHost) else []
            return [*target, _plain(list(action.value))], {"out", "target", "value"}
        case v.CreatePlaceholder():
            return [_plain(action.shape)], {"out", "shape"}
        case v.Apply():
            scalar = [] if action.scalar is None else [_number(action.scalar)]
            operands = [*tensors(action.inputs), *scalar]
            return [repr(action.op), *operands], {"out", "op", "inputs", "scalar"}
        case v.AssignInPlace():
            scalar = [] if action.scalar is None else [_number(action.scalar)]
            operands = [*tensors(action.others), *scalar]
            first = [tensor(action.target), repr(action.op)]
            return [*first, *operands], {"target", "op", "others", "scalar"}
        case v.SetDonation():
            return [tensor(action.tensor)], {"tensor"}
    return tensors(names(action)[0]), {"tensors", "tensor", "source", "target", "out", "outs"}


def _nests(value: Sequence[v.Number], shape: tuple[int, ...]) -> bool:
    """Whether value and shape can be written as one nested list and read back from it."""
    return len(value) == prod(shape) and (0 not in shape or shape == (0,))


def _is_default(field: Any, value: object) -> bool:
    return field.default is not MISSING and bool(field.default == value)


def _plain(value: object) -> str:
    if isinstance(value, v.DType):
        return repr(value.value)
    if isinstance(value, v.Sharding):
        return value.name
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, tuple):
        inside = ", ".join(map(_plain, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, list):
        return f"[{', '.join(map(_plain, value))}]"
    return repr(value)


def _number(value: v.Number) -> str:
    """A number without a needless fraction."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return repr(value)


def show_graph(roots: Roots) -> str:
    """A graph with its shared nodes named: `n0 = sub(p0, p1); sub(n0, n0)`."""
    order = post_order(roots)
    uses = Counter([id(o) for node in order for o in node.operands] + [id(root) for root in roots])
    texts: dict[int, str] = {}
    lines: list[str] = []
    for node in order:
        operands = ", ".join(texts[id(o)] for o in node.operands if o.op != CONSTANT)
        leaf = f"b{node.buffer}" if node.op == DEVICE_DATA else ""
        text = leaf or (str(node.value) if node.op == CONSTANT else f"{node.op}({operands})")
        if uses[id(node)] > 1 and node.operands:
            lines.append(f"n{len(lines)} = {text}")
            text = f"n{len(lines) - 1}"
        texts[id(node)] = text
    return "; ".join([*lines, ", ".join(texts[id(root)] for root in roots)])


def printable(text: str) -> str:
    """A text without characters that XML and HTML do not have."""
    return "".join(c if c in "\t\n" or c.isprintable() else "�" for c in text)
