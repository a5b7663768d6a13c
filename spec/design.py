"""Designs: everything on which executors and proposals differ, as one frozen value.

A rule that has a choice asks the design, and nothing else. The defaults are the sound choice.
Field ids D01… are stable. Source: semantics.md §6b (hazards), §8.3 (fixes F1…F10), Appendix B.
"""

from dataclasses import dataclass, fields
from enum import StrEnum


class Truncation(StrEnum):
    """When a forced sync replaces pending ir by a placeholder handle."""

    AT_EXTRACT = "at-extract"
    """ir is cleared before post-order and placeholders are installed before the lock: torch_xla."""
    AT_SCHEDULE = "at-schedule"
    """Both happen together once nothing before the execution can raise any more (F1)."""


class DonorSafety(StrEnum):
    """What makes a parameter safe to donate."""

    OWNER_SLOT = "owner-slot"
    """The one info slot names an updated record: torch_xla."""
    UNNEEDED = "unneeded"
    """Besides, nothing that stays alive reads the buffer (F2)."""


class DonorScope(StrEnum):
    """Which syncs may donate at all."""

    ANY_SYNC = "any-sync"
    """Every forced sync with the sync flag: torch_xla, and sound beside DonorSafety.UNNEEDED."""
    FULL_BARRIER = "full-barrier"
    """Only one that covers every record with pending work (F3)."""


class UserDonors(StrEnum):
    """When the donation marks that a user sets are honoured."""

    CONFIG = "config"
    """Only under the process-wide switch: the seed of March 2025."""
    CONFIG_OR_SYNC = "config-or-sync"
    """Also in every forced sync with the sync flag: torch_xla 2.9."""


class Validation(StrEnum):
    """What happens to a graph with a parameter that has no value and will get none."""

    AT_DISPATCH = "at-dispatch"
    """The runtime meets a null buffer and the process dies: torch_xla."""
    BEFORE_EFFECTS = "before-effects"
    """An error on the caller before anything changes (F4, semantics.md §5.5)."""


class ErrorDelivery(StrEnum):
    """Who is told that an asynchronous execution failed."""

    NEXT_LOCKER = "next-locker"
    """The waiting call, and again whoever takes the device lock next: torch_xla."""
    NEXT_LOCKER_ONCE = "next-locker-once"
    """The waiting call if there is one, else whoever takes the lock next (F7)."""
    OWNER = "owner"
    """The waiting call, else the next call about a tensor of the failed work; once."""


class KeyWiring(StrEnum):
    """What the key of a graph says about which operand is which parameter."""

    LEAF_SEQUENCE = "leaf-sequence"
    """Node hashes and the parameter numbers in post-order of the leaves: torch_xla."""
    OPERANDS = "operands"
    """The position of each operand of each node: equal key, equal program."""


class OwnerSlot(StrEnum):
    """Who writes its id into a buffer record's info."""

    LAST_TOUCH = "last-touch"
    """Every record that makes or collects a leaf over it: torch_xla."""
    HOLDER = "holder"
    """Only the record that the buffer belongs to, never a borrower."""


class SpecialScalars(StrEnum):
    """Which numbers are inlined into the program; the others are parameters."""

    ZERO_AND_ONES = "zero-and-ones"
    """0, 1 and -1: torch_xla."""
    EVERY_NUMBER = "every-number"
    """All of them: torch_xla after `_set_xla_all_numbers_special_scalars(True)`."""
    NONE = "none"
    """None of them: torch_xla with XLA_NO_SPECIAL_SCALARS=1."""


class Generator(StrEnum):
    """Which numbers a seed gives."""

    THREEFRY = "threefry"
    """32 bits of Threefry-2x32 for each, reduced to the bound: the reference executor."""
    UNKNOWN = "unknown"
    """Nobody says: what is drawn is not compared, but everything else is. torch_xla."""


class MarkHost(StrEnum):
    """What marking data that is on the host does, where it is lazy (D40)."""

    UPLOAD = "upload"
    """Its pieces are sent at once: torch_xla."""
    KEEP_HOST = "keep-host"
    """Only the annotation is set: alternatives B and C of semantics.md §5.3."""
    LEAF_WITH_SOURCE = "leaf-with-source"
    """The data becomes a leaf whose buffer record fills itself when it is first needed: E."""
    LOAD_NODE = "load-node"
    """The data becomes a pending node; every execution that reaches it sends it: A."""
    STUB = "stub"
    """The data becomes a leaf without data, until some are bound: D."""


