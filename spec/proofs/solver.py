"""Expressions for z3, and questions to it that share what it has learned."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Any

import z3

from markstep.spec.proofs.expressions import Expr, domain_of
from markstep.spec.proofs.symbolic import Decision

BITS = 8
"""Every control value, with its sign, fits."""


z3.set_param("ctrl_c", False)  # Ctrl-C is not an answer of the solver: Python hears of it


class Undecided(Exception):
    """z3 gave no answer."""


class Solver:
    """Facts, and whether some assignment agrees with them and with assumptions."""

    def __init__(self, free: str = "\0") -> None:
        self.z3: Any = z3.SolverFor("QF_FD")
        self.free = free
        """Variables whose names begin so have no domain: they are defined by equations."""
        self.terms: dict[Expr, Any] = {}
        self.literals: dict[Expr, Any] = {}
        self.denials: dict[Any, Any] = {}
        self.variables: dict[Expr, Any] = {}
        self.queries = 0

    def add(self, fact: Expr) -> None:
        """Assert a fact."""
        self._assert(self.logical(fact))

    def feasible(self, decisions: Iterable[Decision]) -> bool:
        """Whether some assignment takes all of these decisions. Raises Undecided."""
        literals = [self.literal(e) if side else self.denial(e) for e, side in decisions]
        self.queries += 1
        answer = self.z3.check(*literals)
        if answer == z3.unknown:
            raise Undecided(self.z3.reason_unknown())
        return bool(answer == z3.sat)

    def add_some_false(self, claims: Iterable[Expr]) -> None:
        """Assert that one of the expressions is false."""
        self._assert(z3.Or([self.denial(e) for e in claims]))

    def example(self, decisions: Iterable[Decision]) -> "Example | None":
        """An assignment that takes all of these decisions. Raises Undecided."""
        return self.model() if self.feasible(decisions) else None

    def model(self) -> "Example":
        """The assignment that the last question found."""
        return Example(self.z3.model(), dict(self.variables))

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What is defined while this lasts is forgotten afterwards: questions stay small."""
        kept, known = dict(self.literals), dict(self.variables)
        self.z3.push()
        try:
            yield
        finally:
            self.z3.pop()
            self.literals = kept
            for variable in self.variables.keys() - known.keys():
                self._declare(variable)

    def literal(self, e: Expr) -> Any:
        """A z3 truth that stands for an expression."""
        if e not in self.literals:
            name = z3.Bool(f"literal{len(self.literals)}")
            self._assert(name == self.logical(e))
            self.literals[e] = name
        return self.literals[e]

    def denial(self, e: Expr) -> Any:
        """A z3 truth that stands for the opposite of an expression."""
        literal = self.literal(e)
        if literal not in self.denials:
            self.denials[literal] = z3.Not(literal)
        return self.denials[literal]

    def _assert(self, truth: Any) -> None:
        """`z3.Solver.add` without its conversions, which cost more than the question."""
        z3.Z3_solver_assert(self.z3.ctx.ref(), self.z3.solver, truth.as_ast())

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
        self._declare(e)
        return made

    def _declare(self, e: Expr) -> None:
        if not e.logical and not e.name.startswith(self.free):
            made = self.variables[e]
            self.z3.add(z3.Or([made == value for value in sorted(domain_of(e))]))

    def _operation(self, e: Expr) -> Any:
        if e.op == "ite":
            one = self.logical if e.logical else self.number
            return z3.If(self.logical(e.args[0]), one(e.args[1]), one(e.args[2]))
        if e.op in ("and", "or", "not"):
            parts = [self.logical(arg) for arg in e.args]
            return {"and": z3.And, "or": z3.Or, "not": z3.Not}[e.op](*parts)
        return _OPERATIONS[e.op](*(self.number(arg) for arg in e.args))


class Example(dict[Expr, int]):
    """An assignment that z3 has found. Variables that it was not told of have their least value."""

    def __init__(self, model: Any, terms: dict[Expr, Any]) -> None:
        super().__init__()
        self._model, self._terms = model, terms

    def __missing__(self, variable: Expr) -> int:
        self[variable] = value = self._found(variable)
        return value

    def _found(self, variable: Expr) -> int:
        if variable not in self._terms:
            return min(domain_of(variable))
        value = self._model.eval(self._terms[variable], model_completion=True)
        return int(z3.is_true(value)) if variable.logical else _signed(value)

    def complete(self) -> "Example":
        """The assignment with a value for every variable that z3 was told of."""
        for variable in self._terms:
            self[variable]
        return self


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


