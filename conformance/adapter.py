"""What an executor has to offer to be held to the law: the adapter protocol.

An adapter stands for one process with one device. It is found under its name among the entry points
of the group ``markstep.adapters``, or as ``module:attribute``, or it is any program that speaks the
process protocol: ``exec:command``.
"""

import inspect
import os
import sys
import threading
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import entry_points
from typing import Protocol, TypeAlias

from markstep.spec import vocabulary as v
from markstep.spec.design import Design
from markstep.spec.named_designs import DESIGNS

GROUP = "markstep.adapters"
EXEC = "exec:"

ENVIRONMENT = "environment"
"""An execution that nobody waits for ends by A30 or A31 and never otherwise."""

NEEDS: dict[type, str] = {
    v.CreatePlaceholder: "placeholder",
    v.CopyFromHost: "copy_from_host",
    v.Detach: "detach",
    v.WarmUp: "warm_up",
    v.ReadMany: "read_many",
    v.GraphHash: "graph_hash",
    v.RunCached: "run_cached",
    v.ClearPending: "clear_pending",
    v.SetDonation: "donation",
    v.SetDonorConfig: "donation",
    v.DumpGraph: "dump_graph",
    v.AllowExecution: "allow_execution",
    v.EvictCache: "evict_cache",
    v.WriteToResult: "write_to_result",
    v.Fill: "fill",
    v.Random: "random",
    v.SetSeed: "random",
    v.GetSeed: "random",
    **dict.fromkeys(
        (v.UseSpmd, v.MarkSharding, v.ClearSharding, v.ReadSpec, v.BindData, v.LoadShards),
        "sharding",
    ),
    v.SetEager: "eager",
    **dict.fromkeys((v.ViewOf, v.Look), "aliasing"),
    v.CompleteExecution: ENVIRONMENT,
    v.FailExecution: ENVIRONMENT,
}
"""The capability that an action needs; actions that are not here need none."""

SCALAR_TENSORS = "scalar_tensors"
"""Host data of no dimensions become a tensor in the same way as others."""
ANY_OP_IN_PLACE = "any_op_in_place"
"""A04 takes every op; without it, those that have an in-place form in PyTorch."""
WARM_UP_SYNC = "warm_up_sync"
"""A13 takes ``sync``."""
UPLOAD_ON_COPY = "upload_on_copy"
"""A07 takes ``upload``: what is copied from the host is sent at once."""
HOST_ONLY = "host_only"
"""Tensors can be made from host data that is not uploaded yet."""
FAULTS = "faults"
"""The ops that fail to compile and to execute exist."""

VIEWS = "views"
"""What `observe` shows has the form of the law's own records and buffers, and is compared; without
it only values and errors are, which is all that an executor with other internals can promise."""

ALL_CAPABILITIES: frozenset[str] = frozenset(
    (
        *NEEDS.values(),
        SCALAR_TENSORS,
        ANY_OP_IN_PLACE,
        WARM_UP_SYNC,
        UPLOAD_ON_COPY,
        HOST_ONLY,
        FAULTS,
        VIEWS,
    )
)


class AdapterError(Exception):
    """The adapter cannot be found, or broke its side of the protocol. One line."""


class Adapter(Protocol):
    """One executor. ``apply`` raises nothing that the vocabulary has an ErrorKind for."""

    name: str
    version: str
    capabilities: frozenset[str]

    def reset(self) -> None:
        """Begin again as a fresh process: no tensors, empty caches, default switches."""

    def apply(self, action: v.Action) -> v.Observation:
        """Do one action and say how it ended. What makes no sense is refused with BAD_ARGUMENT."""

    def observe(self) -> v.View:
        """Look at everything; change nothing. Counters are those since the last look, and name
        every counter that the executor has, also where it stands still."""

    def close(self) -> None:
        """Release what the adapter holds."""


Factory: TypeAlias = Callable[..., Adapter]


def described_by(adapter: Adapter) -> Design | None:
    """The design that an adapter says its executor has, if it says so (``described_by``).

    The comparison then goes by that design, and another one asked for says which claims must hold.
    """
    name = getattr(adapter, "described_by", "")
    if name and name not in DESIGNS:
        raise AdapterError(f"described_by is {name!r}; known designs: {', '.join(DESIGNS)}")
    return DESIGNS[name] if name else None


