"""The calls about several devices: SPMD mode, annotations, data that come later.

Source: torch_xla.runtime.use_spmd, torch_xla.distributed.spmd (mark_sharding, clear_sharding);
semantics.md §5.
"""

from collections.abc import Sequence

import numpy.typing as npt

from markstep.impl import marking
from markstep.impl.aval import host_array
from markstep.impl.calls import Calls
from markstep.impl.layout import Layout
from markstep.impl.mesh import Mesh, Partition
from markstep.impl.tensors import Tensor


class SpmdCalls(Calls):
    """Those methods of an executor."""

    def use_spmd(self) -> None:
        """Run programs on all devices from here on; there is no way back. Before any tensor."""
        with self._ctx.lock:
            marking.use_spmd(self._ctx)

    @property
    def device_count(self) -> int:
        """On how many devices programs run."""
        return len(self._ctx.devices) or 1

    def mark_sharding(
        self, tensor: Tensor, mesh: Mesh, partition: Partition, *, lazy: bool = False
    ) -> Tensor:
        """Annotate a tensor: each of its axes is cut over the named axes of the mesh, or not.

        With ``lazy`` nothing is sent before a program takes the tensor. Raises BAD_ARGUMENT if
        mesh, partition and tensor do not fit; CONFLICT if it is annotated otherwise.
        """
        (record,) = self._records([tensor])
        with self._ctx.lock:
            self._ctx.count("XlaMarkSharding")
            wanted = marking.layout_on(self._ctx, record, mesh, partition)
            marking.mark(self._ctx, record, wanted, lazy=lazy)
        return tensor

    def clear_sharding(self, tensor: Tensor) -> Tensor:
        """Forget the annotation. Data stay where they are."""
        (record,) = self._records([tensor])
        with self._ctx.lock:
            marking.clear(record)
        return tensor

    def sharding_of(self, tensor: Tensor) -> Layout | None:
        """The annotation, None without. Changes nothing."""
        (record,) = self._records([tensor])
        return record.spec

    @property
    def laid_out(self) -> list[tuple[Layout, tuple[int, ...]]]:
        """How the results of the program that was started last lie, with their shapes."""
        program = self._ctx.last_program
        return [] if program is None else list(zip(program.layouts, program.shapes, strict=True))

    def bind_data(self, tensor: Tensor, array: npt.ArrayLike, *, lazy: bool = False) -> Tensor:
        """Give a placeholder its data, of its shape and dtype; programs that were traced and
        compiled before are the same programs still. ``lazy``: they are sent when one runs."""
        (record,) = self._records([tensor])
        data = host_array(array)
        with self._ctx.lock:
            marking.bind(self._ctx, record, data, lazy=lazy)
        return tensor

    def load_shards(self, tensor: Tensor, pieces: Sequence[npt.ArrayLike]) -> Tensor:
        """Load an annotated tensor from one piece for each device, in order of devices."""
        (record,) = self._records([tensor])
        parts = [host_array(piece) for piece in pieces]
        with self._ctx.lock:
            marking.load_shards(self._ctx, record, parts)
        return tensor
