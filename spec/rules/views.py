"""Views: tensors that show elements of others, and what an update through one does to the rest.

With functionalization a view is an op. An update through it is written back into the base of its
storage, by the inverses of the steps that led to it, and every other object of the storage is made
anew from the base when somebody next looks at it. A tensor that nobody looks at keeps its old
record; so does one that the program dropped, as long as a view of it lives.
Source: ATen's FunctionalTensorWrapper.cpp; torch_xla's slice_copy, view_copy, permute_copy.
"""

from dataclasses import replace

from markstep.spec import vocabulary as v
from markstep.spec.design import Design
from markstep.spec.rules.aliases import alias_view_of, is_late, look_at
from markstep.spec.rules.objects import (
    bind,
    chain_id,
    fresh_record,
    lost,
    place,
    recall,
    temporary_records,
    write_through,
)
from markstep.spec.rules.transfer import fail, get_ir, succeed
from markstep.spec.state import Record, State, bit
from markstep.spec.strides import (
    PERMUTE,
    SELECT,
    VIEW,
    WRITERS,
    Step,
    dense,
    gathered,
    permuted,
    shown,
)
from markstep.spec.views import Shown, Views
from markstep.spec.vocabulary import ErrorKind, IrKind, TensorName


def detach(s: State, a: v.Detach, design: Design) -> None:
    """A08. A second tensor object over the same record."""
    # GUARD
    if lost(s.record_of(a.source)):  # A08.G1: even its shape is unknown
        return fail(s, ErrorKind.LOST)
    # EFFECT
    s.tensors[a.out] = s.tensors[a.source]
    if s.views is not None and a.source in s.views.objects:
        known = s.views.objects[a.source]
        late = bool(known.path) and known.storage in s.views.written
        s.views.objects[a.out] = replace(known, holds=(), stale=late or known.stale)
    # OBSERVE
    return succeed(s)


def drop(s: State, a: v.Drop, design: Design) -> None:
    """A09. A record dies with its last tensor object."""
    # EFFECT
    row = s.tensors.pop(a.tensor)
    if s.views is not None and a.tensor in s.views.objects:
        s.views.hidden[a.tensor] = row
        tidy(s)
    elif row not in s.tensors.values():
        bury(s, row)
    # OBSERVE
    succeed(s)


def bury(s: State, row: int) -> None:
    """Nobody holds a record any more."""
    s.records[row] = Record()
    s.device.stored_about &= ~bit(row)
    s.payload.count("DestroyXlaTensor")
    if s.views is not None:
        s.views.keeps.pop(row, None)
        s.views.touched -= {row}


def view_of(s: State, a: v.ViewOf, design: Design) -> None:
    """A53. A new record whose ir shows elements of the source; the source is not brought up to date
    first, so that a view of a storage that was ever written to is made anew at the first look."""
    # GUARD
    row = s.tensors[a.source]
    if lost(s.records[row]):  # A53.G1
        return fail(s, ErrorKind.LOST)
    # EFFECT
    views = s.views
    assert views is not None  # without a payload, there is no such action
    step = step_of(a, s.records[row].shape)
    if design.views_have_strides and not can_be_viewed(s, a):
        return reshaped(s, a, step, design)
    known = enrolled(s, views, a.source)
    if views.functional:
        get_ir(s, row, design)
        bind(s, a.out, derived(s, s.records[row], step))
    else:
        alias_view_of(s, a, step, design)
    keep(s, s.tensors[a.out], row, step)
    enter(s, views, a, known, step)
    # OBSERVE
    return succeed(s)


def can_be_viewed(s: State, a: v.ViewOf) -> bool:
    """Whether eager execution can show the source's elements so without a copy."""
    assert s.views is not None
    record = s.record_of(a.source)
    step = step_of(a, record.shape)
    known = s.views.objects.get(a.source)
    return shown(known.layout if known else dense(record.shape), step) is not None


def reshaped(s: State, a: v.ViewOf, step: Step, design: Design) -> None:
    """A reshape that cannot be a view is that of a clone, which nobody else holds."""
    refresh(s, (a.source,), design)
    source = s.tensors[a.source]
    get_ir(s, source, design)
    temporary_records(s, 1)
    record = derived(s, s.records[source], step)
    record.truth = s.records[source].truth
    bind(s, a.out, record)
    return succeed(s)


def step_of(a: v.ViewOf, shape: tuple[int, ...]) -> Step:
    """What an op of views shows of an operand."""
    if a.op == "slice":
        dim, begin, end = a.sizes
        return Step(SELECT, (*shape[:dim], end - begin, *shape[dim + 1 :]), a.sizes)
    if a.op == "transpose":
        return Step(PERMUTE, permuted(shape, (1, 0)), (1, 0))
    return Step(VIEW, a.sizes)


def enrolled(s: State, views: Views, name: TensorName) -> Shown:
    """What is known of a tensor object; of one that has no views yet, with all others that show its
    record: they are the base of a storage of their own."""
    if name in views.objects:
        return views.objects[name]
    row = s.tensors[name]
    record, storage = s.records[row], views.number()
    known = Shown(storage, (), memory=storage, layout=dense(record.shape))
    for other in [n for n, r in s.tensors.items() if r == row]:
        views.objects[other] = known
    views.memory[storage] = record.truth
    if views.functional:
        views.bases[storage] = row
    if row in views.touched:
        views.written |= {storage}
    return known


def enter(s: State, views: Views, a: v.ViewOf, known: Shown, step: Step) -> None:
    """A view belongs to the storage of its source. Eager execution may have to copy (D44)."""
    layout = shown(known.layout, step)
    record = s.record_of(a.out)
    memory = known.memory
    if layout is None:
        memory, layout = views.number(), dense(record.shape)
        views.memory[memory] = gathered(views.memory[known.memory], known.layout.indices())
    views.objects[a.out] = Shown(
        storage=known.storage,
        path=(*known.path, step),
        memory=memory,
        layout=layout,
        holds=(a.source,),
        stale=known.storage in views.written,
    )
    record.truth = gathered(views.memory[memory], layout.indices())


