"""The calls of torch_xla that sync, ask and switch, as lines of a recording.

`torch_xla` looks its C++ functions up in the module `_XLAC` at every call, so that a wrapper put
there sees them all.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch_xla

from markstep.conformance.recording.notebook import Notebook

X = torch_xla._XLAC
Arguments = Callable[..., dict[str, object]]


def watch_calls(notebook: Notebook) -> None:
    """Put a wrapper around every call that a line is about."""

    def names(tensors: Sequence[Any]) -> list[str]:
        return [notebook.name(t) for t in tensors if isinstance(t, torch.Tensor) and t.is_xla]

    def marker(device: Any, devices: Any, wait: bool = True, **_: Any) -> dict[str, object]:
        return {"wait": wait}

    def several(tensors: Any, *_: Any, **__: Any) -> dict[str, object]:
        return {"tensors": names(tensors)}

    def sync(
        tensors: Any, devices: Any, wait: bool = True, sync_xla_data: bool = True
    ) -> dict[str, object]:
        return {"tensors": names(tensors), "wait": wait, "sync_xla_data": sync_xla_data}

    def cached(key: Any, inputs: Any) -> dict[str, object]:
        return {"inputs": names(inputs)}

    def donation(tensor: Any, flag: bool) -> dict[str, object]:
        return {"t": notebook.name(tensor), "flag": flag}

    def nothing(*_: Any, **__: Any) -> dict[str, object]:
        return {}

    boundaries: dict[str, tuple[str, Arguments]] = {
        "_xla_step_marker": ("mark_step", marker),
        "_xla_sync_multi": ("sync_multi", sync),
        "_xla_sync_live_tensors": ("sync_live", marker),
        "_xla_warm_up_cache": ("warm_up_cache", several),
        "_get_graph_hash": ("graph_hash", several),
        "_run_cached_graph": ("run_cached", cached),
        "_xla_get_cpu_tensors": ("read_many", several),
    }
    switches: dict[str, tuple[str, Arguments]] = {
        "_xla_wait_device_ops": ("wait_device_ops", nothing),
        "_clear_pending_irs": ("clear_pending_irs", nothing),
        "_set_buffer_donation": ("set_donation", donation),
        "_xla_set_rng_seed": ("set_seed", nothing),
    }
    for function, (action, arguments) in boundaries.items():
        _wrap(function, _boundary(notebook, action, arguments))
    for function, (action, arguments) in switches.items():
        _wrap(function, _switch(notebook, action, arguments))
    _wrap("_xla_tensors_from_aten", _upload(notebook))


Around = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]


def _wrap(function: str, around: Around) -> None:
    original = getattr(X, function)

    @functools.wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return around(original, args, kwargs)

    setattr(X, function, wrapper)


def _boundary(notebook: Notebook, action: str, arguments: Arguments) -> Around:
    def around(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        notebook.before()
        told = arguments(*args, **kwargs)
        try:
            result = call(*args, **kwargs)
        except Exception as error:
            notebook.after(action, told, error)
            raise
        if action == "run_cached":
            told["outs"] = [notebook.name(t) for t in result]
        notebook.after(action, told)
        return result

    return around


def _switch(notebook: Notebook, action: str, arguments: Arguments) -> Around:
    def around(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        told = arguments(*args, **kwargs)
        try:
            result = call(*args, **kwargs)
        except Exception as error:
            notebook.line(action, told, error)
            raise
        notebook.line(action, told)
        return result

    return around


def _upload(notebook: Notebook) -> Around:
    """`_xla_tensors_from_aten`: how data loaders send whole batches."""

    def around(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        made = call(*args, **kwargs)
        for array, tensor in zip(args[0], made, strict=True):
            size = array.numel() * array.element_size()
            told = {"out": notebook.name(tensor), "source": notebook.source(array, array._version)}
            told |= {"content": None, "bytes": size, "shape": list(array.shape)}
            notebook.line("from_host", {**told, "dtype": str(array.dtype).removeprefix("torch.")})
        return made

    return around
