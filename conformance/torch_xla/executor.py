"""The alphabet of actions as calls of torch_xla, and what can be seen between them.

Every call is one that a program in Python can make; none of the observers executes, uploads, locks
or makes ir (`_get_xla_tensor_debug_info`, counters and metrics). After each action the executor
waits until the placeholders that it made have values and the counters stand still, as the recorder
of the raw logs does: what is seen is settled.
"""

import time
from typing import Any

import torch
import torch_xla

from markstep.conformance import adapter
from markstep.conformance.logs.arguments import UnknownRecord
from markstep.conformance.logs.errortexts import kind_of_error
from markstep.conformance.logs.rawrecord import Raised
from markstep.conformance.torch_xla.counters import counters
from markstep.conformance.torch_xla.debuginfo import Seen, read_debug_info
from markstep.conformance.torch_xla.ops import (
    DEVICE,
    BadArgument,
    flat,
    full,
    host_array,
    op_result,
    seen,
)
from markstep.spec import vocabulary as v
from markstep.spec.evaluator import HUGE, result_shape
from markstep.spec.ops import OPS
from markstep.spec.rules.views import step_of
from markstep.spec.vocabulary import BufferStatus, DType, ErrorKind, Observation, TensorName

X = torch_xla._XLAC

LACKS = frozenset(
    {
        adapter.ENVIRONMENT,  # executions end by themselves
        adapter.SCALAR_TENSORS,  # become constants or parameters that are shared
        adapter.ANY_OP_IN_PLACE,
        adapter.WARM_UP_SYNC,  # no call gives that flag
        "evict_cache",  # nothing empties the compilation cache
        "sharding",  # only recorded logs
        "eager",  # a tensor of host data is two actions then, as in recorded logs
    }
)

SETTLE_S = 0.2
"""How long a placeholder may stay empty before it counts as one that nothing will fill."""
QUIET = 3
"""Polls without a change after which the counters stand still."""
POLL_S = 0.001


def about(host_only: bool) -> tuple[str, str, frozenset[str]]:
    """Name, version and capabilities."""
    able = adapter.ALL_CAPABILITIES - LACKS
    able -= {adapter.UPLOAD_ON_COPY if host_only else adapter.HOST_ONLY}
    name = "torch_xla_host" if host_only else "torch_xla"
    return name, f"{torch_xla.__version__} (torch {torch.__version__})", able


