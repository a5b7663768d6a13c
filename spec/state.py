"""The state of the machine: records, buffer records, the device, and the running call.

Every field is of one of two kinds (design.md §3). A *control* field has a declared finite sort, and
rules may branch on it. A *payload* field has no sort: it is carried, combined and compared through
`markstep.spec.payload`, and no rule branches on it. Searching with the payload erased therefore
covers every payload. Sets of rows are bit masks: a control field is always one small integer.
Source: semantics.md §1.1 (Record), §1.3 (BufRec), §1.7 (Locker), §1.8–1.9 (Collection, Async).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeVar

from markstep.spec.evaluator import Value
from markstep.spec.ir import Node, Program
from markstep.spec.payload import ERASED, Payload
from markstep.spec.sorts import EAGER, Sort, control, mode_control
from markstep.spec.views import AliasView, Views
from markstep.spec.vocabulary import BufferStatus, DType, ErrorKind, IrKind, Sharding, TensorName

NONE = -1
"""No row: a record without a handle, an ir that is not a leaf."""
NO_OWNER = 0
"""A buffer record whose info is empty."""
SCALAR_OWNER = -1
"""The owner id of cached scalars (semantics.md §3.18)."""


class CallKind(IntEnum):
    """The entry through which the running call came (semantics.md §4)."""

    NONE = 0
    SYNC = 1
    STEP_BARRIER = 2
    WARM_UP = 3
    READ_ONE = 4
    READ_MANY = 5
    GRAPH_HASH = 6
    RUN_CACHED = 7
    WAIT_DEVICE = 8
    MARK = 9  # marking device data: it is fetched, and sent again in pieces
    EAGER = 10  # what an op traced in eager mode is computed at once


class Phase(IntEnum):
    """Where the running call stands: the next small step to take (design.md §3)."""

    IDLE = 0
    READ = 1  # decide where the value of the one tensor to read comes from
    COLLECT = 2  # sort the given records into ready, to upload, and to evaluate
    UPLOAD = 3  # host copies go to the device
    EXTRACT = 4  # take the pending ir out of the records
    POST_ORDER = 5  # number the parameters; wait for those that have no value yet
    LOOKUP = 6  # ask the compilation cache
    COMPILE = 7
    INSTALL = 8  # records get their placeholders
    LOCK = 9  # take the device lock
    SCHEDULE = 10  # hand the program to the device
    AWAIT = 11  # wait for the execution of this call
    BARRIER = 12  # nothing to evaluate: wait until the device is free
    DOWNLOAD = 13  # fetch the values that were asked for


@dataclass
class Record:
    """The mutable core of a tensor (C++: XLATensor::Data). Fields as in semantics.md §1.1."""

    live: bool = control(False, Sort.BOOL)
    id: int = control(0, Sort.RECORD_ID)
    alias_id: int = control(0, Sort.RECORD_ID)
    """The record whose buffer the chain of in-place updates started from; chooses donors."""
    handle: int = control(NONE, Sort.BUFFER)
    ir: IrKind = control(IrKind.NONE, Sort.IR_KIND)
    leaf: int = control(NONE, Sort.BUFFER)
    """The buffer record behind ``ir`` when that is a LEAF."""
    deps: int = control(0, Sort.BUFFERS)
    """The buffer records that ``ir`` reads when that is an OP."""
    host: bool = control(False, Sort.BOOL)
    is_cloned: bool = control(False, Sort.BOOL)
    """``ir`` is a leaf borrowed from another record: the next forced sync makes an own buffer."""
    error: int = control(0, Sort.EXECUTION_ID)  # the failed execution that it has to report, or 0
    defined: bool = control(True, Sort.BOOL)  # ghost: eager execution gives it a value
    host_exposed: bool = control(False, Sort.BOOL)
    """A read has handed out the host copy itself (not Design.read_returns_copy)."""
    host_right: bool = control(True, Sort.BOOL)
    """Ghost: the host copy, if any, is the value of the tensor."""
    spec: Sharding = mode_control(Sharding.NONE, Sort.SHARDING)
    """The annotation (C++: XLATensor::Data::sharding)."""
    hint: Sharding = mode_control(Sharding.NONE, Sort.SHARDING)
    """The sharding on the node that is the record's ``ir`` (C++: XlaNode::output_shardings_)."""
    asked: Sharding = mode_control(Sharding.NONE, Sort.SHARDING)
    sends: int = mode_control(0, Sort.COUNT)
    """Ghosts: how the program last asked for it to lie; how often this host version was sent."""
    node: Node | None = None
    view: AliasView | None = None
    truth: Value | None = None
    """Ghost ⟦t⟧: the value that eager execution gives."""
    host_value: Value | None = None
    shape: tuple[int, ...] = ()
    dtype: DType = DType.F32

    @property
    def reads(self) -> int:
        """Mask of the buffer records that evaluating ``ir`` reads."""
        return bit(self.leaf) if self.ir == IrKind.LEAF else self.deps


