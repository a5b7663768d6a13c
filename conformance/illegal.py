"""Actions that no program can mean: an executor must refuse them and stay as it is."""

from collections.abc import Iterator

from markstep.spec.state import State
from markstep.spec.vocabulary import (
    Action,
    Apply,
    AssignInPlace,
    Clone,
    CopyFromHost,
    CopyInto,
    CreateFromHost,
    CreatePlaceholder,
    Detach,
    Drop,
    GraphHash,
    ReadMany,
    ReadOne,
    RunCached,
    SetDonation,
    Sync,
    TensorName,
    WarmUp,
    WriteToResult,
)


def candidates(state: State, fresh: TensorName) -> list[Action]:
    """Actions for the state that are probably all impossible; ``fresh`` is an unused name."""
    live = list(state.tensors)
    found = list(_without_tensors(fresh))
    for name in live:
        found += _about(name, fresh)
    for other in live[1:]:
        found += _misfits(live[0], other, fresh)
    return found


def _without_tensors(fresh: TensorName) -> Iterator[Action]:
    unknown = TensorName(fresh + 1000)
    yield CreateFromHost(fresh, (1, 2, 3), (2, 2))
    yield ReadOne(unknown)
    yield Clone(fresh, unknown)
    yield Detach(fresh, unknown)
    yield Drop(unknown)
    yield Sync((unknown,))
    yield ReadMany((unknown,))
    yield WarmUp((unknown,))
    yield GraphHash((unknown,))
    yield RunCached((unknown,), (fresh,))
    yield SetDonation(unknown)
    yield WriteToResult(unknown)
    yield CopyFromHost(unknown, (1,))
    yield AssignInPlace(unknown, "neg")


def _about(name: TensorName, fresh: TensorName) -> Iterator[Action]:
    unknown = TensorName(fresh + 1000)
    yield CreateFromHost(name, (1, 2, 3, 4), (2, 2))
    yield CreatePlaceholder(name, (4,))
    yield Clone(name, name)
    yield Detach(name, name)
    yield Apply(name, "neg", (name,))
    yield Apply(fresh, "add", (name,))
    yield Apply(fresh, "neg", (name, name))
    yield Apply(fresh, "add", (name, unknown))
    yield Apply(fresh, "add_scalar", (name,))
    yield Apply(fresh, "frobnicate", (name,))
    yield AssignInPlace(name, "add", (name, name))
    yield AssignInPlace(name, "add_scalar")
    yield CopyInto(name, unknown)
    yield CopyFromHost(name, (1, 2, 3, 4, 5, 6, 7))
    yield Sync((name, unknown))
    yield ReadMany((name, unknown))


def _misfits(a: TensorName, b: TensorName, fresh: TensorName) -> Iterator[Action]:
    """Impossible only where layouts differ."""
    yield Apply(fresh, "sub", (a, b))
    yield Apply(fresh, "matmul", (a, b))
    yield AssignInPlace(a, "mul", (b,))
    yield CopyInto(a, b)
    yield CopyInto(b, a)
