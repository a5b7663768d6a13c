"""Every move of the alphabet as expressions: when it can be made, and every field after it.

The states before are those of a case: a phase of the call, and whether something runs. The text is
the rules' own (`machine.enabled`, `machine.take`) and the alphabet's own (`alphabet.moves`), run on
symbols. Names of one record are alike, so moves that differ only by them are one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from markstep.spec import machine
from markstep.spec.compiled.join import NotEnabled, join, joining
from markstep.spec.compiled.kernel import is_truth
from markstep.spec.compiled.layout import RECORD_FIELDS, SORTS, Layout
from markstep.spec.compiled.watching import Watch
from markstep.spec.design import Design
from markstep.spec.machine import ENVIRONMENT, AnyAction
from markstep.spec.proofs.expressions import Expr, const, ite, make, var
from markstep.spec.proofs.merging import merging
from markstep.spec.proofs.states import Names, Rows
from markstep.spec.proofs.symbolic import Run, Symbol, lift, lower, paths
from markstep.spec.rules.execution import Schedule
from markstep.spec.rules.transfer import buffers_in_use
from markstep.spec.search.alphabet import Bound, cost, moves, syncs
from markstep.spec.search.naming import with_names
from markstep.spec.state import Buffer, Call, Device, Execution, Phase, Record, State, rows
from markstep.spec.vocabulary import AssignInPlace, ClearPending, CopyInto, Random, TensorName


@dataclass(frozen=True)
class Case:
    """A part of the states in which something can happen."""

    phase: Phase | None
    """None: any."""
    running: bool


def cases() -> list[Case]:
    """Every state of a living process is in one of these."""
    return [Case(phase, running) for phase in Phase for running in (False, True)]


@dataclass
class Move:
    """Moves that lead from any state to the same one."""

    actions: list[AnyAction]
    """With the names of the generated step; an action that stands for several is named once."""
    ways: Expr
    """How many actions of the alphabet they are in a state: 0 if none can be made."""
    outside: Expr
    ends: dict[str, Expr] = field(default_factory=dict)
    """Every field after the move, how many names each record has, the mask of buffers in use."""
    spare: int = 0
    """Buffer rows that there can be beyond those of the layout."""
    seen: tuple[Expr, ...] = ()
    """What is watched (`Watch.answers`)."""

    @property
    def cost(self) -> int:
        """What the move adds to the length of a program."""
        return cost(self.actions[0])

    @property
    def calls(self) -> int:
        """How many calls it begins."""
        return syncs(self.actions[0])


class Ascending:
    """The rows of a mask: the order in which the explorer gives a call its tensors."""

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def __iter__(self) -> Iterator[int]:
        return rows(self.mask)

    def __len__(self) -> int:
        return len(list(iter(self)))

    def index(self, row: int) -> int:
        """The place of a row."""
        return list(iter(self)).index(row)


def variable(layout: Layout, path: str) -> Any:
    """The symbol of a field."""
    return Symbol(var(path, frozenset(layout.domain(path))))


def _row(layout: Layout, cls: type, part: str, names: Iterable[str], **fixed: Any) -> Any:
    """A row of which only some fields are known."""
    free = [name for name in names if name not in fixed]
    return cls(**{name: variable(layout, f"{part}.{name}") for name in free}, **fixed)


def _unknown_call(layout: Layout, case: Case | None) -> Call:
    """The running call, in the phase of the case if it has one."""
    fixed = {"phase": case.phase} if case and case.phase is not None else {}
    call: Call = _row(layout, Call, "call", SORTS["call"], **fixed)
    call.order = Ascending(call.members)  # type: ignore[assignment]
    call.output_order = Ascending(call.outputs)  # type: ignore[assignment]
    call.outs = tuple(new_name(layout, i) for i in range(layout.records))
    return call


def unknown(layout: Layout, case: Case | None, spare: int = 0) -> State:
    """A canonical state, of a case if one is given, of which nothing else is known.

    It can have some buffer rows to spare, which are not in use.
    """
    numbers = range(layout.records)
    present: dict[TensorName, Any] = {}
    for r in numbers:
        count = variable(layout, f"record{r}.names")
        present |= {TensorName(r * layout.names + i): count > i for i in range(layout.names)}
    state = State(
        records=Rows(
            _row(
                layout,
                Record,
                f"record{r}",
                RECORD_FIELDS[1:],
                id=r + 1,
                live=present[first_name(layout, r)],
            )
            for r in numbers
        ),
        buffers=Rows(
            _row(layout, Buffer, f"buffer{b}", SORTS["buffer"]) for b in range(layout.buffers)
        ),
        device=_row(
            layout, Device, "device", SORTS["device"], **({"crashed": False} if case else {})
        ),
        next_record_id=layout.next_record_id,
        next_execution_id=layout.next_execution_id,
        lost=variable(layout, "lost"),
        tensors=Names({name: name // layout.names for name in present}, present),
    )
    state.buffers += [Buffer() for _ in range(spare)]
    if case is None or case.running:
        fixed = {"running": True} if case else {}
        state.execution = _row(layout, Execution, "execution", SORTS["execution"], **fixed)
    if case is None or case.phase != Phase.IDLE:
        state.call = _unknown_call(layout, case)
    return state


def first_name(layout: Layout, r: int) -> TensorName:
    """The name that a record has if it has any."""
    return TensorName(r * layout.names)


def new_name(layout: Layout, i: int) -> TensorName:
    """A name that nothing has before a step."""
    return TensorName(layout.records * layout.names + i)


def fields_after(layout: Layout, state: State) -> dict[str, Expr]:
    """Every field of a state on symbols by its path."""
    names = state.tensors
    assert isinstance(names, Names)
    found: dict[str, Any] = {"lost": state.lost, "used": buffers_in_use(state)}
    for r, record in enumerate(state.records):
        count: Any = 0
        for name in dict.keys(names):
            here = make("eq", lift(dict.__getitem__(names, name)), const(r))
            count = count + lower(make("and", lift(names.present[name]), here))
        found[f"record{r}.names"] = count
        for path in SORTS["record"]:
            found[f"record{r}.{path}"] = getattr(record, path)
    parts: dict[str, Any] = {f"buffer{b}": buffer for b, buffer in enumerate(state.buffers)}
    parts |= {"execution": state.execution, "device": state.device, "call": state.call}
    for part, row in parts.items():
        for path in SORTS[part.rstrip("0123456789")]:
            found[f"{part}.{path}"] = getattr(row, path)
    return {path: lift(value) for path, value in found.items()}


def possible(
    layout: Layout, case: Case, design: Design, bound: Bound
) -> list[tuple[AnyAction, Expr]]:
    """The actions that the alphabet has in a case, by its text, and how many are alike."""
    found: dict[str, tuple[AnyAction, Expr]] = {}

    def code() -> list[AnyAction]:
        return list(moves(unknown(layout, case), design, bound))

    for run, actions in paths(code):
        condition = of_path(run)
        plain = [plainly_named(layout, action) for action in actions or ()]
        for text, number in Counter(map(repr, plain)).items():
            action = next(action for action in plain if repr(action) == text)
            before = found[text][1] if text in found else const(0)
            here = ite(condition, const(number), const(0))
            found[text] = (action, make("add", before, here))
    return list(found.values())


def of_path(run: Run) -> Expr:
    """The condition under which a path is taken."""
    condition = const(1)
    for e, side in run.taken:
        condition = make("and", condition, e if side else make("not", e))
    return condition


def plainly_named(layout: Layout, action: AnyAction) -> AnyAction:
    """An action with the first names of its records, and the first new names."""
    given: dict[TensorName, TensorName] = {}
    _, new = machine.names(action)
    for i, name in enumerate(new):
        given[name] = new_name(layout, i)
    seen: dict[int, list[TensorName]] = {}

    def used(name: TensorName) -> TensorName:
        r = name // layout.names
        known = seen.setdefault(r, [])
        if name not in known:
            known.append(name)
        return TensorName(first_name(layout, r) + known.index(name))

    return with_names(action, used, given.__getitem__)


def spare_rows(layout: Layout, action: AnyAction, families: tuple[str, ...]) -> int:
    """How many more buffers an action needs for a moment than it may leave in use."""
    match action:
        case ClearPending():
            return layout.records  # a placeholder comes before the ir goes
        case CopyInto():
            return 1  # the source is uploaded before the target lets go
        case Random():
            return 2  # the seed and the bound come before the target lets go
        case AssignInPlace() if action.scalar is not None:
            return 1  # so does the number
        case Schedule() if "random" in families:
            return 1  # placeholders come before a step barrier gives the seed up
    return 0


def most_spare(layout: Layout, families: tuple[str, ...]) -> int:
    """The most that an action of some families needs."""
    numbers = 2 * ("random" in families)
    return max(numbers, 1, layout.records * ("placeholder" in families))


Known: TypeAlias = dict[str, Move]
"""What the device does is the same in every phase: its moves by their text."""


def all_moves(
    layout: Layout, case: Case, design: Design, bound: Bound, known: Known, watch: Watch
) -> list[Move]:
    """Every move from the states of a case; those that lead to the same state are one."""
    with joining(), merging(layout.records, layout.buffers):
        listed = possible(layout, case, design, bound)
    found: dict[object, Move] = {}
    for action, ways in listed:
        spare = spare_rows(layout, action, bound.families)
        text = repr(action)
        if text not in known:
            place = Case(None, True) if isinstance(action, ENVIRONMENT) else case
            with joining(), merging(layout.records, layout.buffers + spare):
                move = one_move(layout, place, design, action, spare, watch)
            if isinstance(action, ENVIRONMENT):
                known[text] = move
        else:
            move = known[text]
        move = replace(move, actions=[action], ways=ite(move.ways, ways, const(0)))
        if not move.ends or (move.ways.op == "const" and not move.ways.value):
            continue
        key = (move.cost, move.calls, move.outside, *move.seen, *move.ends.items())
        if key in found:
            found[key].ways = make("add", found[key].ways, move.ways)
            found[key].actions.append(action)
        else:
            found[key] = move
    return list(found.values())


def one_move(
    layout: Layout, case: Case, design: Design, action: AnyAction, spare: int, watch: Watch
) -> Move:
    """One action on all of its paths."""
    state = unknown(layout, case, spare)

    def whole() -> None:
        if not machine.enabled(state, action, design):
            raise NotEnabled
        machine.take(state, action, design)

    effect = join(state, whole)
    if effect.nothing:
        return Move([action], effect.enabled, effect.outside)
    ends = looked_at(layout, state)
    seen = watch.answers(unknown(layout, case, spare), action, state, design)
    return Move([action], effect.enabled, effect.outside, ends, spare, tuple(seen))


def looked_at(layout: Layout, state: State) -> dict[str, Expr]:
    """Every field of a state on symbols; no question forks."""
    found = [ends for _, ends in paths(lambda: fields_after(layout, state))]
    if len(found) != 1 or found[0] is None:
        raise AssertionError("a field of a state is asked for by cases")
    return found[0]


def loose(layout: Layout, spare: int) -> dict[str, Expr]:
    """Every field after a step, as variables."""
    return {
        path: var(path, frozenset(range(2) if is_truth(path) else range(-128, 256)))
        for path in layout.loose(spare)
    }


def anything(layout: Layout) -> dict[str, Expr]:
    """Every field of any canonical state."""
    with merging(layout.records, layout.buffers):
        return looked_at(layout, unknown(layout, None))
