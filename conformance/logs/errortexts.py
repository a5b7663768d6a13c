"""Which kind of error a text of torch_xla is, and how its process dies.

Texts carry ids and hashes, so that only their beginning counts. A text that is not here is an
error of the comparison, never a guess. Source: the checks of the C++ functions named.
"""

from dataclasses import dataclass

from markstep.conformance.logs.arguments import UnknownRecord
from markstep.conformance.logs.rawrecord import Crashed, Raised
from markstep.conformance.logs.strictjson import shown
from markstep.spec.vocabulary import ErrorKind


@dataclass(frozen=True, slots=True)
class ErrorText:
    """One row: type of the exception, beginning of its text, kind, and where it is thrown."""

    type: str
    prefix: str
    kind: ErrorKind
    cpp: str


RUNTIME, VALUE = "RuntimeError", "ValueError"

ERROR_TEXTS = (
    ErrorText(
        RUNTIME,
        "Check failed: data()->tensor_data:",
        ErrorKind.LOST,
        "XLATensor::GetIrValue, XLATensor::shape",
    ),
    ErrorText(RUNTIME, "Check failed: tensor_data:", ErrorKind.LOST, "CollectSyncTensors"),
    ErrorText(RUNTIME, "Check failed: handle != nullptr:", ErrorKind.LOST, "GatherTensorsXlaData"),
    ErrorText(
        RUNTIME, "Check failed: handle->HasValue():", ErrorKind.NO_VALUE, "XLATensor::GetXlaData"
    ),
    ErrorText(
        RUNTIME,
        "Check failed: !buffer->IsDeleted():",
        ErrorKind.DELETED,
        "RunPostOrder, TransferFromDevice",
    ),
    ErrorText(
        RUNTIME,
        "ToLiteral() called on deleted or donated buffer",
        ErrorKind.DELETED,
        "TransferFromDevice",
    ),
    ErrorText(RUNTIME, "Error while lowering:", ErrorKind.DELETED, "DumpHloComputation"),
    ErrorText(RUNTIME, "'CPU:", ErrorKind.BAD_ARGUMENT, "CollectSyncTensors"),
    ErrorText(RUNTIME, "Out of memory allocating", ErrorKind.EXECUTION_FAILED, "(device)"),
    ErrorText(RUNTIME, "Execution supplied", ErrorKind.EXECUTION_FAILED, "(device)"),
    ErrorText(RUNTIME, "Executable expected parameter", ErrorKind.EXECUTION_FAILED, "(device)"),
    ErrorText(
        VALUE,
        "No registered implementation for untyped custom call",
        ErrorKind.COMPILE_FAILED,
        "(compiler)",
    ),
    ErrorText(
        RUNTIME,
        "No registered implementation for untyped custom call",
        ErrorKind.COMPILE_FAILED,
        "(compiler, called through ATen)",
    ),
    ErrorText(
        RUNTIME,
        "Unexpected execution happens inside the compiled function",
        ErrorKind.REFUSED,
        "XLAGraphExecutor::Compile, ScheduleSyncTensorsGraph, called through ATen",
    ),
    ErrorText(
        VALUE,
        "Unexpected execution happens inside the compiled function",
        ErrorKind.REFUSED,
        "XLAGraphExecutor::Compile, ScheduleSyncTensorsGraph",
    ),
    ErrorText(
        RUNTIME,
        "Check failed: false: Existing annotation must be cleared first",
        ErrorKind.CONFLICT,
        "XLATensor::SetShardingSpec, ShardingUtil::XlaMarkSharding",
    ),
    ErrorText(
        RUNTIME,
        "Check failed: cachedComputation:",
        ErrorKind.UNKNOWN_GRAPH,
        "ExecuteComputationWithBarrier",
    ),
)

VOID_TEXT = "Check failed: data()->tensor_data:"
"""Why a tensor without any source of a value cannot be looked at."""

CRASHES: dict[str, tuple[str, ...]] = {
    "SIGSEGV": ("",),
    "SIGABRT": (
        "Check failed: pjrt_data->buffer != nullptr",
        "Check failed: pjrt_device == pjrt_data->buffer->device()",
    ),
}
"""Signal → beginnings of the fatal text, empty if there is none."""


def kind_of_error(raised: Raised) -> ErrorKind:
    """The kind of an exception. Raises UnknownRecord."""
    for known in ERROR_TEXTS:
        if raised.type == known.type and raised.message.startswith(known.prefix):
            return known.kind
    raise UnknownRecord(f"unknown error text {raised.type}: {shown(raised.message)}")


def check_crash(crashed: Crashed) -> None:
    """Raises UnknownRecord if the process died in a way that is not known."""
    message = crashed.message or ""
    for prefix in CRASHES[crashed.signal]:
        if message == prefix or (prefix and message.startswith(prefix)):
            return
    raise UnknownRecord(f"unknown crash {crashed.signal}: {shown(message)}")
