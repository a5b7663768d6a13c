"""Control fields: which values they can have, and in which mode they move.

Searches pack states, proofs make symbols, and tests choose values by what is declared here.
"""

from collections.abc import Collection
from dataclasses import field, fields
from enum import Enum
from typing import Any


class Sort(Enum):
    """The declared range of a control field."""

    BOOL = "bool"
    BUFFER = "buffer row or NONE"
    RECORD = "record row or NONE"
    BUFFERS = "mask of buffer rows"
    RECORDS = "mask of record rows"
    RECORD_ID = "name of a record, never reused"
    EXECUTION_ID = "name of an execution, in order"
    IR_KIND = "IrKind"
    BUFFER_STATUS = "BufferStatus"
    CALL = "CallKind"
    PHASE = "Phase"
    SHARDING = "Sharding"
    COUNT = "0, 1, or 2 for more"


def control(default: Any, sort: Sort) -> Any:
    """A control field: rules may branch on it, its range is declared."""
    return field(default=default, metadata={"sort": sort})


MODES = SPMD, EAGER = "spmd", "eager"
"""The modes that a process may be put into."""


def mode_control(default: Any, sort: Sort, mode: str = SPMD) -> Any:
    """A control field that keeps its default as long as a mode stays off."""
    return field(default=default, metadata={"sort": sort, "mode": mode})


def sorts(cls: type) -> dict[str, Sort]:
    """The control fields of a row class and their declared ranges."""
    return {f.name: f.metadata["sort"] for f in fields(cls) if "sort" in f.metadata}


def mode_fields(cls: type, modes: Collection[str] = MODES) -> dict[str, Any]:
    """The control fields that stand still without these modes, and what they are then."""
    return {f.name: f.default for f in fields(cls) if f.metadata.get("mode") in modes}