class TraceHost(StrEnum):
    """What tracing over data that is on the host does in SPMD mode."""

    UPLOAD_REPLICATED = "upload-replicated"
    """All of it goes to every device, whatever the annotation says: torch_xla (H-14)."""
    UPLOAD_BY_SPEC = "upload-by-spec"
    """Its pieces are sent (F8)."""
    LAZY_LEAF = "lazy-leaf"
    """Nothing is sent: it becomes a leaf with a source (F9)."""


class MarkData(StrEnum):
    """What marking data that is on the devices does."""

    ROUND_TRIP = "round-trip"
    """It is fetched, which waits, and sent again in pieces: torch_xla."""
    HINT = "hint"
    """A hint is traced over it, which the next evaluation follows; nothing moves."""


class EagerSeeds(StrEnum):
    """Which seed a draw in eager mode uses."""

    NEXT = "next"
    """The one that a draw in lazy mode would use: the numbers do not depend on the mode."""
    CURRENT = "current"
    """The running one, before it goes on; and the seed of the step goes on with it: torch_xla."""


class EagerCopies(StrEnum):
    """What clone and copy_ do in eager mode."""

    BORROW = "borrow"
    """The same as in lazy mode: nothing is computed."""
    AT_ONCE = "at-once"
    """A clone shows the buffer of its source as its own handle; a copy of pending work is computed:
    torch_xla."""


@dataclass(frozen=True, slots=True)
class Design:
    """One way to build a lazy executor. Every value is documented with who does it."""

    name: str = "sound"
    truncation: Truncation = Truncation.AT_SCHEDULE
    """D01"""
    keeps_recipe: bool = True
    """D02: an unfilled placeholder remembers the pending ir it replaced, and gives it back when its
    execution fails. torch_xla: no."""
    donor_safety: DonorSafety = DonorSafety.UNNEEDED
    """D03"""
    donor_scope: DonorScope = DonorScope.ANY_SYNC
    """D04"""
    user_donors: UserDonors = UserDonors.CONFIG_OR_SYNC
    """D05"""
    user_donors_unforced: bool = False
    """D06: user marks are also honoured by evaluations that keep the ir. torch_xla: yes, under the
    switch (H-06)."""
    validation: Validation = Validation.BEFORE_EFFECTS
    """D07"""
    error_delivery: ErrorDelivery = ErrorDelivery.OWNER
    """D08"""
    key_wiring: KeyWiring = KeyWiring.OPERANDS
    """D09"""
    key_has_force: bool = False
    """D10: the force flag is part of the key, a warm-up never helps a barrier. torch_xla: yes."""
    borrow_is_flagged: bool = True
    """D11: copy_ marks the borrowed leaf as clone does. torch_xla: no (H-04)."""
    borrower_reads_in_place: bool = True
    """D12: reading a borrowed leaf leaves the record as it is. torch_xla: the leaf becomes the
    handle and the clone mark is useless (H-03)."""
    clear_pending_keeps_borrow: bool = True
    """D13: clear pending leaves borrowed leaves alone. torch_xla: they become shared handles."""
    owner_slot: OwnerSlot = OwnerSlot.HOLDER
    """D14"""
    warm_up_plans_donors: bool = True
    """D15: a warm-up with the sync flag compiles the program that the barrier would run, donors
    included. torch_xla: a warm-up has no barrier donors."""
    run_cached_recompiles: bool = True
    """D16: running by key compiles when the entry was evicted. torch_xla: an error (H-13)."""
    failure_keeps_donors: bool = True
    """D17: the runtime commits a donation only when the execution succeeds: so do the recorded logs
    of torch_xla. False: a failed execution may have consumed its donors, as JAX does on CPU when
    memory runs out at dispatch (the reference executor does not start such a program)."""
    read_returns_copy: bool = True
    """D18: a read never hands out the record's own host copy. torch_xla does (H-27)."""
    warm_up_is_barrier: bool = False
    """D19: a warm-up with nothing to compile waits for the device, as torch_xla does."""
    run_cached_takes_all_leaves: bool = False
    """D21: a run by key is given the leaves of every tensor named, also of those that are no output
    of the graph; then arguments and program may not fit. torch_xla's Python entry: yes."""
    refills_borrowed: bool = False
    """D20: evaluating a borrowed leaf without force writes the result into the lender's buffer
    record. torch_xla: yes."""
    empty_list_has_own_key: bool = False
    """D29: an empty list of tensors has another key than a graph without outputs. torch_xla: yes,
    because without a tensor there is no device whose flags enter the key."""

    special_scalars: SpecialScalars = SpecialScalars.ZERO_AND_ONES
    """D22"""
    scalars_are_borrowed: bool = True
    """D23: a tensor of one number that is a parameter borrows the buffer of the scalar cache, and
    gets its own at the next sync. torch_xla: it shows the cache's buffer, which a donation mark
    on it then consumes (H-06)."""

    generator: Generator = Generator.THREEFRY
    """D24"""

    mark_host: MarkHost = MarkHost.LEAF_WITH_SOURCE
    """D30"""
    trace_host: TraceHost = TraceHost.LAZY_LEAF
    """D31"""
    key_has_mode: bool = True
    """D32: whether SPMD mode is on is part of the key (F5). torch_xla: no (H-11)."""
    unforced_keeps_ir: bool = True
    """D33: in SPMD mode, too, an evaluation without force keeps pending work. torch_xla: no
    (H-16)."""
    conflicts_refused_first: bool = True
    """D34: a mark that contradicts an annotation is refused before anything changes. torch_xla:
    host data is sent, and a hint traced, first (H-15)."""
    spec_reads_are_pure: bool = True
    """D35: reading an annotation overwrites none. torch_xla: the sharding of the ir node replaces
    it, and the first read still gives the old one (H-14, F8)."""
    sharded_stubs_have_numbers: bool = True
    """D36: a sharded placeholder can be told from others (F6). torch_xla: the process dies when one
    is hashed or dumped (H-09)."""
    load_drops_host: bool = True
    """D37: a source that was loaded gives up its host copy."""
    barrier_loads_unused: bool = False
    """D38: in SPMD mode a forced sync sends host data that none of its graphs reads. torch_xla:
    yes."""
    lazy_is_asked_for: bool = True
    """D40: only a mark with ``lazy`` is lazy; another one sends data at once."""
    marks_stubs: bool = True
    """D41: a tensor without data can be marked. torch_xla: no."""
    mark_data: MarkData = MarkData.HINT
    """D42"""
    gathers_by_program: bool = False
    """D43: reading data that is cut compiles and runs a program that puts the pieces together, anew
    for each read. torch_xla: yes."""

    ops_stay_on_a_device: bool = True
    """D46: an op on tensors of two devices is refused. torch_xla: it is traced, and the process
    dies when somebody evaluates it (F07)."""
    dumps_what_is_gone: bool = True
    """D47: a graph that reads a donated buffer can be written as HLO. torch_xla: no."""
    eager_seeds: EagerSeeds = EagerSeeds.NEXT
    """D25"""
    eager_copies: EagerCopies = EagerCopies.BORROW
    """D26"""
    views_have_strides: bool = True
    """D44: a view lies in its storage as in eager execution. torch_xla: every tensor looks dense,
    so that a reshape shares elements where eager execution copies them."""