def needed_capabilities(action: v.Action) -> Iterator[str]:
    """The capabilities without which an adapter cannot do the action."""
    if type(action) in NEEDS:
        yield NEEDS[type(action)]
    if isinstance(action, v.CreateFromHost | v.CopyFromHost) and not action.upload:
        yield HOST_ONLY
    if isinstance(action, v.CopyFromHost) and action.upload:
        yield UPLOAD_ON_COPY
    if isinstance(action, MAKERS) and not action.shape:
        yield SCALAR_TENSORS
    if isinstance(action, v.Apply | v.AssignInPlace) and action.op in v.FAULTY_OPS:
        yield FAULTS
    if isinstance(action, v.AssignInPlace) and action.op in NOT_IN_PLACE:
        yield ANY_OP_IN_PLACE
    if isinstance(action, v.WarmUp) and action.sync:
        yield WARM_UP_SYNC


MAKERS = (v.CreateFromHost, v.CreatePlaceholder, v.Fill)
"""Actions that make a tensor of a given shape."""
NOT_IN_PLACE = ("matmul", *v.FAULTY_OPS)
"""Ops that have no in-place form in PyTorch."""


def missing_capability(capabilities: frozenset[str], action: v.Action) -> str | None:
    """The first capability that the action needs and that is not declared, if any."""
    return next((word for word in needed_capabilities(action) if word not in capabilities), None)


def load(name: str) -> Factory:
    """The adapter class with this name. Raises AdapterError when there is none."""
    if name.startswith(EXEC):
        return _load_command(name.removeprefix(EXEC))
    if ":" in name:
        return _load_attribute(name)
    found = {point.name: point for point in entry_points(group=GROUP)}
    if name not in found:
        raise AdapterError(
            f"unknown adapter {name!r}; installed: {', '.join(sorted(found)) or 'none'}; "
            "or write module:attribute, or exec:command"
        )
    try:
        factory: Factory = found[name].load()
    except BaseException as error:
        what = _described(error)
        raise AdapterError(f"adapter {name!r} ({found[name].value}): {what}") from error
    return factory


def _load_command(command: str) -> Factory:
    from markstep.conformance.process.child import ProcessAdapter  # it stands on this module

    return lambda: ProcessAdapter(command)


def _load_attribute(name: str) -> Factory:
    module, _, attribute = name.partition(":")
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # as `python -m` does
    try:
        factory: Factory = getattr(import_module(module), attribute)
    except BaseException as error:
        raise AdapterError(f"adapter {name!r}: {_described(error)}") from error
    if not callable(factory):
        raise AdapterError(f"adapter {name!r}: {attribute} is not a class or function")
    return factory


def make(factory: Factory, design: Design) -> Adapter:
    """A new adapter. One that can imitate any design (the model) is told which."""
    try:
        takes_design = "design" in inspect.signature(factory).parameters
        adapter = factory(design=design) if takes_design else factory()
        lacks = [name for name in MEMBERS if not hasattr(adapter, name)]
        capabilities: object = getattr(adapter, "capabilities", frozenset())
        if not isinstance(capabilities, frozenset):
            lacks.append("capabilities that are a frozenset")
        for member in ("name", "version"):
            if not isinstance(getattr(adapter, member, ""), str):
                lacks.append(f"{member} that is a text")
    except BaseException as error:
        raise AdapterError(f"adapter does not start: {_described(error)}") from error
    if lacks:
        kind = type(adapter).__name__
        raise AdapterError(
            f"adapter does not follow the protocol: {kind} has no {', '.join(lacks)}"
        )
    if unknown := sorted(map(str, adapter.capabilities - ALL_CAPABILITIES)):
        known = ", ".join(sorted(ALL_CAPABILITIES))
        raise AdapterError(f"unknown capability {unknown[0]!r}; known: {known}")
    return adapter


MEMBERS = ("name", "version", "capabilities", "reset", "apply", "observe", "close")
"""What every adapter has."""


def users_own(error: BaseException) -> bool:
    """Whether it is Ctrl-C: everything else that comes out of an adapter is the adapter's."""
    on_main = threading.current_thread() is threading.main_thread()
    return isinstance(error, KeyboardInterrupt) and on_main


def one_line(error: BaseException) -> str:
    """What was raised, with the first line of its text. An AdapterError is told already."""
    first = (str(error).strip().splitlines() or [""])[0]
    if isinstance(error, AdapterError):
        return first
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _described(error: BaseException) -> str:
    """The error in one line. Raises what is the user's own."""
    if users_own(error):
        raise error
    return one_line(error)
