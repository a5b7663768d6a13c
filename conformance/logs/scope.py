"""Which recorded systems the law speaks of, and up to which sizes.

What lies outside is refused with the reason: a log about it is neither right nor wrong.
"""

import struct
from collections.abc import Iterator
from math import prod

from markstep.conformance.logs.arguments import NotModelled
from markstep.conformance.logs.rawrecord import Header
from markstep.conformance.logs.strictjson import shown
from markstep.spec.design import TORCH_XLA_2_9, Design
from markstep.spec.evaluator import Value
from markstep.spec.state import Record, State
from markstep.spec.vocabulary import Action, Apply, AssignInPlace, DType, ViewOf

RECORDED: dict[tuple[str, str], Design] = {("torch_xla", "2.9"): TORCH_XLA_2_9}
"""System, version without the last number → the design that describes it."""

ENVIRONMENT: dict[str, tuple[str, ...]] = {
    "PJRT_DEVICE": ("CPU",),
    "XLA_TENSOR_UPDATE_SYNC": ("0", "1"),
    "XLA_DISABLE_FUNCTIONALIZATION": ("0", "1"),
    "CPU_NUM_DEVICES": ("1", "2", "4", "8"),
}
"""Environment variables and values whose meaning the law knows."""

MAX_WORK = 2**16
"""Multiplications of one matrix product."""


def recorded_design(header: Header) -> Design:
    """The design that describes the system of a log. Raises NotModelled."""
    version = ".".join(header.system_version.split(".")[:2])
    if (header.system, version) not in RECORDED:
        known = ", ".join(f"{system} {version}" for system, version in RECORDED)
        system = shown(f"{header.system} {header.system_version}")
        raise NotModelled(f"the system {system} is not modelled yet; modelled: {known}")
    return RECORDED[header.system, version]


def check_header(header: Header) -> None:
    """Raises NotModelled for what lies outside the core, naming the field of the header."""
    demands: dict[str, tuple[object, tuple[object, ...]]] = {
        "devices_used": (header.devices_used, (1, 2)),
    }
    for name, (value, modelled) in demands.items():
        if value not in modelled:
            raise NotModelled(f"header field {name} = {_json(value)} is not modelled yet")
    if not header.functionalization:
        check_other_modes(header)
    for name, text in header.env.items():
        if text not in ENVIRONMENT.get(name, ()):
            raise NotModelled(f"header field env: {shown(f'{name}={text}')} is not modelled yet")


def check_other_modes(header: Header) -> None:
    """Raises NotModelled for what nobody has recorded together with views that share an alias."""
    others = {
        "eager": header.eager,
        "spmd": header.spmd,
        "devices_used": header.devices_used > 1,
        "env XLA_TENSOR_UPDATE_SYNC": header.env.get("XLA_TENSOR_UPDATE_SYNC") == "0",
    }
    for name in [name for name, on in others.items() if on]:
        raise NotModelled(f"header field {name} without functionalization is not modelled yet")


def _json(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def check_sizes(state: State, actions: tuple[Action, ...]) -> None:
    """Raises NotModelled for a matrix product that is too large to be followed, and for a slice
    that is all of a tensor: what indexing makes of that is another op."""
    for action in actions:
        if isinstance(action, ViewOf) and action.op == "slice" and action.source in state.tensors:
            shape, (dim, begin, end) = state.record_of(action.source).shape, action.sizes
            if shape[dim : dim + 1] == (end - begin,):
                raise NotModelled("a slice that is all of its tensor is not modelled yet")
        if isinstance(action, Apply | AssignInPlace) and action.op == "matmul":
            names = action.inputs if isinstance(action, Apply) else action.others
            shapes = [state.record_of(name).shape for name in names if name in state.tensors]
            if shapes and prod(shapes[0]) * prod(shapes[-1][1:]) > MAX_WORK:
                raise NotModelled(f"a matrix product of more than {MAX_WORK} multiplications")


def check_values(state: State) -> None:
    """Raises NotModelled when a tensor means a value that its dtype does not hold exactly."""
    for name, record in _tensors(state):
        for value in (record.truth, record.host_value):
            if value is not None and not exact(value, record.dtype):
                raise NotModelled(f"t{name} means a value that {record.dtype} does not hold")


def _tensors(state: State) -> Iterator[tuple[int, Record]]:
    for name, row in state.tensors.items():
        yield name, state.records[row]


def exact(value: Value, dtype: DType) -> bool:
    """Whether every element is a value of the dtype."""
    if dtype == DType.S32:
        return all(-(2**31) <= one < 2**31 and int(one) == one for one in value)
    try:
        return struct.unpack(f"{len(value)}f", struct.pack(f"{len(value)}f", *value)) == value
    except (OverflowError, struct.error):
        return False
