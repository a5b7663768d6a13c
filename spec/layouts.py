"""The shardings of the alphabet: each is a mesh of the four devices and a partition over it.

Source: the specs of the recorded logs; semantics.md §1.1 (ShardSpec).
"""

from functools import cache

from markstep.spec.pieces import Axes, Mesh, Placement, bytes_sent, placement
from markstep.spec.vocabulary import Sharding

DEVICES = 4
_LINE, _BACK = Mesh((4,), (0, 1, 2, 3)), Mesh((4,), (3, 2, 1, 0))
_GRID, _TRANSPOSED = Mesh((2, 2), (0, 1, 2, 3)), Mesh((2, 2), (0, 2, 1, 3))

LAYOUTS: dict[Sharding, tuple[Mesh, tuple[Axes, ...]]] = {
    Sharding.REPLICATED: (_LINE, ()),
    Sharding.TILED: (_LINE, (0,)),
    Sharding.REVERSED: (_BACK, (0,)),
    Sharding.GRID: (_GRID, (0, 1)),
    Sharding.GRID_TRANSPOSED: (_TRANSPOSED, (0, 1)),
    Sharding.PARTIAL: (_GRID, (0,)),
}
"""Mesh, and over which of its axes the first axes of a tensor are cut."""


def suits(shape: tuple[int, ...], sharding: Sharding) -> bool:
    """Whether an array of this shape can lie so: an axis that is cut has to be there."""
    return sharding in LAYOUTS and len(LAYOUTS[sharding][1]) <= len(shape)


@cache
def placed(sharding: Sharding, rank: int) -> Placement:
    """How a tensor with so many axes lies."""
    mesh, partition = LAYOUTS[sharding]
    return placement(mesh, partition + (None,) * (rank - len(partition)))


def bytes_of(shape: tuple[int, ...], sharding: Sharding, item: int) -> int:
    """What an upload in SPMD mode sends; ``item``: the bytes of one element."""
    return bytes_sent(shape, placed(sharding, len(shape)), item)
