"""Which device buffers live, who keeps them, and which of them a sync would give away.

Source: users of torch_xla (pytorch/xla#7824, #6380, #8711); semantics.md §1.3.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from markstep.impl.context import Context
from markstep.impl.donation import find_donors
from markstep.impl.graph import Graph, reachable
from markstep.impl.node import Buffer, Node
from markstep.impl.record import Record
from markstep.spec.vocabulary import BufferStatus


@dataclass(frozen=True, slots=True)
class LiveBuffer:
    """A device buffer with contents. ``size`` in bytes; ``holders`` say in words who keeps it.

    ``number`` is that of ``Description.buffer``.
    """

    number: int
    shape: tuple[int, ...]
    dtype: str
    size: int
    holders: tuple[str, ...]


def live_buffers(ctx: Context) -> list[LiveBuffer]:
    """Every buffer with contents that something keeps, the largest first. Changes nothing."""
    holders: dict[Buffer, dict[str, None]] = {}
    for buffer, holder in _held(ctx):
        if buffer.status is BufferStatus.VALUE:
            holders.setdefault(buffer, {})[holder] = None
    found = [_live(buffer, tuple(names)) for buffer, names in holders.items()]
    return sorted(found, key=lambda live: (-live.size, live.number))


def _live(buffer: Buffer, holders: tuple[str, ...]) -> LiveBuffer:
    shape, dtype = buffer.aval.shape, buffer.aval.dtype
    return LiveBuffer(buffer.serial, shape, dtype.name, prod(shape) * dtype.itemsize, holders)


def _held(ctx: Context) -> Iterator[tuple[Buffer, str]]:
    for record in ctx.live_records():
        yield from _by_record(record)
    for buffer in ctx.scalars.values():
        yield buffer, "scalar cache"
    if ctx.seeds.node is not None:
        for buffer in _leaves(ctx.seeds.node):
            yield buffer, "seed of this step"
    if ctx.running is not None:
        for buffer in ctx.running.arguments:
            yield buffer, f"execution {ctx.running.number}"


def _by_record(record: Record) -> Iterator[tuple[Buffer, str]]:
    name = f"tensor {record.id}"
    if record.handle is not None:
        yield record.handle, name
        if record.handle.recipe is not None:
            for buffer in _leaves(record.handle.recipe):
                yield buffer, f"recipe of {name}"
    ir = record.ir
    if isinstance(ir, Buffer):
        yield ir, f"{name} (borrowed)" if record.is_cloned else name
    elif ir is not None:
        for buffer in _leaves(ir):
            yield buffer, f"pending graph of {name}"


def _leaves(root: Node) -> list[Buffer]:
    return [node for node in reachable([root]) if isinstance(node, Buffer)]


@dataclass(frozen=True, slots=True)
class Fate:
    """What a sync would do with one parameter of its program. ``because``: in words."""

    number: int
    shape: tuple[int, ...]
    donated: bool
    because: str


def fates(ctx: Context, outputs: list[Record], graph: Graph) -> list[Fate]:
    """For each parameter of the graph whether a step barrier would give it away, and why."""
    donors = find_donors(ctx, outputs, graph, sync=True)
    updated = {record.alias_id for record in outputs}
    computed = {f"pending graph of tensor {record.id}" for record in outputs}
    needed: dict[Buffer, dict[str, None]] = {}
    for buffer, holder in _held(ctx):
        if holder not in computed:
            needed.setdefault(buffer, {})[holder] = None
    found = []
    for number, buffer in enumerate(graph.parameters):
        donated = number in donors
        because = _because(buffer, donated, updated, list(needed.get(buffer, {})))
        found.append(Fate(number, buffer.aval.shape, donated, because))
    return found


def _because(buffer: Buffer, donated: bool, updated: set[int], needed: list[str]) -> str:
    if buffer.read_only:
        return "read-only: a number that later graphs use too"
    replaced = buffer.owner in updated
    if not replaced and not buffer.donate:
        return "no result takes the place of its tensor, and it is not marked"
    cause = "a result takes the place of its tensor" if replaced else "it is marked"
    if donated:
        return f"{cause}, and nothing else needs it"
    return f"{cause}, but it is needed: {', '.join(needed)}"
