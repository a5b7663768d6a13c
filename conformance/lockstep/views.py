"""What of two views is compared, up to which names, and why the rest is not.

Record ids, alias ids and buffer names mean nothing but which of them are equal: the comparison
keeps a bijection between those of the law and those of the executor, for as long as either side
shows them. Keys of graphs (A16) are matched in the same way, for the whole program.
"""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import NamedTuple

from markstep.conformance.adapter import AdapterError
from markstep.conformance.show import show_observation, tensor
from markstep.spec.design import Design
from markstep.spec.machine import ENVIRONMENT
from markstep.spec.observe import observe, outcome
from markstep.spec.rules.views import out_of_date
from markstep.spec.schedule import Observer, perform
from markstep.spec.state import State
from markstep.spec.vocabulary import (
    Action,
    BufferStatus,
    ErrorKind,
    GetSeed,
    GraphHash,
    IrKind,
    Look,
    Observation,
    ReadMany,
    ReadOne,
    ReadSpec,
    SetDonation,
    Sharding,
    TensorView,
    View,
)

COMPARED_COUNTERS: dict[str, str] = {
    "UncachedCompile": "how often the key missed: says whether two graphs had the same key",
    "CachedCompile": "how often the key hit",
    "CreateCompileHandles": "how many programs were compiled",
    "InputOutputAliasCount.sum": "parameters that programs give away; no view shows them",
    "ExecuteComputation": "how often the device ran a program",
    "CreateDataHandles": "uploads and results: says whether work was repeated",
    "SyncTensorsToData": "host copies that a sync uploaded",
    "DeviceDataCacheMiss": "scalars that became parameters",
    "XlaSetBufferDonation": "donation marks that found a buffer",
    "MarkStep": "steps",
    "ExecuteTime": "samples of the timer: executions that ended, well or not, runs by key included",
    "EagerOpExecuteTime": "the same in eager mode",
    "CompileTime": "samples of the timer: compilations that were tried",
    "EagerOpCompileTime": "the same in eager mode",
    "XlaMarkSharding": "marks",
    "XlaAnnotateCustomSharding": "marks on pending work",
    "VirtualDeviceUsage": "marks that sent host data",
    "ExecuteReplicated": "how often all devices ran a program",
    "ReplicateShardedData": "how often pieces were put together to be read",
}
"""Counters that are compared where the executor has them, with the reason."""

OTHER_COUNTERS: dict[str, str] = {
    "CreateXlaTensor": "counts the temporaries of single ops too (a wrapped number)",
    "DestroyXlaTensor": "as CreateXlaTensor; which records live is compared by the views",
    "TensorsGraphSize": "counts nodes as torch_xla writes them, alpha operands included",
    "TransferToDevice": "transport: an executor may batch its transfers",
    "TransferFromDevice": "as TransferToDevice",
    "OutboundData": "as TransferToDevice, in bytes",
    "InboundData": "as TransferFromDevice, in bytes",
    "TensorToData": "the same event as CreateDataHandles on upload",
    "IrValueTensorToXlaData": "the entry point through which an upload came",
    "ExecuteReplicatedTime": "as ExecuteTime",
    "SetShardingSpec": "also counts annotations that an executor need not write twice",
    "UncachedOutputSharding": "a cache inside the executor",
}
"""Counters of the law that are not compared in lockstep, with the reason. The monitor of recorded
torch_xla logs compares more of them, because there the executor is torch_xla itself."""

FIELDS = ("record", "alias", "ir", "data", "buffer", "host", "shape", "dtype", "spec", "sharding")
NAMES = {"record": "record", "alias": "record", "buffer": "buffer"}
"""Fields that are names, and of what. The others are compared as they are."""


class Difference(NamedTuple):
    """One thing on which the law and the executor disagree."""

    field: str
    subject: str
    expected: str
    observed: str


@dataclass(slots=True)
class Naming:
    """A bijection between the names of the law and those of the executor, per kind of name."""

    there: dict[tuple[str, Hashable], Hashable]
    back: dict[tuple[str, Hashable], Hashable]

    def copy(self) -> "Naming":
        """A naming that may grow on its own."""
        return Naming(self.there.copy(), self.back.copy())

    def match(self, kind: str, expected: Hashable, observed: Hashable) -> bool:
        """Whether the two can be one thing; if they can, they are from now on."""
        if expected is None or observed is None:
            return expected is observed
        here, there = (kind, expected), (kind, observed)
        known = self.there.get(here)
        if known is None and there not in self.back:
            self.there[here], self.back[there] = observed, expected
            return True
        return known == observed and self.back.get(there) == expected

    def forget_unseen(self, expected: View) -> None:
        """Drop names that the law's view does not show any more: the executor may reuse its own."""
        seen: set[tuple[str, Hashable]] = set()
        for view in expected.tensors.values():
            seen |= {("record", view.record), ("record", view.alias), ("buffer", view.buffer)}
        for name in [n for n in self.there if n[0] != "key" and n not in seen]:
            del self.back[name[0], self.there.pop(name)]


def new_naming() -> Naming:
    """No names are known yet."""
    return Naming({}, {})


def looked_at(state: State, design: Design, observer: Observer | None = None) -> State:
    """The state after a look at every tensor, in order of their names: what an update elsewhere has
    put out of date is brought up to date."""
    for name in sorted(state.tensors):
        if out_of_date(state, name):
            state = perform(state, Look(name), design, observer) or state
    return state


