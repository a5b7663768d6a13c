"""Options that several verbs have."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, Token

from markstep.conformance.cli.outputs import Outputs

Out = Annotated[Path, Parameter(help="Directory for the traces of failures.")]
Design = Annotated[str, Parameter(help="The design to hold to; see `markstep list designs`.")]
OUT = Path("markstep-out")
"""Where traces go if nobody says it."""


def whole(kind: object, tokens: Sequence[Token]) -> int:
    """A whole number as it is written: 1.5 is none. Raises ValueError."""
    text = tokens[0].value
    if not re.fullmatch(r"[+-]?[0-9]{1,30}", text):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def with_traces(reported: Outputs | None, out: Path) -> Outputs:
    """Where the report goes, and the traces of its failures."""
    return replace(reported or Outputs(), out=out)
