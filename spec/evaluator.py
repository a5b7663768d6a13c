"""Eager meaning of the ops of the conformance alphabet: the contract that lazy execution refines.

Values are flat row-major tuples of numbers. All values of the alphabet are small integers and
halves, exact in float32 and int32, so plain Python arithmetic gives the bits that a device gives;
the generators keep magnitudes below EXACT. Source: design.md §3 (last line).
"""

from collections.abc import Callable
from math import prod
from typing import TypeAlias

from markstep.spec.randomness import MODULUS
from markstep.spec.vocabulary import Number

Value: TypeAlias = tuple[Number, ...]
Shape: TypeAlias = tuple[int, ...]

EXACT = 2**22
"""Magnitudes up to here stay exact through one more addition in float32."""
TOO_LARGE = 2**64
"""No dtype of the alphabet holds such an element exactly."""
MOST_ELEMENTS = 2**20
"""Elements of a tensor that is made of one number, or of random ones: nobody lists more here."""
HUGE = 2**42
"""Elements that failing_execute asks for: more than any device can allocate."""

_ELEMENTWISE: dict[str, Callable[[Number, Number], Number]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
}

_SEED_ARITHMETIC = {"seed_mul": _ELEMENTWISE["mul"], "seed_add": _ELEMENTWISE["add"]}
"""On unsigned 64-bit numbers."""


def result_shape(op: str, shapes: tuple[Shape, ...]) -> Shape:
    """The shape of an op's result. Raises ValueError when the operand shapes do not fit."""
    if op in _ELEMENTWISE:
        return _elementwise_shape(op, shapes[0], shapes[1])
    if op == "matmul":
        return _matmul_shape(shapes[0], shapes[1])
    if op in ("neg", "failing_compile"):
        return shapes[0]
    if op == "sum":
        return ()
    if op == "expand_huge":
        return (HUGE,)
    raise ValueError(f"unknown op {op!r}")


def _elementwise_shape(op: str, a: Shape, b: Shape) -> Shape:
    if a == b or b == ():
        return a
    if a == ():
        return b
    raise ValueError(f"{op}: shapes {a} and {b} differ")


def _matmul_shape(a: Shape, b: Shape) -> Shape:
    if len(a) not in (1, 2) or len(b) not in (1, 2) or a[-1] != b[0]:
        raise ValueError(f"matmul: shapes {a} and {b} do not fit")
    return a[:-1] + b[1:]


def evaluate(op: str, values: tuple[Value | None, ...], shapes: tuple[Shape, ...]) -> Value | None:
    """The value of an op; None when an operand's value is not known, the op has none, or an element
    is so large that no device holds it (then nobody knows, and Python's integers do not grow)."""
    known = [v for v in values if v is not None]
    if len(known) < len(values) or op in ("failing_compile", "expand_huge"):
        return None
    value = _compute(op, known, shapes)
    return value if max(map(abs, value), default=0) <= TOO_LARGE else None


def _compute(op: str, known: list[Value], shapes: tuple[Shape, ...]) -> Value:
    if op in _ELEMENTWISE:
        function = _ELEMENTWISE[op]
        left, right = _broadcast(known[0], known[1])
        return tuple(function(a, b) for a, b in zip(left, right, strict=True))
    if op == "neg":
        return tuple(-a for a in known[0])
    if op == "sum":
        return (sum(known[0]),)
    if op in _SEED_ARITHMETIC:
        return ((_SEED_ARITHMETIC[op](known[0][0], known[1][0])) % MODULUS,)
    if op == "matmul":
        return _matmul(known[0], known[1], shapes[0], shapes[1])
    raise ValueError(f"unknown op {op!r}")


def _broadcast(a: Value, b: Value) -> tuple[Value, Value]:
    if len(a) == len(b):
        return a, b
    return (a, b * len(a)) if len(b) == 1 else (a * len(b), b)


def _matmul(a: Value, b: Value, shape_a: Shape, shape_b: Shape) -> Value:
    inner = shape_a[-1]
    columns = prod(shape_b[1:])
    lines = [a[i * inner : (i + 1) * inner] for i in range(prod(shape_a[:-1]))]
    return tuple(
        sum(line[k] * b[k * columns + j] for k in range(inner))
        for line in lines
        for j in range(columns)
    )
