"""What every group of an executor's methods stands on."""

from abc import ABC, abstractmethod
from collections.abc import Iterable

from markstep.impl.context import Context
from markstep.impl.record import Record
from markstep.impl.tensors import Tensor


class Calls(ABC):
    """Some of the methods of ``Executor``, which has the device and knows its own tensors."""

    _ctx: Context

    @abstractmethod
    def _records(self, tensors: Iterable[Tensor]) -> list[Record]:
        """The records of tensors of this executor. Raises BAD_ARGUMENT for those of another."""
