"""Graphs as StableHLO and HLO, and StableHLO modules as operations.

Source: XLAGraphExecutor::DumpHloComputation, ExecuteStablehlo; semantics.md §3 (32, 48).
"""

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import jax
import jax.numpy as jnp
from jax import export

from markstep.impl import hlo_reader
from markstep.impl.aval import Aval, aval_of
from markstep.impl.context import Context
from markstep.impl.errors import ExecutorError, bad_argument
from markstep.impl.function import apply_function
from markstep.impl.graph import Graph, discover
from markstep.impl.lower import function_of
from markstep.impl.ops import Op, intern
from markstep.impl.partitioned import whole_program
from markstep.impl.record import Record
from markstep.impl.syncing import pending, sync_records
from markstep.spec.vocabulary import ErrorKind

Form: TypeAlias = Literal["text", "bytecode", "hlo"]
BYTECODE: Final = b"ML\xefR"
"""How MLIR bytecode begins."""
KEPT: Final = 64
"""Modules that were read and need not be read again."""
PATIENCE: Final = 120
"""Seconds for reading one."""

ELEMENTS: Final = {
    "i1": "bool",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "ui8": "uint8",
    "ui16": "uint16",
    "ui32": "uint32",
    "ui64": "uint64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
}


def dump(ctx: Context, records: list[Record], form: Form) -> str | bytes:
    """The pending graph of the records as a module: text, portable bytes, or XLA's HLO text. On
    several devices its arguments, hints and results say how they lie.

    Nothing is compiled, nothing changes. Raises BAD_ARGUMENT if nothing of them is pending, and
    COMPILE_FAILED if the graph has no such form.
    """
    if form not in ("text", "bytecode", "hlo"):
        raise bad_argument(f"a module is written as text, bytecode or hlo, not {form!r}")
    with ctx.lock:
        outputs = list(dict.fromkeys(pending(records)))
        graph = discover([record.ir for record in outputs if record.ir is not None])
        if not outputs:
            raise bad_argument("none of the tensors is pending: there is no graph")
        try:
            return _written(ctx, graph, form)
        except Exception as cause:
            text = f"a graph of {len(graph.nodes)} nodes cannot be written: {cause}"
            raise ExecutorError(ErrorKind.COMPILE_FAILED, text) from cause


def _written(ctx: Context, graph: Graph, form: Form) -> str | bytes:
    if ctx.spmd:
        jitted, structs = whole_program(graph, ctx.devices)
    else:
        jitted = jax.jit(function_of(graph), keep_unused=True)
        structs = [parameter.aval.struct() for parameter in graph.parameters]
    if form == "bytecode":
        return export.export(jitted)(*structs).mlir_module_serialized
    return str(jitted.lower(*structs).as_text("hlo" if form == "hlo" else "stablehlo"))


@dataclasses.dataclass(frozen=True, slots=True)
class Module:
    """A module that was read: what its ``main`` takes and gives, and itself as an operation."""

    parameters: tuple[Aval, ...]
    results: tuple[Aval, ...]
    op: Op

    def __str__(self) -> str:
        return f"({', '.join(map(repr, self.parameters))}) -> {', '.join(map(repr, self.results))}"


def run(ctx: Context, data: bytes | str, records: list[Record]) -> list[Record]:
    """Run a module on the values of the records; its results are new records.

    The call is a sync: it takes the lock and fetches its arguments under it. Raises BAD_ARGUMENT
    if the module cannot be read or takes other arguments, and what ``sync`` raises.
    """
    module = read(data)
    given = tuple(record.aval for record in records)
    if given != module.parameters:
        what = ", ".join(map(repr, given))
        raise bad_argument(f"the module is {module}; it cannot take ({what})")
    with ctx.lock:
        results, _ = apply_function(ctx, module.op, records)
        sync_records(ctx, results, sync=False, wait=False)
    return results


def read(data: bytes | str) -> Module:
    """A module as text, bytecode, portable artifact, or as ``jax.export`` serialises it."""
    if not isinstance(data, str | bytes | bytearray):
        raise bad_argument(f"a module is text or bytes, not {type(data).__name__}")
    return _read(data.encode() if isinstance(data, str) else bytes(data))


@lru_cache(KEPT)
def _read(data: bytes) -> Module:
    answer = _answer(_unwrapped(data))
    if "error" in answer:
        raise bad_argument(f"not a StableHLO module: {answer['error']}")
    parameters, results = _avals(answer["parameters"]), _avals(answer["results"])
    if not results:
        raise bad_argument("the module has no results")
    content = bytes.fromhex(answer["module"])
    name = f"stablehlo_{sha256(content).hexdigest()[:16]}"
    op = intern(name, _callable(content, parameters, results), {})
    return Module(parameters, results, op)


def _unwrapped(data: bytes) -> bytes:
    """The module inside what ``Exported.serialize`` gives; anything else as it is."""
    if data.startswith(BYTECODE) or b"StableHLO_v" not in data:
        return data
    try:
        return bytes(export.deserialize(bytearray(data)).mlir_module_serialized)
    except ImportError as cause:
        text = "a serialised jax.export needs the package flatbuffers: pip install flatbuffers"
        raise bad_argument(text) from cause
    except Exception:
        return data  # the reader finds the words


def _answer(data: bytes) -> dict[str, Any]:
    """What the reader says. A reader that dies has been given no module."""
    script = Path(hlo_reader.__file__)
    done = subprocess.run(
        [sys.executable, "-I", str(script)],
        input=data,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return {"error": f"{len(data)} bytes that MLIR cannot read"}
    return answer


def _avals(layouts: list[tuple[list[int], str]]) -> tuple[Aval, ...]:
    avals = []
    for sizes, element in layouts:
        dtype = ELEMENTS.get(element)
        if dtype is None or jax.dtypes.canonicalize_dtype(dtype) != jnp.dtype(dtype):
            raise bad_argument(f"the module has elements of type {element}, which JAX has not here")
        avals.append(aval_of(tuple(sizes), jnp.dtype(dtype)))
    return tuple(avals)


def _callable(
    content: bytes, parameters: tuple[Aval, ...], results: tuple[Aval, ...]
) -> Callable[..., Any]:
    """The module as a function that JAX can trace: the export of a function of the same type, with
    this module in its place."""

    def stand_in(*given: Any) -> tuple[Any, ...]:
        return tuple(jnp.zeros(aval.shape, aval.dtype) for aval in results)

    like = export.export(jax.jit(stand_in, keep_unused=True))(
        *[aval.struct() for aval in parameters]
    )
    exported = dataclasses.replace(like, mlir_module_serialized=content)

    def module(*given: Any) -> Any:
        found: tuple[Any, ...] = exported.call(*map(jnp.asarray, given))  # type: ignore[no-untyped-call]
        return found if len(results) > 1 else found[0]

    return module
