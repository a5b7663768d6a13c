"""What the tests of sharding share: meshes on 8 virtual devices, tensors, what a call sends."""

import numpy as np

from markstep.impl import Executor, Mesh
from markstep.spec import pieces as law

DEVICES = 8
GRID = Mesh(range(DEVICES), (4, 2), ("data", "model"))
LINE = Mesh(range(DEVICES), (DEVICES,), ("all",))
TURNED = Mesh((1, 2, 3, 4, 5, 6, 7, 0), (DEVICES,), ("all",))
EVEN = np.arange(64, dtype=np.float32).reshape(8, 8)
UNEVEN = np.arange(15, dtype=np.float32).reshape(5, 3)


def spmd(mode):
    """An executor on all devices, whose numbers are not sent."""
    executor = Executor(mode, devices=DEVICES, inline_scalars="all")
    executor.use_spmd()
    return executor


def marked(ex, array, mesh, partition, lazy=False):
    return ex.mark_sharding(ex.tensor(array, upload=False), mesh, partition, lazy=lazy)


def sent(ex, call, *args, **named):
    """The bytes that a call sends to the devices."""
    before = ex.counters["OutboundData"]
    call(*args, **named)
    return ex.counters["OutboundData"] - before


def buffer_of(tensor):
    return tensor.record.handle or tensor.record.ir


def layout_of(tensor):
    return buffer_of(tensor).layout


def in_words_of_the_law(mesh, partition):
    over = [
        tuple(map(mesh.names.index, [entry] if isinstance(entry, str) else entry or ()))
        for entry in partition
    ]
    return law.placement(law.Mesh(mesh.shape, mesh.devices), over)
