"""Which parameters of a program may be consumed by it.

Source: semantics.md §2.4 (marks), §3.37 (user donors), §3.59 (barrier donors), §3.60 (their union);
hazards H-03…H-06; fixes F2, F3.
"""

from markstep.spec.design import Design, DonorSafety, DonorScope, UserDonors
from markstep.spec.rules.transfer import succeed
from markstep.spec.state import NO_OWNER, NONE, CallKind, State, bit, has, rows
from markstep.spec.vocabulary import IrKind, SetDonation


def choose_donors(s: State, design: Design) -> int:
    """Mask of the parameters that the running call donates (C++: GetBufferDonors)."""
    donors = barrier_donors(s, design) | user_donors(s, design)
    if design.donor_safety == DonorSafety.UNNEEDED:
        donors &= ~needed_afterwards(s)
    return donors


def plans_barrier(s: State, design: Design) -> bool:
    """Whether the call runs, or compiles for, a forced sync that may donate."""
    call = s.call
    forced = call.force or (call.kind == CallKind.WARM_UP and design.warm_up_plans_donors)
    return forced and call.sync


def barrier_donors(s: State, design: Design) -> int:
    """Parameters owned by a record that an output was updated in place from.

    Only with sync and force: a partial or repeated evaluation still needs its inputs.
    """
    call = s.call
    if not plans_barrier(s, design):
        return 0
    if design.donor_scope == DonorScope.FULL_BARRIER and pending_outside(s):
        return 0
    aliases = [s.records[r].alias_id for r in rows(call.outputs)]
    donors = 0
    for row in rows(call.params):
        buffer = s.buffers[row]
        owned = buffer.owner != NO_OWNER and not buffer.read_only
        if owned and any([buffer.owner == alias for alias in aliases]):
            donors |= bit(row)
    return donors


def pending_outside(s: State) -> bool:
    """Whether some live record with pending work is not evaluated by the running call."""
    return any(
        [
            record.live and record.ir == IrKind.OP and not has(s.call.outputs, r)
            for r, record in enumerate(s.records)
        ]
    )


def user_donors(s: State, design: Design) -> int:
    """Parameters that carry the user's donation mark, where the design honours it."""
    call = s.call
    in_barrier = plans_barrier(s, design)
    if s.device.donor_config:
        honoured = call.force or in_barrier or design.user_donors_unforced
    else:
        honoured = in_barrier and design.user_donors == UserDonors.CONFIG_OR_SYNC
    if not honoured:
        return 0
    donors = 0
    for row in rows(call.params):
        if s.buffers[row].donate:
            donors |= bit(row)
    return donors


def needed_afterwards(s: State) -> int:
    """Mask of the buffer records that something still reads after the running call's outputs have
    their own: records that are not outputs, recipes of unfilled placeholders, the scalar cache, the
    seed."""
    needed = bit(s.device.seed)
    for r, record in enumerate(s.records):
        if record.live and not has(s.call.outputs, r):
            needed |= bit(record.handle) | record.reads
    for row, buffer in enumerate(s.buffers):
        if buffer.cached:
            needed |= bit(row)
    for row in rows(needed):
        needed |= s.buffers[row].recipe_reads
    return needed


def set_donation(s: State, a: SetDonation, design: Design) -> None:
    """A19. The mark goes on the buffer record, not on the tensor (semantics.md §2.4)."""
    # EFFECT
    record = s.record_of(a.tensor)
    row = record.handle if record.handle != NONE else record.leaf
    if row != NONE:
        s.buffers[row].donate = a.flag
        s.payload.count("XlaSetBufferDonation")
    # OBSERVE
    succeed(s, row != NONE)
