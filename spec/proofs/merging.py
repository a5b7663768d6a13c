"""Which functions of the law only look, and are run on symbols as one expression.

The list changes no result, only how many paths there are: without it, every branch of a question
would multiply the branches of the rule that asks. A function in the list changes nothing and gives
a small integer, a truth or a kind of error; a test compares this with their text.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from types import FunctionType
from typing import Any, TypeAlias

from markstep.spec import contract, machine, state
from markstep.spec.invariants import FAMILIES
from markstep.spec.proofs.expressions import Expr, const, domain_of, ite, substitute, values, var
from markstep.spec.proofs.states import CONTROL, RANDOM, Case, copied, rows_of, unknown
from markstep.spec.proofs.symbolic import (
    OutOfBound,
    Symbol,
    everywhere,
    lift,
    lower,
    on_symbols,
    running,
    summary,
)
from markstep.spec.rules import donation as donors
from markstep.spec.rules import errors, execution, objects, transfer
from markstep.spec.rules import sync as phases
from markstep.spec.sorts import Sort
from markstep.spec.state import NONE

LOOKS = (
    state.bit,
    state.has,
    contract.lost_records,
    contract.keeps_value,
    contract.buffer_keeps_value,
    transfer.buffers_in_use,
    transfer.referred_to,
    transfer.held_by,
    transfer.cached,
    objects.lost,
    donors.choose_donors,
    donors.plans_barrier,
    donors.barrier_donors,
    donors.pending_outside,
    donors.user_donors,
    donors.needed_afterwards,
    errors.donated_away,
    errors.executes,
    errors.will_be_filled,
    errors.is_stub,
    errors.lacks_value,
    errors.is_absent,
    errors.unusable,
    errors.unexecutable,
    errors.is_output,
    execution.refers,
    phases.must_wait_for_parameters,
)
PROPERTIES = (
    (state.Record, "reads"),
    (state.Buffer, "recipe_reads"),
)
CHANGES = (
    execution.give_back,
    execution.store_error,
    phases.collect_record,
    transfer.get_ir,
    transfer.own,
)
"""Functions whose first argument is the state, which change control fields in it and nothing else,
and give nothing or a truth: they are run on all of their paths at once, too."""


def looking() -> list[Any]:
    """The functions that are merged: those listed, and the questions that claims ask."""
    asked = [
        function
        for module in FAMILIES
        for function in vars(module).values()
        if getattr(function, "__module__", "") == module.__name__
        and getattr(function, "__annotations__", {}).get("return") in (bool, int)
        and "Step" not in str(getattr(function, "__annotations__", {}))
        and callable(function)
    ]
    return [*LOOKS, *asked]


_templates: dict[Any, Any] = {}
"""What each question gives for arguments of which nothing is known."""
Part: TypeAlias = state.State | state.Record | state.Buffer | state.Call


def merged(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function; on symbols it gives one symbol for all of its paths."""

    @wraps(function)
    def run(*args: Any) -> Any:
        if not on_symbols() or not any(map(is_symbolic, args)):
            return function(*args)
        shape: tuple[Any, ...] = (function, *map(shape_of, args))
        if shape not in _templates:
            stand_ins = [stand_in(i, arg) for i, arg in enumerate(args)]
            _templates[shape] = summary(lambda: function(*stand_ins))
        return instance(_templates[shape], args)

    return run


def is_symbolic(arg: Any) -> bool:
    """Whether an argument has symbols, or may have."""
    return isinstance(arg, Symbol | Part)


def shape_of(arg: Any) -> Any:
    """What of an argument a template depends on."""
    if isinstance(arg, state.State):
        return ("state", *_bound())
    if isinstance(arg, Part):
        return (type(arg), *_bound())
    return ("symbol", domain(arg)) if isinstance(arg, Symbol) else arg


def domain(symbol: Symbol) -> frozenset[int]:
    """Every value that a symbol can have anywhere."""
    found = values(symbol.expr, {v: domain_of(v) for v in symbol.expr.variables})
    if found is None:
        raise TypeError(f"too many values: {symbol}")
    return found


_bounds: list[tuple[int, int, tuple[str, ...]]] = [(2, 3, ())]


def _bound() -> tuple[int, int, tuple[str, ...]]:
    return _bounds[-1]


def stand_in(position: int, arg: Any) -> Any:
    """An argument of the same shape of which nothing is known."""
    records, buffers, modes = _bound()
    case, prefix = Case(records, buffers, modes=modes), f"arg{position}."
    whole = unknown(case, prefix)
    if isinstance(arg, state.State) and RANDOM in modes:
        return whole
    if isinstance(arg, state.State):
        seeds = frozenset(case.domain(Sort.BUFFER))
        whole.device.seed = Symbol(var(f"{prefix}device.seed", seeds))  # type: ignore[assignment]
        return whole
    if isinstance(arg, state.Record):
        return whole.records[0]
    if isinstance(arg, state.Buffer):
        return whole.buffers[0]
    if isinstance(arg, state.Call):
        return whole.call
    return Symbol(var(f"{prefix}value", domain(arg))) if isinstance(arg, Symbol) else arg


