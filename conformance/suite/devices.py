"""The golden traces of two devices in one process, without SPMD: semantics.md, Appendix D (13, 14).

A scenario is a program whose steps say on which device something new is made, or whose tensors are
meant.
"""

from dataclasses import dataclass

from markstep.conformance.suite.scenarios import BARRIER, T0, T1, Step, create, plus_one
from markstep.spec import vocabulary as v

FIRST, SECOND = 0, 1
ONE_MORE = (2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class Placed:
    """``steps``: each with its device; a step on tensors that live goes where they are."""

    id: str
    title: str
    steps: tuple[tuple[int, Step], ...]


TWO_IN_ONE_SYNC = Placed(
    "G13-two",
    "Tensors of two devices in one sync: an error, and nothing has changed",
    (
        (FIRST, Step(create(T0), "LEAF")),
        (SECOND, Step(create(T1), "LEAF LEAF")),
        (FIRST, Step(plus_one(T0), "IR LEAF")),
        (FIRST, Step(v.Sync((T0, T1)), "IR LEAF ! bad-argument")),
        (FIRST, Step(v.ReadMany((T1, T0)), "IR LEAF ! bad-argument")),
        (FIRST, Step(v.Sync((T0,)), "DATA LEAF")),
        (SECOND, Step(BARRIER, "DATA DATA")),
        (FIRST, Step(v.ReadOne(T0), "DATA DATA", value=ONE_MORE)),
    ),
)
ONE_PROGRAM = Placed(
    "G14",
    "One program, two devices: the second device finds it and runs it on itself",
    (
        (FIRST, Step(create(T0), "LEAF")),
        (FIRST, Step(plus_one(T0), "IR")),
        (FIRST, Step(v.Sync((T0,)), "DATA", compiled="miss")),
        (SECOND, Step(create(T1), "DATA LEAF")),
        (SECOND, Step(plus_one(T1), "DATA IR")),
        (SECOND, Step(v.Sync((T1,)), "DATA DATA", compiled="hit")),
        (SECOND, Step(v.ReadOne(T1), "DATA DATA", value=ONE_MORE)),
    ),
)
ACROSS = Placed(
    "G14-copy",
    "A copy from device to device goes through the host",
    (
        (FIRST, Step(create(T0), "LEAF")),
        (SECOND, Step(create(T1), "LEAF LEAF")),
        (FIRST, Step(plus_one(T0), "IR LEAF")),
        (FIRST, Step(v.CopyInto(T1, T0), "DATA HOST")),
        (SECOND, Step(plus_one(T1), "DATA IR")),
        (SECOND, Step(v.ReadOne(T1), "DATA DATA", value=(3, 4, 5, 6))),
        (FIRST, Step(v.ReadOne(T0), "DATA DATA", value=ONE_MORE)),
    ),
)
OWN_SEED = Placed(
    "G14-seed",
    "A step barrier begins a new step of its own device",
    (
        (FIRST, Step(v.SetSeed(7), "")),
        (SECOND, Step(v.SetSeed(9), "")),
        (FIRST, Step(v.GetSeed(), "", value=7)),
        (SECOND, Step(v.GetSeed(), "", value=9)),
    ),
)

PLACED: tuple[Placed, ...] = (TWO_IN_ONE_SYNC, ONE_PROGRAM, ACROSS, OWN_SEED)
