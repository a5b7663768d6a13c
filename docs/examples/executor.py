"""A whole executor behind the markstep process protocol: eager, in plain Python, needing nothing.

markstep run --adapter 'exec:python3 docs/examples/executor.py'
"""

import json
import math
import operator
import sys

TENSORS = {}  # number of a tensor -> [shape, dtype, values, row-major]
INFIX = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}


class Refused(Exception):
    """An action that no program can mean."""


def need(condition, what):
    if not condition:
        raise Refused(what)


def get(name):
    need(name in TENSORS, f"there is no tensor {name}")
    return TENSORS[name]


def compute(op, names, scalar):
    operands = [get(name) for name in names]
    need(len({dtype for _, dtype, _ in operands}) == 1, "the dtypes differ")
    dtype, op = operands[0][1], op.removesuffix("_scalar")
    operands += [] if scalar is None else [[[], dtype, [scalar]]]
    need(op in ("neg", "matmul", *INFIX) and len(operands) == 2 - (op == "neg"), f"no such {op}")
    (shape, _, a), (other, _, b) = operands[0], operands[-1]
    if op == "neg":
        return [shape, dtype, [-x for x in a]]
    if op == "matmul":
        need(shape and other and shape[-1] == other[0], f"matmul of {shape} and {other}")
        n, columns = other[0], math.prod(other[1:])
        rows = [a[i : i + n] for i in range(0, len(a), n)]
        cells = [sum(map(operator.mul, row, b[j::columns])) for row in rows for j in range(columns)]
        return [shape[:-1] + other[1:], dtype, cells]
    need(shape == other or not shape or not other, f"{op} of {shape} and {other}")
    size = max(len(a), len(b))
    a, b = (x if len(x) == size else x * size for x in (a, b))
    return [shape or other, dtype, list(map(INFIX[op], a, b))]


def apply(action, out=None, target=None, tensor=None, source=None, tensors=(), **more):
    need(out not in TENSORS, f"the number {out} is taken")
    if action == "CreateFromHost":
        need(math.prod(more["shape"]) == len(more["value"]), "the values do not fill the shape")
        TENSORS[out] = [more["shape"], more["dtype"], more["value"]]
    elif action == "Apply":
        need(("scalar" in more["op"]) == (more["scalar"] is not None), "scalar or not")
        TENSORS[out] = compute(more["op"], more["inputs"], more["scalar"])
    elif action == "AssignInPlace":
        need(("scalar" in more["op"]) == (more["scalar"] is not None), "scalar or not")
        result = compute(more["op"], [target, *more["others"]], more["scalar"])
        need(result[:2] == get(target)[:2], "the result does not fit its target")
        get(target)[:] = result
    elif action == "Clone":
        TENSORS[out] = list(get(source))
    elif action == "CopyInto":
        need(get(target)[:2] == get(source)[:2], "the layouts differ")
        get(target)[:] = get(source)
    elif action == "Drop":
        del TENSORS[tensor if get(tensor) else None]
    elif action == "ReadOne":
        return get(tensor)[2]
    else:  # Sync, SyncLive, StepBarrier, WaitDevice: everything is computed already
        [get(name) for name in tensors]


def say(kind, body):
    print(json.dumps({kind: body}), flush=True)


say("hello", {"protocol": 1, "name": "example", "version": "1", "capabilities": []})
for line in sys.stdin:
    ((question, body),) = json.loads(line).items()
    if question == "bye":
        break
    if question == "reset":
        TENSORS.clear()
        say("done", {})
    else:
        try:
            say("observation", {"value": apply(**body)})
        except Refused as refusal:
            say("observation", {"error": "bad-argument", "message": str(refusal)})
