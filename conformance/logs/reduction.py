"""What a step of a raw log means: the reviewed table from records to actions of the law.

One row per action of the log. The docstring of a row says at which boundary the line was written,
and what cannot be observed there. A record without a row, an argument that a row does not take and
an error text without a kind are errors: nothing is skipped.

Source: docs/reference/raw-log-format.md (the calls that were made for each action).
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from markstep.conformance.logs import strictjson as json
from markstep.conformance.logs.arguments import (
    Arguments,
    UnknownRecord,
    device_of,
    dtype_named,
    sharding_spec,
)
from markstep.conformance.logs.rawrecord import Header, RawStep
from markstep.spec import vocabulary as v

HIDDEN = "Not observed:"
"""Where the second part of a row's docstring begins."""

Reduce: TypeAlias = Callable[[Arguments], tuple[v.Action, ...]]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table."""

    record: str
    reduce: Reduce
    boundary: str
    """What has happened when the line was written."""
    hidden: str
    """What the line does not tell."""
    makes: tuple[type, ...]
    """The actions of the law that the row may make, in order."""


REDUCTION: dict[str, Row] = {}
"""Action of the log → its row."""


def row(*records: str, makes: tuple[type, ...]) -> Callable[[Reduce], Reduce]:
    """Enter a function into the table under the names of the records that it reduces."""

    def enter(reduce: Reduce) -> Reduce:
        boundary, found, hidden = (inspect.getdoc(reduce) or "").partition(HIDDEN)
        if not (found and boundary.strip() and hidden.strip()):
            raise TypeError(f"{records}: the docstring does not say what is not observed")
        for record in records:
            REDUCTION[record] = Row(record, reduce, boundary.strip(), hidden.strip(), makes)
        return reduce

    return enter


def reduce_step(
    step: RawStep, header: Header, given: int, eager: bool = False
) -> tuple[v.Action, ...]:
    """The actions of one step; ``given``: how many tensor names the program has given out,
    ``eager``: whether eager mode is on.

    If one of several actions raises, those before it have happened and those after it have not.
    Raises FieldError (malformed), UnknownRecord or NotModelled.
    """
    if step.action not in REDUCTION:
        raise UnknownRecord(f"unknown action {json.shown(step.action)}")
    step, _ = device_of(step, header)
    arguments = Arguments(step, header, given, eager)
    actions = REDUCTION[step.action].reduce(arguments)
    arguments.end()
    return actions


# ---- the table -------------------------------------------------------------------------------


@row("from_host", makes=(v.CreateFromHost, v.Fill, v.CopyFromHost))
def from_host(a: Arguments) -> tuple[v.Action, ...]:
    """`torch.tensor(value, dtype).reshape(shape).to(device)` has returned. With
    XLA_TENSOR_UPDATE_SYNC=0 the data stays on the host. In eager mode the empty tensor that the
    data are copied into is computed first.
    Not observed: whether the transfer has ended; whom the new buffer belongs to."""
    values, dtype, shape = a.values(), a.take("dtype", dtype_named), a.shape()
    out = a.new()
    if a.eager:
        return (v.Fill(out, shape, 0, dtype), v.CopyFromHost(out, values, a.uploads))
    return (v.CreateFromHost(out, values, shape, dtype, a.uploads),)


@row("placeholder", makes=(v.CreatePlaceholder,))
def placeholder(a: Arguments) -> tuple[v.Action, ...]:
    """`_xla_create_placeholder_tensor` has returned.
    Not observed: that the placeholder will stay one; the next steps show it."""
    shape = a.shape()
    return (v.CreatePlaceholder(a.new(), shape),)


@row("add", "sub", "mul", "matmul", makes=(v.Apply,))
def binary(a: Arguments) -> tuple[v.Action, ...]:
    """The op on two tensors is traced, its result exists.
    Not observed: the graph below its root node."""
    inputs = (a.tensor("a"), a.tensor("b"))
    return (v.Apply(a.new(), a.action, inputs),)


@row("add_scalar", "mul_scalar", makes=(v.Apply,))
def with_scalar(a: Arguments) -> tuple[v.Action, ...]:
    """The op on a tensor and a number is traced, its result exists.
    Not observed: whether the number became a constant or a parameter, but for the upload."""
    inputs, number = (a.tensor("a"),), a.scalar()
    return (v.Apply(a.new(), a.action, inputs, number),)


@row("random", makes=(v.Fill, v.Random))
def random(a: Arguments) -> tuple[v.Action, ...]:
    """`torch.randint(0, 100, shape, dtype=float32)` has returned: an empty tensor, then a draw.
    Not observed: the seed in the graph, but for its upload; which numbers the seed gives."""
    shape, out = a.shape(), a.new()
    return (v.Fill(out, shape, 0), v.Random(out))


@row("set_seed", makes=(v.SetSeed,))
def set_seed(a: Arguments) -> tuple[v.Action, ...]:
    """`_xla_set_rng_seed` has returned.
    Not observed: the buffer of the old seed, which graphs may still read."""
    return (v.SetSeed(a.take("n", json.integer)),)


@row("get_seed", makes=(v.GetSeed,))
def get_seed(a: Arguments) -> tuple[v.Action, ...]:
    """`_xla_get_rng_seed` has returned the running seed.
    Not observed: the seed that the step began with."""
    return (v.GetSeed(),)


@row("neg", "failing_compile", "failing_execute", makes=(v.Apply,))
def unary(a: Arguments) -> tuple[v.Action, ...]:
    """The op on one tensor is traced, its result exists; a faulty op fails later.
    Not observed: the graph below its root node."""
    inputs = (a.tensor("a"),)
    return (v.Apply(a.new(), a.action, inputs),)


@row("inplace_add", makes=(v.AssignInPlace,))
def inplace_add(a: Arguments) -> tuple[v.Action, ...]:
    """`T(a).add_(T(b))` has returned.
    Not observed: the record that was replaced."""
    return (v.AssignInPlace(a.tensor("a"), "add", (a.tensor("b"),)),)


@row("inplace_add_scalar", "inplace_mul_scalar", makes=(v.AssignInPlace,))
def inplace_with_scalar(a: Arguments) -> tuple[v.Action, ...]:
    """`T(a).add_(s)` or `T(a).mul_(s)` has returned.
    Not observed: the record that was replaced."""
    op = a.action.removeprefix("inplace_")
    return (v.AssignInPlace(a.tensor("a"), op, (), a.scalar()),)


@row("copy_", makes=(v.CopyInto,))
def copy_into(a: Arguments) -> tuple[v.Action, ...]:
    """`T(dst).copy_(T(src))` has returned.
    Not observed: that dst now borrows the ir of src."""
    return (v.CopyInto(a.tensor("dst"), a.tensor("src")),)


@row("copy_host", makes=(v.CopyFromHost,))
def copy_host(a: Arguments) -> tuple[v.Action, ...]:
    """`T(dst).copy_(host tensor)` has returned.
    Not observed: whether a transfer has ended."""
    return (v.CopyFromHost(a.tensor("dst"), a.values(), a.uploads),)


@row("clone", makes=(v.Clone,))
def clone(a: Arguments) -> tuple[v.Action, ...]:
    """`T(a).clone()` has returned.
    Not observed: the mark that the clone's ir is borrowed."""
    source = a.tensor("a")
    return (v.Clone(a.new(), source),)


