"""What the law predicts for one step of a raw log: the table that its line must show."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from operator import itemgetter

from markstep.conformance.logs.partition import text_of
from markstep.conformance.logs.rawrecord import RawStep
from markstep.conformance.logs.recorded import ANYTHING, LONG_VALUE, Table
from markstep.conformance.logs.taking import Ended
from markstep.spec.evaluator import Value
from markstep.spec.graph import GraphPayload
from markstep.spec.ir import number_parameters, post_order
from markstep.spec.layouts import DEVICES
from markstep.spec.observe import observe, view_of
from markstep.spec.rules.reading import Download
from markstep.spec.schedule import (
    results_of_cached_run,
)
from markstep.spec.state import Record, State
from markstep.spec.vocabulary import (
    BufferStatus,
    DType,
    DumpGraph,
    ErrorKind,
    GraphHash,
    IrKind,
    ReadMany,
    ReadOne,
    RunCached,
    Sharding,
    TensorName,
    TensorView,
)

ROOTS = {
    "add": "aten::add",
    "sub": "aten::sub",
    "mul": "aten::mul",
    "matmul": "aten::mm",
    "neg": "aten::neg",
    "failing_compile": "xla::custom_call",
    "expand": "aten::expand",
    "random": "aten::random",
    "threefry": "aten::random",
    "sharding": "xla::custom_sharding",
    "view": "aten::view",
    "permute": "aten::permute",
    "select": "xla::select",
    "unselect": "xla::unselect",
    "as_strided": "aten::as_strided",
    "as_strided_update": "xla::as_strided_view_update",
}
"""Op of the law → name of its node in torch_xla."""
DTYPES = {DType.F32: "f32", DType.S32: "s32"}
DATA = {
    BufferStatus.NONE: None,
    BufferStatus.PLACEHOLDER: "placeholder",
    BufferStatus.VALUE: "value",
    BufferStatus.DELETED: "deleted",
}


@dataclass(frozen=True, slots=True)
class Memory:
    """What the numbers in a log refer to: a log names keys and buffers by when they appeared."""

    keys: dict[object, int] = field(default_factory=dict)
    handles: dict[int, int] = field(default_factory=dict)
    """Identity of a buffer → its number, while some tensor shows it."""
    given_handles: int = 0

    def learn(self, table: Table, ended: Ended) -> "Memory":
        """The memory after a step whose table was predicted."""
        keys, shown = dict(self.keys), {}
        if "value.hash" in table:
            keys.setdefault(ended.key, len(keys) + 1)
        for name, view, _ in _views(ended):
            number = table.get(f"t{name}.handle")
            if view.buffer is not None and isinstance(number, int):
                shown[view.buffer] = number
        return replace(
            self,
            keys=keys,
            handles=shown,
            given_handles=max([self.given_handles, *shown.values()]),
        )


def predict(ended: Ended, raw: RawStep, memory: Memory) -> Table:
    """The table that the line of a step must show."""
    state = ended.settled
    if state.device.crashed:
        checked = ended.elsewhere or isinstance(ended.last, Download)
        signal = "SIGABRT" if checked else "SIGSEGV"
        return {"outcome": ErrorKind.CRASH, "signal": signal}
    views = _views(ended)
    table: Table = {"tensors": tuple(f"t{name}" for name, _, _ in views)}
    table["outcome"] = ended.returned.raised
    if ended.returned.raised == ErrorKind.NONE:
        table.update(_value(ended, memory))
    handles = _handles(views, memory)
    for name, view, device in views:
        fields = _tensor(ended.all_settled[device].record_of(name), view, handles)
        table.update((f"t{name}.{key}", value) for key, value in fields)
        if not view_is_void(view):
            table[f"t{name}.device"] = f"CPU:{device}" if ended.went else None
    moved = _counters(ended.all_before[0], ended.all_settled[0])
    table.update((f"counters.{name}", by) for name, by in moved.items())
    table["seed"] = _moved_seed(ended.all_before[0], ended.all_settled[0])
    table["seeds"] = _moved_seeds(ended)
    for shown in raw.transient:
        table[f"{shown}.transient"] = _was_placeholder(ended, shown)
    return table


def _views(ended: Ended) -> list[tuple[TensorName, TensorView, int]]:
    """What each tensor shows, and its device."""
    states = enumerate(ended.all_settled)
    found = [(name, view, d) for d, state in states for name, view in observe(state).items()]
    return sorted(found, key=itemgetter(0))


def _handles(views: list[tuple[TensorName, TensorView, int]], memory: Memory) -> dict[int, int]:
    """Buffers that are shown keep their numbers, others get the next ones."""
    handles, given = dict(memory.handles), memory.given_handles
    for _, view, _ in views:
        if view.buffer is not None and view.buffer not in handles:
            given += 1
            handles[view.buffer] = given
    return handles


def _tensor(
    record: Record, view: TensorView, handles: dict[int, int]
) -> Iterator[tuple[str, object]]:
    yield "void", view_is_void(view)
    if view_is_void(view):
        return
    yield from (("id", view.record), ("alias", view.alias), ("ir", _ir(record)))
    yield "view", record.view is not None
    if view.sharding == Sharding.NONE:
        yield "data", DATA[view.data]
        yield "handle", handles[view.buffer] if view.buffer is not None else None
    else:  # sharded data does not show whether it has a value
        yield from (("data", "sharded"), ("handle", None), ("pieces", DEVICES))
        yield "sharding", text_of(view.sharding, view.shape)
    yield "host", view.shape if view.host else None
    yield "sharding_spec", text_of(view.spec, view.shape)
    yield from (("shape", view.shape), ("dtype", DTYPES[view.dtype]))


def view_is_void(view: TensorView) -> bool:
    """Whether a tensor has nothing left."""
    return view.data == BufferStatus.NONE and view.ir == IrKind.NONE and not view.host


def _ir(record: Record) -> str | None:
    """The name of the root node."""
    if record.ir == IrKind.OP and record.node is not None:
        return ROOTS.get(record.node.op, record.node.op)
    return {IrKind.LEAF: "device_data", IrKind.CONST: "constant"}.get(record.ir)


def _counters(before: State, after: State) -> dict[str, int]:
    old, new = _payload(before).counters, _payload(after).counters
    moved = {name: count - old.get(name, 0) for name, count in new.items()}
    return {name: by for name, by in moved.items() if by}


def _moved_seed(before: State, after: State) -> int | None:
    """The running seed, if it is another one than before."""
    seed = _payload(after).running
    return seed if seed != _payload(before).running else None


def _moved_seeds(ended: Ended) -> dict[str, int] | None:
    """With several devices: the running seeds of all, if any is another one than before."""
    if not ended.went:
        return None
    before, after = ([_payload(s).running for s in x] for x in (ended.came, ended.went))
    if before == after:
        return None
    return {f"xla:{device}": seed for device, seed in enumerate(after)}


def _payload(state: State) -> GraphPayload:
    assert isinstance(state.payload, GraphPayload)
    return state.payload


def _was_placeholder(ended: Ended, shown: str) -> bool:
    """Whether a tensor was a placeholder when the call returned."""
    state = ended.returned
    return any(
        f"t{name}" == shown and view_of(state, state.records[row]).data == BufferStatus.PLACEHOLDER
        for name, row in state.tensors.items()
    )


# ---- the value of a call ------------------------------------------------------------------------


def _value(ended: Ended, memory: Memory) -> Iterator[tuple[str, object]]:
    """What the call returns, beside the tables of tensors and counters."""
    action, value = ended.actions[-1], ended.returned.value
    match action:
        case ReadOne():
            yield from _read(ended.settled, (action.tensor,), (value,))
        case ReadMany() if isinstance(value, tuple):
            yield from _read(ended.settled, action.tensors, value, many=True)
        case GraphHash():
            yield "value.hash", memory.keys.get(ended.key, len(memory.keys) + 1)
            yield "value.hex", ANYTHING
        case RunCached():
            yield "value.hash", memory.keys.get(ended.key, len(memory.keys) + 1)
            yield "value.hex", ANYTHING
            yield from _run_cached(action, ended)
        case DumpGraph():
            yield from _program(ended.before, action)
        case _:
            yield "value", value


def _read(
    state: State, names: tuple[TensorName, ...], values: tuple[object, ...], many: bool = False
) -> Iterator[tuple[str, object]]:
    """Values as recorded, and the right values where they differ from those (else nothing)."""
    pairs = [_judge(state.record_of(n), value) for n, value in zip(names, values, strict=True)]
    if not many and isinstance(pairs[0][0], dict):
        yield from ((f"value.{name}", one) for name, one in pairs[0][0].items())
        yield "expected", pairs[0][1]
        return
    shown, right = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
    if not many:
        yield "value", shown[0]
        yield "expected", right[0]
        return
    yield "value", shown
    yield "expected", _any_wrong(right)


def _any_wrong(right: tuple[object, ...]) -> object:
    """The right values where some value is wrong; nothing where none is."""
    if any(one is not None and one is not ANYTHING for one in right):
        return right
    return ANYTHING if ANYTHING in right else None


def _judge(record: Record, value: object) -> tuple[object, object]:
    """(the value as it is recorded, the right value if that is another)."""
    if not isinstance(value, tuple):
        return ANYTHING, ANYTHING
    wrong = record.defined and record.truth is not None and record.truth != value
    return _recorded(value), _recorded(record.truth) if wrong else None


def _recorded(value: Value | None) -> object:
    if value is not None and len(value) > LONG_VALUE:
        return {"numel": len(value)}
    return value


def _run_cached(action: RunCached, ended: Ended) -> Iterator[tuple[str, object]]:
    """The ids of the inputs, the new tensors, and the tensors whose values they should have."""
    before, after = ended.before, ended.returned
    outs = [name for name in action.outs if name in after.tensors]
    rows = results_of_cached_run(before, action.tensors)
    order = [next(n for n in action.tensors if before.tensors[n] == row) for row in rows]
    yield "value.inputs", ended.inputs
    yield "value.outs", tuple(f"t{name}" for name in outs)
    yield "value.of", tuple(f"t{name}" for name in order)


def _program(state: State, action: DumpGraph) -> Iterator[tuple[str, object]]:
    """How many parameters and results the pending program of the given tensors has."""
    nodes = [state.record_of(name).node for name in action.tensors]
    roots = [node for node in nodes if node is not None]
    yield "value.parameters", len(number_parameters(post_order(roots))[0])
    yield "value.results", len(roots)
