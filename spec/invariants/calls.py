"""Claims that hold the others up: what a call on its way can rely on, phase by phase.

They continue `lemmas`: that file says what every state looks like, this one what the steps of a
call hand each other, though the device, an error or another thread can come between any two.
"""

from markstep.spec.design import Design, ErrorDelivery, KeyWiring, Truncation, Validation
from markstep.spec.invariants.claim import Kind, Step, claim
from markstep.spec.invariants.lemmas import WITH_DONORS, read_by_outputs
from markstep.spec.rules.eager import RESULT
from markstep.spec.rules.errors import executes, lacks_value, will_be_filled
from markstep.spec.state import NO_OWNER, NONE, Call, CallKind, Phase, Record, State, has, rows
from markstep.spec.vocabulary import BufferStatus

NOT_NUMBERED = (Phase.UPLOAD, Phase.EXTRACT, Phase.POST_ORDER)
"""Phases after the collection in which the parameters may still be unfilled."""
PREPARING = (*NOT_NUMBERED, *WITH_DONORS)
"""Phases between the collection of a call and its execution."""
UNTIL_DONE = (*PREPARING, Phase.AWAIT, Phase.BARRIER)


@claim(
    "I100",
    Kind.STATE,
    lambda t: t.after.call.phase != Phase.IDLE,
    why="Donation, truncation and waiting are decided by the flags, phases after they were set.",
)
def flags_are_those_of_the_kind(t: Step) -> bool:
    """A call has force, sync and wait as its kind of call does; a read of one tensor gets force and
    wait when it turns out to need an evaluation."""
    return flags_of_kind(t.after.call)


def flags_of_kind(c: Call) -> bool:
    """The flags fit the kind, and for a read of one tensor the phase."""
    if c.kind in (CallKind.SYNC, CallKind.STEP_BARRIER):
        return bool(c.force) and (c.kind == CallKind.SYNC or bool(c.sync))
    if c.kind == CallKind.EAGER:
        return bool(c.force) and not (c.sync or c.wait)
    if c.kind == CallKind.READ_ONE:
        evaluates = c.phase not in (Phase.READ, Phase.DOWNLOAD)
        together = bool(c.force) == bool(c.wait) and not c.sync
        return together and (c.phase == Phase.DOWNLOAD or bool(c.force) == evaluates)
    waits = c.kind in (CallKind.READ_MANY, CallKind.MARK)
    return not c.force and bool(c.wait) == waits and (c.kind == CallKind.WARM_UP or not c.sync)


@claim(
    "I101",
    Kind.STATE,
    lambda t: t.after.call.phase == Phase.LOCK,
    why="With sound keys a program at hand is the one that the graph means.",
)
def programs_at_hand_fit(t: Step) -> bool:
    """Where the key has the operands and runs by key take the leaves of their outputs, no call has
    a program of another meaning or with other arguments."""
    c, d = t.after.call, t.design
    if d.key_wiring != KeyWiring.OPERANDS or d.run_cached_takes_all_leaves:
        return True
    return not (c.foreign or c.doomed)


@claim(
    "I102",
    Kind.STATE,
    lambda t: t.after.call.phase == Phase.EXTRACT,
    why="Each record is evaluated, uploaded or left alone, and each phase has something to do.",
)
def collections_are_in_order(t: Step) -> bool:
    """No record is both evaluated and uploaded; a call with nothing to evaluate is a barrier, but
    for a graph hash and a run by a key that is not recompiled."""
    c = t.after.call
    if c.uploads & c.outputs != 0 or (c.phase == Phase.UPLOAD and c.uploads == 0):
        return False
    if c.phase == Phase.BARRIER:
        return c.outputs == 0 and c.params == 0
    by_key = c.kind == CallKind.RUN_CACHED and not t.design.run_cached_recompiles
    may_be_empty = c.phase == Phase.UPLOAD or c.kind == CallKind.GRAPH_HASH or by_key
    evaluates = c.phase in PREPARING or c.phase == Phase.AWAIT
    return not evaluates or may_be_empty or c.outputs != 0


