"""The record: what is known about one tensor, whichever tensor objects look at it.

Source: torch_xla::XLATensor::Data; semantics.md §1.1, §2.
"""

from markstep.impl.aval import Aval, HostArray
from markstep.impl.errors import Failure
from markstep.impl.layout import Layout
from markstep.impl.node import Buffer, Node


class Record:
    """⟨handle, ir, host⟩ with an identity: at least one of the three is always present.

    ``handle`` is device data, ``ir`` pending work (or a leaf: device data seen as a parameter),
    ``host`` a copy on the host. ``alias_id`` is the id of the record whose buffer the chain of
    in-place updates started from. ``is_cloned``: the leaf is borrowed from another record.
    ``spec`` is the annotation: how its data are to lie on the devices.
    ``failure``: the last execution that was to compute this and failed, until somebody is told.

    An in-place update gives the same object a fresh id and new contents, because every tensor
    object that shared the old record shares the new one (semantics.md §2.4, functionalized
    in-place).
    """

    __slots__ = (
        "__weakref__",
        "alias_id",
        "aval",
        "failure",
        "handle",
        "host",
        "id",
        "ir",
        "is_cloned",
        "spec",
    )

    def __init__(self, number: int, aval: Aval, ir: Node | None = None) -> None:
        self.id = number
        self.alias_id = number
        self.aval = aval
        self.handle: Buffer | None = None
        self.ir = ir
        self.host: HostArray | None = None
        self.is_cloned = False
        self.failure: Failure | None = None
        self.spec: Layout | None = None

    def own_leaf(self) -> Buffer | None:
        """The buffer behind a leaf of its own (state LEAF), else None."""
        ir = self.ir
        if self.handle is None and type(ir) is Buffer and not self.is_cloned:
            return ir
        return None

    def shows_buffer(self) -> bool:
        """Whether it has device data, as handle or leaf, though these may be borrowed."""
        return self.handle is not None or type(self.ir) is Buffer

    def is_pending(self) -> bool:
        """Whether a sync would have to compute it: an op, a constant or a borrowed leaf."""
        if self.handle is not None or self.ir is None:
            return False
        return self.is_cloned or type(self.ir) is not Buffer

    def set_data(self, buffer: Buffer) -> None:
        """The record is now exactly this device data."""
        self.handle = buffer
        self.ir = None
        self.is_cloned = False

    def set_ir(self, node: Node) -> None:
        """The record is now exactly this pending work, or a leaf borrowed from elsewhere."""
        self.handle = None
        self.host = None
        self.ir = node
        self.is_cloned = type(node) is Buffer
