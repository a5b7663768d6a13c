"""Annotating tensors, and giving data to those that were traced without.

Every function finds out first whether it can do what is asked; a refused call changes nothing.

Source: torch_xla XLATensor / ShardingUtil (XlaMarkSharding, ClearShardingSpec, load_local_shards);
semantics.md §2.4, §5; §8.3.
"""

from collections.abc import Sequence

import jax

from markstep.impl.aval import HostArray, aval_of
from markstep.impl.context import Context
from markstep.impl.device import wait_idle
from markstep.impl.errors import ExecutorError, bad_argument, names
from markstep.impl.layout import Layout, layout
from markstep.impl.loading import assembled, load, make_ready, piece_to
from markstep.impl.mesh import Mesh, Partition
from markstep.impl.node import Buffer
from markstep.impl.partitioned import hint, without_hint
from markstep.impl.reading import download
from markstep.impl.record import Record
from markstep.impl.trace import get_ir, sent, show_leaf, unsent
from markstep.spec.vocabulary import ErrorKind


def use_spmd(ctx: Context) -> None:
    """From here on programs run on all devices. Raises BAD_ARGUMENT if there are fewer than were
    asked for, REFUSED while there are tensors.
    """
    if ctx.spmd:
        return
    if ctx.eager:
        raise bad_argument("eager mode is on: it does not go together with several devices")
    if len(ctx.family) > 1:
        raise bad_argument("on_device() was called: its executors work apart from each other")
    present = jax.local_devices()
    wanted = ctx.wanted_devices or len(present)
    if wanted > len(present):
        text = f"{wanted} devices were asked for, and JAX has {len(present)}"
        flag = f"XLA_FLAGS=--xla_force_host_platform_device_count={wanted}"
        raise bad_argument(f"{text} (on a CPU, set {flag} before JAX starts)")
    if living := ctx.live_records():
        of = names(record.id for record in living)
        raise ExecutorError(ErrorKind.REFUSED, f"use_spmd() comes first: {of} would stay behind")
    wait_idle(ctx)
    ctx.devices, ctx.spmd = tuple(present[:wanted]), True
    # numbers and the seed that are on one device are sent anew
    ctx.scalars.clear()
    ctx.last_scalar, ctx.seeds.node = (None, None), None


def layout_on(ctx: Context, record: Record, mesh: Mesh, partition: Partition) -> Layout:
    """What a mesh and a partition mean for a record. Raises BAD_ARGUMENT if they do not fit."""
    if not ctx.spmd:
        raise bad_argument("call use_spmd() before you mark a sharding")
    count = len(ctx.devices)
    if sorted(mesh.devices) != list(range(count)):
        raise bad_argument(f"a mesh has to use each of the {count} devices, not {mesh.devices}")
    return layout(mesh, partition, record.aval.shape)


def mark(ctx: Context, record: Record, wanted: Layout, *, lazy: bool) -> None:
    """Annotate a record, so that its data lie like this.

    Pending work and device data get a hint, which the next evaluation follows. Host data are sent
    as pieces: now, or with ``lazy`` by the first execution that takes them. The data of a stub are
    not there, and need not be. Raises CONFLICT if another annotation would have to be cleared,
    NO_VALUE if the data were given away.
    """
    found = record.spec
    if found is not None and found.tiles and found is not wanted:
        text = f"{names([record.id])} is annotated {found} and not {wanted}: clear that first"
        raise ExecutorError(ErrorKind.CONFLICT, text)
    if record.ir is not None and type(record.ir) is not Buffer:
        ctx.count("XlaAnnotateCustomSharding")
        _hint(ctx, record, wanted)
    elif record.host is not None:
        _mark_host(ctx, record, record.host, wanted, lazy)
    elif found is not wanted:
        _mark_device(ctx, record, wanted)


def _hint(ctx: Context, record: Record, wanted: Layout) -> None:
    record.set_ir(hint(get_ir(ctx, record), wanted))
    record.spec = wanted


