"""Families of actions that an exploration includes only when it is asked to.

They are not among `alphabet.FAMILIES`, so that the state spaces of the core stay as
they are.
"""

from collections.abc import Iterator

from markstep.spec import vocabulary as v
from markstep.spec.state import NONE, State
from markstep.spec.vocabulary import Sharding, TensorName

OPTIONAL_FAMILIES = ("scalars", "random", "sharding", "eager", "ahead")
"""Names of the families; ``ahead`` is what the core family ``cache`` has of compiling ahead."""


def creations(state: State, new: TensorName, families: tuple[str, ...]) -> Iterator[v.Action]:
    """Actions of the families that make a record."""
    if "scalars" in families:
        yield v.Fill(new, (), 1)
        for cached_at, evicts in scalar_facts(state):
            yield v.Fill(new, (), 2, cached_at=cached_at, evicts=evicts)
            yield v.Fill(new, (1,), 2, cached_at=cached_at, evicts=evicts)


def switches(state: State, families: tuple[str, ...]) -> Iterator[v.Action]:
    """Actions of the families that are about no tensor."""
    if "sharding" in families and not state.device.spmd:
        yield v.UseSpmd()
    if "random" in families:
        yield v.SetSeed(7)
    if "eager" in families:
        yield v.SetEager(not state.device.eager)


def updates(state: State, a: TensorName, families: tuple[str, ...]) -> Iterator[v.Action]:
    """Actions of the families on one tensor."""
    if "scalars" in families:
        for cached_at, evicts in scalar_facts(state):
            yield v.AssignInPlace(a, "add_scalar", (), 2, cached_at=cached_at, evicts=evicts)
    if "random" in families:
        for cached_at, evicts in scalar_facts(state):
            yield v.Random(a, cached_at=cached_at, evicts=evicts)
    if "sharding" in families and state.device.spmd:
        yield from annotations(a)


def annotations(a: TensorName) -> Iterator[v.Action]:
    """Actions of SPMD mode on one tensor, and what has another meaning there."""
    yield v.MarkSharding(a, Sharding.TILED, lazy=True)
    yield v.MarkSharding(a, Sharding.REVERSED, lazy=True)
    yield v.MarkSharding(a, Sharding.TILED)
    yield from (v.ClearSharding(a), v.ReadSpec(a))
    yield from (v.BindData(a, (1,)), v.LoadShards(a, (1,)))
    yield v.CopyFromHost(a, (1,), upload=False)
    yield v.DumpGraph((a,))


def scalar_facts(state: State) -> Iterator[tuple[int, int]]:
    """What the scalar cache may know of a number: nothing, or any of its rows; a number that is new
    there may displace any of them."""
    cached = [row for row, buffer in enumerate(state.buffers) if buffer.cached]
    yield NONE, NONE
    for row in cached:
        yield row, NONE
        yield NONE, row
