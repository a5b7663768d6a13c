"""Read a StableHLO module in a process of its own: bytes on its input, JSON on its output.

MLIR's readers may end the process on bytes that are no module. This file is run as a script, needs
nothing but jaxlib, and imports it alone because importing JAX takes far longer than reading.

The answer is ``{"parameters": [[sizes, type], …], "results": […], "module": hexadecimal}`` with the
module as a portable artifact, or ``{"error": text}``.
"""

import json
import sys
from typing import Any


def read(data: bytes) -> dict[str, Any]:
    """What the module takes and gives. Raises ValueError if the bytes are no such module."""
    from jaxlib.mlir import ir
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import func, stablehlo

    context, registry = ir.Context(), ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context.append_dialect_registry(registry)
    stablehlo.register_dialect(context)
    context.load_all_available_dialects()
    with context:
        try:
            module = stablehlo.deserialize_portable_artifact(context, data)
        except Exception:
            # MLIR text, or bytecode that is no portable artifact
            module = ir.Module.parse(data)
        functions: list[Any] = [f for f in module.body.operations if isinstance(f, func.FuncOp)]
        mains = [function for function in functions if function.name.value == "main"]
        if len(mains) != 1:
            raise ValueError("it has no function `main`")
        return {
            "parameters": [layout(kind, ir) for kind in mains[0].type.inputs],
            "results": [layout(kind, ir) for kind in mains[0].type.results],
            "module": stablehlo.serialize_portable_artifact(
                module, stablehlo.get_current_version()
            ).hex(),
        }


def layout(kind: Any, ir: Any) -> tuple[list[int], str]:
    """Sizes and element type of a value. Raises ValueError unless it is an array of fixed sizes."""
    if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
        raise ValueError(f"{kind} is not an array of fixed sizes")
    return list(kind.shape), str(kind.element_type)


if __name__ == "__main__":
    try:
        answer = read(sys.stdin.buffer.read())
    except Exception as error:
        answer = {"error": " ".join(str(error).split())}
    json.dump(answer, sys.stdout)
