"""Reading: where the value of a tensor comes from, and fetching it.

Source: semantics.md §2.3.6–7 (get_buf, to_host), §3.39 (GetTensors), §3.49 (gather), §3.53 (fetch).
"""

from dataclasses import dataclass

from markstep.spec.design import Design, Validation
from markstep.spec.rules.errors import crash, deliver, finish, has_no_number, is_absent, take_lock
from markstep.spec.rules.sharding import marked, send_pieces
from markstep.spec.rules.transfer import drop_host, fail, leaf_to_handle, succeed
from markstep.spec.state import NONE, CallKind, Phase, Record, State, has, rows
from markstep.spec.vocabulary import BufferStatus, DumpGraph, ErrorKind, IrKind, Sharding


@dataclass(frozen=True, slots=True)
class Read:
    """A51: find the source of the one tensor to read, once the device is free."""


@dataclass(frozen=True, slots=True)
class Download:
    """A52: fetch what was asked for and return."""


def read(s: State, a: Read, design: Design) -> None:
    """A51. Host copy, else handle, else leaf, else pending work, now evaluated (§2.3.7)."""
    call, record = s.call, s.records[s.call.target]
    if deliver(s, design):  # A51.G1
        return None
    if record.host:
        return read_host(s, record)
    if record.handle != NONE and s.buffers[record.handle].source:
        return finish(s, value=s.buffers[record.handle].contents)
    if not take_lock(s, design):  # A51.G2: the barrier throws an old error
        return None
    call.holds_lock = False
    if record.handle != NONE:
        if s.buffers[record.handle].status != BufferStatus.VALUE:  # A51.G3
            return finish(s, ErrorKind.NO_VALUE)
        call.phase = Phase.DOWNLOAD
    elif record.ir == IrKind.LEAF and not s.buffers[record.leaf].source:
        if not (record.is_cloned and design.borrower_reads_in_place):
            leaf_to_handle(record)
        call.phase = Phase.DOWNLOAD
    elif record.ir != IrKind.NONE:
        call.force, call.wait, call.phase = True, True, Phase.COLLECT
    else:
        finish(s, ErrorKind.LOST)  # A51.G4
    return None


def read_host(s: State, record: Record) -> None:
    """The host copy is the value; it is given up when there is another source (§2.3.7), but not for
    one that was not loaded yet."""
    value = record.host_value
    row = record.handle
    empty = row != NONE and s.buffers[row].status == BufferStatus.PLACEHOLDER
    if (row != NONE or record.ir != IrKind.NONE) and not empty:
        drop_host(record)
    finish(s, value=value)


def download(s: State, a: Download, design: Design) -> None:
    """A52. Only a buffer with a value can be fetched."""
    if s.call.kind == CallKind.MARK:
        return download_marked(s, design)
    if s.call.kind == CallKind.READ_ONE:
        record = s.records[s.call.target]
        row = record.handle if record.handle != NONE else record.leaf
        return finish_download(s, [row], design)
    wanted = []
    for r in s.call.order:
        record = s.records[r]
        if has(s.call.outputs, r):
            continue
        if record.host:
            record.host_exposed = not design.read_returns_copy
        elif record.handle == NONE:  # A52.G1
            return finish(s, ErrorKind.LOST)
        else:
            wanted.append(record.handle)
    return finish_download(s, wanted, design)


def finish_download(s: State, wanted: list[int], design: Design) -> None:
    """Fetch buffers. A null one kills the process under AT_DISPATCH (H-08), also behind a deleted
    one: transfers are begun for all before the first is waited for."""
    s.payload.count("TransferFromDevice")
    if any([is_absent(s, row) for row in wanted]):
        if design.validation == Validation.AT_DISPATCH:  # A52.G3
            return crash(s)
        return finish(s, ErrorKind.NO_VALUE)
    if any([s.buffers[row].status == BufferStatus.DELETED for row in wanted]):  # A52.G2
        return finish(s, ErrorKind.DELETED)
    return finish(s, value=fetched(s, design))


def download_marked(s: State, design: Design) -> None:
    """What was fetched is sent again, in the pieces that the mark asks for (§5.1.5-9)."""
    r, sharding = s.call.target, s.call.sharding
    record = s.records[r]
    evaluated = record.handle == NONE
    right = s.call.right if evaluated else s.buffers[record.handle].right
    finish_download(s, [] if evaluated else [record.handle], design)
    if s.raised == ErrorKind.NONE:
        value = s.value[0] if isinstance(s.value, tuple) and s.value else None
        marked(s, r, sharding, send_pieces(s, r, sharding, value, right, design))


def fetched(s: State, design: Design) -> object:
    """Payload: the value, or the values in the order asked for; one transfer in all."""
    call = s.call
    if call.kind == CallKind.READ_ONE:
        record = s.records[call.target]
        buffer = s.buffers[record.handle if record.handle != NONE else record.leaf]
        if not buffer.source:  # what was not sent yet is on the host
            s.payload.count_download([(record.shape, buffer.sharding)], design.gathers_by_program)
        return buffer.contents
    results = dict(zip(call.output_order, call.results, strict=False))
    lies = dict(zip(call.output_order, call.lies, strict=False))
    values, arrays = [], []
    for r in call.order:
        record = s.records[r]
        if record.host and not has(call.outputs, r):
            values.append(record.host_value)
            continue
        in_graph = has(call.outputs, r)
        held = s.buffers[record.handle].sharding if record.handle != NONE else Sharding.NONE
        if in_graph or not s.buffers[record.handle].source:
            arrays.append((record.shape, lies.get(r, held)))
        values.append(results.get(r) if in_graph else s.buffers[record.handle].contents)
    s.payload.count_download(arrays, design.gathers_by_program)
    return tuple(values)


def dump_graph(s: State, a: DumpGraph, design: Design) -> None:
    """A22. Looks at the current ir only; no lock, no transfer (§3.32)."""
    read = 0
    for name in a.tensors:
        read |= s.record_of(name).reads
    if has_no_number(s, read, design):  # A22.G1
        return crash(s)
    gone = any([s.buffers[row].status == BufferStatus.DELETED for row in rows(read)])
    if gone and not design.dumps_what_is_gone:  # A22.G2
        return fail(s, ErrorKind.DELETED)
    return succeed(s)