def derived(s: State, source: Record, step: Step, into: Record | None = None) -> Record:
    """A new record: what a step shows of ``source``, or ``into`` with that written into it."""
    operands = (source,) if into is None else (into, source)
    node = s.payload.viewed(tuple([o.node for o in operands]), step)
    record = fresh_record(s, step.shape if into is None else into.shape, source.dtype)
    record.ir, record.node = IrKind.OP, node
    for operand in operands:
        record.deps |= operand.reads
        record.defined = record.defined and operand.defined
    return record


def keep(s: State, row: int, source: int, step: Step) -> None:
    """What shows a part keeps the record that it was cut from, or what that was cut from."""
    assert s.views is not None
    if step.kind == SELECT:
        s.views.keeps[row] = s.views.keeps.get(source, source)


# ---- updates ------------------------------------------------------------------------------------


def touch(s: State, name: TensorName, design: Design) -> None:
    """A tensor's value was replaced under it: the others of its storage are out of date."""
    if s.views is None:
        return
    if not s.views.functional:
        write_through(s, name, s.record_of(name).truth)
    elif name in s.views.objects:
        commit(s, name, s.tensors[name], design)
    else:
        s.views.touched |= {s.tensors[name]}


def commit(s: State, name: TensorName, value: int, design: Design) -> None:
    """The new value of a tensor object, a record, is written back into the base of its storage, and
    the object is brought up to date; the others are when somebody looks at them."""
    views = s.views
    assert views is not None
    known, old = views.objects[name], s.tensors[name]
    write_through(s, name, s.records[value].truth)
    base = views.bases[known.storage]
    if known.path:
        get_ir(s, value, design)
        value = place(s, written_back(s, base, s.records[value], known.path, design))
    views.bases[known.storage] = value
    views.written |= {known.storage}
    for other in views.members(known.storage):
        if views.objects[other].path:
            views.objects[other] = replace(views.objects[other], stale=True)
        elif other in s.tensors:
            s.tensors[other] = value
    alias = chain_id(s.records[old])
    regenerate(s, name, design)
    if known.path:
        s.record_of(name).alias_id = alias
    tidy(s)


def written_back(
    s: State, base: int, value: Record, path: tuple[Step, ...], design: Design
) -> Record:
    """The base after what a path shows of it was replaced: along the path, and back again."""
    get_ir(s, base, design)
    sources = [s.records[base]]
    for step in path[:-1]:
        sources.append(derived(s, sources[-1], step))
    for source, step in zip(reversed(sources), reversed(path), strict=True):
        cut = step.kind in WRITERS
        value = derived(s, value, step if cut else back(step, source), source if cut else None)
    s.payload.count("DestroyXlaTensor", 2 * len(path) - 2)
    return value


def back(step: Step, source: Record) -> Step:
    """The step that shows all of a source again, given what a step shows of it."""
    return replace(step, shape=source.shape)


def regenerate(s: State, name: TensorName, design: Design) -> None:
    """Make an object anew from the base of its storage (C++: regenerate_from_base)."""
    views = s.views
    assert views is not None
    known = views.objects[name]
    row = views.bases[known.storage]
    if not known.path or not get_ir(s, row, design):
        return
    for step in known.path:
        record = derived(s, s.records[row], step)
        made = place(s, record)
        keep(s, made, row, step)
        row = made
    s.tensors[name] = row
    views.objects[name] = replace(known, stale=False)
    recall(s, known.memory)


# ---- looking, and what is left ------------------------------------------------------------------


def look(s: State, a: v.Look, design: Design) -> None:
    """A54. A tensor that is out of date is made anew, which whatever is given one does first."""
    # GUARD
    if lost(s.record_of(a.tensor)):  # A54.G1
        return fail(s, ErrorKind.LOST)
    # OBSERVE
    return succeed(s)


LEFT_ALONE = (v.ViewOf, v.Detach, v.Drop)
"""Actions that do not look at the tensors that they name."""


def refresh(s: State, names: tuple[TensorName, ...], design: Design) -> None:
    """Bring what a call is given up to date, in the order in which it is given."""
    if s.views is None:
        return
    late = [name for name in dict.fromkeys(names) if out_of_date(s, name)]
    for name in late:
        if s.views.functional:
            regenerate(s, name, design)
        else:
            look_at(s, s.tensors[name])
    if late:
        tidy(s)


def refresh_records(s: State) -> None:
    """Without functionalization, a sync of all that lives looks at every record."""
    if s.views is not None and not s.views.functional:
        for row in s.live_rows():
            look_at(s, row)


def out_of_date(s: State, name: TensorName) -> bool:
    """Whether a tensor is made anew when somebody looks at it."""
    if s.views is None:
        return False
    return s.views.is_stale(name) if s.views.functional else is_late(s, s.tensors[name])


def tidy(s: State) -> None:
    """Objects that nobody holds are forgotten, and records that none of the rest needs die."""
    views = s.views
    assert views is not None
    while loose := views.loose():
        for name in loose:
            del views.hidden[name], views.objects[name]
    storages = {known.storage for known in views.objects.values()}
    views.bases = {n: row for n, row in views.bases.items() if n in storages}
    needed = views.kept(set(s.tensors.values()))
    for row, record in enumerate(s.records):
        if record.live and row not in needed:
            bury(s, row)
    used = {record.view.alias for record in s.records if record.live and record.view}
    views.aliases = {n: alias for n, alias in views.aliases.items() if n in used}