SOUND = Design()

TORCH_XLA_2_9 = Design(
    name="torch_xla_2_9",
    truncation=Truncation.AT_EXTRACT,
    keeps_recipe=False,
    donor_safety=DonorSafety.OWNER_SLOT,
    user_donors_unforced=True,
    validation=Validation.AT_DISPATCH,
    error_delivery=ErrorDelivery.NEXT_LOCKER,
    key_wiring=KeyWiring.LEAF_SEQUENCE,
    key_has_force=True,
    borrow_is_flagged=False,
    borrower_reads_in_place=False,
    clear_pending_keeps_borrow=False,
    owner_slot=OwnerSlot.LAST_TOUCH,
    warm_up_plans_donors=False,
    run_cached_recompiles=False,
    read_returns_copy=False,
    warm_up_is_barrier=True,
    run_cached_takes_all_leaves=True,
    refills_borrowed=True,
    empty_list_has_own_key=True,
    scalars_are_borrowed=False,
    generator=Generator.UNKNOWN,
    mark_host=MarkHost.UPLOAD,
    trace_host=TraceHost.UPLOAD_REPLICATED,
    key_has_mode=False,
    unforced_keeps_ir=False,
    conflicts_refused_first=False,
    spec_reads_are_pure=False,
    sharded_stubs_have_numbers=False,
    load_drops_host=False,
    barrier_loads_unused=True,
    lazy_is_asked_for=False,
    marks_stubs=False,
    mark_data=MarkData.ROUND_TRIP,
    gathers_by_program=True,
    ops_stay_on_a_device=False,
    dumps_what_is_gone=False,
    eager_seeds=EagerSeeds.CURRENT,
    eager_copies=EagerCopies.AT_ONCE,
    views_have_strides=False,
)


def differences(a: Design, b: Design) -> dict[str, tuple[object, object]]:
    """The fields on which two designs differ, with both values."""
    pairs = {f.name: (getattr(a, f.name), getattr(b, f.name)) for f in fields(Design)}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1] and name != "name"}
