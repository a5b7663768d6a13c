"""Variants of actions and of whole programs that are easier to read.

Each kind of variant has an order, and only what comes earlier in it is proposed: whoever takes a
variant comes to an end.
"""

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from math import prod
from typing import Any

from markstep.spec.vocabulary import Action, DType, Nested, Number

OPTIONS: dict[str, Any] = {"wait": True, "sync": True, "upload": True, "spares": 0}
"""The simplest value of an option."""
SEVERAL = ("tensors",)
"""Fields of actions that list tensors of which some may be left out."""
SCALARS: tuple[Number, ...] = (1, 2, 0, -1)
"""Numbers, simplest first: 1 is inlined by most executors, 2 is not; the others are special."""
WHOLE: dict[str, tuple[int, ...]] = {"seed": (1,), "bound": (2, 10)}
"""Whole numbers that an action may have, simplest first."""
OPS: dict[str, tuple[str, ...]] = {
    "add_scalar": ("neg",),
    "mul_scalar": ("neg", "add_scalar"),
    "sub": ("neg", "add"),
    "mul": ("neg", "add"),
    "add": ("neg",),
    "matmul": ("neg", "add"),
}
"""Ops that are easier to follow than one, of the same or of fewer operands."""
SHAPES = ((1,), (2,))


def simpler_actions(action: Action) -> Iterator[Action]:
    """Variants of one action."""
    values: dict[str, Any] = {f.name: getattr(action, f.name) for f in fields(action)}
    for changes in _changes(values):
        yield replace(action, **changes)


def _changes(values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name in SEVERAL:
        listed = values.get(name, ())
        for i in range(len(listed) if len(listed) > 1 else 0):
            yield {name: listed[:i] + listed[i + 1 :]}
    for name, default in OPTIONS.items():
        if values.get(name, default) != default:
            yield {name: default}
    for op in OPS.get(values.get("op", ""), ()):
        yield _with_op(op, values)
    if values.get("scalar") is not None:
        yield from ({"scalar": s} for s in SCALARS if _rank(s) < _rank(values["scalar"]))
    for name, choice in WHOLE.items():
        if name in values:
            found = values[name]
            yield from ({name: n} for n in choice if (len(str(n)), n) < (len(str(found)), found))
    if "value" in values:
        yield from ({"value": v} for v in _plain(len(values["value"])) if v < values["value"])


def _rank(scalar: Number) -> tuple[int, Number]:
    return (SCALARS.index(scalar), 0) if scalar in SCALARS else (len(SCALARS), abs(scalar))


def _plain(count: int) -> tuple[Nested, Nested]:
    return (1,) * count, tuple(range(1, count + 1))


def _with_op(op: str, values: dict[str, Any]) -> dict[str, Any]:
    """The changes for another op; operands that it does not take are left out."""
    changes: dict[str, Any] = {"op": op}
    if op == "neg":
        changes["scalar"] = None
        changes |= {"inputs": values["inputs"][:1]} if "inputs" in values else {"others": ()}
    return changes


def simpler_layouts(program: Sequence[Action]) -> Iterator[tuple[Action, ...]]:
    """The program with all its tensors of one small shape, and of floats."""
    size = sum(prod(a.shape) + len(a.shape) for a in program if hasattr(a, "shape"))
    for shape in SHAPES:
        changed = tuple(_shaped(action, shape) for action in program)
        if sum(prod(shape) + 1 for a in program if hasattr(a, "shape")) < size:
            yield changed
    floats = tuple(map(_of_floats, program))
    if floats != tuple(program):
        yield floats


def _of_floats(action: Action) -> Action:
    changes: dict[str, Any] = {"dtype": DType.F32} if hasattr(action, "dtype") else {}
    return replace(action, **changes)


def _shaped(action: Action, shape: tuple[int, ...]) -> Action:
    changes: dict[str, Any] = {}
    if hasattr(action, "shape"):
        changes["shape"] = shape
    if hasattr(action, "value"):
        given = action.value
        changes["value"] = tuple(given[i] if i < len(given) else 1 for i in range(prod(shape)))
    return replace(action, **changes) if changes else action
