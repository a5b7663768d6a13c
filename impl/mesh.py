"""A mesh: devices in a grid whose axes have names.

Source: torch_xla.distributed.spmd.Mesh (xla_sharding.py); semantics.md §1.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from operator import index
from typing import TypeAlias

from markstep.impl.errors import bad_argument

Entry: TypeAlias = str | int | tuple[str | int, ...] | None
"""Over which axes of a mesh one axis of a tensor is cut: their names or numbers."""
Partition: TypeAlias = Sequence[Entry]
"""One entry for each axis of a tensor."""


@dataclass(frozen=True, slots=True, init=False)
class Mesh:
    """Devices, by their number, in a grid of a given shape, row by row; its axes may have names."""

    devices: tuple[int, ...]
    shape: tuple[int, ...]
    names: tuple[str, ...]

    def __init__(
        self, devices: Sequence[int], shape: Sequence[int], names: Sequence[str] | None = None
    ) -> None:
        ids, lengths = tuple(map(index, devices)), tuple(map(index, shape))
        axes = tuple(f"axis{n}" for n in range(len(lengths))) if names is None else tuple(names)
        if not lengths or min(lengths) < 1 or prod(lengths) != len(ids):
            raise bad_argument(f"a mesh of shape {lengths} does not hold {len(ids)} devices")
        if len(set(ids)) < len(ids):
            raise bad_argument(f"a mesh has each device once, not {ids}")
        if len(axes) != len(lengths) or len(set(axes)) < len(axes):
            raise bad_argument(f"a mesh of shape {lengths} has {len(lengths)} axes, not {axes}")
        object.__setattr__(self, "devices", ids)
        object.__setattr__(self, "shape", lengths)
        object.__setattr__(self, "names", axes)

    def resolve(self, partition: Partition, rank: int) -> tuple[tuple[int, ...], ...]:
        """For each axis of a tensor the numbers of the axes of the mesh that cut it.

        Raises BAD_ARGUMENT for another rank, for an axis that is unknown or used twice.
        """
        if isinstance(partition, str) or len(partition) != rank:
            raise bad_argument(f"{partition!r} has no entry for each of {rank} axes")
        over = tuple(tuple(map(self._number, _several(entry))) for entry in partition)
        used = [axis for axes in over for axis in axes]
        if len(set(used)) < len(used):
            raise bad_argument(f"{partition!r} uses an axis of the mesh twice")
        return over

    def _number(self, axis: str | int) -> int:
        if isinstance(axis, str):
            if axis in self.names:
                return self.names.index(axis)
        elif type(axis) is int and 0 <= axis < len(self.shape):
            return axis
        raise bad_argument(f"the mesh has the axes {', '.join(self.names)}, and no {axis!r}")


def _several(entry: Entry) -> tuple[str | int, ...]:
    if entry is None:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)
