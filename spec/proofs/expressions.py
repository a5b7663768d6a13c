"""Expressions over variables with small finite domains.

Every value is a small integer; truth is 0 or 1. An expression is built once (`make` keeps a table),
so equal expressions are one object, and what is known of one is known wherever it occurs.
"""

import operator
from collections.abc import Callable, Mapping
from itertools import product
from typing import TypeAlias

Domains: TypeAlias = Mapping["Expr", frozenset[int]]
"""What each variable can still be."""

EXACT = 64
"""Up to so many assignments the values of an expression are found by trying all."""
COARSE = 1024
"""Up to so many combinations of the values of its parts, by combining these."""

TRUTHS = frozenset((0, 1))
ARITHMETIC: dict[str, Callable[..., int]] = {
    "eq": lambda a, b: int(a == b),
    "lt": lambda a, b: int(a < b),
    "le": lambda a, b: int(a <= b),
    "not": lambda a: int(not a),
    "and": lambda a, b: int(bool(a) and bool(b)),
    "or": lambda a, b: int(bool(a) or bool(b)),
    "add": operator.add,
    "sub": operator.sub,
    "bitand": operator.and_,
    "bitor": operator.or_,
    "bitxor": operator.xor,
    "invert": operator.invert,
    "shl": lambda a, b: a << b if b >= 0 else 0,  # guarded by the rules: the value is not used
    "shr": lambda a, b: a >> b if b >= 0 else 0,
}
LOGICAL = frozenset(("eq", "lt", "le", "not", "and", "or"))


class Expr:
    """One expression. Compared by identity; made by `const`, `var` and `make` only."""

    __slots__ = ("args", "logical", "name", "op", "value", "variables")

    def __init__(self, op: str, args: "tuple[Expr, ...]", value: int, name: str) -> None:
        self.op, self.args, self.value, self.name = op, args, value, name
        found: dict[Expr, None] = {} if op != "var" else {self: None}
        for arg in args:
            found |= dict.fromkeys(arg.variables)
        self.variables: tuple[Expr, ...] = tuple(found)
        inner = args[1:] if op == "ite" else ()
        self.logical: bool = op in LOGICAL or (
            op == "const" and value in TRUTHS if not inner else all(a.logical for a in inner)
        )

    def __repr__(self) -> str:
        if self.op in ("const", "var"):
            return self.name or str(self.value)
        return f"{self.op}({', '.join(map(repr, self.args))})"


_made: dict[tuple[object, ...], Expr] = {}
_bases: dict[Expr, frozenset[int]] = {}
"""The declared domain of every variable."""


def const(value: int) -> Expr:
    """A constant."""
    return _intern("const", (), int(value), "")


def var(name: str, domain: frozenset[int]) -> Expr:
    """A variable; the same name with another domain is another variable."""
    key = ("var", name, domain)
    if key not in _made:
        _made[key] = Expr("var", (), 0, name)
        _made[key].logical = domain <= TRUTHS
        _bases[_made[key]] = domain
    return _made[key]


def domain_of(variable: Expr) -> frozenset[int]:
    """The declared domain of a variable."""
    return _bases[variable]


def _intern(op: str, args: tuple[Expr, ...], value: int = 0, name: str = "") -> Expr:
    key = (op, args, value, name)
    if key not in _made:
        _made[key] = Expr(op, args, value, name)
    return _made[key]


def make(op: str, *args: Expr) -> Expr:
    """An operation, simplified where that is free."""
    if all(arg.op == "const" for arg in args):
        return const(ARITHMETIC[op](*(arg.value for arg in args)))
    if op in ("eq", "lt", "le"):
        return _comparison(op, *args)
    if op == "not":
        return _negation(args[0])
    if op in ("and", "or"):
        return _connective(op, *args)
    if op in ("bitor", "bitand", "add", "bitxor") and args[0].op == "const":
        args = (args[1], args[0])
    zero = len(args) == 2 and args[1].op == "const" and args[1].value == 0
    if zero:
        return const(0) if op == "bitand" else args[0]
    if op in ("bitand", "bitor") and args[0] is args[1]:
        return args[0]
    return _intern(op, args)


_compared: dict[tuple[str, Expr, Expr], Expr] = {}


def _comparison(op: str, a: Expr, b: Expr) -> Expr:
    key = (op, a, b)
    if key not in _compared:
        _compared[key] = _new_comparison(op, a, b)
    return _compared[key]


def _new_comparison(op: str, a: Expr, b: Expr) -> Expr:
    if a is b:
        return const(int(op != "lt"))
    if op == "eq" and a.op == "const":
        a, b = b, a
    if op == "eq" and b.op == "const" and a.logical:
        return const(0) if b.value not in TRUTHS else a if b.value else make("not", a)
    for one, other, swapped in ((a, b, False), (b, a, True)):
        if one.op == "ite" and other.op == "const":
            parts = [make(op, other, x) if swapped else make(op, x, other) for x in one.args[1:]]
            return ite(one.args[0], *parts)
    return _intern(op, (a, b))


def truth(e: Expr) -> Expr:
    """Whether an expression is not zero."""
    return e if e.logical else make("not", make("eq", e, const(0)))


def _negation(e: Expr) -> Expr:
    e = truth(e)
    return e.args[0] if e.op == "not" else _intern("not", (e,))


def _connective(op: str, a: Expr, b: Expr) -> Expr:
    a, b = truth(a), truth(b)
    strong = int(op == "or")
    for one, other in ((a, b), (b, a)):
        if one.op == "const":
            return const(strong) if one.value == strong else other
    if a is b:
        return a
    return const(strong) if make("not", a) is b else _intern(op, (a, b))


