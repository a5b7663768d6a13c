"""Motifs about keys: two graphs that differ in one respect, or in none.

Where the respect is left out of the key, the second graph gets the program of the first. Most of
these make their own tensors, so that they are possible whatever lives already.
"""

from markstep.conformance.programs.roles import Motif, Roles, made, plus_one
from markstep.spec.vocabulary import (
    Action,
    Apply,
    AssignInPlace,
    Clone,
    CopyFromHost,
    CopyInto,
    CreateFromHost,
    Drop,
    DType,
    GraphHash,
    ReadMany,
    ReadOne,
    StepBarrier,
    Sync,
    SyncLive,
    TensorName,
)


def key_and_values(*tensors: TensorName) -> list[Action]:
    """The key of a graph, and what its program computes."""
    return [GraphHash(tensors), ReadMany(tensors)]


def minus(target: TensorName, other: TensorName) -> Action:
    """target -= other"""
    return AssignInPlace(target, "sub", (other,))


def swapped_operands(r: Roles) -> list[Action]:
    """The key does not know which buffers are the operands: these graphs are equal."""
    steps: list[Action] = [Apply(r.n, "sub", (r.x, r.y)), Apply(r.m, "sub", (r.y, r.x))]
    return [*steps, *key_and_values(r.n), *key_and_values(r.m)]


def other_wiring(r: Roles) -> list[Action]:
    """(n-m)-m and (n-m)-(n-m): the same operations, wired differently."""
    steps: list[Action] = [made(r.n), made(r.m), minus(r.n, r.m), minus(r.n, r.m)]
    again: list[Action] = [Sync((r.n,)), minus(r.n, r.m), minus(r.n, r.n)]
    return [*steps, *key_and_values(r.n), *again, *key_and_values(r.n)]


def squares(r: Roles, shape: tuple[int, ...], dtype: DType) -> list[Action]:
    """The square of a frequent kind of tensor, then that of another kind."""
    steps: list[Action] = [made(r.n), CreateFromHost(r.m, (1, 2, 3, 4), shape, dtype)]
    steps += [AssignInPlace(name, "mul", (name,)) for name in (r.n, r.m)]
    return [*steps, *key_and_values(r.n), *key_and_values(r.m)]


def other_shape(r: Roles) -> list[Action]:
    """The same operations on another shape."""
    return squares(r, (4,), DType.F32)


def other_dtype(r: Roles) -> list[Action]:
    """The same operations on another element type."""
    return squares(r, (2, 2), DType.S32)


def other_constants(r: Roles) -> list[Action]:
    """x*1 and x*-1: constants are part of the program."""
    steps: list[Action] = [Apply(r.n, "mul_scalar", (r.x,), 1)]
    steps.append(Apply(r.m, "mul_scalar", (r.x,), -1))
    return [*steps, *key_and_values(r.n), *key_and_values(r.m)]


def other_scalars(r: Roles) -> list[Action]:
    """x+2+2, x+2+3 and again: equal scalars are one parameter, different ones are two."""
    steps: list[Action] = [Apply(name, "add_scalar", (r.x,), 2) for name in (r.n, r.m)]
    steps.append(AssignInPlace(r.n, "add_scalar", (), 2))
    steps.append(AssignInPlace(r.m, "add_scalar", (), 3))
    again = AssignInPlace(r.n, "add_scalar", (), 2)
    return [*steps, *key_and_values(r.n), *key_and_values(r.m), again, ReadOne(r.n)]


def other_sharing(r: Roles) -> list[Action]:
    """-x + -x with two negations, then with one: which nodes are shared is part of the key."""
    steps: list[Action] = [Apply(name, "neg", (r.x,)) for name in (r.n, r.m)]
    steps.append(AssignInPlace(r.n, "add", (r.m,)))
    steps.append(AssignInPlace(r.m, "add", (r.m,)))
    return [*steps, *key_and_values(r.n), *key_and_values(r.m)]


def one_buffer_two_leaves(r: Roles) -> list[Action]:
    """An old leaf and a new one over a buffer are one parameter."""
    steps: list[Action] = [made(r.n), Clone(r.m, r.n), GraphHash((r.n,))]
    again: list[Action] = [Sync((r.m,)), AssignInPlace(r.m, "add", (r.m,))]
    added = AssignInPlace(r.m, "add", (r.n,))
    return [*steps, added, *key_and_values(r.m), *again, *key_and_values(r.m)]


def other_order(r: Roles) -> list[Action]:
    """The same outputs in another order are another program."""
    steps: list[Action] = [Apply(r.n, "neg", (r.x,)), Apply(r.m, "neg", (r.n,))]
    return [*steps, *key_and_values(r.n, r.m), *key_and_values(r.m, r.n)]


