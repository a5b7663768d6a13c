"""Which piece of a tensor each device holds: arithmetic only, for any mesh and any shape.

An axis is cut into tiles of one length, so the last ones may lack elements: a piece is filled up
with zeros behind its elements, and all pieces of a tensor have one shape. That nothing is missing
and nothing is held twice is proved for all sizes (`proofs/tiling.py`).

Source: torch_xla ShardingUtil (ShardTensor, GetShardIndicesForDevices), xla::HloSharding
(TileOffsetForDevice); semantics.md §1.1, §1.3, §3 (45).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TypeAlias

Axes: TypeAlias = int | tuple[int, ...] | None
"""The axes of a mesh over which one axis of a tensor is cut; None: it is whole on every device."""


@dataclass(frozen=True, slots=True)
class Mesh:
    """Devices in a grid: ``devices`` are listed row by row."""

    shape: tuple[int, ...]
    devices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Placement:
    """How a tensor lies on devices: ``tiles`` for each of its axes into how many it is cut, and
    ``holders`` for each tile, row by row, the devices that hold it."""

    tiles: tuple[int, ...]
    holders: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """What one device holds: the elements from ``start`` to before ``stop`` along each axis, in an
    array of shape ``padded``."""

    start: tuple[int, ...]
    stop: tuple[int, ...]
    padded: tuple[int, ...]


def tile_length(size: int, tiles: int) -> int:
    """How long each tile of an axis is: the size over the number of tiles, rounded up."""
    return -(-size // tiles)


def interval(size: int, tiles: int, number: int) -> tuple[int, int]:
    """Where the elements of one tile of an axis begin and end; the last tiles may have none."""
    length = tile_length(size, tiles)
    return min(number * length, size), min((number + 1) * length, size)


def one_axis_more(number: int, tiles: int, along: int) -> int:
    """The number of a tile, row by row, when one more axis is cut: ``along`` is its place there."""
    return number * tiles + along


def placement(mesh: Mesh, partition: Sequence[Axes]) -> Placement:
    """How a tensor lies on a mesh if each of its axes is cut over these axes of the mesh.

    Devices that differ only along other axes hold the same tile. Raises ValueError if an axis of
    the mesh is used twice, or does not exist.
    """
    over = [_axes(entry) for entry in partition]
    used = [axis for axes in over for axis in axes]
    if len(set(used)) < len(used) or not set(used) <= set(range(len(mesh.shape))):
        raise ValueError(f"{tuple(partition)} is no partition over a mesh of {mesh.shape}")
    tiles = tuple(prod(mesh.shape[axis] for axis in axes) for axes in over)
    holders: list[list[int]] = [[] for _ in range(prod(tiles))]
    places = product(*map(range, mesh.shape))
    for device, place in zip(mesh.devices, places, strict=True):
        number = 0
        for axis in used:
            number = one_axis_more(number, mesh.shape[axis], place[axis])
        holders[number].append(device)
    return Placement(tiles, tuple(map(tuple, holders)))


def _axes(entry: Axes) -> tuple[int, ...]:
    if entry is None:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)


def pieces(shape: tuple[int, ...], placed: Placement) -> Iterator[tuple[int, Piece]]:
    """Each device with its piece, tile by tile."""
    padded = piece_shape(shape, placed)
    for place, holders in zip(product(*map(range, placed.tiles)), placed.holders, strict=True):
        cuts = [interval(*axis) for axis in zip(shape, placed.tiles, place, strict=True)]
        piece = Piece(tuple(a for a, _ in cuts), tuple(b for _, b in cuts), padded)
        for device in holders:
            yield device, piece


def piece_shape(shape: tuple[int, ...], placed: Placement) -> tuple[int, ...]:
    """The shape of every piece."""
    return tuple(map(tile_length, shape, placed.tiles))


def bytes_sent(shape: tuple[int, ...], placed: Placement, item: int) -> int:
    """What goes over the wire when the pieces are loaded; ``item``: the bytes of one element."""
    devices = sum(map(len, placed.holders))
    return devices * prod(piece_shape(shape, placed)) * item


def cut(
    value: Sequence[int | float], shape: tuple[int, ...], piece: Piece
) -> Iterator[int | float]:
    """The elements of a piece, row by row, zeros behind them; ``value`` is listed row by row."""
    for place in product(*map(range, piece.padded)):
        index, there = 0, True
        for size, start, stop, along in zip(shape, piece.start, piece.stop, place, strict=True):
            there = there and start + along < stop
            index = one_axis_more(index, size, start + along)
        yield value[index] if there else 0