def ite(condition: Expr, yes: Expr, no: Expr) -> Expr:
    """``yes`` where the condition holds, else ``no``."""
    if condition.op == "const":
        return yes if condition.value else no
    if yes is no:
        return yes
    if condition.op == "not":
        return ite(condition.args[0], no, yes)
    if yes.logical and no.logical:
        return _logical_ite(condition, yes, no)
    return _intern("ite", (condition, yes, no))


def _logical_ite(condition: Expr, yes: Expr, no: Expr) -> Expr:
    if no.op == "const":
        return make("or", make("not", condition), yes) if no.value else make("and", condition, yes)
    if yes.op == "const":
        return make("or", condition, no) if yes.value else make("and", make("not", condition), no)
    return _intern("ite", (condition, yes, no))


def conjuncts(e: Expr) -> tuple[Expr, ...]:
    """Expressions that are all true exactly if this one is."""
    if e.op == "const" and e.value:
        return ()
    return (*conjuncts(e.args[0]), *conjuncts(e.args[1])) if e.op == "and" else (e,)


def evaluate(e: Expr, given: Mapping[Expr, int], memo: dict[Expr, int] | None = None) -> int:
    """The value of an expression under an assignment."""
    if e.op == "const":
        return e.value
    if e.op == "var":
        return given[e]
    memo = {} if memo is None else memo
    if e not in memo:
        if e.op == "ite":
            memo[e] = evaluate(e.args[1 if evaluate(e.args[0], given, memo) else 2], given, memo)
        else:
            memo[e] = ARITHMETIC[e.op](*(evaluate(a, given, memo) for a in e.args))
    return memo[e]


_values: dict[tuple[object, ...], frozenset[int] | None] = {}


def values(e: Expr, domains: Domains) -> frozenset[int] | None:
    """A set that holds every value the expression can have; None: too many to tell."""
    if e.op == "const":
        return frozenset((e.value,))
    if e.op == "var":
        return domains[e]
    key = (e, *(domains[v] for v in e.variables))
    if key not in _values:
        _values[key] = _exact(e, domains) if small(e, domains) else _coarse(e, domains)
    return _values[key]


def small(e: Expr, domains: Domains) -> bool:
    """Whether all assignments of the expression's variables can be tried."""
    total = 1
    for variable in e.variables:
        total *= len(domains[variable])
        if total > EXACT:
            return False
    return True


def _exact(e: Expr, domains: Domains) -> frozenset[int]:
    columns = product(*(domains[v] for v in e.variables))
    return frozenset(evaluate(e, dict(zip(e.variables, row, strict=True))) for row in columns)


def _coarse(e: Expr, domains: Domains) -> frozenset[int] | None:
    unknown = TRUTHS if e.logical else None
    if e.op == "ite":
        tests = values(e.args[0], domains) or TRUTHS
        parts = [values(e.args[1 if test else 2], domains) for test in tests]
        known = [part for part in parts if part is not None]
        return frozenset().union(*known) if len(known) == len(parts) else unknown
    sets = [values(arg, domains) for arg in e.args]
    total = 1
    for one in sets:
        if one is None:
            return unknown
        total *= len(one)
    if total > COARSE:
        return masks(e.op, [one for one in sets if one is not None]) or unknown
    columns = product(*(one for one in sets if one is not None))
    return frozenset(ARITHMETIC[e.op](*row) for row in columns)


def masks(op: str, sets: list[frozenset[int]]) -> frozenset[int] | None:
    """A set that holds every value of an operation on masks; None: it is none, or they are long."""
    if op not in ("bitor", "bitand", "bitxor") or min(map(min, sets)) < 0:
        return None
    bits = max(value.bit_length() for one in sets for value in one)
    return frozenset(range(1 << bits)) if 1 << bits <= COARSE else None


_supports: dict[tuple[object, ...], dict[Expr, frozenset[int]]] = {}


def supporting(e: Expr, domains: Domains, side: bool) -> dict[Expr, frozenset[int]]:
    """The domains that are left when the expression is true (or false), where that is cheap."""
    key = (e, side, *(domains[v] for v in e.variables))
    if key not in _supports:
        _supports[key] = _support(e, domains, side) if small(e, domains) else {}
    return _supports[key]


def _support(e: Expr, domains: Domains, side: bool) -> dict[Expr, frozenset[int]]:
    left: dict[Expr, set[int]] = {variable: set() for variable in e.variables}
    for row in product(*(domains[v] for v in e.variables)):
        given = dict(zip(e.variables, row, strict=True))
        if bool(evaluate(e, given)) == side:
            for variable, value in given.items():
                left[variable].add(value)
    return {variable: frozenset(found) for variable, found in left.items()}


def rebuilt(e: Expr, memo: dict[Expr, Expr], build: Callable[[Expr, list[Expr]], Expr]) -> Expr:
    """An expression made again, each part of it from its own parts; it may be deep."""
    todo = [e]
    while todo:
        top = todo[-1]
        missing = [arg for arg in top.args if arg not in memo]
        if top in memo or not missing:
            todo.pop()
            if top not in memo:
                memo[top] = build(top, [memo[arg] for arg in top.args])
        else:
            todo += missing
    return memo[e]


def substitute(e: Expr, by: Mapping[Expr, Expr], memo: dict[Expr, Expr]) -> Expr:
    """The expression with other expressions in place of its variables."""

    def build(e: Expr, parts: list[Expr]) -> Expr:
        if not parts:
            return by.get(e, e)
        return ite(*parts) if e.op == "ite" else make(e.op, *parts)

    return rebuilt(e, memo, build)
