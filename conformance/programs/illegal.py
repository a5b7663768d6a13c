"""Actions that no program can mean: an executor must refuse them and stay as it is."""

from collections.abc import Iterator

from markstep.spec.state import State
from markstep.spec.vocabulary import (
    Action,
    Apply,
    AssignInPlace,
    BindData,
    Clone,
    CopyFromHost,
    CopyInto,
    CreateFromHost,
    CreatePlaceholder,
    Detach,
    Drop,
    DType,
    Fill,
    GraphHash,
    LoadShards,
    MarkSharding,
    Random,
    ReadMany,
    ReadOne,
    RunCached,
    SetDonation,
    SetSeed,
    Sharding,
    Sync,
    TensorName,
    WarmUp,
    WriteToResult,
)


def candidates(state: State, fresh: TensorName) -> list[Action]:
    """Actions for the state that are probably all impossible; ``fresh`` is an unused name."""
    return [action for _, kind in kinds(state, fresh) for action in kind]


def kinds(state: State, fresh: TensorName) -> list[tuple[int, list[Action]]]:
    """The same in groups with weights: about no tensor, about one, about two that do not fit."""
    live = list(state.tensors)
    found = [
        (1, list(_without_tensors(fresh))),
        (2, [action for name in live for action in _about(name, fresh)]),
        (9, [action for a in live for b in live for action in _misfits(state, a, b, fresh)]),
        (2, [action for name in live for action in _of_shardings(state, name)]),
    ]
    return [(weight, kind) for weight, kind in found if kind]


def _without_tensors(fresh: TensorName) -> Iterator[Action]:
    unknown = TensorName(fresh + 1000)
    yield CreateFromHost(fresh, (1, 2, 3), (2, 2))
    yield Fill(fresh, (2, 2), 2.5, DType.S32)
    yield SetSeed(-1)
    yield SetSeed(2**64)
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
    yield Fill(name, (), 2)
    yield Random(name, 0)
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


def _of_shardings(state: State, name: TensorName) -> Iterator[Action]:
    """What cannot be asked of a tensor in SPMD mode."""
    if not state.device.spmd:
        return
    yield MarkSharding(name, Sharding.NONE)
    if not state.record_of(name).shape:
        yield MarkSharding(name, Sharding.TILED, lazy=True)
    yield from (BindData(name, (1,) * 7), LoadShards(name, (1,) * 7))


def _misfits(state: State, a: TensorName, b: TensorName, fresh: TensorName) -> Iterator[Action]:
    """What two tensors of different layouts cannot do together."""
    one, other = state.record_of(a), state.record_of(b)
    if (one.shape, one.dtype) == (other.shape, other.dtype):
        return
    yield CopyInto(a, b)
    yield AssignInPlace(a, "mul", (b,))
    if one.shape and other.shape:
        yield Apply(fresh, "sub", (a, b))
        yield Apply(fresh, "matmul", (a, b))
    elif one.dtype != other.dtype:
        yield Apply(fresh, "add", (a, b))