def settled(s: State, r: int) -> bool:
    """A member of a forced call is taken care of, or the call is going to raise."""
    c, record = s.call, s.records[r]
    if not has(c.members, r) or record.handle != NONE or left_on_host(s, record):
        return True
    waiting = c.phase != Phase.AWAIT and has(c.outputs, r)
    return waiting or (c.phase == Phase.UPLOAD and has(c.uploads, r)) or told(s, r)


def left_on_host(s: State, record: Record) -> bool:
    """In SPMD mode host data may stay where it is until a graph reads it (D38)."""
    return bool(s.device.spmd) and bool(record.host)


def told(s: State, r: int) -> bool:
    """The failure of an execution is about to be raised because of a record."""
    return s.records[r].error != 0 or bool(s.call.failed)


@claim(
    "I103",
    Kind.STATE,
    lambda t: t.after.call.phase == Phase.BARRIER and t.after.call.force,
    why="A tensor that a forced sync skips in silence stays pending.",
)
def members_are_settled(t: Step) -> bool:
    """Once a forced call has sorted its members, each is an output or has a handle, or in SPMD mode
    is on the host, unless an execution has failed and the call will raise."""
    s = t.after
    if not s.call.force or s.call.phase not in UNTIL_DONE:
        return True
    return all([settled(s, r) for r in range(len(s.records))])


def arrives(s: State, r: int) -> bool:
    """The result of an output of the running call is there, or the running execution gives it."""
    row = s.records[r].handle
    if row == NONE:
        return False
    return s.buffers[row].status == BufferStatus.VALUE or will_be_filled(s, row)


@claim(
    "I104",
    Kind.STATE,
    lambda t: t.after.call.phase == Phase.AWAIT and t.after.call.force,
    why="Waiting for the execution of a call is waiting for its outputs.",
)
def awaited_outputs_arrive(t: Step) -> bool:
    """While a forced call waits, each output has its value or is to be filled, unless the
    execution has failed."""
    s, c = t.after, t.after.call
    if c.phase != Phase.AWAIT or not c.force or c.failed:
        return True
    return all([not has(c.outputs, r) or arrives(s, r) for r in range(len(s.records))])


def donor_allowed(s: State, row: int) -> bool:
    """A donor is marked by the user, or owned and not read-only."""
    buffer = s.buffers[row]
    owned = buffer.owner != NO_OWNER and not buffer.read_only
    return not has(s.call.donors, row) or bool(buffer.donate) or owned


@claim(
    "I105",
    Kind.STATE,
    lambda t: t.after.call.donors != 0,
    why="Donation is decided long before it happens.",
)
def donors_are_allowed(t: Step) -> bool:
    """Only a call with force, or a warm-up for one, has donors, unless the design honours marks
    without force; each donor is marked by the user, or owned and not read-only."""
    s, c = t.after, t.after.call
    if c.donors == 0 or c.phase not in WITH_DONORS:
        return c.donors == 0 or c.phase == Phase.AWAIT or c.phase == Phase.DOWNLOAD
    plans = c.force or (c.kind == CallKind.WARM_UP and c.sync) or t.design.user_donors_unforced
    return bool(plans) and all([donor_allowed(s, row) for row in range(len(s.buffers))])


def inputs_known(s: State, r: int) -> bool:
    """What an output reads is among the parameters, or its failure will be raised first."""
    c, record = s.call, s.records[r]
    if not has(c.outputs, r) or record.reads & ~c.params == 0:
        return True
    return c.phase in NOT_NUMBERED and record.error != 0