def _mark_host(ctx: Context, record: Record, host: HostArray, wanted: Layout, lazy: bool) -> None:
    lazy = lazy or ctx.always_lazy
    buffer = record.handle
    if buffer is not None and buffer.source is not None:
        # whoever has traced over it already sees it laid out anew
        buffer.layout = record.spec = wanted
        if not lazy:
            make_ready(ctx, [buffer])
        return
    before = record.spec
    record.spec = wanted
    if lazy:
        return _keep_for_later(ctx, record, host)
    try:
        leaf = sent(ctx, record, host)
    except BaseException:
        record.spec = before
        raise
    show_leaf(record, leaf)
    ctx.count("VirtualDeviceUsage")
    record.host = None


def _keep_for_later(ctx: Context, record: Record, host: HostArray) -> None:
    """Host data that are annotated and not sent: they wait in the way that was chosen."""
    if ctx.lazy_loading == "host":
        record.handle = record.ir = None
        record.is_cloned = False
        return
    leaf = unsent(record, host)
    show_leaf(record, leaf)
    if ctx.lazy_loading == "stub":
        leaf.source = None
    elif ctx.lazy_loading == "node":
        # the data are the node's: the record has pending work, and nothing else
        record.handle = record.host = leaf.owner = None
        record.is_cloned = True


def _mark_device(ctx: Context, record: Record, wanted: Layout) -> None:
    buffer = record.handle
    if buffer is not None and buffer.deleted:
        download(ctx, record, buffer)
    elif buffer is not None and buffer.is_stub:
        buffer.layout = record.spec = wanted
        get_ir(ctx, record)
    else:
        _hint(ctx, record, wanted)


def clear(record: Record) -> None:
    """Forget the annotation and a hint; data stay where they are."""
    record.spec = None
    if record.ir is not None:
        record.ir = without_hint(record.ir)


def bind(ctx: Context, record: Record, array: HostArray, *, lazy: bool) -> None:
    """Give a stub its data: what was traced and compiled without them can run now.

    They are sent now or, ``lazy``, by the first execution that takes them. Raises BAD_ARGUMENT if
    it is no stub, or if shape or element type differ.
    """
    buffer = record.handle or record.own_leaf()
    if buffer is None or not buffer.is_stub:
        raise bad_argument(f"{names([record.id])} does not wait for data")
    given = aval_of(array.shape, array.dtype)
    if given is not record.aval:
        raise bad_argument(f"cannot give {given} to {names([record.id])} of {record.aval}")
    if lazy and ctx.spmd:
        buffer.source = array.copy()
    else:
        load(ctx, buffer, array)
    record.host = None


def load_shards(ctx: Context, record: Record, parts: Sequence[HostArray]) -> None:
    """Load the piece of each device directly, zeros behind uneven ones included.

    Raises BAD_ARGUMENT unless the record is annotated as cut and these are its pieces.
    """
    wanted = record.spec
    if wanted is None or not wanted.tiles:
        raise bad_argument(f"{names([record.id])} is not annotated as cut into pieces")
    shape, dtype = wanted.piece_shape(record.aval.shape), record.aval.dtype
    if len(parts) != len(ctx.devices) or any(
        part.shape != shape or part.dtype != dtype for part in parts
    ):
        raise bad_argument(
            f"{names([record.id])} needs {len(ctx.devices)} pieces {aval_of(shape, dtype)}"
        )
    ctx.regions.require("transfer", f"pieces of {names([record.id])} would be sent")
    buffer = Buffer(record.aval)
    sent_parts = [piece_to(part, device) for part, device in zip(parts, ctx.devices, strict=True)]
    buffer.value = assembled(sent_parts, record.aval.shape, wanted, ctx.devices)
    buffer.layout = wanted
    ctx.count("CreateDataHandles", len(parts))
    ctx.count("OutboundData", sum(part.nbytes for part in parts))
    record.set_data(buffer)
    record.host = record.failure = None
