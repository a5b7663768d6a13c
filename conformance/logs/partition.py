"""How the partitioner laid the outputs of a program, as a step of a log shows it.

That is a fact of the step, which the law does not predict; but it predicts that the same program
has the same one again. The texts are those of xla::HloSharding.
"""

from dataclasses import dataclass

from markstep.conformance.logs.rawrecord import RawStep, RawTensor
from markstep.spec.layouts import placed, suits
from markstep.spec.machine import AnyAction
from markstep.spec.schedule import Partitioner
from markstep.spec.state import State
from markstep.spec.vocabulary import RunCached, Sharding


def text_of(sharding: Sharding, shape: tuple[int, ...]) -> str | None:
    """A sharding of an array of some shape as torch_xla prints it."""
    if sharding == Sharding.NONE:
        return None
    if sharding == Sharding.REPLICATED:
        return "{replicated}"
    if not suits(shape, sharding):
        return "(none)"
    lies = placed(sharding, len(shape))
    copies = len(lies.holders[0])
    tiles = ",".join(map(str, lies.tiles + ((copies,) if copies > 1 else ())))
    devices = ",".join(str(device) for holders in lies.holders for device in holders)
    more = " last_tile_dim_replicate" if copies > 1 else ""
    return f"{{devices=[{tiles}]{devices}{more}}}"


def sharding_named(text: str | None, shape: tuple[int, ...]) -> Sharding:
    """The sharding with this text; NONE if the law has none such."""
    found = (one for one in Sharding if text is not None and text_of(one, shape) == text)
    return next(found, Sharding.NONE)


@dataclass(frozen=True, slots=True)
class Partition:
    """What one step of a log shows of how data lies."""

    raw: RawStep

    def of(self, action: AnyAction) -> Partitioner:
        """The choice for the program that an action runs, where its outputs can be seen."""

        def choice(state: State) -> tuple[Sharding, ...]:
            names = {row: name for name, row in state.tensors.items()}
            outputs = [names[r] for r in state.call.output_order]
            if isinstance(action, RunCached):
                outputs = list(action.outs[: len(outputs)])
            return tuple([self.shown(f"t{name}") for name in outputs])

        return choice

    def shown(self, name: str) -> Sharding:
        """How the data of a tensor lies after the step; REPLICATED if it does not show."""
        seen = self.raw.tensors.get(name)
        if not isinstance(seen, RawTensor) or seen.data is None:
            return Sharding.REPLICATED
        found = sharding_named(seen.data.sharding, seen.shape)
        return found if found != Sharding.NONE else Sharding.REPLICATED