@claim(
    "I106",
    Kind.STATE,
    lambda t: t.after.call.phase == Phase.POST_ORDER and t.after.call.params != 0,
    why="The program is built from the parameters that were collected.",
)
def parameters_are_what_outputs_read(t: Step) -> bool:
    """Until its execution starts, the parameters of a call that executes are what its outputs read,
    unless an execution fails under it: then it will raise."""
    s, c = t.after, t.after.call
    if c.phase not in PREPARING or not executes(c):
        return True
    if not all([inputs_known(s, r) for r in range(len(s.records))]):
        return False
    if not takes_outputs_leaves(t.design) or c.params & ~read_by_outputs(s) == 0:
        return True
    failed = any([has(c.outputs, r) and x.error != 0 for r, x in enumerate(s.records)])
    return c.phase in NOT_NUMBERED and failed


def takes_outputs_leaves(d: Design) -> bool:
    """Outputs keep their ir until the execution starts, and nothing else has parameters."""
    return d.truncation == Truncation.AT_SCHEDULE and not d.run_cached_takes_all_leaves


@claim(
    "I107",
    Kind.STATE,
    lambda t: t.after.execution.running and any([r.error != 0 for r in t.live()]),
    why="Errors are told apart by the execution that they come from.",
)
def errors_come_from_earlier_executions(t: Step) -> bool:
    """Every error that a record carries is that of an execution before the running one."""
    e = t.after.execution
    return not e.running or all([r.error < e.id for r in t.after.records])


@claim(
    "I108",
    Kind.STATE,
    lambda t: t.after.call.phase == Phase.SCHEDULE,
    why="Nothing before the execution can raise any more.",
)
def errors_are_told_before_the_schedule(t: Step) -> bool:
    """Where records carry errors: once a call holds the lock, and while it waits for its own
    execution, no member has an error to report."""
    s, c = t.after, t.after.call
    if t.design.error_delivery != ErrorDelivery.OWNER:
        return True
    if c.phase not in (Phase.SCHEDULE, Phase.AWAIT):
        return True
    return all([s.records[r].error == 0 for r in rows(c.members)])


def will_have_value(s: State, row: int) -> bool:
    """A parameter has a value or is to be filled."""
    unneeded = not has(s.call.params, row)
    return unneeded or not lacks_value(s, row) or will_be_filled(s, row)


@claim(
    "I109",
    Kind.STATE,
    lambda t: t.after.call.phase in NOT_NUMBERED and t.after.call.params != 0,
    why="What can never run is refused before anything changes.",
)
def parameters_will_have_values(t: Step) -> bool:
    """Where that is checked at the collection and failures give pending work back: a parameter of a
    call that executes has a value or gets one, unless the call will raise."""
    s, c, d = t.after, t.after.call, t.design
    if c.phase not in NOT_NUMBERED or not executes(c) or not checks_early(d):
        return True
    if all([will_have_value(s, row) for row in range(len(s.buffers))]):
        return True
    return any([has(c.outputs, r) and x.error != 0 for r, x in enumerate(s.records)])


def checks_early(d: Design) -> bool:
    """Calls that cannot run are refused at the collection, and later failures reach their owner."""
    owner = d.error_delivery == ErrorDelivery.OWNER and d.keeps_recipe
    return takes_outputs_leaves(d) and d.validation == Validation.BEFORE_EFFECTS and owner


@claim(
    "I134",
    Kind.STATE,
    lambda t: t.after.call.replaces != NONE,
    why="A result that nobody holds is gone; one that is held too long is never freed.",
)
def results_in_place_are_held(t: Step) -> bool:
    """Only while an in-place op of eager mode is computed, the machine has a tensor object of its
    own, which shows the result; and until then the old record lives. (A process that has died may
    leave one behind.)"""
    c = t.after.call
    if t.after.device.crashed:
        return True
    in_place = c.kind == CallKind.EAGER and c.replaces != NONE
    if RESULT in t.after.tensors and not (in_place and t.after.tensors[RESULT] == c.target):
        return False
    return not in_place or bool(t.after.records[c.replaces].live)