def other_outputs(r: Roles) -> list[Action]:
    """The same graph with fewer outputs is another program."""
    steps: list[Action] = [Apply(r.n, "neg", (r.x,)), Apply(r.m, "neg", (r.n,))]
    return [*steps, *key_and_values(r.m), *key_and_values(r.n, r.m)]


def other_donor(r: Roles) -> list[Action]:
    """n-m is computed into n, then into m: the same graph gives another parameter away."""
    steps: list[Action] = [made(r.n), made(r.m), StepBarrier(True), minus(r.n, r.m), Sync((r.n,))]
    again: list[Action] = [minus(r.n, r.m), CopyInto(r.m, r.n), Drop(r.n), Sync((r.m,))]
    return [*steps, *again, ReadOne(r.m)]


def same_constants(r: Roles) -> list[Action]:
    """x+1+1, twice, the second time with other numbers in between: equal graphs."""
    steps: list[Action] = [Apply(name, "add_scalar", (r.x,), 1) for name in (r.n, r.m)]
    steps += [AssignInPlace(r.n, "add_scalar", (), 1), AssignInPlace(r.y, "mul_scalar", (), -1)]
    steps.append(AssignInPlace(r.m, "add_scalar", (), 1))
    return [*steps, *key_and_values(r.n), *key_and_values(r.m)]


def adding_a_number(r: Roles) -> list[Action]:
    """n+3 and n+m, where n has no axes: a number that is a parameter is a tensor like others."""
    steps: list[Action] = [CreateFromHost(r.n, (3,), ()), Apply(r.m, "add_scalar", (r.n,), 3)]
    again = AssignInPlace(r.m, "add", (r.n,))
    return [*steps, GraphHash((r.m,)), Sync((r.m,), False), again, *key_and_values(r.m)]


def equal_values(r: Roles) -> list[Action]:
    """n+m, where n and m are equal, and where they are not: values are not in the key."""
    added = AssignInPlace(r.n, "add", (r.m,))
    again: list[Action] = [CopyFromHost(r.n, (5, 6, 7, 8)), added]
    steps: list[Action] = [made(r.n), made(r.m), added]
    return [*steps, *key_and_values(r.n), *again, *key_and_values(r.n)]


def order_of_updates(r: Roles) -> list[Action]:
    """A barrier computes in the order of the updates: another order is another program."""
    steps: list[Action] = [made(r.n), made(r.m), StepBarrier(True)]
    doubled = AssignInPlace(r.m, "mul_scalar", (), 2)
    steps += [plus_one(r.n), doubled, SyncLive(True), doubled, plus_one(r.n), SyncLive(r.wait)]
    return [*steps, ReadOne(r.n), ReadOne(r.m)]


def twice(r: Roles, first: list[Action], then: list[Action]) -> list[Action]:
    """Two graphs of the same number of outputs, one after the other, on two tensors of a kind: what
    is known of a wide graph is not true of another."""
    both = Sync((r.n, r.m))
    steps: list[Action] = [made(r.n), CreateFromHost(r.m, (5, 6, 7, 8), (2, 2))]
    return [*steps, *first, both, *then, both, ReadOne(r.n), ReadOne(r.m)]


def with_itself(op: str, *tensors: TensorName) -> list[Action]:
    """Each, in place."""
    return [AssignInPlace(tensor, op, (tensor,)) for tensor in tensors]


def wide_other_operations(r: Roles) -> list[Action]:
    """n*n and m*m, then n+n and m+m."""
    return twice(r, with_itself("mul", r.n, r.m), with_itself("add", r.n, r.m))


def wide_less_sharing(r: Roles) -> list[Action]:
    """n+n and m+m, then n+m and m+n."""
    crossed: list[Action] = [AssignInPlace(r.n, "add", (r.m,)), AssignInPlace(r.m, "add", (r.n,))]
    return twice(r, with_itself("add", r.n, r.m), crossed)


def wide_more_sharing(r: Roles) -> list[Action]:
    """-n and -m, then the same where both are one buffer."""
    negated: list[Action] = [AssignInPlace(name, "neg") for name in (r.n, r.m)]
    return twice(r, negated, [CopyInto(r.m, r.n), *negated])


KEY_MOTIFS: tuple[Motif, ...] = (
    swapped_operands,
    other_wiring,
    other_shape,
    other_dtype,
    other_constants,
    other_scalars,
    other_sharing,
    one_buffer_two_leaves,
    other_order,
    other_outputs,
    other_donor,
    same_constants,
    adding_a_number,
    equal_values,
    order_of_updates,
    wide_other_operations,
    wide_less_sharing,
    wide_more_sharing,
)
