"""Numbers as operands: constants of the program, or parameters from the scalar cache.

Source: semantics.md §1.4 (special scalars), §1.10 (scalar cache), §3.18–25.
"""

from markstep.spec.design import Design, SpecialScalars
from markstep.spec.ir import SPECIAL_SCALARS, Node
from markstep.spec.rules.transfer import upload
from markstep.spec.state import NONE, SCALAR_OWNER, State
from markstep.spec.vocabulary import DType, Number


def scalar_operand(
    s: State, number: Number, dtype: DType, facts: tuple[int, int], design: Design
) -> tuple[Node | None, int]:
    """A number as operand: inlined when special, else a read-only parameter (§3.18). The facts are
    where the scalar cache has it, and what it displaces there."""
    if inlined(number, design):
        return s.payload.constant(number, dtype), NONE
    row = scalar(s, number, dtype, *facts)
    s.buffers[row].owner = SCALAR_OWNER
    return s.payload.leaf(row, (), dtype), row


def inlined(number: Number, design: Design) -> bool:
    """Whether a number becomes a constant of the program (C++: IsSpecialScalar, D22)."""
    if design.special_scalars == SpecialScalars.ZERO_AND_ONES:
        return number in SPECIAL_SCALARS
    return design.special_scalars == SpecialScalars.EVERY_NUMBER


def scalar(s: State, value: Number, dtype: DType, cached_at: int, evicts: int) -> int:
    """The buffer row of a scalar parameter, from the scalar cache (C++: GetDeviceData): that which
    the cache has, else that of a new upload, which may displace another number (§1.10)."""
    if cached_at != NONE:
        s.payload.use_scalar(value, dtype)
        return cached_at
    if evicts != NONE:
        s.buffers[evicts].cached = False
        s.payload.forget_scalar(evicts)
    row = upload(s, (value,), (), dtype)
    s.buffers[row].read_only, s.buffers[row].cached = True, True
    s.payload.remember_scalar(value, dtype, row)
    s.payload.count("DeviceDataCacheMiss")
    return row
