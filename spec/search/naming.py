"""Renaming the tensors of actions."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from markstep.spec.machine import AnyAction, names, naming_fields
from markstep.spec.state import NONE, bit, rows
from markstep.spec.vocabulary import CompleteExecution, TensorName

ROWS = ("cached_at", "evicts")
"""Fields of actions that name buffer rows."""


def names_given(program: Iterable[AnyAction]) -> list[TensorName]:
    """Every name that the actions of a program give out."""
    return [name for action in program for name in names(action)[1]]


def renamed_action(
    action: AnyAction, tensors: Sequence[TensorName], buffers: Sequence[int], taken: int
) -> AnyAction:
    """An action about canonical names and rows as one about the given ones.

    ``tensors`` and ``buffers`` are indexed by canonical name and row; new names start at ``taken``.
    """
    if isinstance(action, CompleteExecution):
        return replace(action, spares=sum(bit(buffers[row]) for row in rows(action.spares)))
    action = with_rows(action, buffers)
    new = {name: TensorName(taken + i) for i, name in enumerate(names(action)[1])}
    return with_names(action, lambda name: tensors[name], new.__getitem__)


def with_rows(action: AnyAction, buffers: Sequence[int]) -> AnyAction:
    """An action whose facts about the scalar cache name the given buffer rows."""
    changes = {
        name: buffers[getattr(action, name)] for name in ROWS if getattr(action, name, NONE) != NONE
    }
    return replace(action, **changes) if changes else action


def with_names(
    action: AnyAction,
    used: Callable[[TensorName], TensorName],
    given: Callable[[TensorName], TensorName],
) -> AnyAction:
    """An action with its tensor names replaced."""
    changes: dict[str, Any] = {}
    cls: type = type(action)
    for names_of_kind, rename in zip(naming_fields(cls), (used, given), strict=True):
        for field in names_of_kind:
            value = getattr(action, field)
            several = isinstance(value, tuple)
            changes[field] = tuple(map(rename, value)) if several else rename(value)
    return replace(action, **changes) if changes else action
