"""Motifs about numbers: given ones, with the cache that they come from, and random ones."""

from markstep.conformance.programs.roles import Motif, Roles, made, plus_one
from markstep.spec.vocabulary import (
    Action,
    AssignInPlace,
    Clone,
    DType,
    Fill,
    GetSeed,
    GraphHash,
    Random,
    ReadMany,
    ReadOne,
    SetDonation,
    SetDonorConfig,
    SetSeed,
    StepBarrier,
    Sync,
)

CARRIES = 20_057
"""A seed whose successor carries into the high word of the 64 bits, in the sum alone."""


def number_marked(r: Roles) -> list[Action]:
    """A donation mark on a tensor of one number, which other graphs read, too (H-06)."""
    steps: list[Action] = [Fill(r.n, (), 2), SetDonorConfig(True), SetDonation(r.n)]
    steps += [AssignInPlace(r.n, "mul_scalar", (), 3), StepBarrier(r.wait), SetDonorConfig(False)]
    return [*steps, Fill(r.m, (), 2), AssignInPlace(r.x, "add_scalar", (), 2), ReadMany((r.m, r.x))]


def number_synced_and_marked(r: Roles) -> list[Action]:
    """The same after a sync, when the tensor has data, and with an evaluation in between."""
    steps: list[Action] = [Fill(r.n, (), 3), Sync((r.n,)), SetDonation(r.n), plus_one(r.n)]
    steps += [StepBarrier(r.wait), Fill(r.m, (), 3), plus_one(r.m), ReadOne(r.m)]
    return [*steps, AssignInPlace(r.x, "add_scalar", (), 3), ReadOne(r.x), ReadOne(r.n)]


def equal_numbers(r: Roles) -> list[Action]:
    """Two tensors of one number are two tensors: each is updated alone."""
    steps: list[Action] = [Fill(r.n, (), 2), Fill(r.m, (), 2), Sync((r.n, r.m), True, r.wait)]
    return [*steps, plus_one(r.n), StepBarrier(r.wait), ReadOne(r.m), plus_one(r.m), ReadOne(r.n)]


def number_borrowed(r: Roles) -> list[Action]:
    """A clone of a constant, and of a parameter."""
    steps: list[Action] = [Fill(r.n, (), 1 if r.wait else 2, DType.S32), Clone(r.m, r.n)]
    return [*steps, plus_one(r.n), StepBarrier(r.wait), ReadOne(r.m), ReadOne(r.n)]


def drawn_in_steps(r: Roles) -> list[Action]:
    """With a barrier between them two draws are one program, without it the second is another."""
    steps: list[Action] = [made(r.n), Random(r.n), StepBarrier(r.wait), Random(r.n)]
    steps += [GraphHash((r.n,)), StepBarrier(r.wait), ReadOne(r.n), made(r.m)]
    return [*steps, Random(r.n), Random(r.m), GraphHash((r.m,)), ReadOne(r.m), ReadOne(r.n)]


def reseeded(r: Roles) -> list[Action]:
    """One seed gives the same numbers again; what was traced before keeps its own."""
    begin = SetSeed(CARRIES)
    steps: list[Action] = [begin, Fill(r.n, (2, 2), 0), Random(r.n), GetSeed(), begin]
    return [*steps, Fill(r.m, (2, 2), 1), Random(r.m), ReadMany((r.n, r.m)), GetSeed()]


def random_again(r: Roles) -> list[Action]:
    """A pending draw that is evaluated twice is one draw."""
    steps: list[Action] = [made(r.n), Random(r.n, 9), ReadMany((r.n,)), Clone(r.m, r.n)]
    return [*steps, ReadMany((r.n,)), plus_one(r.m), ReadOne(r.m), ReadOne(r.n)]


def random_and_marked(r: Roles) -> list[Action]:
    """A draw reads nothing of what the tensor held: its buffer is no parameter, and no donor."""
    steps: list[Action] = [made(r.n), StepBarrier(True), Clone(r.m, r.n), SetDonation(r.n)]
    return [*steps, Random(r.n), StepBarrier(r.wait), ReadOne(r.m), ReadOne(r.n)]


NUMBER_MOTIFS: tuple[Motif, ...] = (
    number_marked,
    number_synced_and_marked,
    equal_numbers,
    number_borrowed,
    drawn_in_steps,
    reseeded,
    random_again,
    random_and_marked,
)
