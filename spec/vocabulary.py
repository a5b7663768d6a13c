"""The words that the law, the executors and the court share.

Everything an executor or an adapter may import from the law is here: names, enums, the actions of
a program, and what can be observed after each of them. No rule lives here.

Source: semantics.md §1 (entities), §2.1 (abstract states), §4 (entries of the executor).
"""

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import NewType, TypeAlias

TensorName = NewType("TensorName", int)
"""A tensor object of the program, numbered in order of creation and never reused."""

Number: TypeAlias = int | float
Nested: TypeAlias = tuple[Number, ...]
"""Values of an array, flat and row-major; the shape is given beside it."""


class IrKind(IntEnum):
    """What a record's ``ir`` field holds (semantics.md §1.4)."""

    NONE = 0
    LEAF = 1  # xla::device_data: a graph parameter backed by a buffer record
    CONST = 2  # prim::Constant: an inlined literal
    OP = 3  # everything else: pending work


class BufferStatus(IntEnum):
    """What a buffer record holds (semantics.md §1.3)."""

    NONE = 0  # no buffer record at all
    PLACEHOLDER = 1  # a buffer record without a value
    VALUE = 2  # has contents (the device may still be computing them)
    DELETED = 3  # donated away


class AbstractState(StrEnum):
    """The state of a tensor as a maintainer names it (semantics.md §2.1)."""

    HOST = "HOST"  # only a host copy, or a buffer that fills itself from one
    IR = "IR"  # pending work
    LEAF = "LEAF"  # a device buffer seen through a leaf, not yet a handle
    LEAF_CLONED = "LEAFc"  # the same, borrowed from another record by clone
    DATA = "DATA"  # a handle with a value
    PENDING = "PEND"  # a placeholder that a running execution will fill
    STUB = "STUB"  # a placeholder that nothing will fill
    GONE = "GONE"  # a handle or leaf whose buffer was donated away
    DEAD = "DEAD"  # no handle, no ir, no host copy: the value is lost


class ErrorKind(StrEnum):
    """Why a call raised. Texts differ between executors; kinds do not."""

    NONE = "none"
    LOST = "lost"  # the record has neither handle, ir nor host copy
    NO_VALUE = "no-value"  # a placeholder that nothing will fill, or a donated buffer, was read
    DELETED = "deleted"  # a graph parameter was donated away
    UNMATERIALIZED = "unmaterialized"  # a graph parameter will never have a value
    COMPILE_FAILED = "compile-failed"
    EXECUTION_FAILED = "execution-failed"
    REFUSED = "refused"  # compilation or execution is not allowed right now
    UNKNOWN_GRAPH = "unknown-graph"  # run by hash: no such entry in the cache
    PENDING_INPUT = "pending-input"  # run by hash: an input is pending work
    BAD_ARGUMENT = "bad-argument"  # an action that no program can mean (unknown tensor, shapes)
    CONFLICT = "conflict"  # another sharding annotation is there and must be cleared first
    CRASH = "crash"  # the process died


class DType(StrEnum):
    """Element types of the alphabet; values are small integers, so equality is exact."""

    F32 = "float32"
    S32 = "int32"
    S64 = "int64"  # seeds and bounds only; no tensor of the alphabet has it


class Sharding(IntEnum):
    """How an array lies on the four devices of the alphabet: a mesh and a partition of it.

    Source: semantics.md §1.1 (ShardSpec), §1.3; the specs of the recorded logs.
    """

    NONE = 0  # no sharding at all: a plain buffer, a record without annotation
    REPLICATED = 1  # a full copy on every device
    TILED = 2  # mesh [4], devices 0,1,2,3, first dimension partitioned
    REVERSED = 3  # the same on devices 3,2,1,0
    GRID = 4  # mesh [2,2], devices 0,1,2,3, both dimensions partitioned
    GRID_TRANSPOSED = 5  # the same on devices 0,2,1,3
    PARTIAL = 6  # mesh [2,2], first dimension over the first axis, replicated over the second


UNARY_OPS = ("neg",)
BINARY_OPS = ("add", "sub", "mul", "matmul")
SCALAR_OPS = ("add_scalar", "mul_scalar")
FAULTY_OPS = ("failing_compile", "failing_execute")
"""Ops that the compiler rejects, and that compile but fail when they run."""


# ---- actions of the program -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CreateFromHost:
    """A01: make ``out`` from host data; ``upload`` sends it to the device at once."""

    out: TensorName
    value: Nested
    shape: tuple[int, ...]
    dtype: DType = DType.F32
    upload: bool = True


@dataclass(frozen=True, slots=True)
class CreatePlaceholder:
    """A02: make ``out`` with a shape and no data, now or ever."""

    out: TensorName
    shape: tuple[int, ...]
    dtype: DType = DType.F32


