"""What a line of a raw log shows, as one flat table: field → value.

`seen` makes the table of a line; `markstep.conformance.logs.prediction` makes the table that the
law predicts. A line is explained when no field differs, so nothing on it is left out by accident.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from markstep.conformance.logs.arguments import UnknownRecord
from markstep.conformance.logs.errortexts import VOID_TEXT, check_crash, kind_of_error
from markstep.conformance.logs.rawrecord import (
    Crashed,
    Hung,
    Ok,
    Raised,
    RawStep,
    RawTensor,
    RawVoid,
    Sample,
)
from markstep.conformance.logs.strictjson import FieldError, shown
from markstep.spec.vocabulary import ErrorKind

Table: TypeAlias = dict[str, object]
"""Field → value: `outcome`, `value`, `tensors`, `t3.ir`, `counters.MarkStep`, …"""


class Anything:
    """A value that the law, or the recorder, does not know."""

    def __repr__(self) -> str:
        return "(not known)"


ANYTHING: Final = Anything()
ABSENT: Final = "(absent)"
HANG: Final = "hang"

MODELLED_COUNTERS = (
    "CachedCompile",
    "CompileTime",
    "CreateCompileHandles",
    "CreateDataHandles",
    "CreateXlaTensor",
    "DestroyXlaTensor",
    "DeviceDataCacheMiss",
    "EagerOpCompileTime",
    "EagerOpExecuteTime",
    "ExecuteComputation",
    "ExecuteReplicated",
    "ExecuteReplicatedTime",
    "ExecuteTime",
    "InboundData",
    "InputOutputAliasCount",
    "IrValueTensorToXlaData",
    "MarkStep",
    "OutboundData",
    "ReplicateShardedData",
    "RunCachedGraphInputData",
    "RunCachedGraphOutputData",
    "SetShardingSpec",
    "SyncTensorsToData",
    "TensorToData",
    "TensorsGraphSize",
    "TransferFromDevice",
    "TransferToDevice",
    "UncachedCompile",
    "UncachedOutputSharding",
    "VirtualDeviceUsage",
    "XlaAnnotateCustomSharding",
    "XlaMarkSharding",
    "XlaSetBufferDonation",
)
"""Counters and metrics that the law counts itself."""

IDLE_COUNTERS = (
    "EarlySyncLiveTensorsCount",
    "ReshardData",
    "ReshardParameters",
)
"""Counters of auto-sharding and of early syncs: the law predicts that they stand still."""

UNMODELLED_COUNTERS: dict[str, str] = {}
"""Counters that are not compared, and why. None at present."""

LONG_VALUE = 64
"""A recorded value with more elements than this is only their number."""
MAX_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Difference:
    """One field on which the log and the law differ."""

    field: str
    expected: object
    observed: object

    def __str__(self) -> str:
        return f"{self.field}: expected {brief(self.expected)}, observed {brief(self.observed)}"


def seen(step: RawStep) -> Table:
    """Everything that a line shows. Raises FieldError for what no table covers."""
    if isinstance(step.outcome, Crashed):
        check_crash(step.outcome)
        return {"outcome": ErrorKind.CRASH, "signal": step.outcome.signal}
    if isinstance(step.outcome, Hung):
        return {"outcome": HANG}
    table: Table = {"tensors": tuple(step.tensors)}
    table.update(_outcome(step.action, step.outcome))
    for name, shows in step.tensors.items():
        table.update((f"{name}.{field}", value) for field, value in _tensor(shows))
    table.update(_counters(step.counters))
    table.update((f"{name}.transient", True) for name in step.transient)
    table.update(seed=step.seed, seeds=step.seeds)
    return table


def _outcome(action: str, outcome: Ok | Raised) -> Iterator[tuple[str, object]]:
    if isinstance(outcome, Raised):
        yield "outcome", kind_of_error(outcome)
        return
    yield "outcome", ErrorKind.NONE
    yield "late_mismatch", outcome.late_mismatch or None
    yield "expected", freeze(outcome.expected)
    if action == "stablehlo":
        yield from _program_text(freeze(outcome.value))
    elif isinstance(outcome.value, dict):
        for name, value in outcome.value.items():
            unknown = name == "of" and value is None  # the recorder could not tell
            yield f"value.{name}", ANYTHING if unknown else freeze(value)
    else:
        yield "value", freeze(outcome.value)


def _program_text(lines: object) -> Iterator[tuple[str, object]]:
    """How many parameters and results the body of a program has."""
    text = [str(line) for line in lines] if isinstance(lines, tuple) else []
    last = text[-1] if text else ""
    yield "value.parameters", len(set(re.findall(r"%arg\d+", "\n".join(text))))
    yield "value.results", len(last.removeprefix("return ").split(",")) if last else 0


def _tensor(shows: RawTensor | RawVoid) -> Iterator[tuple[str, object]]:
    if isinstance(shows, RawVoid):
        if not shows.message.startswith(VOID_TEXT):
            raise UnknownRecord(f"unknown reason for a void tensor: {shown(shows.message)}")
        yield "void", True
        return
    data = shows.data
    yield "void", False
    yield from (("id", shows.id), ("alias", shows.alias), ("view", shows.view), ("ir", shows.ir))
    yield "data", (data.state if data.kind == "plain" else data.kind) if data else None
    yield "handle", data.handle if data else None
    if data and data.kind == "sharded":
        yield from (("sharding", data.sharding), ("pieces", data.num_shards))
    yield from (("host", shows.host), ("sharding_spec", shows.sharding_spec))
    yield from (("shape", shows.shape), ("dtype", shows.dtype), ("device", shows.device))


def _counters(counters: Mapping[str, int | Sample]) -> Iterator[tuple[str, object]]:
    for name, moved in counters.items():
        if name in UNMODELLED_COUNTERS:
            continue
        if name not in MODELLED_COUNTERS and name not in IDLE_COUNTERS:
            raise UnknownRecord(f"unknown counter {shown(name)}")
        if isinstance(moved, Sample):
            yield f"counters.{name}.n", moved.n
            yield f"counters.{name}.sum", moved.sum
        else:
            yield f"counters.{name}", moved


def freeze(value: object, depth: int = MAX_DEPTH) -> object:
    """A JSON value with tuples for lists, so that it can be compared."""
    if isinstance(value, list | dict) and depth == 0:
        raise FieldError(f"a value nested more than {MAX_DEPTH} deep")
    if isinstance(value, list):
        return tuple(freeze(one, depth - 1) for one in value)
    if isinstance(value, dict):
        return {name: freeze(one, depth - 1) for name, one in value.items()}
    return value


def compare(predicted: Table, observed: Table) -> tuple[Difference, ...]:
    """The fields that differ. What a process shows that should be dead, or not, is one field."""
    common: list[str] = list(dict.fromkeys([*predicted, *observed]))
    if {predicted["outcome"], observed["outcome"]} & {ErrorKind.CRASH, HANG}:
        common = [name for name in common if name in ("outcome", "signal")]
    lost = set(_names(predicted)) ^ set(_names(observed))
    both = [
        Difference(name, predicted.get(name, _missing(name)), observed.get(name, _missing(name)))
        for name in common
        if name.split(".")[0] not in lost
    ]
    return tuple(one for one in both if not same(one.expected, one.observed))


def _names(table: Table) -> tuple[str, ...]:
    names = table.get("tensors", ())
    return names if isinstance(names, tuple) else ()


def _missing(name: str) -> object:
    """What a table means that does not name a field."""
    if name in ("expected", "late_mismatch", "seed", "seeds"):
        return None
    return 0 if name.startswith("counters.") else ABSENT


def same(expected: object, observed: object) -> bool:
    """Equal as JSON values: 2 and 2.0 are, 0 and -0 are, 1 and true are not."""
    if expected is ANYTHING or observed is ANYTHING:
        return ABSENT not in (expected, observed)
    if isinstance(expected, bool) or isinstance(observed, bool):
        return expected is observed
    if isinstance(expected, tuple) and isinstance(observed, tuple):
        return len(expected) == len(observed) and all(map(same, expected, observed))
    return expected == observed


def brief(value: object) -> str:
    """A value for a message, cut to a readable length."""
    if isinstance(value, tuple):
        text = f"[{', '.join(map(brief, value[:16]))}{', …' if len(value) > 16 else ''}]"
    elif isinstance(value, float) and value.is_integer():
        text = str(int(value))
    else:
        text = "none" if value is None else str(value)
    return text if len(text) <= 200 else text[:199] + "…"