WORD = 64
"""Bits of a word of the device."""


class Word:
    """A number of which nothing is known. Arithmetic wraps, so remainders modulo 2⁶⁴ are free."""

    def __init__(self, term: Any) -> None:
        self.term = term

    def __add__(self, other: Any) -> "Word":
        return Word(self.term + _term(other))

    def __sub__(self, other: Any) -> "Word":
        return Word(self.term - _term(other))

    def __mul__(self, other: Any) -> "Word":
        return Word(self.term * _term(other))

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> "Word":
        return Word(-self.term)

    def __abs__(self) -> int:
        return 0  # of no size that would be too large

    def __mod__(self, modulus: int) -> "Word":
        if modulus != 1 << WORD:
            raise ValueError(f"words wrap at 2**{WORD}, not at {modulus}")
        return self


def word(name: str) -> Word:
    """Any word."""
    return Word(z3.BitVec(name, WORD))


def where_equal(a: Any, b: Any) -> dict[str, int] | None:
    """Words for which two numbers are equal; None: there are none. Raises Undecided."""
    return _words(_term(a) == _term(b))


def where_different(a: Any, b: Any) -> dict[str, int] | None:
    """Words for which two numbers differ; None: they never do. Raises Undecided."""
    return _words(_term(a) != _term(b))


def _term(value: Any) -> Any:
    return value.term if isinstance(value, Word) else z3.BitVecVal(int(value), WORD)


def _words(fact: Any) -> dict[str, int] | None:
    solver = z3.Solver()
    solver.add(fact)
    answer = solver.check()
    if answer == z3.unknown:
        raise Undecided(solver.reason_unknown())
    if answer == z3.unsat:
        return None
    model = solver.model()
    numbers = [name for name in model.decls() if name.arity() == 0]
    return {str(name): int(model[name].as_long()) for name in numbers}


class Whole:
    """A whole number of which nothing is known; a comparison forks (`where_false`)."""

    def __init__(self, term: Any) -> None:
        self.term = term

    def __add__(self, other: Any) -> "Whole":
        return Whole(self.term + _whole(other))

    def __sub__(self, other: Any) -> "Whole":
        return Whole(self.term - _whole(other))

    def __mul__(self, other: Any) -> "Whole":
        return Whole(self.term * _whole(other))

    # z3 rounds to the smaller multiple of a positive divisor, and so does Python
    def __floordiv__(self, other: Any) -> "Whole":
        return Whole(self.term / _whole(other))

    def __mod__(self, other: Any) -> "Whole":
        return Whole(self.term % _whole(other))

    def __neg__(self) -> "Whole":
        return Whole(-self.term)

    def __eq__(self, other: object) -> bool:
        return _decide(self.term == _whole(other))

    def __lt__(self, other: Any) -> bool:
        return _decide(self.term < _whole(other))

    def __le__(self, other: Any) -> bool:
        return _decide(self.term <= _whole(other))

    def __gt__(self, other: Any) -> bool:
        return _decide(self.term > _whole(other))

    def __ge__(self, other: Any) -> bool:
        return _decide(self.term >= _whole(other))

    __hash__ = None  # type: ignore[assignment]


def _whole(value: Any) -> Any:
    return value.term if isinstance(value, Whole) else z3.IntVal(int(value))


_sides: list[bool] = []
"""Which side to follow at each comparison to come; True where it does not say."""
_taken: list[tuple[Any, bool]] = []


def _decide(truth: Any) -> bool:
    side = _sides.pop(0) if _sides else True
    _taken.append((truth, side))
    return side


def where_false(claim: Callable[..., bool]) -> dict[str, int] | None:
    """Whole numbers of which a claim is false; None: it is true of all. Raises Undecided."""
    names = list(signature(claim).parameters)
    todo: list[list[bool]] = [[]]
    while todo:
        prefix = todo.pop()
        _sides[:], _taken[:] = prefix, []
        true = claim(*[Whole(z3.Int(name)) for name in names])
        sides = [side for _, side in _taken]
        todo += [[*sides[:place], False] for place in range(len(prefix), len(sides))]
        if not true:
            found = _words(z3.And([fact if side else z3.Not(fact) for fact, side in _taken]))
            if found is not None:
                return found
    return None
