"""The JAX executor of `markstep.impl` behind the adapter protocol."""

from collections import Counter
from dataclasses import asdict
from importlib.metadata import version
from math import prod

import numpy as np

from markstep.conformance.adapter import ALL_CAPABILITIES
from markstep.conformance.adapters.builds import Build, build_of
from markstep.conformance.adapters.shardings import has_devices, parts, sharding_of, words
from markstep.conformance.lockstep.views import COMPARED_COUNTERS
from markstep.impl.aval import HostArray
from markstep.impl.errors import ExecutorError, bad_argument
from markstep.impl.executor import Executor
from markstep.impl.graph import Key
from markstep.impl.lower import CompileMode
from markstep.impl.tensors import Tensor
from markstep.spec import vocabulary as v
from markstep.spec.design import SOUND, Design
from markstep.spec.evaluator import MOST_ELEMENTS
from markstep.spec.layouts import DEVICES
from markstep.spec.named_designs import DESIGNS
from markstep.spec.vocabulary import DType, Nested, Observation, TensorName

COMPILED_EVERY = 50
"""One program of so many is really compiled by XLA, the others run op by op."""
COMPILED_FIRST = 5
"""And the first few of each run are: no run does without."""
COMPILED_OF_A_KIND = 3
"""And the first few graphs with each operation, and with each set of donors."""


