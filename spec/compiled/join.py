"""Running a rule on symbols once: where its paths meet again, their effects become one.

`markstep.spec.proofs.symbolic.paths` follows every path of a rule to its end. Here the paths of
each function listed in `JOINED` meet where it returns: every field gets one expression that chooses
by the decisions taken. So the branches of one part do not multiply with those of the next.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from types import FunctionType
from typing import Any, TypeAlias

from markstep.spec.proofs.expressions import Expr, const, ite
from markstep.spec.proofs.states import Names
from markstep.spec.proofs.symbolic import (
    Decision,
    OutOfBound,
    Run,
    follow,
    lift,
    lower,
    on_symbols,
    running,
)
from markstep.spec.rules import errors, execution, objects, reading, sync, tensors, transfer
from markstep.spec.sorts import sorts
from markstep.spec.state import Buffer, Call, Device, Execution, Record, State
from markstep.spec.vocabulary import TensorName

Row: TypeAlias = Record | Buffer | Execution | Device | Call

JOINED = (
    transfer.new_buffer,
    transfer.upload,
    transfer.transfer,
    transfer.fill,
    transfer.own,
    transfer.get_ir,
    objects.bind,
    tensors.put_host_data,
    errors.take_lock,
    errors.deliver,
    sync.collect_record,
    sync.after_collect,
    sync.export_leaves,
    sync.give_placeholder,
    sync.return_from_call,
    execution.output_target,
    execution.keep_recipe,
    execution.start_execution,
    execution.result_of_cached_run,
    execution.store_error,
    execution.give_back,
    execution.forget_recipe,
    reading.finish_download,
)
"""Parts of rules that change the state and give none, a truth or a small integer."""
_SORTS = {cls: tuple(sorts(cls)) for cls in (Record, Buffer, Execution, Device, Call)}
_SCALARS = ("next_record_id", "next_execution_id", "lost", "raised")
Key: TypeAlias = tuple[object, str]


@dataclass
class Effect:
    """What some code has done, on one path or on all."""

    ends: dict[Key, Expr] = field(default_factory=dict)
    """The value of every control field."""
    result: Any = None
    outside: Expr = field(default_factory=lambda: const(0))
    """Whether it needs more rows than there are; then the rest means nothing."""
    enabled: Expr = field(default_factory=lambda: const(1))
    nothing: bool = False
    """It needs more rows, or is not enabled, on every path."""


class NotEnabled(Exception):
    """On this path nothing is done, and nobody will ask what it leads to."""


class Snapshot:
    """The rows of a state and what they held, to begin another path from there."""

    def __init__(self, state: State, others: list[Row]) -> None:
        self.state = state
        self.records, self.buffers = list(state.records), list(state.buffers)
        self.parts = (state.execution, state.device, state.call)
        known = {id(row) for row in (*self.records, *self.buffers, *self.parts)}
        self.others = [row for row in others if id(row) not in known]
        self.held = [(row, dict(row.__dict__)) for row in self.rows()]
        self.scalars = {name: getattr(state, name) for name in _SCALARS}
        assert isinstance(state.tensors, Names)
        self.names, self.present = dict.copy(state.tensors), dict(state.tensors.present)

    def rows(self) -> list[Row]:
        """Every row by its place, as it was."""
        return [*self.records, *self.buffers, *self.parts, *self.others]

    def now(self) -> list[Row]:
        """Every row by its place, as it is."""
        s = self.state
        return [*s.records, *s.buffers, s.execution, s.device, s.call, *self.others]

    def restore(self) -> None:
        """Everything as it was."""
        s = self.state
        s.records[:], s.buffers[:] = self.records, self.buffers
        s.execution, s.device, s.call = self.parts
        for row, held in self.held:
            row.__dict__.clear()
            row.__dict__.update(held)
        for name, value in self.scalars.items():
            setattr(s, name, value)
        dict.clear(s.tensors)
        dict.update(s.tensors, self.names)
        s.tensors.present = dict(self.present)  # type: ignore[attr-defined]

    def ends(self) -> dict[Key, Expr]:
        """The value of every control field now."""
        found: dict[Key, Expr] = {}
        for place, row in enumerate(self.now()):
            for name in _SORTS[type(row)]:
                found[place, name] = lift(getattr(row, name))
        for name in _SCALARS:
            found["state", name] = lift(getattr(self.state, name))
        names = self.state.tensors
        for tensor in dict.keys(names):
            found["present", str(tensor)] = lift(names.present.get(tensor, False))  # type: ignore[attr-defined]
            found["row", str(tensor)] = lift(dict.__getitem__(names, tensor))
        return found

    def become(self, ends: dict[Key, Expr]) -> None:
        """The rows that there were hold what the paths together have left."""
        self.restore()
        rows = self.rows()
        for (place, name), e in ends.items():
            if isinstance(place, int):
                setattr(rows[place], name, lower(e))
            elif place == "state":
                setattr(self.state, name, lower(e))
        names = self.state.tensors
        assert isinstance(names, Names)
        for (place, name), e in ends.items():
            if place == "row":
                dict.__setitem__(names, TensorName(int(name)), lower(e))
            elif place == "present":
                names.present[TensorName(int(name))] = lower(e)


@dataclass
class Path(Run):
    """One path of some code whose parts are joined."""

    needs_more: Expr = field(default_factory=lambda: const(0))
    """When some part needs more rows than there are."""
    parts: int = 0
    """Joined parts that the path has gone through."""
    memo: dict[object, Effect] = field(default_factory=dict)
    """What each part did, by the decisions before it; shared by all paths of the code."""


def join(state: State, code: Callable[[], Any], others: list[Row] | None = None) -> Effect:
    """Run code on all of its paths from a state, which then is what they have left."""
    start = Snapshot(state, others or [])
    outer = running() if on_symbols() else Run([])
    memo: dict[object, Effect] = {}

    def explore(prefix: list[Decision]) -> Effect:
        run = Path(prefix, dict(outer.domains), dict(outer.known), memo=memo)
        try:
            effect = Effect(result=follow(run, code), ends=start.ends())
        except OutOfBound:
            effect = Effect(outside=const(1), nothing=True)
        except NotEnabled:
            effect = Effect(enabled=const(0), nothing=True)
        effect.outside = ite(effect.outside, const(1), run.needs_more)
        start.restore()
        for position, _ in reversed(run.open):
            e, side = run.taken[position]
            other = explore([*run.taken[:position], (e, not side)])
            effect = either(e, effect, other) if side else either(e, other, effect)
        return effect

    effect = explore([])
    start.become(effect.ends)
    return effect


def either(e: Expr, yes: Effect, no: Effect) -> Effect:
    """One effect for both sides of a decision."""
    common = (ite(e, yes.outside, no.outside), ite(e, yes.enabled, no.enabled))
    if yes.nothing or no.nothing:
        some = no if yes.nothing else yes
        return Effect(some.ends, some.result, *common, yes.nothing and no.nothing)
    ends = {
        key: ite(e, yes.ends.get(key) or const(0), no.ends.get(key) or const(0))
        for key in yes.ends | no.ends
    }
    return Effect(ends, joined_result(e, yes.result, no.result), *common)


def joined_result(e: Expr, yes: Any, no: Any) -> Any:
    """One result for both sides."""
    if yes is no:
        return yes
    return lower(ite(e, lift(yes), lift(no)))


def joined(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function; on symbols all its paths meet where it returns."""

    @wraps(function)
    def run(*args: Any, **named: Any) -> Any:
        state = next((arg for arg in args if isinstance(arg, State)), None)
        if not on_symbols() or state is None:
            return function(*args, **named)
        here = running()
        if not isinstance(here, Path):
            return function(*args, **named)
        here.parts += 1
        key = (here.parts, *((id(e), side) for e, side in here.taken))
        others = [arg for arg in args if isinstance(arg, Row)]
        if key in here.memo:
            Snapshot(state, others).become(here.memo[key].ends)
        else:
            here.memo[key] = join(state, lambda: function(*args, **named), others)
        effect = here.memo[key]
        if effect.nothing:
            raise OutOfBound
        here.needs_more = ite(effect.outside, const(1), here.needs_more)
        return effect.result

    return run


@contextmanager
def joining() -> Iterator[None]:
    """While this lasts, every module of the law calls the joined functions."""
    swap = {function: joined(function) for function in JOINED}
    replaced: list[tuple[Any, str, Any]] = []
    for module in [m for n, m in sys.modules.items() if n.startswith("markstep.spec")]:
        for name, value in list(vars(module).items()):
            if isinstance(value, FunctionType) and value in swap:
                replaced.append((module, name, value))
                setattr(module, name, swap[value])
    try:
        yield
    finally:
        for module, name, old in reversed(replaced):
            setattr(module, name, old)