def instance(template: Any, args: tuple[Any, ...]) -> Any:
    """What a template says about given arguments."""
    if not isinstance(template, Symbol):
        return template
    variables = template.expr.variables
    given = tuple([lift(value_at(args[which], path)) for which, path in map(place, variables)])
    key = (template.expr, *given)
    if key not in _instances:
        by = dict(zip(variables, given, strict=True))
        _instances[key] = lower(substitute(template.expr, by, {}))
    return _instances[key]


_instances: dict[tuple[Expr, ...], Any] = {}


@cache
def place(variable: Expr) -> tuple[int, str]:
    """The argument that a variable of a template is about, and the path in it."""
    which, _, path = variable.name.partition(".")
    return int(which.removeprefix("arg")), path


def value_at(arg: Any, path: str) -> Any:
    """The control field of an argument at a path of its stand-in."""
    if isinstance(arg, Symbol):
        return arg
    part, _, name = path.rpartition(".")
    if not isinstance(arg, state.State):
        return getattr(arg, name)
    if not part:
        return getattr(arg, name)
    if part.startswith("record"):
        return getattr(arg.records[int(part.removeprefix("record"))], name)
    if part.startswith("buffer"):
        return getattr(arg.buffers[int(part.removeprefix("buffer"))], name)
    return getattr(getattr(arg, part), name)


Changed: TypeAlias = dict[tuple[int, str], Expr]
"""Fields by the place of their row among all rows, and what they are now."""
RESULT, OUTSIDE = (NONE, "result"), (NONE, "outside")
"""What the function gives; whether it needs a row more than there are."""


def joined(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function; on symbols it changes the state as it does on all of its paths together."""

    @wraps(function)
    def run(s: state.State, *args: Any) -> Any:
        if not on_symbols():
            return function(s, *args)
        all_rows = rows_of(s)

        def both(e: Expr, yes: Changed, no: Changed) -> Changed:
            old = {f: lift(getattr(all_rows[f[0]], f[1], 0)) for f in yes | no}
            return {f: ite(e, yes.get(f, old[f]), no.get(f, old[f])) for f in old}

        found = everywhere(lambda: on_a_copy(function, s, args), both, running())
        if lower(found.pop(OUTSIDE, const(0))):
            raise OutOfBound
        result = found.pop(RESULT, None)
        for (row, name), e in found.items():
            setattr(all_rows[row], name, lower(e))
        return None if result is None else lower(result)

    return run


def on_a_copy(function: Callable[..., Any], s: state.State, args: tuple[Any, ...]) -> Changed:
    """What a function does to a state, done to a copy of it."""
    draft = copied(s)
    try:
        result = function(draft, *args)
    except OutOfBound:
        return {OUTSIDE: const(1)}
    return changed(s, draft) | ({} if result is None else {RESULT: lift(result)})


def changed(before: state.State, after: state.State) -> Changed:
    """The control fields in which a copy differs from the state."""
    found: Changed = {}
    for i, (old, new) in enumerate(zip(rows_of(before), rows_of(after), strict=True)):
        for name in CONTROL[type(old)]:
            if getattr(old, name) is not getattr(new, name):
                found[i, name] = lift(getattr(new, name))
    return found


@contextmanager
def merging(
    records: int,
    buffers: int,
    modes: tuple[str, ...] = (),
    lost: Callable[[state.State], Any] | None = None,
) -> Iterator[None]:
    """While this lasts, every module of the law calls the merged functions.

    ``lost`` stands in for the ghost of lost values at the end of a step.
    """
    replaced: list[tuple[Any, str, Any]] = []

    def replace(owner: Any, name: str, new: Any) -> None:
        replaced.append((owner, name, vars(owner)[name]))
        setattr(owner, name, new)

    swap = {function: merged(function) for function in looking()}
    swap |= {function: joined(function) for function in CHANGES}
    for module in [m for n, m in sys.modules.items() if n.startswith("markstep.spec")]:
        for name, value in list(vars(module).items()):
            if isinstance(value, FunctionType) and value in swap:
                replace(module, name, swap[value])
    for cls, name in PROPERTIES:
        replace(cls, name, property(merged(vars(cls)[name].fget)))
    if lost is not None:
        replace(machine, "lost_records", lost)
    _bounds.append((records, buffers, modes))
    try:
        yield
    finally:
        _bounds.pop()
        for owner, name, old in reversed(replaced):
            setattr(owner, name, old)
