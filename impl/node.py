"""The intermediate representation, and the buffer records that its leaves stand for.

A graph is a set of nodes that point at their operands. Nodes never change after they were made
and are compared by identity: sharing is visible, and tracing computes no hash.

Source: torch::lazy::Node, torch_xla::DeviceData, torch::lazy::BackendData; semantics.md §1.3-1.4.
"""

import itertools
from collections.abc import Callable
from typing import Final

from markstep.impl.aval import Array, Aval
from markstep.impl.ops import Op, intern
from markstep.spec.vocabulary import BufferStatus, IrKind


class Node:
    """One operation of a pending graph; ``aval`` is the shape and dtype of its result."""

    __slots__ = ("aval", "op", "operands")

    def __init__(self, op: Op, operands: "tuple[Node, ...]", aval: Aval) -> None:
        self.op = op
        self.operands = operands
        self.aval = aval


class Leaf(Node):
    """A parameter of the graph (``xla::device_data``)."""

    __slots__ = ("buffer",)

    def __init__(self, buffer: "Buffer") -> None:
        self.op = LEAF
        self.operands = ()
        self.aval = buffer.aval
        self.buffer = buffer


class Buffer:
    """A cell that names a device buffer: it has contents, waits for them, or gave them away.

    ``owner`` is the id of the record that may give the buffer away, None when nobody may
    (torch_xla: no DeviceDataInfo). ``recipe`` is the pending node that a placeholder replaced;
    it is kept until the placeholder is filled, so that a failure loses nothing. ``filling`` says
    that a running execution will fill it: a placeholder without it is a stub.
    """

    __slots__ = (
        "aval",
        "deleted",
        "donate",
        "filling",
        "owner",
        "read_only",
        "recipe",
        "serial",
        "value",
    )

    def __init__(self, aval: Aval, value: Array | None = None) -> None:
        self.serial = _serial()
        self.aval = aval
        self.value = value
        self.deleted = False
        self.owner: int | None = None
        self.read_only = False
        self.donate = False
        self.filling = False
        self.recipe: Node | None = None

    @property
    def status(self) -> BufferStatus:
        """Whether there are contents; asking waits for nothing."""
        if self.deleted:
            return BufferStatus.DELETED
        return BufferStatus.PLACEHOLDER if self.value is None else BufferStatus.VALUE

    @property
    def is_stub(self) -> bool:
        """A placeholder that nothing will fill."""
        return self.value is None and not self.deleted and not self.filling

    def expect(self, recipe: Node) -> None:
        """A running execution will fill the placeholder with the value of ``recipe``."""
        self.filling = True
        self.recipe = recipe

    def settle(self) -> None:
        """The execution that was to fill the placeholder has ended, well or not."""
        self.filling = False
        self.recipe = None

    def delete(self) -> None:
        """Give the device memory back; the cell remembers that it had some."""
        value, self.value = self.value, None
        self.deleted = True
        # a donated array is deleted already, unless no result had its shape
        delete = getattr(value, "delete", None)
        if delete is not None:
            delete()


def _never_called() -> None:
    raise AssertionError("a leaf is a parameter; it is not computed")


_serial: Callable[[], int] = itertools.count(1).__next__
LEAF: Final = intern("leaf", _never_called, {}, kind=IrKind.LEAF)
