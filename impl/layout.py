"""How an array lies on the devices: which part of it each of them holds, filled up with zeros.

Two meshes may say the same thing in different words; a layout is the thing, so it can be compared
and be part of a key. It remembers the words, for XLA spreads shardings only within one mesh.

Source: torch_xla ShardingUtil, xla::HloSharding; semantics.md §1.1, §1.3, §3 (45).
"""

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import Any, Final, TypeAlias

import jax
import numpy as np

from markstep.impl.aval import HostArray
from markstep.impl.mesh import Mesh, Partition

Devices: TypeAlias = Sequence[jax.Device]
Axes: TypeAlias = tuple[tuple[int, ...], ...]
Words: TypeAlias = dict[Mesh, Axes]
"""How a layout is said in terms of some meshes: the axes that cut each axis of the array."""


class Layout:
    """``tiles``: into how many parts each axis is cut; ``order``: the devices that hold them, tile
    by tile, those of one tile together. Nothing is cut if ``tiles`` is empty. Made by ``layout``.
    """

    __slots__ = ("order", "tiles", "words")

    def __init__(self, tiles: tuple[int, ...], order: tuple[int, ...]) -> None:
        self.tiles = tiles
        self.order = order
        self.words: Words = {}

    def __repr__(self) -> str:
        if not self.tiles:
            return "{replicated}"
        copies = len(self.order) // prod(self.tiles)
        dims = [*self.tiles, copies] if copies > 1 else self.tiles
        last = " last_tile_dim_replicate" if copies > 1 else ""
        return f"{{devices=[{','.join(map(str, dims))}]{','.join(map(str, self.order))}{last}}}"

    def padded(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of an array with the zeros that make all pieces equally long."""
        if not self.tiles:
            return shape
        return tuple(-(-size // n) * n for size, n in zip(shape, self.tiles, strict=True))

    def piece_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of each piece of an array."""
        if not self.tiles:
            return shape
        return tuple(-(-size // n) for size, n in zip(shape, self.tiles, strict=True))

    def pieces(self, array: HostArray, devices: int) -> Iterator[tuple[int, HostArray]]:
        """Each device with its piece of an array; a view where nothing has to be filled up."""
        if not self.tiles:
            yield from ((device, array) for device in range(devices))
            return
        lengths = self.piece_shape(array.shape)
        copies = len(self.order) // prod(self.tiles)
        for place, device in enumerate(self.order):
            tile = np.unravel_index(place // copies, self.tiles)
            cuts = [slice(int(t) * n, (int(t) + 1) * n) for t, n in zip(tile, lengths, strict=True)]
            yield device, _filled_up(array[tuple(cuts)], lengths)

    def sharding(self, mesh: Mesh, devices: Devices) -> jax.sharding.NamedSharding:
        """The same for JAX, in words of a mesh. All have the devices in one order, as JAX wants."""
        grid = np.array(devices, dtype=object).reshape(mesh.shape)
        names = [tuple(mesh.names[a] for a in axes) for axes in self.words.get(mesh, ())]
        order = None if mesh.devices == tuple(range(len(devices))) else mesh.devices
        return jax.sharding.NamedSharding(
            jax.sharding.Mesh(grid, mesh.names),
            jax.sharding.PartitionSpec(*names),  # type: ignore[no-untyped-call]
            _logical_device_ids=order if self.tiles else None,
        )


def _filled_up(part: HostArray, shape: tuple[int, ...]) -> HostArray:
    lacking = [(0, wanted - there) for wanted, there in zip(shape, part.shape, strict=True)]
    return np.pad(part, lacking) if any(zeros for _, zeros in lacking) else part


REPLICATED: Final = Layout((), ())
"""All of it on every device."""

_layouts: dict[tuple[tuple[int, ...], tuple[int, ...]], Layout] = {}


def layout(mesh: Mesh, partition: Partition, shape: tuple[int, ...]) -> Layout:
    """The layout of arrays of some shape that are cut over a mesh.

    Raises BAD_ARGUMENT if the partition does not fit the mesh or the rank.
    """
    over = mesh.resolve(partition, len(shape))
    if not prod(shape):
        return REPLICATED  # there is nothing to cut
    tiles = tuple(prod(mesh.shape[axis] for axis in axes) for axes in over)
    used = [axis for axes in over for axis in axes]
    unused = [axis for axis in range(len(mesh.shape)) if axis not in used]
    grid = np.array(mesh.devices).reshape(mesh.shape).transpose(used + unused)
    found = _intern(tiles, grid.reshape(prod(tiles), -1).tolist())
    if found.tiles:
        found.words.setdefault(mesh, over)
    return found


def _intern(tiles: tuple[int, ...], holders: list[list[int]]) -> Layout:
    if prod(tiles) == 1:
        return REPLICATED
    order = tuple(device for together in holders for device in sorted(together))
    return _layouts.setdefault((tiles, order), Layout(tiles, order))


def chosen(sharding: Any, shape: tuple[int, ...], devices: Devices) -> Layout:
    """The layout that a sharding of XLA's own choice means for an array of this shape."""
    if sharding.is_fully_replicated:
        return REPLICATED
    cuts = sharding.devices_indices_map(shape)
    starts = [[cut[axis].start or 0 for cut in cuts.values()] for axis in range(len(shape))]
    numbers = [{start: n for n, start in enumerate(sorted(set(axis)))} for axis in starts]
    tiles = tuple(map(len, numbers))
    holders: list[list[int]] = [[] for _ in range(prod(tiles))]
    for number, device in enumerate(devices):
        place = [n[cut.start or 0] for n, cut in zip(numbers, cuts[device], strict=True)]
        holders[int(np.ravel_multi_index(place, tiles))].append(number)
    found = _intern(tiles, holders)
    if not found.words:
        order = tuple(device for together in holders for device in together)
        copies = len(order) // prod(tiles)
        plain = Mesh(order, (*tiles, copies))
        found.words[plain] = tuple((axis,) for axis in range(len(tiles)))
    return found


def common_mesh(layouts: Iterable[Layout], devices: int) -> dict[Layout, Mesh]:
    """Words for each layout of one program, all of one mesh where that can be."""
    cut = list(dict.fromkeys(found for found in layouts if found.tiles))
    flat = Mesh(range(devices), (devices,), ("all",))
    shared = [m for m in cut[0].words if all(m in found.words for found in cut)] if cut else [flat]
    words = {found: shared[0] if shared else next(iter(found.words)) for found in cut}
    words[REPLICATED] = next(iter(words.values()), flat)
    return words
