"""Every op that a PyTorch program dispatches to XLA tensors, as lines of a recording."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from markstep.conformance.recording.notebook import Notebook, constant

MOST_BYTES = 2**20
"""Of a host array whose contents are compared with those of others."""
SAME_RECORD = frozenset({"aten::detach", "aten::alias", "aten::lift_fresh"})
"""Ops whose result is another tensor object over the same record."""
READING = frozenset({"aten::_local_scalar_dense", "aten::_to_copy", "aten::copy_"})
"""Ops that may bring the value of a tensor to the host."""


@dataclass(frozen=True, slots=True)
class Overload:
    """What is asked of an op again and again; asking PyTorch for it is slow."""

    name: str
    """Without its overload."""
    text: str
    kind: str
    """How it is written down."""
    can_read: bool
    """It may bring a value to the host."""
    writes: tuple[int, ...]
    """The positions of the arguments that it writes to."""


@dataclass(slots=True)
class Call:
    """One call of an op."""

    args: Any
    tensors: list[torch.Tensor]
    constants: list[Any]
    names: list[str]
    """Of the tensors on the device."""
    made: list[torch.Tensor]


class Dispatch(TorchDispatchMode):  # type: ignore[misc]
    """Writes down ops; what they compute is left alone."""

    def __init__(self, begin: Callable[[], Notebook]) -> None:
        """``begin`` is called when the first tensor of the device is seen, and not before: a
        program sets its environment up before it uses the device."""
        super().__init__()
        self.begin = begin
        self.begun: Notebook | None = None
        self._overloads: dict[Any, Overload] = {}

    @property
    def notebook(self) -> Notebook:
        """Where the lines go."""
        if self.begun is None:
            self.begun = self.begin()
        return self.begun

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        op = self._overloads.get(func)
        if op is None:
            op = self._overloads[func] = _overload(func)
        tensors, constants = _sorted(args, kwargs)
        names = self._names(tensors)
        reads = bool(names) and op.can_read and _is_read(op.name, tensors, kwargs or {})
        if reads:
            self.notebook.before()
        result, error = None, None
        try:
            result = func(*args, **kwargs) if kwargs else func(*args)
            return result
        except Exception as raised:
            error = raised
            raise
        finally:
            made = _sorted((result,), None)[0] if result is not None else []
            if names or any(tensor.is_xla for tensor in made):
                self._write(op, Call(args, tensors, constants, names, made), reads, error)

    def _names(self, tensors: list[torch.Tensor]) -> list[str]:
        """The names of those that are on the device."""
        if self.begun is None:
            return [self.notebook.name(t) for t in tensors if t.is_xla]
        known = self.begun.known
        names = []
        for tensor in tensors:
            found = known.get(id(tensor))  # what has a name is on the device: no need to ask
            if found is not None:
                names.append(found[1])
            elif tensor.is_xla:
                names.append(self.begun.name(tensor))
        return names

    def _write(self, op: Overload, call: Call, reads: bool, error: BaseException | None) -> None:
        notebook, names = self.notebook, call.names
        if op.kind == "op":
            notebook.line("op", self._op(op, call), error)
        elif reads:
            notebook.after("read", {"t": names[0]}, error, only=names[:1])
        elif op.kind == "same record":
            for tensor in call.made:
                notebook.same(tensor, names[0])
        elif op.kind == "_to_copy" and not names:
            arguments = {"out": notebook.name(call.made[0]), **self._host(call.tensors[0])}
            notebook.line("from_host", arguments, error)
        elif op.kind == "copy_" and len(names) == 1:
            arguments = {"dst": names[0], **self._host(call.tensors[1])}
            notebook.line("copy_host", arguments, error)
        elif op.kind == "copy_":
            notebook.line("copy_", {"dst": names[0], "src": names[1]}, error)
        elif op.kind == "clone" and call.made:
            notebook.line("clone", {"a": names[0], "out": notebook.name(call.made[0])}, error)
        elif op.kind != "ignored":
            notebook.line("op", self._op(op, call), error)

    def _op(self, op: Overload, call: Call) -> dict[str, object]:
        """An op that is recorded by its name and operands."""
        writes: list[str] = []
        if op.writes:
            changed = [call.args[i] for i in op.writes if i < len(call.args)]
            writes = self._names(_sorted(changed, None)[0])
        outs = self._names(call.made)
        return {
            "name": op.text,
            "inputs": call.names,
            "outs": [name for name in outs if name not in writes] if writes else outs,
            "writes": writes,
            "shapes": [tuple(tensor.shape) for tensor in call.made],
            "constants": [constant(value) for value in call.constants],
        }

    def _host(self, array: torch.Tensor) -> dict[str, object]:
        """What identifies data of the host: the array, and what is in it."""
        size = array.numel() * array.element_size()
        content = None
        if size <= MOST_BYTES and not array.is_sparse:
            raw = array.detach().contiguous().reshape(-1).view(torch.uint8)
            content = f"{zlib.crc32(raw.numpy()):08x}"
        return {
            "source": self.notebook.source(array, array._version),
            "content": content,
            "bytes": size,
            "shape": list(array.shape),
            "dtype": str(array.dtype).removeprefix("torch."),
        }


def _sorted(args: Any, kwargs: Any) -> tuple[list[torch.Tensor], list[Any]]:
    """The tensors among the arguments of an op, and the others; lists are looked into."""
    tensors: list[torch.Tensor] = []
    constants: list[Any] = []
    for value in (*args, *kwargs.values()) if kwargs else args:
        if isinstance(value, torch.Tensor):
            tensors.append(value)
        elif isinstance(value, list | tuple):
            inside = _sorted(value, None)
            tensors += inside[0]
            constants += inside[1]
        else:
            constants.append(value)
    return tensors, constants


def _overload(func: Any) -> Overload:
    arguments, name = func._schema.arguments, func._schema.name
    written = [a.alias_info is not None and a.alias_info.is_write for a in arguments]
    writes = tuple(i for i, is_written in enumerate(written) if is_written)
    kind = name.removeprefix("aten::")
    if name in SAME_RECORD:
        kind = "same record"
    elif name.startswith("profiler"):
        kind = "ignored"
    elif name not in READING and name != "aten::clone":
        kind = "op"
    return Overload(name, str(func), kind, name in READING, writes)


def _is_read(op: str, tensors: list[torch.Tensor], kwargs: dict[str, Any]) -> bool:
    """Whether an op brings the value of a tensor to the host."""
    match op:
        case "aten::_local_scalar_dense":
            return True
        case "aten::_to_copy":
            device = kwargs.get("device")
            return device is not None and torch.device(device).type == "cpu"
        case "aten::copy_":
            return not tensors[0].is_xla and tensors[1].is_xla
    return False
