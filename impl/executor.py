"""The public face: one lazy executor with its tensors, syncs, reads and controls.

Source: XLAGraphExecutor and the ``_XLAC`` bindings around it; semantics.md §4.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

from markstep.impl import (
    device,
    donation,
    eager,
    giving,
    hlo,
    inspection,
    randomness,
    reading,
    trace,
)
from markstep.impl.aval import Aval, HostArray, aval_of, element_type, host_array, lengths
from markstep.impl.context import Context, Inject, InlineScalars, LazyLoading
from markstep.impl.devices import DeviceCalls
from markstep.impl.errors import bad_argument
from markstep.impl.function import apply_function, function_op
from markstep.impl.graph import Key
from markstep.impl.inquiry import Inquiry
from markstep.impl.lower import CompileMode
from markstep.impl.node import Node
from markstep.impl.programs import ProgramCalls
from markstep.impl.randomness import RngState
from markstep.impl.record import Record
from markstep.impl.spmd import SpmdCalls
from markstep.impl.syncing import deliver, sync_live, sync_records
from markstep.impl.table import TABLE, named
from markstep.impl.tensors import Tensor


class Executor(ProgramCalls, SpmdCalls, DeviceCalls, Inquiry):
    """A lazy executor for one device, or for several that work as one (``use_spmd``).

    ``compile_mode``: "xla" compiles each graph to one program; "interpret" runs the same graph
    op by op, behind the same key, cache, donation and errors. ``manual``: no worker thread; an
    execution stays pending until ``complete()`` or ``fail()``, or until a call must wait for it.
    ``inline_scalars``: which numbers are part of the program; the others are parameters, so that
    graphs that differ in them share one program. ``devices``: how many there are in SPMD mode;
    None: all that JAX has. ``lazy_loading``: what becomes of data on the host that are marked with
    ``lazy`` (``context.LazyLoading``); only "leaf" keeps every law. ``always_lazy``: other marks
    are lazy, too.
    """

    def __init__(
        self,
        compile_mode: CompileMode = "xla",
        manual: bool = False,
        cache_size: int = 2048,
        inline_scalars: InlineScalars = "special",
        devices: int | None = None,
        lazy_loading: LazyLoading = "leaf",
        always_lazy: bool = False,
    ) -> None:
        if compile_mode not in ("xla", "interpret"):
            raise ValueError(f"compile_mode is 'xla' or 'interpret', not {compile_mode!r}")
        if inline_scalars not in ("special", "all", "none"):
            given = f"not {inline_scalars!r}"
            raise ValueError(f"inline_scalars is 'special', 'all' or 'none', {given}")
        if devices is not None and devices < 1:
            raise ValueError(f"there is at least one device, not {devices!r}")
        if lazy_loading not in ("leaf", "node", "host", "stub"):
            given = f"not {lazy_loading!r}"
            raise ValueError(f"lazy_loading is 'leaf', 'node', 'host' or 'stub', {given}")
        kinds = (inline_scalars, devices, lazy_loading, always_lazy)
        self._ctx = Context(compile_mode, manual, cache_size, *kinds)

    # -- tensors ------------------------------------------------------------------------------

    def tensor(self, array: npt.ArrayLike, *, upload: bool = True) -> Tensor:
        """A tensor of host data (copied); without ``upload`` it stays on the host until needed."""
        data = host_array(array)
        ctx = self._ctx
        with ctx.lock:
            return Tensor(ctx, trace.from_host(ctx, data, to_device_now=upload))

    def placeholder(self, shape: tuple[int, ...], dtype: npt.DTypeLike = "float32") -> Tensor:
        """A tensor with a shape and no data, now or ever: for tracing and compiling ahead."""
        ctx = self._ctx
        aval = aval_of(lengths(shape), element_type(dtype))
        with ctx.lock:
            return Tensor(ctx, trace.placeholder(ctx, aval))

    def full(
        self, shape: tuple[int, ...], value: float, dtype: npt.DTypeLike = "float32"
    ) -> Tensor:
        """A tensor of one number, as ``numpy.full``; only traced, data of its size are not sent."""
        ctx = self._ctx
        aval = aval_of(lengths(shape), element_type(dtype))
        with ctx.lock:
            record = trace.filled(ctx, aval, value)
            eager.compute(ctx, record)
            return Tensor(ctx, record)

    def randint(self, shape: tuple[int, ...], high: int) -> Tensor:
        """Random whole numbers from 0 to ``high`` - 1, as float32; only traced."""
        aval = aval_of(lengths(shape), np.float32)
        with self._ctx.lock:
            return self._pending(randomness.integers(self._ctx, aval, high))

    def uniform(self, shape: tuple[int, ...]) -> Tensor:
        """Random float32 numbers from 0 to 1; only traced."""
        aval = aval_of(lengths(shape), np.float32)
        with self._ctx.lock:
            return self._pending(randomness.floats(self._ctx, aval, "uniform"))

    def normal(self, shape: tuple[int, ...]) -> Tensor:
        """Random float32 numbers with mean 0 and variance 1; only traced."""
        aval = aval_of(lengths(shape), np.float32)
        with self._ctx.lock:
            return self._pending(randomness.floats(self._ctx, aval, "normal"))

    def _pending(self, node: Node) -> Tensor:
        return Tensor(self._ctx, eager.computed(self._ctx, node))

    def apply(self, function: Callable[..., Any], *tensors: Tensor, **static: Hashable) -> Any:
        """Trace a call of any JAX function; its results are tensors, nested as it nests them.

        ``static`` are keyword arguments that are part of the program. Raises BAD_ARGUMENT if the
        function does not take such shapes, or if it or a static argument cannot be hashed.
        """
        ctx = self._ctx
        op = function_op(function, static)
        records = self._records(tensors)
        with ctx.lock:
            results, tree = apply_function(ctx, op, records)
            eager.compute(ctx, *results)
            return jax.tree.unflatten(tree, [Tensor(ctx, record) for record in results])

    def call(
        self, name: str, *tensors: Tensor, scalar: float | None = None, **attrs: Hashable
    ) -> Tensor:
        """Trace a named operation (``table.py``); operands must agree, nothing is broadcast."""
        ctx = self._ctx
        with ctx.lock:
            node = self._node(name, tensors, scalar, attrs)
            return Tensor(ctx, eager.computed(ctx, node))

    def call_in_place(
        self,
        target: Tensor,
        name: str,
        *others: Tensor,
        scalar: float | None = None,
        **attrs: Hashable,
    ) -> None:
        """``target = name(target, *others[, scalar])`` for every tensor object that shares it."""
        ctx = self._ctx
        with ctx.lock:
            (record,) = self._records([target])
            node = self._node(name, (target, *others), scalar, attrs, record.aval)
            eager.assign(ctx, record, node)

    def _node(
        self,
        name: str,
        tensors: tuple[Tensor, ...],
        scalar: float | None,
        attrs: dict[str, Hashable],
        must_be: Aval | None = None,
    ) -> Node:
        """The node of a named operation; everything is checked before anything is touched."""
        records = self._records(tensors)
        entry = TABLE.get(name)
        if entry is None:
            raise bad_argument(f"there is no operation {name!r}")
        takes_scalar = name.endswith("_scalar")
        if len(records) != entry.tensors or takes_scalar != (scalar is not None):
            raise bad_argument(
                f"{name} takes {entry.tensors} tensors" + " and a scalar" * takes_scalar
            )
        op = named(name, **attrs)
        if scalar is None:
            return trace.make_node(self._ctx, op, records, must_be)
        return trace.make_node_with_scalar(self._ctx, op, records[0], scalar, must_be)

    # -- syncs and reads ----------------------------------------------------------------------

    def sync(self, tensors: Iterable[Tensor], sync: bool = True, wait: bool = True) -> None:
        """Evaluate the tensors; ``sync`` lets what in-place updates made obsolete be consumed."""
        sync_records(self._ctx, self._records(tensors), sync=sync, wait=wait)

    def sync_live(self, wait: bool = True) -> None:
        """Evaluate every live tensor, in order of id."""
        sync_live(self._ctx, wait=wait)

    def mark_step(self, wait: bool = False) -> None:
        """The step barrier: ``sync_live``, then a new step begins."""
        self.sync_live(wait)
        with self._ctx.lock:
            self._ctx.count("MarkStep")
            self._ctx.seeds.begin_step()

    def read(self, tensor: Tensor) -> HostArray:
        """The value of one tensor; pending work becomes data."""
        return reading.read_one(self._ctx, *self._records([tensor]))

    def read_many(self, tensors: Iterable[Tensor]) -> list[HostArray]:
        """The values of several tensors by one execution; pending work stays pending."""
        return reading.read_many(self._ctx, self._records(tensors))

    def wait_device(self) -> None:
        """Wait until nothing runs, then raise the oldest failure that a tensor carries, if any."""
        ctx = self._ctx
        with ctx.lock:
            device.wait_idle(ctx)
            deliver(ctx, ctx.live_records())

    # -- switches -----------------------------------------------------------------------------

    def set_donation(self, tensor: Tensor, flag: bool = True) -> bool:
        """Permit the next execution to consume the tensor's buffer; False if it has none."""
        (record,) = self._records([tensor])
        with self._ctx.lock:
            return donation.mark(self._ctx, record, flag)

    def donate(self, tensor: Tensor, *, strict: bool = False) -> None:
        """Give the tensor up: the next barrier that reads its buffer may consume it.

        Every later use raises, with the line of this call. ``strict``: refused if another tensor
        shows the buffer.
        """
        (record,) = self._records([tensor])
        with self._ctx.lock:
            giving.give(self._ctx, record, strict=strict)

    def set_donor_config(self, flag: bool = True) -> None:
        """Honour the marks of ``set_donation`` also where ``sync`` is off."""
        for ctx in self._ctx.family:
            ctx.donor_config = flag

    def allow_execution(self, flag: bool = True) -> None:
        """Permit or forbid compilation and execution: a forbidden one raises REFUSED."""
        for ctx in self._ctx.family:
            ctx.allowed = flag

    def set_eager(self, flag: bool = True) -> None:
        """Run each operation as soon as it is traced, or only when its result is needed. Not on
        several devices."""
        with self._ctx.lock:
            if flag and self._ctx.spmd:
                raise bad_argument("programs run on several devices: eager mode is for one")
            for ctx in self._ctx.family:
                ctx.eager = flag

    def set_seed(self, seed: int) -> None:
        """The seed of this step, 64 bits; the seeds of later steps follow from it."""
        with self._ctx.lock:
            randomness.set_seed(self._ctx, seed)

    def get_seed(self) -> int:
        """The running seed: ``set_seed`` with it goes on with the same numbers within this step."""
        return self._ctx.seeds.running

    def rng_state(self) -> RngState:
        """What ``set_rng_state`` needs to go on with the same numbers, later steps included."""
        with self._ctx.lock:
            return RngState(self._ctx.seeds.step, self._ctx.seeds.running)

    def set_rng_state(self, state: RngState) -> None:
        """Go on where ``rng_state`` was asked for; executors may hand it to one another."""
        if not isinstance(state, RngState):
            raise bad_argument(f"a state is what rng_state gave, not {state!r}")
        with self._ctx.lock:
            self._ctx.seeds.set(state.step, state.running)

    # -- looking ------------------------------------------------------------------------------

    def dump_graph(self, tensors: Iterable[Tensor]) -> str:
        """The pending graph as text. Changes nothing."""
        return inspection.dump_graph(self._ctx, self._records(tensors))

    def stablehlo(self, tensors: Iterable[Tensor], form: hlo.Form = "text") -> str | bytes:
        """The pending graph as a StableHLO module, "text" or portable "bytecode", or as "hlo"."""
        return hlo.dump(self._ctx, self._records(tensors), form)

    def describe(self, tensor: Tensor) -> inspection.Description:
        """What a tensor is made of right now. Never executes, never waits."""
        return inspection.describe(self._ctx, tensor.record)

    @property
    def counters(self) -> dict[str, int]:
        """A snapshot of all counters, under torch_xla's names."""
        with self._ctx.lock:
            return self._ctx.snapshot()

    # -- control, for tests and conformance ---------------------------------------------------

    @property
    def inject(self) -> Inject:
        """Faults to come: ``inject.compile = 1`` fails the next compilation, ``execution`` too."""
        return self._ctx.inject

    @property
    def compile_mode_for(self) -> Callable[[Key], CompileMode] | None:
        """Chooses the mode of each program that is compiled; None: always ``compile_mode``."""
        return self._ctx.mode_for

    @compile_mode_for.setter
    def compile_mode_for(self, choose: Callable[[Key], CompileMode] | None) -> None:
        self._ctx.mode_for = choose

    @property
    def running(self) -> bool:
        """Whether an execution owns the device."""
        return self._ctx.running is not None

    def ruled_by(self, lock: Any, idle: Any, pool: Any) -> None:
        """Let somebody else say which thread goes on: the lock of the device, its condition, and
        what is given the work of the worker, each as in ``threading`` and ``concurrent``."""
        self._ctx.lock, self._ctx.idle, self._ctx.pool = lock, idle, pool

    def complete(self) -> bool:
        """Run the execution that ``manual`` left pending; whether it ended well."""
        return device.complete(self._ctx)

    def fail(self) -> None:
        """End that execution with EXECUTION_FAILED, without running it."""
        device.fail(self._ctx)

    def _records(self, tensors: Iterable[Tensor]) -> list[Record]:
        if isinstance(tensors, Tensor):
            raise bad_argument("give a list of tensors, not one tensor")
        records = []
        for tensor in tensors:
            if getattr(tensor, "context", None) is not self._ctx:
                raise bad_argument(f"{tensor!r} is not a tensor of this executor")
            records.append(tensor.record)
        return records
