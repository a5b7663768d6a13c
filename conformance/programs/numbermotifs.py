"""Motifs about numbers: tensors made of one, and the cache that their parameters come from."""

from markstep.conformance.programs.roles import Motif, Roles, plus_one
from markstep.spec.vocabulary import (
    Action,
    AssignInPlace,
    Clone,
    DType,
    Fill,
    ReadMany,
    ReadOne,
    SetDonation,
    SetDonorConfig,
    StepBarrier,
    Sync,
)


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


NUMBER_MOTIFS: tuple[Motif, ...] = (
    number_marked,
    number_synced_and_marked,
    equal_numbers,
    number_borrowed,
)
