"""A state of which nothing is known: every control field is a symbol, the payload is erased.

Modes are off, and no random number is drawn, unless that is asked for: none of the actions to prove
about changes that (`instances.py`).
Names are bounded without loss: rules only compare ids, so as many ids as there are places for them
are enough, and the next id is one that nobody has. Executions are compared by age, too.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from math import factorial
from operator import index
from typing import Any, TypeAlias

from markstep.spec.payload import ERASED
from markstep.spec.proofs.expressions import var
from markstep.spec.proofs.symbolic import ERRORS, OutOfBound, Symbol
from markstep.spec.rules.eager import RESULT
from markstep.spec.sorts import EAGER, MODES, Sort, mode_fields, sorts
from markstep.spec.state import (
    NONE,
    SCALAR_OWNER,
    Buffer,
    Call,
    CallKind,
    Device,
    Execution,
    Phase,
    Record,
    State,
)
from markstep.spec.vocabulary import BufferStatus, IrKind, Sharding, TensorName

RANDOM = "random"
"""Not a mode of the process: random numbers are drawn, and numbers come from the scalar cache."""
OPENED = (*MODES, RANDOM)
"""What can be open in a proof."""
NAMES_PER_RECORD = 2
"""So many tensor objects may share a record."""
SHARDINGS = 4
"""None, replicated, and two of those that contradict each other: rules only compare them."""
NEW_IDS = 6
"""No step makes more new ids than this."""
Get: TypeAlias = Callable[[str, tuple[int, ...]], Any]
"""Gives the value of the control field with a path and a domain."""
TYPES: dict[Sort, Callable[[int], Any]] = {
    Sort.BOOL: bool,
    Sort.IR_KIND: IrKind,
    Sort.BUFFER_STATUS: BufferStatus,
    Sort.CALL: CallKind,
    Sort.PHASE: Phase,
    Sort.SHARDING: Sharding,
}


@dataclass(frozen=True)
class Case:
    """A part of all states: how many rows, where the call stands, whether the device works."""

    records: int
    buffers: int
    phase: Phase | None = None
    """None: anywhere; then there may also be new names, and the process may have died."""
    executing: bool | None = None
    busy: bool = False
    """In any phase of a call; ``phase`` is None then."""
    modes: tuple[str, ...] = ()
    """Modes that may be on, the others are off; RANDOM: the seed of the step may be in use."""

    @property
    def anywhere(self) -> bool:
        """Nothing is said of the state."""
        return self.phase is None and not self.busy

    @property
    def open(self) -> "Case":
        """All states with so many rows."""
        return Case(self.records, self.buffers, modes=self.modes)

    @property
    def ids(self) -> int:
        """Ids that can be in use: of each record, of its ancestor, and of each buffer's owner."""
        return 2 * self.records + self.buffers

    def domain(self, sort: Sort) -> tuple[int, ...]:
        """Every value of a sort."""
        return _domain_in(self, sort)


@cache
def _domain_in(case: Case, sort: Sort) -> tuple[int, ...]:
    new = NEW_IDS if case.anywhere else 0
    kinds = [*range(0 if case.anywhere else 1, CallKind.MARK)]
    finite: dict[Sort, Sequence[int]] = {
        Sort.BOOL: range(2),
        Sort.BUFFER: range(NONE, case.buffers),
        Sort.RECORD: range(NONE, case.records),
        Sort.BUFFERS: range(1 << case.buffers),
        Sort.RECORDS: range(1 << case.records),
        Sort.RECORD_ID: range(case.ids + 1 + new),
        Sort.EXECUTION_ID: range(case.records + 2 + new),
        Sort.IR_KIND: range(len(IrKind)),
        Sort.BUFFER_STATUS: range(len(BufferStatus)),
        Sort.CALL: [*kinds, CallKind.EAGER] if EAGER in case.modes else kinds,
        Sort.PHASE: range(1 if case.busy else 0, len(Phase)),
        Sort.SHARDING: range(SHARDINGS),
        Sort.COUNT: range(3),
    }
    return tuple(finite[sort])


class Names(dict[TensorName, Any]):
    """The tensor objects: each row has some, and whether each exists is a symbol."""

    def __init__(self, rows: Mapping[TensorName, int], present: Mapping[TensorName, Any]) -> None:
        super().__init__(rows)
        self.present = dict(present)

    def copy(self) -> "Names":
        """A copy that a rule may change."""
        return Names(dict(self), self.present)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) and bool(self.present[name])  # type: ignore[index]

    def __iter__(self) -> Iterator[TensorName]:
        return (name for name in super().__iter__() if self.present[name])

    def __setitem__(self, name: TensorName, row: Any) -> None:
        super().__setitem__(name, row)
        self.present[name] = True

    def pop(self, name: TensorName, *default: Any) -> Any:
        """The row of a name, which is gone then."""
        self.present[name] = False
        return self[name]

    def values(self) -> list[Any]:  # type: ignore[override]
        """The rows that some tensor object points at."""
        return [self[name] for name in self]


class Members:
    """The rows of a mask in some order: the order in which a call was given its tensors."""

    def __init__(self, mask: Any, turn: Any, size: int) -> None:
        self.mask, self.turn, self.size = mask, turn, size

    def __iter__(self) -> Iterator[int]:
        found = [r for r in range(self.size) if self.mask >> r & 1]
        if len(found) > 1:
            order = tuple(permutations(range(self.size)))[index(self.turn)]
            found = [r for r in order if r in found]
        return iter(found)

    def __len__(self) -> int:
        return len(list(iter(self)))

    def index(self, row: int) -> int:
        """The place of a row."""
        return list(iter(self)).index(row)


