"""Running the rules' own text on symbols that stand for all values at once.

A `Symbol` is a small integer that is not known. Arithmetic on it builds expressions; a branch on it
forks: the run follows one side, and the other side is run later from the start (`paths`). A side
that no value can take is not followed: first by sets of values, then, if an oracle is given, by z3.

A question, code that only looks, can be run on all of its paths at once and gives one expression
(`summary`), so its branches do not multiply with those of the rule that asks it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from markstep.spec.proofs import expressions as ex
from markstep.spec.proofs.expressions import Expr, const, domain_of, ite, make, truth
from markstep.spec.vocabulary import ErrorKind

ERRORS = tuple(ErrorKind)
"""Kinds of error as small integers: their position."""
Decision = tuple[Expr, bool]
Result = TypeVar("Result")


class Oracle(Protocol):
    """Who decides what sets of values cannot."""

    def example(self, decisions: list[Decision]) -> Mapping[Expr, int] | None:
        """A state that takes all of these decisions, if there is one."""


class OutOfBound(Exception):
    """The rule needs one row more than there are."""


@dataclass
class Run:
    """One run of some code: the decisions taken, those to repeat, and what is left possible."""

    prefix: list[Decision]
    domains: dict[Expr, frozenset[int]] = field(default_factory=dict)
    known: dict[Expr, bool] = field(default_factory=dict)
    oracle: Oracle | None = None
    example: Mapping[Expr, int] | None = None
    """With an oracle: a state that takes the decisions taken so far."""
    taken: list[Decision] = field(default_factory=list)
    outside: bool = False
    """The path leads out of the bound."""
    open: list[tuple[int, Mapping[Expr, int] | None]] = field(default_factory=list)
    """Positions of the decisions whose other side is still to be run, with a state that does."""

    def decide(self, e: Expr) -> bool:
        """The truth of an expression on this path; a fork if it can be both."""
        e = truth(e)
        if e.op == "not":
            return not self.decide(e.args[0])
        if e in self.known:
            return self.known[e]
        for variable in e.variables:
            self.domains.setdefault(variable, domain_of(variable))
        possible = ex.values(e, self.domains)
        if possible is not None and len(possible) == 1:
            return bool(next(iter(possible)))
        side = self._choose(e)
        self.taken.append((e, side))
        self.learn(e, side)
        return side

    def _choose(self, e: Expr) -> bool:
        position = len(self.taken)
        if position < len(self.prefix):
            return self.prefix[position][1]
        if self.oracle is None:
            self.open.append((position, None))
            return True
        if self.example is None:
            self.example = self.oracle.example(self.taken)
        side = self.example is None or bool(ex.evaluate(e, self.example))
        other = self.oracle.example([*self.taken, (e, not side)])
        if other is not None:
            self.open.append((position, other))
        return side

    def learn(self, e: Expr, side: bool) -> None:
        """What follows from a decision for the values that are left."""
        self.known[e] = side
        if e.op == "not":
            self.learn(e.args[0], not side)
        elif (e.op == "and" and side) or (e.op == "or" and not side):
            for arg in e.args:
                self.learn(arg, side)
        else:
            self.domains.update(ex.supporting(e, self.domains, side))


_running: list[Run] = []


def running() -> Run:
    """The innermost run."""
    return _running[-1]


def on_symbols() -> bool:
    """Whether some code is being run on symbols."""
    return bool(_running)


def follow(run: Run, code: Callable[[], Result]) -> Result:
    """Run code under a run's decisions."""
    _running.append(run)
    try:
        return code()
    finally:
        _running.pop()


def paths(
    code: Callable[[], Result], oracle: Oracle | None = None
) -> Iterator[tuple[Run, Result | None]]:
    """Every path through code with its result; None: it leads out of the bound."""
    todo: list[tuple[list[Decision], Mapping[Expr, int] | None]] = [([], None)]
    while todo:
        prefix, example = todo.pop()
        run = Run(prefix, oracle=oracle, example=example)
        result: Result | None
        try:
            result = follow(run, code)
        except OutOfBound:
            result, run.outside = None, True
        for position, other in run.open:
            e, side = run.taken[position]
            todo.append(([*run.taken[:position], (e, not side)], other))
        yield run, result


def summary(code: Callable[[], Any]) -> Any:
    """The result of code on all of its paths, as one symbol. The code must only look."""
    found = everywhere(code, lambda e, yes, no: lower(ite(e, lift(yes), lift(no))), Run([]))
    return found


def everywhere(
    code: Callable[[], Result], both: Callable[[Expr, Result, Result], Result], known: Run
) -> Result:
    """The results of code on all of its paths, two at a time put together by ``both``.

    A path that contradicts what is known already is not followed.
    """

    def explore(prefix: list[Decision]) -> Result:
        run = Run(prefix, dict(known.domains), dict(known.known))
        result = follow(run, code)
        for position, _ in reversed(run.open):
            e, side = run.taken[position]
            result = both(e, result, explore([*run.taken[:position], (e, not side)]))
        return result

    return explore([])


def lift(value: Any) -> Expr:
    """A value as an expression. Kinds of error are numbered."""
    if isinstance(value, Symbol):
        return value.expr
    if isinstance(value, str):
        return const(ERRORS.index(ErrorKind(value)))
    if isinstance(value, int):
        return const(value)
    raise TypeError(f"{value!r} is not a control value")


def lower(e: Expr) -> "Symbol | int":
    """An expression as a value that rules can use."""
    return e.value if e.op == "const" else Symbol(e)


class Symbol:
    """A small integer, truth or kind of error that is not known."""

    __slots__ = ("expr",)
    __hash__ = None  # type: ignore[assignment]  # a symbol as key of a dict would be silently wrong

    def __init__(self, expr: Expr) -> None:
        self.expr = expr

    def __bool__(self) -> bool:
        return running().decide(self.expr)

    def __index__(self) -> int:
        run = running()
        for variable in self.expr.variables:
            run.domains.setdefault(variable, domain_of(variable))
        possible = ex.values(self.expr, run.domains)
        if possible is None:
            raise TypeError("an index with too many values")
        *some, last = sorted(possible)
        for value in some:
            if run.decide(make("eq", self.expr, const(value))):
                return value
        return last

    __int__ = __index__

    def __repr__(self) -> str:
        return repr(self.expr)

    def __eq__(self, other: object) -> Any:
        return lower(make("eq", self.expr, lift(other)))

    def __ne__(self, other: object) -> Any:
        return lower(make("not", make("eq", self.expr, lift(other))))

    def __invert__(self) -> Any:
        return lower(make("invert", self.expr))


def _operation(op: str, swapped: bool) -> Callable[[Symbol, Any], Any]:
    def method(self: Symbol, other: Any) -> Any:
        a, b = self.expr, lift(other)
        return lower(make(op, b, a) if swapped else make(op, a, b))

    return method


for _name, _op in {
    "add": "add",
    "sub": "sub",
    "and": "bitand",
    "or": "bitor",
    "xor": "bitxor",
    "lshift": "shl",
    "rshift": "shr",
}.items():
    setattr(Symbol, f"__{_name}__", _operation(_op, False))
    setattr(Symbol, f"__r{_name}__", _operation(_op, True))
for _name, _op, _swapped in (
    ("lt", "lt", False),
    ("le", "le", False),
    ("gt", "lt", True),
    ("ge", "le", True),
):
    setattr(Symbol, f"__{_name}__", _operation(_op, _swapped))
