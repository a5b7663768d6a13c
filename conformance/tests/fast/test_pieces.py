"""Pieces of sharded tensors: what each device holds, and that the proofs about it have teeth."""

from itertools import product
from math import prod

import pytest

from markstep.spec import pieces as p
from markstep.spec.pieces import Axes, Mesh, Placement
from markstep.spec.proofs import tiling
from markstep.spec.proofs.solver import where_false

LINE = Mesh((4,), (0, 1, 2, 3))
GRID = Mesh((2, 2), (0, 1, 2, 3))
TRANSPOSED = Mesh((2, 2), (0, 2, 1, 3))


def test_an_uneven_axis_is_filled_up_with_zeros_behind_its_elements() -> None:
    placed = p.placement(LINE, (0,))
    assert [
        (device, tuple(p.cut((1, 2, 3, 4, 5), (5,), piece)))
        for device, piece in p.pieces((5,), placed)
    ] == [(0, (1, 2)), (1, (3, 4)), (2, (5, 0)), (3, (0, 0))]
    assert p.bytes_sent((5,), placed, 4) == 32


def test_the_mesh_says_which_device_holds_which_tile() -> None:
    reverse = Mesh((4,), (3, 2, 1, 0))
    assert p.placement(reverse, (0, None)) == Placement((4, 1), ((3,), (2,), (1,), (0,)))
    assert p.placement(GRID, (0, 1)).holders == ((0,), (1,), (2,), (3,))
    assert p.placement(TRANSPOSED, (0, 1)).holders == ((0,), (2,), (1,), (3,))
    assert p.placement(GRID, (1, 0)).holders == ((0,), (2,), (1,), (3,))
    assert p.placement(GRID, ((1, 0),)).holders == ((0,), (2,), (1,), (3,))


def test_devices_that_differ_only_along_other_axes_hold_the_same_tile() -> None:
    assert p.placement(GRID, (0, None)) == Placement((2, 1), ((0, 1), (2, 3)))
    assert p.placement(LINE, (None,)) == Placement((1,), ((0, 1, 2, 3),))
    assert p.bytes_sent((3,), p.placement(LINE, (None,)), 4) == 48


@pytest.mark.parametrize("partition", [(0, 0), ((0, 1), 1), (2,), (-1,)])
def test_an_axis_of_the_mesh_that_is_unknown_or_used_twice_is_refused(
    partition: tuple[Axes, ...],
) -> None:
    with pytest.raises(ValueError, match="no partition"):
        p.placement(GRID, partition)


MESHES = [
    LINE,
    GRID,
    TRANSPOSED,
    Mesh((2, 3), (5, 4, 3, 2, 1, 0)),
    Mesh((2, 1, 4), tuple(range(8))),
]


@pytest.mark.parametrize("mesh", MESHES, ids=str)
def test_every_element_is_held_by_as_many_devices_as_there_are_copies(mesh: Mesh) -> None:
    axes = range(len(mesh.shape))
    for partition in [(0, None), (None, 0), (1 % len(axes), None), ((*axes,), None)]:
        placed = p.placement(mesh, partition)
        copies = len(mesh.devices) // prod(placed.tiles)
        for shape in product((0, 1, 3, 5), (1, 4)):
            value = range(1, 1 + prod(shape))
            held = [e for _, piece in p.pieces(shape, placed) for e in p.cut(value, shape, piece)]
            assert sorted(e for e in held if e) == sorted([*value] * copies)
            assert len(held) * 4 == p.bytes_sent(shape, placed, 4)
            assert [d for d, _ in sorted(p.pieces(shape, placed), key=lambda pair: pair[0])] == [
                *range(len(mesh.devices))
            ]


def test_tiles_that_are_too_short_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (p, tiling):
        monkeypatch.setattr(module, "tile_length", lambda size, tiles: size // tiles)
    found = where_false(tiling.covers)
    assert found is not None and found["size"] % found["tiles"]


def test_tiles_that_overlap_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = p.interval
    longer = lambda size, tiles, n: (whole(size, tiles, n)[0], whole(size, tiles, n)[1] + 1)  # noqa: E731
    monkeypatch.setattr(tiling, "interval", longer)
    assert where_false(tiling.apart) is not None
    assert where_false(tiling.inside) is not None


def test_tiles_with_one_number_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiling, "one_axis_more", lambda number, tiles, along: number + along)
    assert where_false(tiling.numbered_once) is not None


def test_what_is_proved_of_all_numbers_can_be_asked_of_some() -> None:
    assert all(tiling.padded_little(size, tiles) for size in range(9) for tiles in range(1, 9))
