"""Views without functionalization: several records over one alias, and a log of updates to it.

An op in place makes a value that then becomes the ir of the record itself, which keeps its id. If
the record is a view, the value goes to its alias as an update of what the path shows, and every
view of the alias, this one too, is out of date: whoever looks at it writes all updates into the
root and follows its path from there. A sync that gives a view data of its own cuts it off: nobody
sees its later updates, nor it theirs.
Source: torch_xla/csrc/view.cpp, tensor.cpp (SetIrValue, CreateView, GetViewUpdate); semantics.md
§1.5, §2.3.
"""

from dataclasses import replace

from markstep.spec import vocabulary as v
from markstep.spec.design import Design
from markstep.spec.rules.objects import bind, fresh_record, write_through
from markstep.spec.rules.transfer import drop_host, get_ir, set_ir_none, succeed
from markstep.spec.state import NONE, Record, State
from markstep.spec.strides import AS_STRIDED, NO_OP, PERMUTE, VIEW, WRITERS, Step, dense, permuted
from markstep.spec.views import Alias, AliasView, Ir, Path, Views
from markstep.spec.vocabulary import IrKind, TensorName


def alias_view_of(s: State, a: v.ViewOf, step: Step, design: Design) -> None:
    """A53 without functionalization. The source becomes a view itself, of all of the new alias."""
    views, row = s.views, s.tensors[a.source]
    assert views is not None
    source = s.records[row]
    if source.view is None:
        get_ir(s, row, design)
        alias = views.number()
        views.aliases[alias] = Alias(ir_of(source))
        source.view = AliasView(alias, (Step(NO_OP, source.shape),))
        source.is_cloned = False
        path: Path = (strided(step, source.shape),)
    else:
        alias, path = source.view.alias, (*source.view.path, strided(step, source.shape))
    record = fresh_record(s, step.shape, source.dtype)
    record.view = AliasView(alias, path)
    bring_up_to_date(s, views, record)
    bind(s, a.out, record)
    succeed(s)


def strided(step: Step, shape: tuple[int, ...]) -> Step:
    """A transposition is one of strides: there is no other kernel for it."""
    if step.kind != PERMUTE:
        return step
    return Step(AS_STRIDED, step.shape, (*permuted(dense(shape).strides, step.args), 0))


def is_late(s: State, row: int) -> bool:
    """Whether a view does not show the last updates of its alias."""
    view = s.records[row].view
    return (
        view is not None
        and s.views is not None
        and (view.generation != s.views.aliases[view.alias].generation)
    )


def look_at(s: State, row: int) -> None:
    """A view that is out of date gets a new ir, and what it held besides is nothing any more."""
    if not is_late(s, row):
        return
    record = s.records[row]
    record.handle = NONE
    drop_host(record)
    assert s.views is not None
    bring_up_to_date(s, s.views, record)


def bring_up_to_date(s: State, views: Views, record: Record) -> None:
    """Write the updates into the root, and follow the path from there (C++: GetViewIrNode)."""
    view = record.view
    assert view is not None
    alias = views.aliases[view.alias]
    root = alias.root
    for value, path in alias.updates:
        root = written_into(s, root, value, path)
    views.aliases[view.alias] = replace(alias, root=root, updates=())
    shown = root
    for step in view.path:
        shown = seen(s, shown, step)
    give_ir(record, shown)
    record.view = replace(view, generation=alias.generation)


def written_into(s: State, root: Ir, value: Ir, path: Path) -> Ir:
    """The root after what a path shows of it was replaced (C++: ApplyUpdate)."""
    sources = [root]
    for step in path[:-1]:
        sources.append(seen(s, sources[-1], step))
    for source, step in zip(reversed(sources), reversed(path), strict=True):
        if step.kind in WRITERS:
            value = op_over(s, (source, value), step, source.shape)
        elif step.kind == VIEW:
            value = seen(s, value, Step(VIEW, source.shape))
    return value


def seen(s: State, source: Ir, step: Step) -> Ir:
    """What a step shows."""
    return source if step.kind == NO_OP else op_over(s, (source,), step, step.shape)


def op_over(s: State, operands: tuple[Ir, ...], step: Step, shape: tuple[int, ...]) -> Ir:
    """A pending op of a view."""
    deps = 0
    for operand in operands:
        deps |= operand.reads
    node = s.payload.viewed(tuple([operand.node for operand in operands]), step)
    return Ir(IrKind.OP, NONE, deps, node, shape, all([operand.defined for operand in operands]))


def ir_of(record: Record) -> Ir:
    """The ir of a record."""
    return Ir(record.ir, record.leaf, record.deps, record.node, record.shape, record.defined)


def give_ir(record: Record, ir: Ir) -> None:
    """Let the ir of a record be another one."""
    set_ir_none(record)
    record.ir, record.leaf, record.deps, record.node = ir.kind, ir.leaf, ir.deps, ir.node
    record.defined = ir.defined


def assign(s: State, name: TensorName, value: Record) -> None:
    """SetIrValue in place: the value becomes the record's ir, or an update of its alias."""
    views, record, ir = s.views, s.record_of(name), ir_of(value)
    assert views is not None
    record.handle, record.error = NONE, 0
    drop_host(record)
    record.truth, record.defined = value.truth, value.defined
    if record.view is None:
        give_ir(record, ir)
    else:
        log_update(views, record.view, ir)
    record.is_cloned = False
    write_through(s, name, record.truth)
    succeed(s)


def log_update(views: Views, view: AliasView, value: Ir) -> None:
    """One more update of an alias; of two in a row through one path the last one counts."""
    alias = views.aliases[view.alias]
    kept = alias.updates
    if kept and kept[-1][1] == view.path:
        kept = kept[:-1]
    views.aliases[view.alias] = Alias(alias.root, (*kept, (value, view.path)), alias.generation + 1)
