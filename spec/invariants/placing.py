"""Claims that hold the others up in SPMD mode: where every annotation, piece and source stands.

As in `lemmas`, they say nothing to a user. Each says for which designs it is meant: those that do
otherwise break a claim that users know.
"""

from markstep.spec.design import Design, MarkHost, TraceHost, Truncation
from markstep.spec.invariants.claim import Kind, Step, claim
from markstep.spec.rules.transfer import cached, held_by
from markstep.spec.state import NONE, Buffer, Record, State, bit, rows
from markstep.spec.vocabulary import BufferStatus, IrKind, Sharding


def loads_once(design: Design) -> bool:
    """Data on the host wait as leaves with a source, and are let go of by the one load."""
    leaf = design.mark_host == MarkHost.LEAF_WITH_SOURCE and design.load_drops_host
    return leaf and design.trace_host == TraceHost.LAZY_LEAF and not design.barrier_loads_unused


def keeps_annotations(design: Design) -> bool:
    """Nothing but a mark, an evaluation or a copy changes an annotation."""
    pure = design.spec_reads_are_pure and design.truncation == Truncation.AT_SCHEDULE
    return pure and loads_once(design) and design.marks_stubs


def unplaced(r: Record) -> bool:
    """A record that knows nothing of several devices."""
    return [r.spec, r.hint, r.asked, r.sends] == [0, 0, 0, 0]


def plain(b: Buffer) -> bool:
    """A buffer record of one device."""
    return b.sharding == Sharding.NONE and not b.source and b.sends == 0


@claim(
    "I128",
    Kind.STATE,
    lambda t: not t.after.device.spmd and any([r.live for r in t.after.records]),
    why="A process that never asks for several devices must not notice that there are any.",
)
def without_the_mode_nothing_is_placed(t: Step) -> bool:
    """Without SPMD mode no record is annotated, no buffer is sharded, and none waits for data."""
    s = t.after
    if s.device.spmd:
        return True
    calls = not s.call.plain and s.call.sharding == Sharding.NONE
    records = all([unplaced(r) for r in s.records])
    return calls and records and all([plain(b) for b in s.buffers])


def waits_only_for_its_source(s: State, row: int) -> bool:
    """A buffer record is empty, laid out, not cached, and no execution has to do with it."""
    b, e = s.buffers[row], s.execution
    bits = e.outputs | e.refills | e.params
    empty = b.status == BufferStatus.PLACEHOLDER and b.recipe == IrKind.NONE and not b.cached
    return empty and b.sharding != Sharding.NONE and b.sends == 0 and not bits >> row & 1


@claim(
    "I129",
    Kind.STATE,
    lambda t: any([b.source for b in t.after.buffers]),
    why="Two that fill one buffer record race.",
)
def sources_fill_what_nothing_else_fills(t: Step) -> bool:
    """A buffer record with a source is an empty placeholder that was never sent, and that no
    execution fills or reads."""
    if not loads_once(t.design):
        return True
    waiting = [row for row, b in enumerate(t.after.buffers) if b.source]
    return all([waits_only_for_its_source(t.after, row) for row in waiting])


def may_be_read(s: State) -> int:
    """Mask of the buffer records that live records or the running call read, recipes included, and
    of those that a number or a seed may become."""
    used: int = s.call.params | bit(s.device.seed) | cached(s)
    for record in s.records:
        used |= held_by(record)
    for row in rows(used):
        used |= s.buffers[row].recipe_reads
    return used


@claim(
    "I130",
    Kind.STATE,
    lambda t: t.after.device.spmd and any([r.handle != NONE for r in t.live()]),
    why="A program for all devices takes a piece on each of them.",
)
def in_the_mode_everything_is_laid_out(t: Step) -> bool:
    """In SPMD mode every buffer record that a tensor, a number or the seed needs is laid out on the
    devices."""
    s = t.after
    if not s.device.spmd or not (t.design.key_has_mode and t.design.marks_stubs):
        return True
    needed = may_be_read(s)
    bare = [b.sharding == Sharding.NONE and needed >> i & 1 for i, b in enumerate(s.buffers)]
    return not any(bare) and not s.call.plain


def own_place(r: Record) -> int:
    """The row of a record's own data: its handle, or a leaf that it does not borrow."""
    if r.handle != NONE or r.is_cloned or r.ir != IrKind.LEAF:
        return r.handle
    return r.leaf


@claim(
    "I131",
    Kind.STATE,
    lambda t: any([r.spec != Sharding.NONE and own_place(r) != NONE for r in t.live()]),
    why="What a mark says must be true of what is already there.",
)
def own_data_lie_as_annotated(t: Step) -> bool:
    """The data of an annotated tensor lie as it is annotated, in the middle of calls, too; one that
    was marked is annotated as marked."""
    if not keeps_annotations(t.design):
        return True
    live = [r for r in t.after.records if r.live]
    if any([r.asked != Sharding.NONE and r.asked != r.spec for r in live]):
        return False
    both = [r for r in live if r.spec != Sharding.NONE and own_place(r) != NONE]
    return all([t.after.buffers[own_place(r)].sharding == r.spec for r in both])


@claim(
    "I132",
    Kind.STATE,
    lambda t: t.after.device.spmd and any([r.host for r in t.live()]),
    why="One version in two places is one too many.",
)
def host_copies_were_not_sent(t: Step) -> bool:
    """In SPMD mode data on the host were not sent, and a tensor that has them and a handle waits
    for its source."""
    s = t.after
    if not s.device.spmd or not loads_once(t.design):
        return True
    hosts = [r for r in s.records if r.live and r.host]
    if any([r.sends != 0 for r in hosts]):
        return False
    return all([s.buffers[r.handle].source for r in hosts if r.handle != NONE])


@claim(
    "I133",
    Kind.STATE,
    lambda t: t.after.device.spmd and t.after.call.force,
    why="What no program reads stays on the host.",
)
def collections_queue_no_upload(t: Step) -> bool:
    """In SPMD mode a collection queues no upload (D38)."""
    return not t.after.device.spmd or t.design.barrier_loads_unused or t.after.call.uploads == 0