@dataclass(frozen=True, slots=True)
class Apply:
    """A03: ``out = op(*inputs[, scalar])``; only traced."""

    out: TensorName
    op: str
    inputs: tuple[TensorName, ...]
    scalar: Number | None = None
    cached_at: int = -1
    """Fact of the step, which executors ignore: the row of the law's buffer table at which the
    scalar cache has the number; -1: nowhere."""
    evicts: int = -1
    """Likewise: the row that the number displaces from the cache; -1: none."""


@dataclass(frozen=True, slots=True)
class AssignInPlace:
    """A04: ``target = op(target, *others[, scalar])`` on the same tensor object."""

    target: TensorName
    op: str
    others: tuple[TensorName, ...] = ()
    scalar: Number | None = None
    cached_at: int = -1
    """As in A03."""
    evicts: int = -1
    """As in A03."""


@dataclass(frozen=True, slots=True)
class Clone:
    """A05: ``out`` is a copy of ``source`` that later updates of ``source`` do not reach."""

    out: TensorName
    source: TensorName


@dataclass(frozen=True, slots=True)
class CopyInto:
    """A06: ``target.copy_(source)``."""

    target: TensorName
    source: TensorName


@dataclass(frozen=True, slots=True)
class CopyFromHost:
    """A07: ``target.copy_(host array)``; ``upload`` as in A01."""

    target: TensorName
    value: Nested
    upload: bool = True


@dataclass(frozen=True, slots=True)
class Detach:
    """A08: ``out`` is another tensor object over the same record; both see every update."""

    out: TensorName
    source: TensorName


@dataclass(frozen=True, slots=True)
class Drop:
    """A09: the last reference to the tensor object is deleted."""

    tensor: TensorName


@dataclass(frozen=True, slots=True)
class Sync:
    """A10: evaluate the given tensors (force). ``sync`` lets their old buffers be donated."""

    tensors: tuple[TensorName, ...]
    sync: bool = True
    wait: bool = True


@dataclass(frozen=True, slots=True)
class SyncLive:
    """A11: A10 with every live tensor of the device."""

    wait: bool = True


@dataclass(frozen=True, slots=True)
class StepBarrier:
    """A12: A11, then start a new step (counter ``MarkStep``)."""

    wait: bool = False


@dataclass(frozen=True, slots=True)
class WarmUp:
    """A13: compile the program of the given tensors, run nothing (not force)."""

    tensors: tuple[TensorName, ...]
    sync: bool = False


@dataclass(frozen=True, slots=True)
class ReadOne:
    """A14: the value of one tensor; pending work becomes data."""

    tensor: TensorName


@dataclass(frozen=True, slots=True)
class ReadMany:
    """A15: the values of several tensors; pending work stays pending (not force)."""

    tensors: tuple[TensorName, ...]


@dataclass(frozen=True, slots=True)
class GraphHash:
    """A16: the key of the program that A13 would compile."""

    tensors: tuple[TensorName, ...]


@dataclass(frozen=True, slots=True)
class RunCached:
    """A17: run the program with the key of A16 on the leaves of ``tensors``; results: ``outs``."""

    tensors: tuple[TensorName, ...]
    outs: tuple[TensorName, ...]


@dataclass(frozen=True, slots=True)
class ClearPending:
    """A18: forget all pending work of the device; what was pending has no value any more."""


@dataclass(frozen=True, slots=True)
class SetDonation:
    """A19: permit (or forbid) the next execution to consume the tensor's buffer."""

    tensor: TensorName
    flag: bool = True


@dataclass(frozen=True, slots=True)
class SetDonorConfig:
    """A20: honour the marks of A19 in every execution (process-wide)."""

    flag: bool = True


@dataclass(frozen=True, slots=True)
class WaitDevice:
    """A21: wait until nothing runs on the device."""


@dataclass(frozen=True, slots=True)
class DumpGraph:
    """A22: the pending graph of the given tensors as text; changes nothing."""

    tensors: tuple[TensorName, ...]


@dataclass(frozen=True, slots=True)
class AllowExecution:
    """A23: permit (or forbid) compilation and execution, as a traced region does."""

    flag: bool = True


@dataclass(frozen=True, slots=True)
class EvictCache:
    """A24: every compiled program leaves the cache (its capacity was needed elsewhere)."""


@dataclass(frozen=True, slots=True)
class WriteToResult:
    """A25: the program adds 1 to the array that the last A15 returned for a tensor, in place."""

    tensor: TensorName


