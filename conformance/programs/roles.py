"""Who plays in a motif, and what all motifs are made of."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from markstep.spec.vocabulary import Action, AssignInPlace, CreateFromHost, TensorName


class Roles(NamedTuple):
    """Two tensors that live, which may be the same, and two names for new ones."""

    x: TensorName
    y: TensorName
    n: TensorName
    m: TensorName
    wait: bool


Motif: TypeAlias = Callable[[Roles], list[Action]]


def plus_one(x: TensorName) -> Action:
    """x += 1"""
    return AssignInPlace(x, "add_scalar", (), 1)


def made(name: TensorName, upload: bool = True) -> Action:
    """A tensor of a frequent shape."""
    return CreateFromHost(name, (1, 2, 3, 4), (2, 2), upload=upload)
