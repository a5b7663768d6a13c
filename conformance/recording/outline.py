"""The outline of a recorded program, run by the law: who holds what, but not which values.

The rules branch on control fields alone: shapes, values and what an op computes are payload. So a
recorded program is run with every tensor a single number and every op an addition of its operands,
and the law says all the same of each tensor whether it is pending, a leaf, a handle with a value, a
placeholder, donated away or lost. That is compared with what the tensors showed behind each
evaluation. Keys and counters are payload; the cache is emptied, so that no key hits.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic

from markstep.conformance.logs.rawrecord import Raised, RawTensor, RawVoid
from markstep.conformance.recording.lines import BOUNDARIES, Line, Recording
from markstep.spec import vocabulary as v
from markstep.spec.design import Design
from markstep.spec.machine import ACTIONS, AnyAction, enabled
from markstep.spec.observe import observe
from markstep.spec.schedule import (
    end_of_execution,
    fits,
    initial_state,
    next_move,
    with_facts,
)
from markstep.spec.state import Phase, State
from markstep.spec.vocabulary import (
    Action,
    BufferStatus,
    ErrorKind,
    IrKind,
    TensorName,
    TensorView,
)

MAX_SECONDS = 60.0
SHAPE, VALUE = (1,), (1,)
TEMPORARY = 10**9
"""Names from here on are of intermediate results of ops with more than two operands."""
STATUS = {
    BufferStatus.NONE: None,
    BufferStatus.PLACEHOLDER: "placeholder",
    BufferStatus.VALUE: "value",
    BufferStatus.DELETED: "deleted",
}


@dataclass(frozen=True, slots=True)
class Outlined:
    """How far the law follows a recording."""

    compared: int
    """Looks at tensors that were compared."""
    found: tuple[str, ...]
    """What the law says otherwise; it ends with the first line that has such a thing."""
    end: str = ""
    """Why the law stopped following before the end, if it did."""


def outline(recording: Recording, design: Design, seconds: float | None = None) -> Outlined:
    """Run the outline of a recording by the law under a design, for so long at most."""
    until = monotonic() + (MAX_SECONDS if seconds is None else seconds)
    run = Outline(design, uploads=recording.header.env.get("XLA_TENSOR_UPDATE_SYNC") != "0")
    compared = 0
    for line in recording.lines:
        if isinstance(line.outcome, Raised) and line.action not in BOUNDARIES:
            return Outlined(compared, (), f"{line.action} raised in line {line.line}")
        if monotonic() > until:
            return Outlined(compared, (), f"out of time at line {line.line}")
        run.take(line)
        if line.action in BOUNDARIES and line.tensors is not None:
            found = (*run.ending(line), *run.differences(line))
            compared += run.looked
            if found:
                return Outlined(compared, found)
    return Outlined(compared, ())


class Outline:
    """The law's state along a recording."""

    def __init__(self, design: Design, uploads: bool) -> None:
        self.design, self.uploads = design, uploads
        self.state: State = initial_state()
        self.shown: dict[str, RawTensor | RawVoid] = {}
        self.looked = 0
        self._temporaries = TEMPORARY

    def take(self, line: Line) -> None:
        """Everything that the law does for one line; the execution that it starts ends."""
        if line.action in BOUNDARIES:
            self._do(v.EvictCache())
        for action in self._actions(line):
            self._do(action)

    def _do(self, action: Action) -> None:
        """An action that is not possible is left out: then something was made unseen.

        As `markstep.spec.schedule.perform`, but on the one state, since nobody looks back, and
        without the ghost that says what is lost: it would look at every record after every op.
        """
        state, design = self.state, self.design
        if not enabled(state, action, design) or not fits(state, action):
            return
        self._step(with_facts(state, action, design))
        while state.call.phase != Phase.IDLE:
            self._step(next_move(state, design))
        while state.execution.running and not state.device.crashed:
            self._step(end_of_execution(state, design))

    def _step(self, action: AnyAction) -> None:
        ACTIONS[type(action)].effect(self.state, action, self.design)

    # ---- lines as actions -------------------------------------------------------------------

    def _actions(self, line: Line) -> Iterator[Action]:
        match line.action:
            case "op":
                yield from self._op(line)
            case "from_host":
                yield v.CreateFromHost(named(line.tensor), VALUE, SHAPE, upload=self.uploads)
            case "copy_host":
                yield from self._known(line.tensor)
                yield v.CopyFromHost(named(line.tensor), VALUE, self.uploads)
            case "clone":
                yield from self._known(line.text("a"))
                yield v.Clone(named(line.tensor), named(line.text("a")))
            case "copy_":
                yield from self._known(line.text("dst"), line.text("src"))
                yield v.CopyInto(named(line.text("dst")), named(line.text("src")))
            case "drop":
                for name in line.names("tensors"):
                    self.shown.pop(name, None)
                    yield v.Drop(named(name))
            case "run_cached":
                for name in line.names("outs"):
                    yield v.CreateFromHost(named(name), VALUE, SHAPE)
            case _:
                yield from self._call(line)

    def _call(self, line: Line) -> Iterator[Action]:
        """Calls that evaluate, ask and switch."""
        tensors = tuple(map(named, line.names("tensors")))
        yield from self._known(*line.names("tensors"))
        wait = line.args.left.get("wait") is not False
        match line.action:
            case "mark_step":
                yield v.StepBarrier(wait)
            case "sync_live":
                yield v.SyncLive(wait)
            case "sync_multi":
                yield v.Sync(tensors, line.args.left.get("sync_xla_data") is not False, wait)
            case "read":
                yield from self._known(line.tensor)
                yield v.ReadOne(named(line.tensor))
            case "read_many":
                yield v.ReadMany(tensors)
            case "warm_up_cache":
                yield v.WarmUp(tensors)
            case "graph_hash":
                yield v.GraphHash(tensors)
            case "wait_device_ops":
                yield v.WaitDevice()
            case "clear_pending_irs":
                yield v.ClearPending()
            case "set_donation":
                yield from self._known(line.tensor)
                yield v.SetDonation(named(line.tensor), line.args.left.get("flag") is not False)

    def _known(self, *names: str) -> Iterator[Action]:
        """Tensors that nobody saw being made: data, as far as can be told."""
        for name in dict.fromkeys(names):
            if named(name) not in self.state.tensors:
                yield v.CreateFromHost(named(name), VALUE, SHAPE)

    def _op(self, line: Line) -> Iterator[Action]:
        """An op of any number of operands and results, as additions."""
        yield from self._known(*line.names("inputs"), *line.names("writes"))
        inputs = list(dict.fromkeys(map(named, line.names("inputs"))))
        written = list(map(named, line.names("writes")))
        used: list[TensorName] = []
        for out in map(named, line.names("outs")):
            yield from self._sum(out, inputs, used)
        others = [name for name in inputs if name not in written]
        for target in written:
            if not others:
                yield v.AssignInPlace(target, "neg")
                continue
            operand = others[0]
            if len(others) > 1:
                operand = self._temporary(used)
                yield from self._sum(operand, others, used)
            yield v.AssignInPlace(target, "add", (operand,))
        yield from map(v.Drop, used)

    def _sum(
        self, out: TensorName, inputs: list[TensorName], used: list[TensorName]
    ) -> Iterator[Action]:
        """``out`` over the ir of all inputs."""
        if not inputs:
            yield v.Fill(out, SHAPE, 0)
        elif len(inputs) == 1:
            yield v.Apply(out, "neg", (inputs[0],))
        else:
            so_far = inputs[0]
            for other in inputs[1:-1]:
                made = self._temporary(used)
                yield v.Apply(made, "add", (so_far, other))
                so_far = made
            yield v.Apply(out, "add", (so_far, inputs[-1]))

    def _temporary(self, used: list[TensorName]) -> TensorName:
        self._temporaries += 1
        used.append(TensorName(self._temporaries))
        return used[-1]

    # ---- what is compared -------------------------------------------------------------------

    def ending(self, line: Line) -> Iterator[str]:
        """Whether the call raised, and whether it does so by the law."""
        raised = isinstance(line.outcome, Raised)
        if raised != (self.state.raised != ErrorKind.NONE):
            told = "raised" if raised else "returned"
            yield f"{where(line)}: it {told}; the law says {self.state.raised.value}"

    def differences(self, line: Line) -> Iterator[str]:
        """What tensors show behind a line, and what the law says of them."""
        self.shown.update(line.tensors or {})
        views = observe(self.state)
        only = (line.tensor,) if line.action == "read" else tuple(self.shown)
        self.looked = 0
        for name in only:
            shown, view = self.shown.get(name), views.get(named(name))
            if shown is None or view is None:
                continue
            self.looked += 1
            expected, observed = in_law(view), in_log(shown)
            if expected != observed:
                yield f"{where(line)}: {name} is {observed}; the law says {expected}"


def where(line: Line) -> str:
    """A line, by its number and its place in the program."""
    return f"line {line.line}, {line.action}" + (f" at {line.at}" if line.at else "")


def named(name: str) -> TensorName:
    """The number of a tensor's name."""
    return TensorName(int(name[1:]))


def in_law(view: TensorView) -> str:
    """What the law says that a tensor holds."""
    ir = "leaf" if view.ir == IrKind.LEAF else "pending" if view.ir != IrKind.NONE else ""
    return _words(ir, STATUS[view.data], view.host)


def in_log(shown: RawTensor | RawVoid) -> str:
    """What a tensor showed."""
    if isinstance(shown, RawVoid):
        return _words("", None, False)
    ir = "leaf" if shown.ir == "device_data" else "pending" if shown.ir is not None else ""
    return _words(ir, shown.data.state if shown.data else None, shown.host is not None)


def _words(ir: str, data: str | None, host: bool) -> str:
    parts = [ir, data or "", "host copy" if host else ""]
    return ", ".join(filter(None, parts)) or "lost"
