"""Every op that a PyTorch program dispatches to XLA tensors, as lines of a recording."""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from markstep.conformance.recording.notebook import Notebook, constant

MOST_BYTES = 2**20
"""Of a host array whose contents are compared with those of others."""
SAME_RECORD = frozenset({"aten::detach", "aten::alias", "aten::lift_fresh"})
"""Ops whose result is another tensor object over the same record."""


@dataclass(frozen=True, slots=True)
class Overload:
    """What is asked of an op again and again; asking PyTorch for it is slow."""

    name: str
    """Without its overload."""
    text: str
    writes: tuple[int, ...]
    """The positions of the arguments that it writes to."""


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
        kwargs = kwargs or {}
        op = self._overloads.get(func)
        if op is None:
            op = self._overloads[func] = _overload(func)
        given = list(_flat((*args, *kwargs.values()))) if kwargs else list(_flat(args))
        tensors = [one for one in given if isinstance(one, torch.Tensor)]
        on_device = any(tensor.is_xla for tensor in tensors)
        reads = on_device and _is_read(op.name, tensors, kwargs)
        if reads:
            self.notebook.before()
        names = [self.notebook.name(t) for t in tensors if t.is_xla] if on_device else []
        result, error = None, None
        try:
            result = func(*args, **kwargs)
            return result
        except Exception as raised:
            error = raised
            raise
        finally:
            made = [o for o in _flat((result,)) if isinstance(o, torch.Tensor) and o.is_xla]
            if on_device or made:
                self._write(op, (args, given, tensors, names), made, reads, error)

    def _write(
        self,
        overload: Overload,
        call: tuple[Any, list[Any], list[torch.Tensor], list[str]],
        made: list[torch.Tensor],
        reads: bool,
        error: BaseException | None,
    ) -> None:
        args, given, tensors, names = call
        op, notebook = overload.name, self.notebook
        if op.startswith("profiler"):
            return
        if reads:
            source = next(t for t in tensors if t.is_xla)
            name = notebook.name(source)
            notebook.after("read", {"t": name}, error, only=[name])
        elif op in SAME_RECORD and names and made:
            notebook.same(made[0], names[0])
        elif op == "aten::_to_copy" and not names and made:
            arguments = {"out": notebook.name(made[0]), **self._host(tensors[0])}
            notebook.line("from_host", arguments, error)
        elif op == "aten::copy_" and len(names) == 1:
            notebook.line("copy_host", {"dst": names[0], **self._host(tensors[1])}, error)
        elif op == "aten::copy_":
            notebook.line("copy_", {"dst": names[0], "src": names[1]}, error)
        elif op == "aten::clone" and made:
            notebook.line("clone", {"a": names[0], "out": notebook.name(made[0])}, error)
        else:
            arguments = self._op(overload, args, given, names, made)
            notebook.line("op", arguments, error)

    def _op(
        self, op: Overload, args: Any, given: list[Any], names: list[str], made: list[torch.Tensor]
    ) -> dict[str, object]:
        """An op that is recorded by its name and operands."""
        changed = [t for i in op.writes if i < len(args) for t in _flat((args[i],))]
        writes = [
            self.notebook.name(t) for t in changed if isinstance(t, torch.Tensor) and t.is_xla
        ]
        outs = [self.notebook.name(t) for t in made]
        return {
            "name": op.text,
            "inputs": names,
            "outs": [name for name in outs if name not in writes],
            "writes": writes,
            "shapes": [list(t.shape) for t in made],
            "constants": [constant(v) for v in given if not isinstance(v, torch.Tensor)],
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


def _flat(values: Any) -> Iterator[Any]:
    """Arguments, those in lists one by one."""
    for value in values:
        if isinstance(value, list | tuple):
            yield from _flat(value)
        else:
            yield value


def _overload(func: Any) -> Overload:
    arguments = func._schema.arguments
    written = [a.alias_info is not None and a.alias_info.is_write for a in arguments]
    return Overload(func._schema.name, str(func), tuple(i for i, w in enumerate(written) if w))


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
