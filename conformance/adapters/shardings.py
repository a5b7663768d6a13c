"""The shardings of the alphabet in words of the executor, and back."""

import os
from contextlib import suppress
from functools import cache

import jax
import numpy as np

from markstep.impl.aval import HostArray
from markstep.impl.errors import bad_argument
from markstep.impl.layout import Layout, layout
from markstep.impl.mesh import Mesh, Partition
from markstep.spec.layouts import DEVICES, LAYOUTS, placed, suits
from markstep.spec.pieces import cut, pieces
from markstep.spec.vocabulary import DType, Nested, Sharding


def has_devices() -> bool:
    """Whether JAX has the devices of the alphabet. A CPU has them if it is asked before JAX has
    started and nobody has said otherwise."""
    if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
        with suppress(RuntimeError):
            jax.config.update("jax_num_cpu_devices", DEVICES)  # type: ignore[no-untyped-call]
    return len(jax.local_devices()) >= DEVICES


def words(sharding: Sharding, shape: tuple[int, ...]) -> tuple[Mesh, Partition]:
    """A mesh, and over which of its axes an array of this shape is cut. Raises BAD_ARGUMENT if such
    arrays cannot lie so."""
    if not suits(shape, sharding):
        raise bad_argument(f"an array of shape {shape} cannot be {sharding.name.lower()}")
    mesh, partition = LAYOUTS[sharding]
    return Mesh(mesh.devices, mesh.shape), partition + (None,) * (len(shape) - len(partition))


@cache
def known_layouts(shape: tuple[int, ...]) -> dict[Layout, Sharding]:
    """How arrays of this shape can lie."""
    fitting = [sharding for sharding in LAYOUTS if suits(shape, sharding)]
    return {layout(*words(sharding, shape), shape): sharding for sharding in fitting}


def sharding_of(found: Layout | None, shape: tuple[int, ...]) -> Sharding:
    """What a layout is in the alphabet. Raises LookupError for one that it does not have."""
    if found is None:
        return Sharding.NONE
    known = known_layouts(shape)
    if found not in known:
        raise LookupError(f"the executor laid an array of shape {shape} as {found}")
    return known[found]


def parts(
    value: Nested, shape: tuple[int, ...], dtype: DType, sharding: Sharding
) -> list[HostArray]:
    """The piece of each device, in order of devices, cut by the arithmetic of the law."""
    mine = dict(pieces(shape, placed(sharding, len(shape))))
    return [
        np.array([*cut(value, shape, mine[device])], dtype.value).reshape(mine[device].padded)
        for device in range(DEVICES)
    ]