@dataclass(frozen=True, slots=True)
class Fill:
    """A26: make ``out`` of one number, as `torch.full` does; only traced."""

    out: TensorName
    shape: tuple[int, ...]
    scalar: Number
    dtype: DType = DType.F32
    cached_at: int = -1
    """As in A03."""
    evicts: int = -1
    """As in A03."""


@dataclass(frozen=True, slots=True)
class Random:
    """A27: fill ``target`` with random whole numbers from 0 to ``bound`` - 1, as `random_` does."""

    target: TensorName
    bound: int = 100
    cached_at: int = -1
    """As in A03."""
    evicts: int = -1
    """As in A03."""


@dataclass(frozen=True, slots=True)
class SetSeed:
    """A28: the seed from here on, 64 bits."""

    seed: int


@dataclass(frozen=True, slots=True)
class GetSeed:
    """A29: the running seed, to be set again: the numbers of this step then go on as they would."""


@dataclass(frozen=True, slots=True)
class UseSpmd:
    """A35: from here on tensors lie on all devices (SPMD mode); there is no way back."""


@dataclass(frozen=True, slots=True)
class MarkSharding:
    """A36: annotate ``tensor`` with ``sharding``; ``lazy`` asks that no data moves now."""

    tensor: TensorName
    sharding: Sharding
    lazy: bool = False


@dataclass(frozen=True, slots=True)
class ClearSharding:
    """A37: forget the annotation; data stays where it is."""

    tensor: TensorName


@dataclass(frozen=True, slots=True)
class ReadSpec:
    """A38: the annotation of ``tensor``."""

    tensor: TensorName


@dataclass(frozen=True, slots=True)
class BindData:
    """A39: give a tensor without data (A02), maybe an annotated one, its data."""

    tensor: TensorName
    value: Nested


@dataclass(frozen=True, slots=True)
class LoadShards:
    """A34: load the local pieces of an annotated tensor directly; ``value``: all of them."""

    tensor: TensorName
    value: Nested


@dataclass(frozen=True, slots=True)
class SetEager:
    """A32: compute each op at once, or only when its result is needed (process-wide)."""

    flag: bool = True


@dataclass(frozen=True, slots=True)
class ViewOf:
    """A53: ``out`` shows elements of ``source``: what is written to one, the other shows.

    ``sizes``: the shape for view and reshape; dimension, begin and end for slice."""

    out: TensorName
    source: TensorName
    op: str
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Look:
    """A54: bring ``tensor`` up to date, as any call that is given it does first."""

    tensor: TensorName


# ---- actions of the environment --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CompleteExecution:
    """A30: the running execution ends well; ``spares``: a mask of the donors (rows of the law's
    buffer table) that the runtime does not consume."""

    spares: int = 0


@dataclass(frozen=True, slots=True)
class FailExecution:
    """A31: the running execution ends with an error; ``deletes``: its donors are lost with it."""

    deletes: bool = False


Action: TypeAlias = (
    CreateFromHost
    | CreatePlaceholder
    | Apply
    | AssignInPlace
    | Clone
    | CopyInto
    | CopyFromHost
    | Detach
    | Drop
    | Sync
    | SyncLive
    | StepBarrier
    | WarmUp
    | ReadOne
    | ReadMany
    | GraphHash
    | RunCached
    | ClearPending
    | SetDonation
    | SetDonorConfig
    | WaitDevice
    | DumpGraph
    | AllowExecution
    | EvictCache
    | WriteToResult
    | Fill
    | Random
    | SetSeed
    | GetSeed
    | UseSpmd
    | MarkSharding
    | ClearSharding
    | ReadSpec
    | BindData
    | LoadShards
    | SetEager
    | ViewOf
    | Look
    | CompleteExecution
    | FailExecution
)


# ---- what can be seen ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Observation:
    """How one action ended.

    ``value``: flat tuple for A14, tuple of flat tuples for A15, an opaque key for A16,
    a bool for A19 (whether there was a buffer to mark), the seed for A29, the Sharding for A38,
    else None.
    """

    error: ErrorKind = ErrorKind.NONE
    value: object = None
    message: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class TensorView:
    """What one tensor looks like between two actions; looking changes nothing.

    ``record``, ``alias`` and ``buffer`` are names: only which of them are equal has a meaning.
    """

    record: int
    alias: int
    ir: IrKind
    data: BufferStatus
    buffer: int | None
    host: bool
    shape: tuple[int, ...]
    dtype: DType
    spec: Sharding = Sharding.NONE
    """The record's annotation."""
    sharding: Sharding = Sharding.NONE
    """Of the handle's data; NONE when it is plain, or there is none."""


@dataclass(frozen=True, slots=True)
class View:
    """Everything that can be seen between two actions: tensors by name, counters since the last."""

    tensors: dict[TensorName, TensorView]
    counters: dict[str, int] = field(default_factory=dict)
