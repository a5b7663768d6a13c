"""Keeping generated values exact: small multiples of 1/16, where float32 does not round."""

from markstep.spec.evaluator import Value
from markstep.spec.state import State
from markstep.spec.vocabulary import Action, Apply, AssignInPlace, TensorName

LARGEST = 2**14
FRACTION = 16


def stays_exact(state: State, action: Action) -> bool:
    """Whether the result of the action, and every sum on the way, is exact in float32 and int32."""
    match action:
        case Apply():
            return _exact(state, action.op, action.inputs, action.scalar)
        case AssignInPlace():
            return _exact(state, action.op, (action.target, *action.others), action.scalar)
    return True


def _exact(state: State, op: str, inputs: tuple[TensorName, ...], scalar: float | None) -> bool:
    operands = [state.record_of(name).truth for name in inputs]
    if scalar is not None:
        if state.record_of(inputs[0]).dtype == "int32" and scalar != int(scalar):
            return False
        operands.append((scalar,))
    known = [value for value in operands if value is not None]
    if len(known) < len(operands) or not known:
        return True
    sizes = [max(map(abs, value)) for value in known]
    if op in ("mul", "mul_scalar", "matmul"):
        bound = sizes[0] * sizes[1] * (2 if op == "matmul" else 1) * (len(inputs))
        return bound <= LARGEST and _coarse(known[0], known[1])
    return sum(sizes) <= LARGEST


def _coarse(a: Value, b: Value) -> bool:
    """Whether every product of elements is a multiple of 1/FRACTION."""
    return all((x * y * FRACTION) % 1 == 0 for x in a for y in b)
