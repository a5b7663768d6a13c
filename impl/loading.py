"""Host data on their way to the devices: pieces, copies, and what was not sent yet.

Source: torch_xla ShardingUtil::CreateShardedData, XLATensor::GetIrValueForTensor; semantics.md
§1.12, §2.4, §5.5.
"""

from collections.abc import Iterable

import jax
import numpy as np

from markstep.impl.aval import Array, HostArray
from markstep.impl.context import Context
from markstep.impl.errors import ExecutorError
from markstep.impl.layout import REPLICATED, Layout, common_mesh
from markstep.impl.lower import upload, upload_to
from markstep.impl.node import Buffer
from markstep.spec.vocabulary import ErrorKind


def to_device(ctx: Context, array: HostArray, layout: Layout | None = None) -> Array:
    """Send host data; they are copied before this returns. On several devices each gets exactly
    its piece, or all where no layout says otherwise."""
    ctx.regions.require("transfer", f"{array.nbytes} bytes would be sent to the device")
    with ctx.metrics.timed("TransferToDeviceTime"):
        if ctx.spmd:
            return _to_devices(ctx, array, layout or REPLICATED)
        ctx.count("CreateDataHandles")
        _count_bytes(ctx, array.nbytes)
        if ctx.mode == "interpret":
            return array.copy()
        return upload(array, ctx.place).block_until_ready()


def _count_bytes(ctx: Context, size: int) -> None:
    ctx.count("OutboundData", size)
    ctx.metrics.add("OutboundData", size)


def _to_devices(ctx: Context, array: HostArray, layout: Layout) -> Array:
    devices = len(ctx.devices)
    piece = int(np.prod(layout.piece_shape(array.shape), dtype=np.int64)) * array.itemsize
    sent = array.copy() if ctx.mode == "interpret" else spread(array, layout, ctx.devices)
    ctx.count("CreateDataHandles", devices)
    _count_bytes(ctx, devices * piece)
    return sent


def spread(array: HostArray, layout: Layout, devices: tuple[jax.Device, ...]) -> jax.Array:
    """An array of the padded shape whose pieces lie on the devices."""
    parts = [piece_to(part, devices[number]) for number, part in layout.pieces(array, len(devices))]
    return assembled(parts, array.shape, layout, devices)


def piece_to(part: HostArray, device: jax.Device) -> jax.Array:
    """Send one piece. Raises EXECUTION_FAILED if the device takes none."""
    try:
        return upload_to(part, device)
    except jax.errors.JaxRuntimeError as cause:
        text = f"device {device.id} of the mesh takes no data: {cause}"
        raise ExecutorError(ErrorKind.EXECUTION_FAILED, text) from cause


def assembled(
    parts: list[jax.Array], shape: tuple[int, ...], layout: Layout, devices: tuple[jax.Device, ...]
) -> jax.Array:
    """One array of pieces that lie where they belong."""
    sharding = layout.sharding(common_mesh([layout], len(devices))[layout], devices)
    whole = jax.make_array_from_single_device_arrays(layout.padded(shape), sharding, parts)
    whole.block_until_ready()  # type: ignore[no-untyped-call]
    return whole


def make_ready(ctx: Context, parameters: Iterable[Buffer]) -> list[Buffer]:
    """Send what a program is about to take and what is not there yet; after that it is like any
    other data, and the host copy is let go. Each of them is sent once, whoever needs it first.

    Returns what the program is given: the parameters, or where sending is part of the program (a
    node that loads), what was sent for this execution alone.
    """
    given = list(parameters)
    loaded = [(place, b, b.source) for place, b in enumerate(given) if b.source is not None]
    for place, buffer, source in loaded:
        if ctx.lazy_loading == "node":
            given[place] = Buffer(buffer.aval)
            given[place].layout = buffer.layout
        load(ctx, given[place], source)
    if loaded:
        filled = {buffer for _, buffer, _ in loaded}
        for record in ctx.unsorted_records():
            if record.handle in filled:
                record.host = None
    return given


def load(ctx: Context, buffer: Buffer, array: HostArray) -> None:
    """Give a buffer its contents from the host, laid out as it says."""
    buffer.value = to_device(ctx, array, buffer.layout)
    buffer.source = None
    if ctx.spmd and buffer.layout is None:
        buffer.layout = REPLICATED
