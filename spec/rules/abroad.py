"""An op on tensors of two devices, as torch_xla traces it (D46): a program that cannot run.

The op belongs to the device of its first operand. The ir of an operand of another device is made
there, and becomes part of a graph here, where its data will never be: a leaf without a value.
Source: XLATensor ops take the device of the first operand; finding F07.
"""

from dataclasses import dataclass

from markstep.spec.design import Design
from markstep.spec.rules.objects import lost
from markstep.spec.rules.tensors import apply
from markstep.spec.rules.transfer import fail, get_ir, new_buffer, succeed
from markstep.spec.state import Record, State
from markstep.spec.vocabulary import Apply, DType, ErrorKind, TensorName

NOBODY = 0
"""No record has this id."""


@dataclass(frozen=True, slots=True)
class Lend:
    """A55: an op of another device reads a tensor of this one."""

    tensor: TensorName


@dataclass(frozen=True, slots=True)
class Stranger:
    """An operand that lives on another device."""

    place: int
    shape: tuple[int, ...]
    dtype: DType


@dataclass(frozen=True, slots=True)
class ApplyAbroad:
    """A56: ``out`` is the op of ``inputs``, and of others that live elsewhere."""

    out: TensorName
    op: str
    inputs: tuple[TensorName, ...]
    strangers: tuple[Stranger, ...]


def lend(s: State, a: Lend, design: Design) -> None:
    """A55. The operand gets its ir, as if the op were traced here."""
    row = s.tensors[a.tensor]
    if lost(s.records[row]):  # A55.G1
        return fail(s, ErrorKind.LOST)
    # EFFECT
    get_ir(s, row, design)
    # OBSERVE
    return succeed(s)


def apply_abroad(s: State, a: ApplyAbroad, design: Design) -> None:
    """A56. The op is traced over a leaf that has no value here, and will get none."""
    # EFFECT
    names, guests = list(a.inputs), dict[TensorName, int]()
    for stranger in a.strangers:
        name = TensorName(-2 - stranger.place)
        names.insert(stranger.place, name)
        guests[name] = len(s.records)
        s.records.append(guest(s, stranger))
    s.tensors.update(guests)
    apply(s, Apply(a.out, a.op, tuple(names)), design)
    for name, row in guests.items():
        s.tensors.pop(name)
        s.records[row] = Record()


def guest(s: State, stranger: Stranger) -> Record:
    """A record for as long as the op is traced: a handle without a value."""
    shape, dtype = stranger.shape, stranger.dtype
    row = new_buffer(s, shape, dtype)
    s.buffers[row].elsewhere = True
    return Record(live=True, id=NOBODY, handle=row, shape=shape, dtype=dtype, defined=False)
