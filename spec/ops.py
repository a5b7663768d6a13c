"""The ops of the alphabet: what each takes, and what tracing it costs. Declared facts, no rules.

Source: torch_xla/csrc/aten_xla_type.cpp and ATen's wrapping of numbers, by the counters of the
recorded logs.
"""

from dataclasses import dataclass

from markstep.spec.vocabulary import BINARY_OPS, FAULTY_OPS, SCALAR_OPS, UNARY_OPS


@dataclass(frozen=True, slots=True)
class Op:
    """One op: how many tensors it takes, and whether a number too."""

    tensors: int = 1
    number: bool = False
    early: int = 0
    """Records that live only inside the call, made before the op looks at its inputs."""
    late: int = 0
    """… and after: a wrapped number, an intermediate result."""


OPS: dict[str, Op] = {
    **dict.fromkeys(UNARY_OPS, Op()),
    **dict.fromkeys(BINARY_OPS, Op(tensors=2)),
    **dict.fromkeys(SCALAR_OPS, Op(number=True, late=1)),
    **dict.fromkeys(FAULTY_OPS, Op()),
    "failing_execute": Op(early=2, late=1),
}
"""Name → facts."""
