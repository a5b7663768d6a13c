"""Expressions as straight-line code on the bytes of packed states, for every backend.

A kernel reads some bytes of a state and gives values. Each instruction is simple: shifts are by
constants, and truths are apart from numbers, so that a backend can hold them as it likes.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from markstep.spec.compiled.layout import SORTS, Layout
from markstep.spec.proofs.expressions import (
    Expr,
    const,
    domain_of,
    ite,
    make,
    rebuilt,
    substitute,
    truth,
    values,
    var,
)
from markstep.spec.sorts import Sort

BYTE = frozenset(range(256))
Operand: TypeAlias = int
"""The number of an instruction whose result is meant."""


@dataclass(frozen=True)
class Instruction:
    """One operation. ``truth``: the result is a truth, else a small number."""

    op: str
    args: tuple[Operand, ...]
    value: int
    """Of a constant, a shift, or the number of a byte to read."""
    truth: bool


@dataclass(frozen=True, eq=False)
class Kernel:
    """Code for one state; a backend runs it on many."""

    instructions: tuple[Instruction, ...]
    outputs: tuple[Operand, ...]


def byte(number: int, domain: Iterable[int] = BYTE) -> Expr:
    """A byte of what is given; its values, if they are known to be few."""
    return var(f"byte{number}", frozenset(domain))


def packed_field(layout: Layout) -> Callable[[str], Expr]:
    """How to read a field of a packed state."""

    def read(path: str) -> Expr:
        place = layout.places[path]
        inside = make("bitand", byte(place.byte), const(((1 << place.bits) - 1) << place.shift))
        if place.bits == 1 and place.least == 0:
            return truth(inside)
        code = make("shr", inside, const(place.shift)) if place.shift else inside
        return make("add", code, const(place.least)) if place.least else code

    return read


def loose_field(layout: Layout, spare: int) -> Callable[[str], Expr]:
    """How to read a field that has a byte of its own."""
    numbers = layout.loose(spare)
    return lambda path: byte(numbers[path], range(2) if is_truth(path) else BYTE)


def is_truth(path: str) -> bool:
    """Whether a field is a truth."""
    part, _, name = path.rpartition(".")
    return SORTS.get(part.rstrip("0123456789"), {}).get(name) == Sort.BOOL


def simple_shifts(e: Expr, parts: list[Expr]) -> Expr:
    """The expression, of which the parts are made again, with every shift by a constant."""
    if not parts:
        return e
    if e.op in ("shl", "shr") and parts[1].op != "const":
        return by_cases(e.op, e.args[1], parts)
    return ite(truth(parts[0]), *parts[1:]) if e.op == "ite" else make(e.op, *parts)


def by_cases(op: str, amount: Expr, parts: Sequence[Expr]) -> Expr:
    """A shift as a choice between shifts by constants."""
    possible = values(amount, {v: domain_of(v) for v in amount.variables})
    if possible is None:
        raise ValueError("a shift by anything")
    found = const(0)
    for value in sorted(possible):
        if value >= 0:
            shifted = make(op, parts[0], const(value))
            found = make("bitor", found, ite(make("eq", parts[1], const(value)), shifted, const(0)))
    return found


def kernel(read: Callable[[str], Expr], outputs: Iterable[Expr]) -> Kernel:
    """Code for expressions over the fields of a state that is read in some way."""
    shifts: dict[Expr, Expr] = {}
    reads: dict[Expr, Expr] = {}
    simple = [rebuilt(e, shifts, simple_shifts) for e in outputs]
    by = {v: read(v.name) for e in simple for v in e.variables}
    code = _Code()
    ends = [code.add(substitute(e, by, reads)) for e in simple]
    return Kernel(tuple(code.instructions), tuple(ends))


class _Code:
    def __init__(self) -> None:
        self.instructions: list[Instruction] = []
        self.numbers: dict[Instruction, Operand] = {}
        self.known: dict[Expr, Operand] = {}

    def add(self, e: Expr) -> Operand:
        """Code for an expression after that for its parts."""
        todo = [e]
        while todo:
            top = todo[-1]
            missing = [arg for arg in top.args if arg not in self.known]
            if top in self.known or not missing:
                todo.pop()
                if top not in self.known:
                    self.known[top] = self.emit(top)
            else:
                todo += missing
        return self.known[e]

    def emit(self, e: Expr) -> Operand:
        if e.op == "var":
            return self.new("byte", (), int(e.name.removeprefix("byte")), e.logical)
        if e.op == "const":
            return self.new("const", (), e.value, e.logical)
        args = tuple(self.known[arg] for arg in e.args)
        if e.op in ("shl", "shr"):
            return self.new(e.op, args[:1], e.args[1].value, False)
        return self.new(e.op, args, 0, e.logical)

    def new(self, op: str, args: tuple[Operand, ...], value: int, truth: bool) -> Operand:
        made = Instruction(op, args, value, truth)
        if made not in self.numbers:
            self.numbers[made] = len(self.instructions)
            self.instructions.append(made)
        return self.numbers[made]