class Rows(list[Any]):
    """A table of rows that cannot grow."""

    def append(self, row: Any) -> None:
        """One row more than there are."""
        raise OutOfBound


def build(case: Case, get: Get) -> State:
    """A state of a case, its control fields taken from ``get``."""
    fixed: dict[str, Any] = {} if RANDOM in case.modes else {"seed": NONE}
    fixed |= {} if case.anywhere else {"crashed": False}
    state = State(
        records=Rows(_row(case, get, Record, f"record{r}") for r in range(case.records)),
        buffers=Rows(_row(case, get, Buffer, f"buffer{b}") for b in range(case.buffers)),
        device=_row(case, get, Device, "device", **fixed),
        next_record_id=case.ids + 1,
        next_execution_id=case.records + 2,
        lost=get("lost", case.domain(Sort.RECORDS)),
        raised=get("raised", tuple(range(len(ERRORS)))),
        tensors=_names(case, get),
        payload=ERASED,
    )
    if case.executing is not False:
        fixed = {"running": True} if case.executing else {}
        state.execution = _row(case, get, Execution, "execution", **fixed)
    if case.phase != Phase.IDLE:
        fixed = {} if case.phase is None else {"phase": case.phase}
        state.call = _row(case, get, Call, "call", **fixed)
        turn = get("call.turn", tuple(range(factorial(case.records))))
        masks = (state.call.members, state.call.outputs)
        orders: list[Any] = [Members(mask, turn, case.records) for mask in masks]
        state.call.order, state.call.output_order = orders
        first = NAMES_PER_RECORD * case.records
        state.call.outs = tuple(TensorName(first + i) for i in range(case.records))
    return state


def _row(case: Case, get: Get, cls: type, path: str, **fixed: Any) -> Any:
    fixed = mode_fields(cls, [mode for mode in MODES if mode not in case.modes]) | fixed
    given = {
        name: TYPES.get(sort, _same)(value) if type(value) is int else value
        for name, sort in sorts(cls).items()
        if name not in fixed
        for value in [get(f"{path}.{name}", _domain(case, path, name, sort))]
    }
    return cls(**given, **fixed)


def _names(case: Case, get: Get) -> Names:
    old = NAMES_PER_RECORD * case.records
    names: dict[TensorName, Any] = {TensorName(i): i // NAMES_PER_RECORD for i in range(old)}
    if case.anywhere:
        rows = tuple(range(case.records))
        new = [TensorName(old + i) for i in range(case.records)]
        names |= {name: get(f"tensor{name}.row", rows) for name in new}
    if EAGER in case.modes:
        names[RESULT] = get(f"tensor{RESULT}.row", tuple(range(case.records)))
    return Names(names, {name: get(f"tensor{name}", (0, 1)) for name in names})


def _same(value: int) -> int:
    return value


def _domain(case: Case, path: str, name: str, sort: Sort) -> tuple[int, ...]:
    if path == "execution" and name == "id" and case.executing:
        return case.domain(sort)[1:]
    if name == "owner":
        return (SCALAR_OWNER, *case.domain(sort))
    return case.domain(sort)


def fields_of(state: State) -> dict[str, Any]:
    """Every control field of a state by its path."""
    parts = {f"record{r}": record for r, record in enumerate(state.records)}
    tables: dict[str, Any] = {
        **parts,
        **{f"buffer{b}": buffer for b, buffer in enumerate(state.buffers)},
        "execution": state.execution,
        "device": state.device,
        "call": state.call,
    }
    found = {
        f"{path}.{name}": value
        for path, row in tables.items()
        for name, value in vars(row).items()
        if name in CONTROL[type(row)]
    }
    found |= {"lost": state.lost, "raised": state.raised}
    names = state.tensors
    if isinstance(names, Names):
        size = len(state.records)
        for name in (RESULT, *range((NAMES_PER_RECORD + 1) * size)):
            present = names.present.get(TensorName(name), False)
            found[f"tensor{name}"] = present
            new = not 0 <= name < NAMES_PER_RECORD * size
            if new and present is not False:
                found[f"tensor{name}.row"] = dict.__getitem__(names, TensorName(name))
    return found


CONTROL = {cls: sorts(cls) for cls in (Record, Buffer, Execution, Device, Call)}
"""The control fields of each kind of row."""


def rows_of(s: State) -> list[Any]:
    """Everything in a state that has control fields."""
    return [*s.records, *s.buffers, s.execution, s.device, s.call]


def unknown(case: Case, prefix: str = "") -> State:
    """The state of a case of which nothing else is known."""
    return build(case, lambda path, domain: Symbol(var(prefix + path, frozenset(domain))))


def copied(state: State) -> State:
    """A copy of an unknown state that a rule may change."""
    new = copy(state)
    new.records, new.buffers = Rows(map(copy, state.records)), Rows(map(copy, state.buffers))
    new.execution, new.device = copy(state.execution), copy(state.device)
    new.call, new.tensors = copy(state.call), state.tensors.copy()
    return new


def concrete(case: Case, given: Mapping[str, int]) -> State:
    """The state that values of the control fields describe; fields without a value get the least.

    It is an ordinary state: lists can grow, and the names are an ordinary dict.
    """
    state = build(case, lambda path, domain: given.get(path, min(domain)))
    names = state.tensors
    state.records, state.buffers = list(state.records), list(state.buffers)
    state.tensors = {name: names[name] for name in names}
    state.raised = ERRORS[state.raised]  # type: ignore[call-overload]
    state.call.order = tuple(state.call.order)
    state.call.output_order = tuple(state.call.output_order)
    return state