@dataclass
class Buffer:
    """A backend data record (C++: ComputationClient::Data) with the device buffer it points to."""

    status: BufferStatus = control(BufferStatus.NONE, Sort.BUFFER_STATUS)
    owner: int = control(NO_OWNER, Sort.RECORD_ID)
    """info.owner_id; NO_OWNER when info is empty."""
    read_only: bool = control(False, Sort.BOOL)
    donate: bool = control(False, Sort.BOOL)  # the user's mark
    cached: bool = control(False, Sort.BOOL)
    """Held by the scalar cache, which outlives every record."""
    sharding: Sharding = mode_control(Sharding.NONE, Sort.SHARDING)
    """How the pieces lie; NONE: one plain buffer on one device."""
    source: bool = mode_control(False, Sort.BOOL)
    """A placeholder that executions on it fill from the host; ghost ``sends``: how often."""
    sends: int = mode_control(0, Sort.COUNT)
    right: bool = control(True, Sort.BOOL)
    """Ghost: the contents are what the program means."""
    recipe: IrKind = control(IrKind.NONE, Sort.IR_KIND)
    """Design.keeps_recipe: the kind of the pending ir that an unfilled placeholder replaced."""
    recipe_leaf: int = control(NONE, Sort.BUFFER)
    recipe_deps: int = control(0, Sort.BUFFERS)
    recipe_node: Node | None = None
    contents: Value | None = None
    shape: tuple[int, ...] = ()
    dtype: DType = DType.F32
    elsewhere: bool = False
    """Payload: it stands for data of another device (D46)."""
    number: int = 0
    """Payload: the identity of the device buffer, new whenever the contents are replaced."""

    @property
    def recipe_reads(self) -> int:
        """Mask of the buffer records that the recipe needs."""
        return bit(self.recipe_leaf) if self.recipe == IrKind.LEAF else self.recipe_deps


@dataclass
class Execution:
    """The one execution that may run on the device (C++: XLAGraphExecutor::Async)."""

    running: bool = control(False, Sort.BOOL)
    id: int = control(0, Sort.EXECUTION_ID)
    outputs: int = control(0, Sort.BUFFERS)  # placeholders to fill
    refills: int = control(0, Sort.BUFFERS)
    """Borrowed buffer records whose contents an evaluation that keeps the ir replaces."""
    params: int = control(0, Sort.BUFFERS)
    donors: int = control(0, Sort.BUFFERS)
    doomed: bool = control(False, Sort.BOOL)
    """The program and its arguments do not fit: the runtime will refuse them."""
    right: bool = control(True, Sort.BOOL)
    """Ghost: the program is the one that the graph means."""
    counted: bool = True  # payload: whether ExecuteComputation sees it
    eager: bool = False
    arguments: tuple[int, ...] = ()
    """Payload: the rows of the parameters in order of their numbers."""
    sharded: bool = False
    order: tuple[int, ...] = ()
    """Payload: the buffer rows (or NONE) that results go to, in order of the program's outputs."""
    results: tuple[Value | None, ...] = ()
    program: Program | None = None


@dataclass
class Device:
    """Lock, stored error and process-wide switches (semantics.md §1.7, §1.11)."""

    stored_error: bool = control(False, Sort.BOOL)
    """An asynchronous error that the next locker will be given."""
    stored_about: int = control(0, Sort.RECORDS)
    """Ghost: the records that the stored error concerns."""
    stored_raised: bool = control(False, Sort.BOOL)
    """Ghost: the waiting call was already given the stored error."""
    donor_config: bool = control(False, Sort.BOOL)
    allow_execution: bool = control(True, Sort.BOOL)
    crashed: bool = control(False, Sort.BOOL)
    seed: int = control(NONE, Sort.BUFFER)  # of this step, once it was used (C++: seed_ir_value)
    spmd: bool = mode_control(False, Sort.BOOL)  # new data lies on all devices
    eager: bool = mode_control(
        False, Sort.BOOL, EAGER
    )  # ops are computed at once (C++: use_eager_mode)