class TorchXla:
    """One process of torch_xla, from its first action on."""

    def __init__(self, host_only: bool) -> None:
        self.name, self.version, self.capabilities = about(host_only)
        self.host_only = host_only
        self._tensors: dict[TensorName, torch.Tensor] = {}
        self._layouts: dict[TensorName, tuple[tuple[int, ...], DType]] = {}
        self._results: dict[TensorName, torch.Tensor] = {}
        self._seen: dict[TensorName, Seen] = {}
        self._handles: dict[str, int] = {}
        self._counted: dict[str, int] | None = None

    def reset(self) -> None:
        """A fork is fresh. Raises RuntimeError if it has begun: it does not begin twice."""
        if self._tensors:
            raise RuntimeError("a fork runs one program; the next one needs another fork")

    def close(self) -> None:
        """The fork ends."""

    def apply(self, action: v.Action) -> Observation:
        """One action, settled."""
        self._counted = self._counted or counters()
        try:
            value = self._call(action)
        except BadArgument as error:
            return Observation(ErrorKind.BAD_ARGUMENT, message=str(error))
        except Exception as error:
            self._settle()
            first = str(error).split("\n")[0]
            try:
                kind = kind_of_error(Raised(type(error).__name__, first))
            except UnknownRecord as unknown:
                raise RuntimeError(f"{action}: {unknown}") from error
            return Observation(kind, message=first[:300])
        self._settle()
        return Observation(value=value)

    # ---- looking ----------------------------------------------------------------------------

    def observe(self) -> v.View:
        """Every tensor, and how far the counters have moved."""
        views = {name: self._look(name) for name in self._tensors}
        shown = [seen.handle for seen in views.values() if seen.handle is not None]
        kept = {text: number for text, number in self._handles.items() if text in shown}
        for text in shown:
            kept.setdefault(text, max([*kept.values(), *self._handles.values()], default=0) + 1)
        self._handles = kept
        now = counters()
        old = self._counted or now
        self._counted = now
        moved = {name: now[name] - old[name] for name in now}
        return v.View({name: seen.view(kept) for name, seen in views.items()}, moved)

    def _look(self, name: TensorName) -> Seen:
        """What the debug text says; a lost tensor keeps the names that it was seen with last."""
        try:
            text = X._get_xla_tensor_debug_info(self._tensors[name])
        except RuntimeError:
            return self._seen[name].lost()
        seen = self._seen[name] = read_debug_info(text, self._layouts[name])
        return seen

    def _settle(self) -> None:
        """Wait until what the action began has ended."""
        old = {n for n, s in self._seen.items() if s.data == BufferStatus.PLACEHOLDER}
        until, quiet, last = time.monotonic() + SETTLE_S, 0, None
        while quiet < QUIET and time.monotonic() < until:
            now = counters()
            empty = [n for n in self._tensors if n not in old and self._is_empty(n)]
            quiet = quiet + 1 if now == last and not empty else 0
            last = now
            time.sleep(POLL_S)
        for name in self._tensors:
            self._look(name)

    def _is_empty(self, name: TensorName) -> bool:
        try:
            return "Data Handle: None" in X._get_xla_tensor_debug_info(self._tensors[name])
        except RuntimeError:
            return False

    # ---- names ------------------------------------------------------------------------------

    def _get(self, name: TensorName) -> torch.Tensor:
        if name not in self._tensors:
            raise BadArgument(f"there is no tensor t{name}")
        return self._tensors[name]

    def _all(self, names: tuple[TensorName, ...]) -> list[torch.Tensor]:
        return [self._get(name) for name in names]

    def _new(self, name: TensorName) -> TensorName:
        if name in self._tensors:
            raise BadArgument(f"the name t{name} is taken")
        return name

    def _keep(self, name: TensorName, tensor: torch.Tensor, shape: Any, dtype: DType) -> None:
        self._tensors[name], self._layouts[name] = tensor, (tuple(shape), dtype)
        self._look(name)

    # ---- actions ----------------------------------------------------------------------------

    def _call(self, action: v.Action) -> object:
        match action:
            case v.CreateFromHost():
                self._create(action)
            case v.CreatePlaceholder():
                new = self._new(action.out)
                kind = {DType.F32: "f32", DType.S32: "s32"}[action.dtype]
                made = X._xla_create_placeholder_tensor({"type": kind, "sizes": list(action.shape)})
                self._keep(new, made, action.shape, action.dtype)
            case v.Fill():
                new = self._new(action.out)
                self._keep(new, full(action), action.shape, action.dtype)
            case v.Random():
                target = self._get(action.target)
                if action.bound < 1 or self._layouts[action.target][1] != DType.F32:
                    raise BadArgument(f"no float32 from 0 to {action.bound - 1}")
                target.random_(0, action.bound)
            case v.Apply():
                self._apply(action)
            case v.AssignInPlace():
                self._assign(action)
            case v.Clone():
                new, source = self._new(action.out), self._get(action.source)
                self._keep(new, source.clone(), *self._layouts[action.source])
            case v.Detach():
                new, source = self._new(action.out), self._get(action.source)
                self._keep(new, source.detach(), *self._layouts[action.source])
            case v.ViewOf():
                new, source = self._new(action.out), self._get(action.source)
                shape, dtype = self._layouts[action.source]
                self._keep(new, seen(source, action), step_of(action, shape).shape, dtype)
            case v.Look():
                X._get_xla_tensor_debug_info(self._get(action.tensor))
            case v.CopyInto():
                target, source = self._get(action.target), self._get(action.source)
                self._same_layout(action.target, self._layouts[action.source])
                target.copy_(source)
            case v.CopyFromHost():
                target = self._get(action.target)
                shape, dtype = self._layouts[action.target]
                target.copy_(host_array(action.value, shape, dtype))
            case v.Drop():
                self._get(action.tensor)
                del self._tensors[action.tensor], self._layouts[action.tensor]
                del self._seen[action.tensor]
            case _:
                return self._evaluate(action)
        return None

    def _evaluate(self, action: v.Action) -> object:
        match action:
            case v.Sync():
                X._xla_sync_multi(self._all(action.tensors), [], action.wait, action.sync)
            case v.SyncLive():
                X._xla_sync_live_tensors(DEVICE, [], action.wait)
            case v.SetSeed():
                if not 0 <= action.seed < 2**64:
                    raise BadArgument(f"{action.seed} is no seed")
                X._xla_set_rng_seed(action.seed, DEVICE)
            case v.GetSeed():
                return int(X._xla_get_rng_seed(DEVICE))
            case v.StepBarrier():
                torch_xla.sync(wait=action.wait)
            case v.WarmUp():
                self._warm_up(action)
            case v.ReadOne():
                return flat(self._get(action.tensor).cpu())
            case v.ReadMany():
                arrays = X._xla_get_cpu_tensors(self._all(action.tensors))
                self._results.update(zip(action.tensors, arrays, strict=True))
                return tuple([flat(array) for array in arrays])
            case v.GraphHash():
                return X._get_graph_hash(self._all(action.tensors)).hex()
            case v.RunCached():
                self._run_cached(action)
            case v.DumpGraph():
                X._get_xla_tensors_hlo(self._all(action.tensors))
            case _:
                return self._switch(action)
        return None

    def _switch(self, action: v.Action) -> object:
        match action:
            case v.ClearPending():
                X._clear_pending_irs(DEVICE)
            case v.SetDonation():
                return bool(X._set_buffer_donation(self._get(action.tensor), action.flag))
            case v.SetDonorConfig():
                X._xla_set_enable_alias_with_buffer_donor_config(action.flag)
            case v.WaitDevice():
                X._xla_wait_device_ops([])
            case v.AllowExecution():
                X._set_allow_execution(action.flag)
            case v.WriteToResult():
                self._get(action.tensor)
                if action.tensor in self._results:
                    self._results[action.tensor].add_(1)
            case _:
                raise BadArgument(f"unknown action {action}")
        return None

    def _create(self, action: v.CreateFromHost) -> None:
        new = self._new(action.out)
        made = host_array(action.value, action.shape, action.dtype).to(torch_xla.device())
        if self.host_only and action.upload:
            # data stay on the host until a graph needs them; asking for its text sends them
            X._get_xla_tensors_text([made])
        self._keep(new, made, action.shape, action.dtype)

    def _apply(self, action: v.Apply) -> None:
        new, inputs = self._new(action.out), self._all(action.inputs)
        shape, dtype = self._result(action.op, action.inputs, action.scalar)
        self._keep(new, op_result(action.op, inputs, action.scalar, shape, dtype), shape, dtype)

    def _assign(self, action: v.AssignInPlace) -> None:
        names = (action.target, *action.others)
        target, *others = self._all(names)
        self._same_layout(action.target, self._result(action.op, names, action.scalar))
        match action.op.removesuffix("_scalar"), action.scalar:
            case "neg", None:
                target.neg_()
            case ("add" | "sub" | "mul") as op, scalar:
                getattr(target, f"{op}_")(others[0] if scalar is None else scalar)
            case _:
                raise BadArgument(f"{action.op} in place")

    def _same_layout(self, name: TensorName, layout: tuple[tuple[int, ...], DType]) -> None:
        if self._layouts[name] != layout:
            raise BadArgument(f"t{name} has another shape or dtype")

    def _result(
        self, op: str, names: tuple[TensorName, ...], scalar: v.Number | None
    ) -> tuple[tuple[int, ...], DType]:
        """The layout of a result: torch would broadcast and promote more than the alphabet does."""
        layouts = [self._layouts[name] for name in names]
        known = OPS.get(op)
        if known is None or known.tensors != len(names) or (scalar is None) == known.number:
            raise BadArgument(f"{op} does not take {len(names)} tensors")
        if len({dtype for _, dtype in layouts}) != 1:
            raise BadArgument(f"{op} of different dtypes")
        if op == "failing_execute":
            return (HUGE,), layouts[0][1]
        shapes = [shape for shape, _ in layouts] + ([] if scalar is None else [()])
        try:
            return result_shape(op.removesuffix("_scalar"), tuple(shapes)), layouts[0][1]
        except ValueError as error:
            raise BadArgument(str(error)) from error

    def _warm_up(self, action: v.WarmUp) -> None:
        if action.sync:
            raise BadArgument("there is no call that warms up with sync")
        X._xla_warm_up_cache(self._all(action.tensors), [])

    def _run_cached(self, action: v.RunCached) -> None:
        tensors = self._all(action.tensors)
        if any(name in self._tensors for name in action.outs):
            raise BadArgument("a name for a result is taken")
        try:
            key = X._get_graph_hash(tensors)
        except Exception:
            # the action exports its leaves before it numbers them: a lost tensor comes first
            X._get_tensors_xla_device_data_node(tensors)
            raise
        _, leaves = X._get_tensors_xla_device_data_node(tensors)
        results = X._run_cached_graph(key, leaves)
        for name, result in zip(action.outs, results, strict=False):
            dtype = DType(str(result.dtype).removeprefix("torch."))
            self._keep(name, result, result.shape, dtype)
