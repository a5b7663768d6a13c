"""Pieces of Markdown that several pages are made of."""

from collections.abc import Iterable, Sequence
from enum import Enum


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [head, ("---",) * len(head), *rows]
    return "".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines
    )


def listed(names: Iterable[str]) -> str:
    """Names as code, separated by commas."""
    return ", ".join(f"`{name}`" for name in names)


def code(value: object) -> str:
    """A value as code."""
    return f"`{value.value if isinstance(value, Enum) else value}`"


def flat(text: str) -> str:
    """Text of a docstring on one line, with code marked as Markdown marks it."""
    return " ".join(text.split()).replace("``", "`")