@dataclass
class Call:
    """The call in progress (C++: SyncTensorCollection, locals of SyncTensorsGraphInternal)."""

    kind: CallKind = control(CallKind.NONE, Sort.CALL)
    phase: Phase = control(Phase.IDLE, Sort.PHASE)
    force: bool = control(False, Sort.BOOL)
    sync: bool = control(False, Sort.BOOL)
    wait: bool = control(False, Sort.BOOL)
    target: int = control(NONE, Sort.RECORD)
    """The record that READ_ONE reads, or EAGER computes."""
    replaces: int = mode_control(NONE, Sort.RECORD, EAGER)  # whose place that record takes then
    members: int = control(0, Sort.RECORDS)
    uploads: int = control(0, Sort.RECORDS)
    outputs: int = control(0, Sort.RECORDS)
    borrowers: int = control(0, Sort.RECORDS)
    """Outputs that were borrowed leaves when they were collected."""
    params: int = control(0, Sort.BUFFERS)
    donors: int = control(0, Sort.BUFFERS)
    holds_lock: bool = control(False, Sort.BOOL)
    foreign: bool = control(False, Sort.BOOL)
    """Ghost: the cache gave a program of another meaning."""
    doomed: bool = control(False, Sort.BOOL)
    right: bool = control(True, Sort.BOOL)
    """Ghost: the results of this call's execution are what the program means."""
    failed: bool = control(False, Sort.BOOL)
    """The execution that this call waits for has failed."""
    sharding: Sharding = mode_control(Sharding.NONE, Sort.SHARDING)
    plain: bool = mode_control(False, Sort.BOOL)
    """In SPMD mode: the cache gave a program that was compiled before it, for one device.
    ``sharding``: what MARK asks for."""
    order: tuple[int, ...] = ()
    """Payload: the member rows in the order given, repeats included."""
    output_order: tuple[int, ...] = ()
    roots: tuple[Node | None, ...] = ()
    hints: tuple[Sharding, ...] = ()
    leaves: tuple[int, ...] = ()
    """Payload: parameter rows in order of their numbers."""
    key: object = None
    program: Program | None = None
    outs: tuple[TensorName, ...] = ()
    results: tuple[Value | None, ...] = ()
    lies: tuple[Sharding, ...] = ()


@dataclass
class State:
    """Everything. Rules change a draft copy; a finished state is never changed."""

    records: list[Record] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    execution: Execution = field(default_factory=Execution)
    device: Device = field(default_factory=Device)
    call: Call = field(default_factory=Call)
    next_record_id: int = 1
    next_execution_id: int = 1
    tensors: dict[TensorName, int] = field(default_factory=dict)
    """Which record each tensor object points at; several may share one (detach)."""
    lost: int = 0
    """Ghost: mask of the records whose value was lost or wrong when the last call ended."""
    raised: ErrorKind = ErrorKind.NONE  # how the last finished call ended
    value: object = None
    payload: Payload = ERASED
    views: Views | None = None
    """With a real payload: which tensors show elements of others."""

    def draft(self) -> "State":
        """A copy that a rule may change.

        Rows of dead records, the execution and the call of an idle machine are only ever replaced,
        never changed, so they are shared.
        """
        copy = _shallow(self)
        copy.records = [_shallow(row) if row.live else row for row in self.records]
        copy.buffers = [_shallow(row) for row in self.buffers]
        copy.device = _shallow(self.device)
        if self.call.phase != Phase.IDLE:
            copy.call = _shallow(self.call)
        copy.tensors = self.tensors.copy()
        copy.payload = self.payload.draft()
        copy.views = self.views.draft() if self.views is not None else None
        return copy

    def record_of(self, name: TensorName) -> Record:
        """The record behind a tensor object."""
        return self.records[self.tensors[name]]

    def live_rows(self) -> list[int]:
        """Rows of the live records in the order in which the registry lists them (by id)."""
        rows = [r for r, record in enumerate(self.records) if record.live]
        return self.payload.registry_order(rows, [self.records[r].id for r in rows])

    @property
    def idle(self) -> bool:
        """No call is in progress, and the process lives."""
        return self.call.phase == Phase.IDLE and not self.device.crashed


Row = TypeVar("Row", State, Record, Buffer, Device, Call)


def _shallow(row: Row) -> Row:
    copy = object.__new__(type(row))
    copy.__dict__ = row.__dict__.copy()
    return copy


def bit(row: int) -> int:
    """The mask that holds one row; empty for NONE."""
    return 1 << row if row >= 0 else 0


def has(mask: int, row: int) -> bool:
    """Whether a mask holds a row."""
    return row >= 0 and bool(mask >> row & 1)


def rows(mask: int) -> Iterator[int]:
    """The rows in a mask, ascending."""
    row = 0
    while mask:
        if mask & 1:
            yield row
        mask >>= 1
        row += 1
