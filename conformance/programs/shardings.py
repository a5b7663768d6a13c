"""Generated actions that there are in SPMD mode besides."""

from collections.abc import Callable

from markstep.conformance.programs.source import Source
from markstep.spec import vocabulary as v
from markstep.spec.layouts import suits
from markstep.spec.state import State
from markstep.spec.vocabulary import Action, Nested, TensorName

SPMD_PERCENT = 15
"""How many programs begin with SPMD mode."""
KINDS = (
    (16, v.MarkSharding),
    (6, v.ReadSpec),
    (6, v.BindData),
    (6, v.ClearSharding),
    (6, v.LoadShards),
)
WEIGHT = sum(weight for weight, _ in KINDS)


def sharded_action(
    source: Source,
    state: State,
    tensor: TensorName,
    values: Callable[[tuple[int, ...]], Nested],
) -> Action:
    """One of them on a tensor; ``values`` makes an array of some shape."""
    kind, shape = source.weighted(KINDS), state.record_of(tensor).shape
    if kind is v.MarkSharding:
        fitting = [one for one in v.Sharding if suits(shape, one)]
        return v.MarkSharding(tensor, source.pick(fitting), source.percent(50))
    if kind is v.BindData:
        return v.BindData(tensor, values(shape))
    if kind is v.LoadShards:
        return v.LoadShards(tensor, values(shape))
    return v.ReadSpec(tensor) if kind is v.ReadSpec else v.ClearSharding(tensor)