@row("view", "reshape", makes=(v.ViewOf,))
def view(a: Arguments) -> tuple[v.Action, ...]:
    """`T(a).view(shape)` or `T(a).reshape(shape)` has returned, and the recorder has looked at
    every tensor, which brings those up to date that an update elsewhere has made stale.
    Not observed: the base or alias that both now share; that the result keeps the source alive."""
    source, shape = a.tensor("a"), a.shape()
    return (v.ViewOf(a.new(), source, a.action, shape),)


@row("slice", makes=(v.ViewOf,))
def slice_(a: Arguments) -> tuple[v.Action, ...]:
    """`T(a)[:, .., start:end]` has returned.
    Not observed: as for view."""
    sizes = tuple(a.take(name, json.count) for name in ("dim", "start", "end"))
    return (v.ViewOf(a.new(), a.tensor("a"), "slice", sizes),)


@row("transpose", makes=(v.ViewOf,))
def transpose(a: Arguments) -> tuple[v.Action, ...]:
    """`T(a).transpose(0, 1)` has returned.
    Not observed: as for view."""
    return (v.ViewOf(a.new(), a.tensor("a"), "transpose"),)


@row("detach", makes=(v.Detach,))
def detach(a: Arguments) -> tuple[v.Action, ...]:
    """`T(a).detach()` has returned; both objects show the same record.
    Not observed: nothing that matters here."""
    source = a.tensor("a")
    return (v.Detach(a.new(), source),)


@row("drop", makes=(v.Drop,))
def drop(a: Arguments) -> tuple[v.Action, ...]:
    """The last reference to the tensor object is deleted.
    Not observed: what keeps its buffer alive, such as a leaf in another tensor's graph."""
    return (v.Drop(a.tensor("t")),)


@row("sync_multi", makes=(v.Sync,))
def sync_multi(a: Arguments) -> tuple[v.Action, ...]:
    """`_xla_sync_multi` has returned or raised, and the execution that it started has ended.
    Not observed: the moment at which it ended; the device lock."""
    return (v.Sync(a.tensors(), a.flag("sync_xla_data"), a.flag("wait")),)


