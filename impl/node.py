"""The intermediate representation, and the buffer records that its leaves stand for.

A graph is a set of nodes that point at their operands. Nodes never change after they were made
and are compared by identity: sharing is visible, and tracing computes no hash.

Source: torch::lazy::Node, torch_xla::DeviceData, torch::lazy::BackendData; semantics.md §1.3-1.4.
"""

import itertools
from collections.abc import Callable, Iterable
from typing import Final

from markstep.impl.aval import Array, Aval, HostArray
from markstep.impl.layout import Layout
from markstep.impl.ops import Op, intern
from markstep.spec.vocabulary import BufferStatus, IrKind


class Node:
    """One operation of a pending graph; ``aval`` is the shape and dtype of its result.

    It has no ``__init__`` because calls are what tracing costs: whoever makes one fills it in, as
    ``new_node`` does.
    """

    __slots__ = ("aval", "op", "operands")

    op: Op
    operands: "tuple[Node, ...]"
    aval: Aval


def new_node(op: Op, operands: tuple[Node, ...], aval: Aval) -> Node:
    """The node of ``op`` of the operands."""
    node = Node()
    node.op = op
    node.operands = operands
    node.aval = aval
    return node


def _never_called() -> None:
    raise AssertionError("a buffer is a parameter; it is not computed")


LEAF: Final = intern("leaf", _never_called, {}, kind=IrKind.LEAF)
_serial: Callable[[], int] = itertools.count(1).__next__


class Buffer(Node):
    """A cell that names a device buffer: it has contents, waits for them, or gave them away.

    In a graph it is a leaf, a parameter of the program (``xla::device_data``).

    ``owner`` is the id of the record that may give the buffer away, None when nobody may
    (torch_xla: no DeviceDataInfo). ``recipe`` is the pending node that a placeholder replaced;
    a running execution will fill the placeholder, and the recipe is kept until then, so that a
    failure loses nothing. ``source`` is host data that are not sent yet: whoever runs a program
    with the buffer sends them first. A placeholder with neither is a stub. ``layout``: how the
    contents lie on several devices, now or once they are there; None: on the first one only.
    """

    __slots__ = (
        "_number",
        "deleted",
        "donate",
        "gone",
        "layout",
        "owner",
        "read_only",
        "recipe",
        "source",
        "value",
    )

    op: Op = LEAF
    operands: tuple[Node, ...] = ()

    def __init__(self, aval: Aval, value: Array | None = None, recipe: Node | None = None) -> None:
        self.aval = aval
        self.value = value
        self.recipe = recipe
        self.source: HostArray | None = None
        self.layout: Layout | None = None
        self.owner: int | None = None
        self.deleted = False
        self.read_only = False
        self.donate = False
        self.gone = ""
        self._number = 0

    @property
    def serial(self) -> int:
        """A number of its own, given when somebody first asks."""
        if not self._number:
            self._number = _serial()
        return self._number

    @property
    def filling(self) -> bool:
        """Whether a running execution will fill it."""
        return self.recipe is not None

    @property
    def status(self) -> BufferStatus:
        """Whether there are contents; asking waits for nothing."""
        if self.deleted:
            return BufferStatus.DELETED
        return BufferStatus.PLACEHOLDER if self.value is None else BufferStatus.VALUE

    @property
    def is_stub(self) -> bool:
        """A placeholder that nothing will fill."""
        return not self.deleted and self.lacks_contents

    @property
    def lacks_contents(self) -> bool:
        """There are no contents, and none will come: a stub, or given away."""
        return self.value is None and self.recipe is None and self.source is None


def delete(buffers: Iterable[Buffer]) -> None:
    """Give the device memory back; the cells remember that they had some.

    Nothing but its cell holds an array, so to forget it is to free it.
    """
    for buffer in buffers:
        buffer.value = None
        buffer.deleted = True
