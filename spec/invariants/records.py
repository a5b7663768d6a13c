"""Claims about records: where a tensor's value is, and who else is told about it.

Source: semantics.md §6, Records.
"""

from itertools import combinations

from markstep.spec.invariants.claim import Kind, Step, claim
from markstep.spec.rules.objects import lost
from markstep.spec.state import NONE, Phase, Record, State, bit
from markstep.spec.vocabulary import AssignInPlace, BufferStatus, IrKind


def has_handle_and_ir(t: Step) -> bool:
    """Some record has a leaf beside its handle."""
    return any([r.handle != NONE and r.ir != IrKind.NONE for r in t.live()])


def has_two_records(t: Step) -> bool:
    """At least two records live."""
    return len(t.live()) > 1


@claim(
    "I01",
    Kind.STATE,
    lambda t: t.after.idle and bool(t.live()),
    why="Otherwise its value is lost, and even asking for its shape raises.",
    broken=True,
    hazards=("H-01", "H-02"),
)
def some_source(t: Step) -> bool:
    """Between calls every live record has a handle, an ir or a host copy."""
    if t.after.call.phase != Phase.IDLE:
        return True
    return not any([lost(record) for record in t.live()])


@claim(
    "I02",
    Kind.STATE,
    has_handle_and_ir,
    why="Two sources of one value must agree.",
)
def handle_and_ir_agree(t: Step) -> bool:
    """A record with a handle and an ir has the leaf over that very handle as its ir."""
    return all([r.handle == NONE or leaf_agrees(r) for r in t.live()])


def leaf_agrees(record: Record) -> bool:
    """The ir is absent or the leaf over the handle."""
    if record.ir == IrKind.NONE:
        return True
    return record.ir == IrKind.LEAF and record.leaf == record.handle


@claim(
    "I03",
    Kind.STATE,
    lambda t: any([r.host and r.ir != IrKind.NONE for r in t.live()]),
    why="A host copy beside pending work would be stale, and reads prefer the host copy.",
)
def host_copy_excludes_pending_work(t: Step) -> bool:
    """A record with a host copy and an ir has the leaf over its handle as its ir."""
    both = [r for r in t.live() if r.host and r.ir != IrKind.NONE]
    return all([r.handle != NONE and leaf_agrees(r) for r in both])


@claim(
    "I04",
    Kind.STATE,
    lambda t: any([r.host and holds_value(t.after, r) for r in t.live()]),
    why="Reads prefer the host copy, computations the device: they must see one value.",
    broken=True,
    hazards=("H-27",),
)
def host_copy_equals_device(t: Step) -> bool:
    """The host copy of a record is the value of the tensor."""
    return all([r.host_right for r in t.live() if r.host])


def holds_value(s: State, record: Record) -> bool:
    """The record's handle has a value."""
    return record.handle != NONE and s.buffers[record.handle].status == BufferStatus.VALUE


@claim(
    "I06",
    Kind.STATE,
    has_two_records,
    why="Registry, donors and errors name records by id.",
)
def ids_are_unique(t: Step) -> bool:
    """No two live records have the same id."""
    return all([a.id != b.id for a, b in combinations(t.live(), 2)])


@claim(
    "I07",
    Kind.STATE,
    has_two_records,
    why="A step barrier must see every tensor, and nothing else.",
)
def registry_is_exact(t: Step) -> bool:
    """The live records are those that some tensor object points at, or that a view keeps alive."""
    pointed, named = 0, t.after.tensors.values()
    for row in named if t.after.views is None else t.after.views.kept(set(named)):
        pointed |= bit(row)
    living = 0
    for row, record in enumerate(t.after.records):
        living |= bit(row) if record.live else 0
    return pointed == living


@claim(
    "I09",
    Kind.STATE,
    lambda t: any([r.handle != NONE for r in t.live()]),
    why="Keys and placeholders are made from shapes.",
)
def shapes_agree(t: Step) -> bool:
    """The buffer record behind a handle has the shape and dtype of its record."""
    for record in t.live():
        if record.handle != NONE:
            buffer = t.after.buffers[record.handle]
            if (buffer.shape, buffer.dtype) != (record.shape, record.dtype):
                return False
    return True


@claim(
    "I13",
    Kind.STATE,
    lambda t: any([r.is_cloned for r in t.live()]),
    why="The mark promises an own buffer at the next sync; on a handle it is useless.",
    broken=True,
    hazards=("H-03",),
)
def clone_mark_is_on_a_borrowed_leaf(t: Step) -> bool:
    """A record with the clone mark has no handle, and a leaf as its ir."""
    return all([not r.is_cloned or (r.handle == NONE and r.ir == IrKind.LEAF) for r in t.live()])


def owners_of(s: State, row: int) -> int:
    """How many records hold a buffer as handle or unmarked leaf, that is, as their own."""
    return sum(
        [
            record.live and not record.is_cloned and row in (record.handle, record.leaf)
            for record in s.records
        ]
    )


@claim(
    "I14",
    Kind.STATE,
    lambda t: any([r.is_cloned for r in t.live()]),
    why="Donation asks for the owner of a buffer; there can be one answer only.",
    broken=True,
    hazards=("H-04",),
)
def borrowed_leaves_are_marked(t: Step) -> bool:
    """Of the records that see one buffer as handle or leaf, all but one carry the clone mark."""
    return all([owners_of(t.after, row) <= 1 for row in range(len(t.after.buffers))])


@claim(
    "I15",
    Kind.STATE,
    lambda t: sum([r.handle != NONE for r in t.live()]) > 1,
    why="A buffer record has one info slot: the last toucher erases the owner.",
    broken=True,
    hazards=("H-03", "H-04"),
)
def handles_are_not_shared(t: Step) -> bool:
    """No two records have the same buffer record as handle."""
    holders = [record for record in t.live() if record.handle != NONE]
    return all([a.handle != b.handle for a, b in combinations(holders, 2)])


@claim(
    "I16",
    Kind.STEP,
    lambda t: isinstance(t.action, AssignInPlace) and t.after.raised == "none",
    why="The alias id chooses donors.",
)
def alias_id_is_an_ancestor(t: Step) -> bool:
    """An in-place update hands on the updated record's id or its alias id."""
    if not isinstance(t.action, AssignInPlace) or t.after.raised != "none":
        return True
    if t.before.views is not None and t.before.views.is_stale(t.action.target):
        return True  # the record that was updated is one that was made for it
    old = t.before.record_of(t.action.target)
    return t.after.record_of(t.action.target).alias_id in (old.id, old.alias_id)
