"""Expressions for z3, and questions to it that share what it has learned."""

from collections.abc import Iterable, Mapping
from typing import Any

import z3

from markstep.spec.proofs.expressions import Expr, domain_of
from markstep.spec.proofs.symbolic import Decision

BITS = 8
"""Every control value, with its sign, fits."""


class Undecided(Exception):
    """z3 gave no answer."""


class Solver:
    """Facts, and whether some assignment agrees with them and with assumptions."""

    def __init__(self, free: str = "\0") -> None:
        self.z3: Any = z3.SimpleSolver()
        self.free = free
        """Variables whose names begin so have no domain: they are defined by equations."""
        self.terms: dict[Expr, Any] = {}
        self.literals: dict[Expr, Any] = {}
        self.variables: dict[Expr, Any] = {}
        self.queries = 0

    def add(self, fact: Expr) -> None:
        """Assert a fact."""
        self.z3.add(self.logical(fact))

    def feasible(self, decisions: Iterable[Decision]) -> bool:
        """Whether some assignment takes all of these decisions. Raises Undecided."""
        literals = [self.literal(e) if side else z3.Not(self.literal(e)) for e, side in decisions]
        self.queries += 1
        answer = self.z3.check(*literals)
        if answer == z3.unknown:
            raise Undecided(self.z3.reason_unknown())
        return bool(answer == z3.sat)

    def model(self) -> Mapping[Expr, int]:
        """The assignment that the last question found."""
        found = self.z3.model()
        values: dict[Expr, int] = {}
        for variable, term in self.variables.items():
            value = found.eval(term, model_completion=True)
            values[variable] = int(z3.is_true(value)) if variable.logical else _signed(value)
        return values

    def literal(self, e: Expr) -> Any:
        """A z3 truth that stands for an expression."""
        if e not in self.literals:
            name = z3.Bool(f"literal{len(self.literals)}")
            self.z3.add(name == self.logical(e))
            self.literals[e] = name
        return self.literals[e]

    def logical(self, e: Expr) -> Any:
        """The truth of an expression as a z3 term."""
        return self.term(e) if e.logical and e.op != "const" else _truth(self.number(e), e)

    def number(self, e: Expr) -> Any:
        """The value of an expression as a z3 term."""
        if e.op == "const":
            return z3.BitVecVal(e.value, BITS)
        if e.logical:
            return z3.If(self.term(e), z3.BitVecVal(1, BITS), z3.BitVecVal(0, BITS))
        return self.term(e)

    def term(self, e: Expr) -> Any:
        """The z3 term of an expression: a truth if it is logical, else a number."""
        if e not in self.terms:
            self.terms[e] = self._variable(e) if e.op == "var" else self._operation(e)
        return self.terms[e]

    def _variable(self, e: Expr) -> Any:
        made = z3.Bool(e.name) if e.logical else z3.BitVec(e.name, BITS)
        self.variables[e] = made
        if not e.logical and not e.name.startswith(self.free):
            self.z3.add(z3.Or([made == value for value in sorted(domain_of(e))]))
        return made

    def _operation(self, e: Expr) -> Any:
        if e.op == "ite":
            one = self.logical if e.logical else self.number
            return z3.If(self.logical(e.args[0]), one(e.args[1]), one(e.args[2]))
        if e.op in ("and", "or", "not"):
            parts = [self.logical(arg) for arg in e.args]
            return {"and": z3.And, "or": z3.Or, "not": z3.Not}[e.op](*parts)
        return _OPERATIONS[e.op](*(self.number(arg) for arg in e.args))


def _truth(term: Any, e: Expr) -> Any:
    return z3.BoolVal(bool(e.value)) if e.op == "const" else term != 0


def _signed(value: Any) -> int:
    number = int(value.as_long())
    return number - (1 << BITS) if number >> (BITS - 1) else number


_OPERATIONS: dict[str, Any] = {
    "eq": lambda a, b: a == b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "bitand": lambda a, b: a & b,
    "bitor": lambda a, b: a | b,
    "bitxor": lambda a, b: a ^ b,
    "invert": lambda a: ~a,
    "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> b,
}