def law_view(state: State, old: Mapping[str, int]) -> View:
    """The law's view: tensors, and how far the compared counters have moved since ``old``."""
    now = state.payload.totals()
    moved = {name: now.get(name, 0) - old.get(name, 0) for name in COMPARED_COUNTERS}
    return View(observe(state), moved)


def law_outcome(state: State, action: Action) -> Observation:
    """How the action that led to a state ended; the end of an execution is nobody's call."""
    return Observation() if isinstance(action, ENVIRONMENT) else outcome(state)


def compare_views(expected: View, observed: View, naming: Naming) -> list[Difference]:
    """Where two views differ. The naming learns new names, also when they differ."""
    found = []
    if expected.tensors.keys() != observed.tensors.keys():
        here, there = _listed(expected), _listed(observed)
        found.append(Difference("tensors", "tensors", here, there))
    for name, view in expected.tensors.items():
        other = observed.tensors.get(name)
        if other is not None:
            found += _compare_tensors(tensor(name), view, other, naming)
    found += _compare_counters(expected, observed)
    return found


def _listed(view: View) -> str:
    return ", ".join(map(tensor, sorted(view.tensors))) or "none"


def _compare_tensors(
    subject: str, expected: TensorView, observed: TensorView, naming: Naming
) -> Iterator[Difference]:
    for field in FIELDS:
        here, there = getattr(expected, field), getattr(observed, field)
        kind = NAMES.get(field)
        if not (naming.match(kind, here, there) if kind else here == there):
            yield Difference(field, subject, show_field(field, here), show_field(field, there))


def _compare_counters(expected: View, observed: View) -> list[Difference]:
    """Only counters that both know are compared."""
    return [
        Difference(name, "counter", f"+{expected.counters[name]}", f"+{observed.counters[name]}")
        for name in COMPARED_COUNTERS
        if name in expected.counters
        and name in observed.counters
        and expected.counters[name] != observed.counters[name]
    ]


def compare_outcomes(
    action: Action, expected: Observation, observed: Observation, naming: Naming
) -> list[Difference]:
    """Where the ends of one action differ: kind of error, else value. Texts are not compared."""
    here, there = show_observation(expected), show_observation(observed)
    if expected.error != observed.error:
        return [Difference("error", "outcome", here, there)]
    if expected.error != ErrorKind.NONE:
        return []
    if isinstance(action, GraphHash):
        if naming.match("key", expected.value, observed.value):
            return []
        known = naming.there.get(("key", expected.value))
        meant = f"the key {known!r}" if known is not None else "a new key"
        return [Difference("key", "outcome", meant, there)]
    if not same_value(action, expected.value, observed.value):
        return [Difference("value", "outcome", here, there)]
    return []


def same_value(action: Action, expected: object, observed: object) -> bool:
    """Whether a call has given what it must. Of a value that depends on random numbers the law may
    not know which it is (D24); then any will do."""
    if isinstance(action, ReadOne):
        return expected in (None, observed)
    if isinstance(action, ReadMany) and isinstance(expected, tuple):
        if not isinstance(observed, tuple) or len(observed) != len(expected):
            return False
        return all(one in (None, other) for one, other in zip(expected, observed, strict=True))
    return expected == observed


def show_field(field: str, value: object) -> str:
    """The value of one field of a view, as text."""
    if isinstance(value, BufferStatus | IrKind | Sharding):
        return value.name.lower()
    if field in NAMES and value is not None:
        return f"{NAMES[field]} {value}"
    return str(value)


def checked_observation(action: Action, observation: object) -> Observation:
    """The observation of an adapter, if it is one. Raises AdapterError for nonsense: a finding
    about the law is only what an executor may say at all."""
    if not isinstance(observation, Observation):
        raise AdapterError(f"apply returned {type(observation).__name__}, not an Observation")
    if not isinstance(observation.error, ErrorKind):
        raise AdapterError(f"apply returned the error {observation.error!r}, not an ErrorKind")
    try:
        hash(observation.value)
    except TypeError as error:
        raise AdapterError(f"apply returned a value that is not immutable: {error}") from error
    if observation.error == ErrorKind.NONE and not is_value(action, observation.value):
        kind, value = type(action).__name__, repr(observation.value)[:60]
        raise AdapterError(f"apply returned the value {value}, which no {kind} has")
    return observation


def is_value(action: Action, value: object) -> bool:
    """Whether a value is of the kind that an action gives, whatever it is (`Observation`)."""
    match action:
        case ReadOne():
            return value is None or are_numbers(value)  # None: nobody knows (D24)
        case ReadMany():
            return isinstance(value, tuple) and all(v is None or are_numbers(v) for v in value)
        case GetSeed() | SetDonation() | ReadSpec():
            return isinstance(value, int)
    return isinstance(action, GraphHash) or value is None


def are_numbers(value: object) -> bool:
    """Whether it is a flat tuple of numbers, not a number among them too."""
    return isinstance(value, tuple) and all(isinstance(number, Real) for number in value)


def checked_view(view: object) -> View:
    """The view of an adapter, if it is one. Raises AdapterError for nonsense."""
    if not isinstance(view, View):
        raise AdapterError(f"observe returned {type(view).__name__}, not a View")
    for name, seen in view.tensors.items():
        if not isinstance(seen, TensorView):
            raise AdapterError(f"observe shows {tensor(name)} as {type(seen).__name__}")
    return view