class ReferenceAdapter:
    """A fresh executor for each program; executions end by A30 and A31, or when a call waits."""

    name = "reference"
    capabilities = ALL_CAPABILITIES - {"aliasing"}

    def __init__(self, compile_mode: CompileMode | None = None, design: Design = SOUND) -> None:
        """``compile_mode``: that of every program; None: mostly "interpret", sometimes "xla".
        ``design``: one that the executor can be built as; another one is not imitated."""
        self.version = version("markstep")
        if not has_devices():
            self.capabilities = ALL_CAPABILITIES - {"aliasing", "sharding"}
        self._fixed, self._resets, self._compiled = compile_mode, 0, 0
        self._kinds: Counter[str] = Counter()
        self._build = build_of(design) or Build()
        self._other = "" if build_of(design) else f"; it cannot be built as {design.name}"
        built = self._build != Build() and design.name in DESIGNS
        self.described_by = design.name if built else ""
        self._executor = self._new_executor(compile_mode or "interpret")
        self._tensors: dict[TensorName, Tensor] = {}
        self._results: dict[TensorName, HostArray] = {}
        self._counters: dict[str, int] = {}
        self._modes: dict[Key, CompileMode] = {}

    def reset(self) -> None:
        """A new executor; what JAX has compiled for single ops stays."""
        self._mode = mode = self._fixed or self._next_mode()
        self._executor = self._new_executor(mode)
        self._compiled += mode == "xla"
        if self._fixed is None:
            self._executor.compile_mode_for = self._mode_for
        self._tensors, self._results, self._counters, self._modes = {}, {}, {}, {}
        self._resets += 1

    def _new_executor(self, mode: CompileMode) -> Executor:
        return Executor(mode, manual=True, devices=DEVICES, **asdict(self._build))

    def _next_mode(self) -> CompileMode:
        compiled = self._resets < COMPILED_FIRST or self._resets % COMPILED_EVERY == 0
        return "xla" if compiled else "interpret"

    def _mode_for(self, key: Key) -> CompileMode:
        """A program has one mode for good: how it lays its outputs may depend on it."""
        if key not in self._modes:
            self._modes[key] = self._new_mode(key)
        return self._modes[key]

    def _new_mode(self, key: Key) -> CompileMode:
        kinds = {*map(str, key.ops), str(key.donors)}
        if key.spmd and "failing_execute" in kinds:
            return "interpret"  # on several devices JAX goes on to complain when the process ends
        rare = any(self._kinds[kind] < COMPILED_OF_A_KIND for kind in kinds)
        self._kinds.update(kinds if rare else ())
        return "xla" if rare else self._mode

    @property
    def remark(self) -> str:
        """For the report: how much was really compiled."""
        ran = f"{self._compiled} of {self._resets} programs were compiled by XLA"
        rare = "rare graphs of the others, which ran op by op (shrinking included)"
        return f"{ran}, and {rare}{self._other}"

    def apply(self, action: v.Action) -> Observation:
        """One action. Every error of the executor is one of the vocabulary's."""
        try:
            return Observation(value=self._call(action))
        except ExecutorError as error:
            return Observation(error.kind, message=str(error))

    def observe(self) -> v.View:
        """The description of every tensor, and how far each counter moved."""
        now, before = self._executor.counters, self._counters
        self._counters = now
        moved = {n: now[n] - before.get(n, 0) for n in COMPARED_COUNTERS if n in now}
        return v.View({name: self._view(t) for name, t in self._tensors.items()}, moved)

    @property
    def laid_out(self) -> tuple[v.Sharding, ...] | None:
        """How the outputs of the program that ran last lie, in order."""
        outputs = self._executor.laid_out
        return tuple([sharding_of(*output) for output in outputs]) or None

    def close(self) -> None:
        """Nothing outlives the executor."""

    def _view(self, tensor: Tensor) -> v.TensorView:
        seen = self._executor.describe(tensor)
        return v.TensorView(
            seen.record,
            seen.alias,
            seen.ir,
            seen.data,
            seen.buffer,
            seen.host,
            seen.shape,
            DType(seen.dtype),
            sharding_of(seen.spec, seen.shape),
            sharding_of(seen.layout, seen.shape),
        )

    # ---- names ------------------------------------------------------------------------------

    def _get(self, name: TensorName) -> Tensor:
        if name not in self._tensors:
            raise bad_argument(f"there is no tensor t{name}")
        return self._tensors[name]

    def _all(self, names: tuple[TensorName, ...]) -> list[Tensor]:
        return [self._get(name) for name in names]

    def _new(self, name: TensorName) -> TensorName:
        if name in self._tensors:
            raise bad_argument(f"the name t{name} is taken")
        return name

    # ---- actions ----------------------------------------------------------------------------

    def _trace(self, action: v.Action) -> None:
        """Actions that make, change or drop tensors; nothing runs."""
        executor, tensors = self._executor, self._tensors
        match action:
            case v.CreateFromHost():
                new = self._new(action.out)
                array = _array(action.value, action.shape, action.dtype)
                tensors[new] = executor.tensor(array, upload=action.upload)
                _scribble(array)
            case v.CreatePlaceholder():
                new = self._new(action.out)
                tensors[new] = executor.placeholder(action.shape, action.dtype.value)
            case v.Fill():
                new = self._new(action.out)
                _require_few(action.shape)
                tensors[new] = executor.full(action.shape, action.scalar, action.dtype.value)
            case v.Random():
                target = self._get(action.target)
                _require_few(target.shape)
                target.random_(action.bound)
            case v.Apply():
                new, inputs = self._new(action.out), self._all(action.inputs)
                tensors[new] = executor.call(action.op, *inputs, scalar=action.scalar)
            case v.AssignInPlace():
                target, others = self._get(action.target), self._all(action.others)
                executor.call_in_place(target, action.op, *others, scalar=action.scalar)
            case v.Clone():
                new = self._new(action.out)
                tensors[new] = self._get(action.source).clone()
            case v.CopyInto():
                self._get(action.target).copy_(self._get(action.source))
            case v.CopyFromHost():
                target = self._get(action.target)
                array = _array(action.value, target.shape, DType(target.dtype.name))
                target.copy_(array, upload=action.upload)
                _scribble(array)
            case v.Detach():
                new = self._new(action.out)
                tensors[new] = self._get(action.source).detach()
            case v.Drop():
                self._get(action.tensor)
                del tensors[action.tensor]
            case _:
                self._lay_out(action)

    def _lay_out(self, action: v.Action) -> None:
        """Actions about several devices."""
        executor = self._executor
        match action:
            case v.UseSpmd():
                executor.use_spmd()
            case v.MarkSharding():
                tensor = self._get(action.tensor)
                mesh, partition = words(action.sharding, tensor.shape)
                executor.mark_sharding(tensor, mesh, partition, lazy=action.lazy)
            case v.ClearSharding():
                executor.clear_sharding(self._get(action.tensor))
            case v.BindData():
                tensor = self._get(action.tensor)
                array = _array(action.value, tensor.shape, DType(tensor.dtype.name))
                executor.bind_data(tensor, array)
                _scribble(array)
            case v.LoadShards():
                self._load_shards(action)
            case _:
                raise bad_argument(f"unknown action {action!r}")

    def _load_shards(self, action: v.LoadShards) -> None:
        tensor = self._get(action.tensor)
        shape, dtype = tensor.shape, DType(tensor.dtype.name)
        value = _flat(_array(action.value, shape, dtype))
        spec = sharding_of(self._executor.sharding_of(tensor), shape)
        if spec in (v.Sharding.NONE, v.Sharding.REPLICATED):
            raise bad_argument(f"t{action.tensor} is not annotated as cut into pieces")
        self._executor.load_shards(tensor, parts(value, shape, dtype, spec))

    def _call(self, action: v.Action) -> object:
        """Actions that may compile, run or wait, and switches. The value, if there is one."""
        executor = self._executor
        match action:
            case v.Sync():
                executor.sync(self._all(action.tensors), sync=action.sync, wait=action.wait)
            case v.SyncLive():
                executor.sync_live(wait=action.wait)
            case v.StepBarrier():
                executor.mark_step(wait=action.wait)
            case v.WarmUp():
                executor.warm_up(self._all(action.tensors), sync=action.sync)
            case v.ReadOne():
                return _taken(executor.read(self._get(action.tensor)))
            case v.ReadMany():
                return self._read_many(action)
            case v.GetSeed():
                return executor.get_seed()
            case v.ReadSpec():
                tensor = self._get(action.tensor)
                return sharding_of(executor.sharding_of(tensor), tensor.shape)
            case v.GraphHash():
                return executor.graph_hash(self._all(action.tensors))
            case v.RunCached():
                self._run_cached(action)
            case v.SetDonation():
                return executor.set_donation(self._get(action.tensor), action.flag)
            case v.DumpGraph():
                executor.dump_graph(self._all(action.tensors))
            case v.WriteToResult():
                self._write_to_result(action)
            case v.CompleteExecution() | v.FailExecution():
                self._end(action)
            case _:
                self._switch(action)
        return None

    def _switch(self, action: v.Action) -> None:
        executor = self._executor
        match action:
            case v.ClearPending():
                executor.clear_pending()
            case v.SetDonorConfig():
                executor.set_donor_config(action.flag)
            case v.WaitDevice():
                executor.wait_device()
            case v.AllowExecution():
                executor.allow_execution(action.flag)
            case v.SetEager():
                executor.set_eager(action.flag)
            case v.SetSeed():
                executor.set_seed(action.seed)
            case v.EvictCache():
                executor.clear_cache()
            case _:
                self._trace(action)

    def _read_many(self, action: v.ReadMany) -> tuple[Nested, ...]:
        arrays = self._executor.read_many(self._all(action.tensors))
        self._results.update(zip(action.tensors, arrays, strict=True))
        values = []
        for place, (name, array) in enumerate(zip(action.tensors, arrays, strict=True), 1):
            values.append(_flat(array))
            if name in action.tensors[place:]:
                _scribble(array)
        return tuple(values)

    def _run_cached(self, action: v.RunCached) -> None:
        tensors, outs = self._all(action.tensors), action.outs
        if any(name in self._tensors for name in outs) or len(set(outs)) < len(outs):
            raise bad_argument("a name for a result is taken")
        pending = len({t.record for t in tensors if t.record.is_pending()})
        if pending > len(outs):
            raise bad_argument(f"{pending} results, but {len(outs)} names for them")
        results = self._executor.run_cached(tensors)
        self._tensors.update(zip(outs, results, strict=False))

    def _write_to_result(self, action: v.WriteToResult) -> None:
        """A25: the array that A15 returned last for the tensor, if any."""
        self._get(action.tensor)
        result = self._results.get(action.tensor)
        if result is not None:
            np.add(result, 1, out=result, casting="unsafe")

    def _end(self, action: v.CompleteExecution | v.FailExecution) -> None:
        if not self._executor.running:
            raise bad_argument("nothing runs on the device")
        if isinstance(action, v.CompleteExecution):
            self._executor.complete()
        else:
            self._executor.fail()


def _require_few(shape: tuple[int, ...]) -> None:
    if prod(shape) > MOST_ELEMENTS:
        raise bad_argument(f"{shape} has more than {MOST_ELEMENTS} elements")


def _array(value: Nested, shape: tuple[int, ...], dtype: DType) -> HostArray:
    if dtype == DType.S64:
        raise bad_argument("tensors have no elements of 64 bits")
    try:
        return np.array(value, dtype.value).reshape(shape)
    except ValueError as error:
        raise bad_argument(f"{len(value)} values do not fill the shape {shape}") from error


def _flat(array: HostArray) -> Nested:
    return tuple(array.ravel().tolist())


def _taken(array: HostArray) -> Nested:
    """The values of an array that belongs to the reader, who then writes to it."""
    values = _flat(array)
    _scribble(array)
    return values


def _scribble(array: HostArray) -> None:
    """Arrays that go in and come out are nobody else's: writing to them must not be noticed."""
    array[...] = 77
