"""Which parameters a program may consume: those that nothing needs once it has run.

Source: XLAGraphExecutor::GetBufferDonors, SetBufferDonors; semantics.md §3 (59, 60), §6 (32-41).
"""

from collections.abc import Sequence
from typing import NamedTuple

from markstep.impl.context import Context
from markstep.impl.graph import Graph, reachable
from markstep.impl.lower import Alias
from markstep.impl.node import Buffer, Node
from markstep.impl.record import Record


class Survey(NamedTuple):
    """Records apart: the device data that some show, and the records that showed none."""

    shown: list[Buffer]
    bare: list[Record]


def survey(records: list[Record]) -> Survey:
    """The records apart. Most of them show data, and then nothing has to be done about them."""
    return Survey(
        [record.handle for record in records if record.handle is not None],
        [record for record in records if record.handle is None],
    )


def find_donors(
    ctx: Context,
    outputs: list[Record],
    graph: Graph,
    *,
    sync: bool,
    live: Survey | None = None,
) -> list[int]:
    """Numbers of the parameters that are given away, ascending.

    A buffer is a candidate when an output updates its owner in place (only with ``sync``) or the
    user marked it; a candidate is a donor unless something that stays needs it. ``live``: all
    live records, from a caller that has just surveyed them.
    """
    updated = {record.alias_id for record in outputs} if sync else set()
    by_mark = sync or ctx.donor_config
    candidates = [
        number
        for number, buffer in enumerate(graph.parameters)
        if (buffer.owner in updated or (by_mark and buffer.donate)) and not buffer.read_only
    ]
    if not candidates:
        return []
    needed = _needed(survey(ctx.unsorted_records()) if live is None else live, outputs)
    return [number for number in candidates if graph.parameters[number] not in needed]


def pair(outputs: list[Record], graph: Graph, donors: Sequence[int]) -> list[Alias]:
    """Each donor that an output updates in place, with the number of that output.

    It only decides whose memory a result reuses, not what is computed: it is not in the key.
    """
    owned = {graph.parameters[donor].owner: donor for donor in donors}
    pairs = []
    for number, record in enumerate(outputs):
        donor = owned.get(record.alias_id)
        if donor is not None and graph.parameters[donor].aval is record.aval:
            pairs.append((donor, number))
            del owned[record.alias_id]
    return pairs


def _needed(live: Survey, outputs: list[Record]) -> set[Buffer]:
    """Every buffer that the live records besides the outputs show, or need to be computed.

    A placeholder that is still to be filled needs what its recipe needs: the running execution
    may fail, and then the recipe is all there is.
    """
    needed = set(live.shown)
    waiting: list[Node] = []
    # an output is pending: it shows no buffer, and it is one of those that wait
    if len(live.bare) > len(outputs):
        others = set(live.bare).difference(outputs)
        # some of them may show data since the survey
        needed.update([record.handle for record in others if record.handle is not None])
        waiting = [
            record.ir for record in others if record.handle is None and record.ir is not None
        ]
    roots = waiting + [buffer.recipe for buffer in needed if buffer.recipe is not None]
    while roots:
        found = {node for node in reachable(roots) if isinstance(node, Buffer)} - needed
        needed |= found
        roots = [buffer.recipe for buffer in found if buffer.recipe is not None]
    return needed


def mark(ctx: Context, record: Record, flag: bool) -> bool:
    """Let (or do not let) executions consume the record's buffer; whether it has one.

    Source: XLATensor bridge ``_set_buffer_donation``; semantics.md §2.4.
    """
    buffer = record.handle
    if buffer is None and type(record.ir) is Buffer:
        buffer = record.ir
    if buffer is None:
        return False
    buffer.donate = flag
    ctx.count("XlaSetBufferDonation")
    return True