@row("sync_live", makes=(v.SyncLive,))
def sync_live(a: Arguments) -> tuple[v.Action, ...]:
    """`_xla_sync_live_tensors` has returned or raised, and its execution has ended.
    Not observed: as for sync_multi."""
    return (v.SyncLive(a.flag("wait")),)


@row("mark_step", makes=(v.StepBarrier,))
def mark_step(a: Arguments) -> tuple[v.Action, ...]:
    """`torch_xla.sync` has returned or raised, and its execution has ended.
    Not observed: as for sync_multi."""
    return (v.StepBarrier(a.flag("wait")),)


@row("warm_up_cache", makes=(v.WarmUp,))
def warm_up_cache(a: Arguments) -> tuple[v.Action, ...]:
    """`_xla_warm_up_cache` has returned or raised.
    Not observed: the key of the program; only whether it was compiled."""
    return (v.WarmUp(a.tensors()),)


@row("graph_hash", makes=(v.GraphHash,))
def graph_hash(a: Arguments) -> tuple[v.Action, ...]:
    """`_get_graph_hash` has returned or raised.
    Not observed: what the key is made of; only which keys are equal."""
    return (v.GraphHash(a.tensors()),)


@row("run_cached", makes=(v.GraphHash, v.WarmUp, v.RunCached))
def run_cached(a: Arguments) -> tuple[v.Action, ...]:
    """The key was asked for, with `warm` the program was compiled, the leaves were exported, and
    the program was run by its key; its execution has ended. Results get the next names.
    Not observed: the tensors between these calls; which of the calls raised."""
    tensors = a.tensors()
    outs = tuple(v.TensorName(a.given + i) for i in range(1, len(tensors) + 1))
    warm: tuple[v.Action, ...] = (v.WarmUp(tensors),) if a.flag("warm") else ()
    return (v.GraphHash(tensors), *warm, v.RunCached(tensors, outs))


@row("read", makes=(v.ReadOne,))
def read(a: Arguments) -> tuple[v.Action, ...]:
    """`T(t).cpu()` has returned or raised.
    Not observed: where the value came from, but for the counters."""
    return (v.ReadOne(a.tensor("t")),)


@row("read_many", makes=(v.ReadMany,))
def read_many(a: Arguments) -> tuple[v.Action, ...]:
    """`_xla_get_cpu_tensors` has returned or raised.
    Not observed: whether an array that was returned is the record's own host copy."""
    return (v.ReadMany(a.tensors()),)


@row("wait_device_ops", makes=(v.WaitDevice,))
def wait_device_ops(a: Arguments) -> tuple[v.Action, ...]:
    """`_xla_wait_device_ops` has returned or raised.
    Not observed: whether anything was running."""
    return (v.WaitDevice(),)


@row("clear_pending_irs", makes=(v.ClearPending,))
def clear_pending_irs(a: Arguments) -> tuple[v.Action, ...]:
    """`_clear_pending_irs` has returned.
    Not observed: the ir that was forgotten."""
    return (v.ClearPending(),)


@row("set_donation", makes=(v.SetDonation,))
def set_donation(a: Arguments) -> tuple[v.Action, ...]:
    """`_set_buffer_donation` has returned whether there was a buffer to mark.
    Not observed: the mark itself; a later donation shows it."""
    return (v.SetDonation(a.tensor("t"), a.flag("flag")),)


@row("alias_config", makes=(v.SetDonorConfig,))
def alias_config(a: Arguments) -> tuple[v.Action, ...]:
    """The process-wide switch for donation marks is set.
    Not observed: nothing that matters here."""
    return (v.SetDonorConfig(a.flag("flag")),)


@row("eager", makes=(v.SetEager,))
def eager(a: Arguments) -> tuple[v.Action, ...]:
    """Eager mode is switched on or off.
    Not observed: nothing that matters here."""
    return (v.SetEager(a.flag("flag")),)


@row("stablehlo", makes=(v.DumpGraph,))
def stablehlo(a: Arguments) -> tuple[v.Action, ...]:
    """`_get_stablehlo` has returned the body of the pending program.
    Not observed: types, and which tensor is which argument; the lines between parameters and
    results are the compiler's, so that only parameters and results are compared."""
    return (v.DumpGraph(a.tensors()),)


@row("mark_sharding", makes=(v.MarkSharding,))
def mark_sharding(a: Arguments) -> tuple[v.Action, ...]:
    """`_xla_mark_sharding` has returned or raised.
    Not observed: whether sharded data has a value."""
    return (v.MarkSharding(a.tensor("t"), a.take("spec", sharding_spec)),)


@row("clear_sharding", makes=(v.ClearSharding,))
def clear_sharding(a: Arguments) -> tuple[v.Action, ...]:
    """`_xla_clear_sharding` has returned.
    Not observed: the sharding on the ir node, but for what it does to the annotation."""
    return (v.ClearSharding(a.tensor("t")),)
