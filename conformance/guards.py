"""Which guard of a rule has fired: seen while the rule runs.

A guard is a condition under which a rule raises or returns early. In the text of the rules it is
an `if` with its id in a comment, `# A03.G1`. Nothing is said about guards a second time: the rule
is run, and the line behind the guard is reached or not.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import FrameType
from typing import Any, TypeVar

from markstep.spec import rules

ID = r"A\d\d\.G\d+"
COMMENT = re.compile(rf"#.*?({ID}(?:, {ID})*)(?:: *(.*))?")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Guard:
    """A guard as the rules have it."""

    ids: str
    """A03.G1, or several that one line states."""
    condition: str
    """The Python text."""
    why: str
    """The rest of the comment, if there is any."""

    @property
    def text(self) -> str:
        """The condition, with what is said about it."""
        return f"{self.condition}  # {self.why}" if self.why else self.condition

    def __str__(self) -> str:
        return f"{self.ids}: {self.text}"


@cache
def guards() -> dict[str, dict[int, Guard]]:
    """By file and by the line that is reached only if the guard fires."""
    found = {}
    for module in iter_modules(rules.__path__, f"{rules.__name__}."):
        file = str(import_module(module.name).__file__)
        found[file] = dict(guards_in(Path(file).read_text(encoding="utf-8")))
    return found


def guards_in(source: str) -> Iterator[tuple[int, Guard]]:
    """The guards of a module. The comment is behind the condition, or behind what it leads to."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.If):
            continue
        condition = ast.unparse(node.test)
        if comment := COMMENT.search(lines[(node.test.end_lineno or node.lineno) - 1]):
            yield node.body[0].lineno, Guard(comment[1], condition, comment[2] or "")
        for branch, test in ((node.body, condition), (node.orelse, f"not ({condition})")):
            for statement in branch:
                comment = COMMENT.search(lines[statement.lineno - 1])
                if comment and not isinstance(statement, ast.If):
                    yield statement.lineno, Guard(comment[1], test, comment[2] or "")


def fired(work: Callable[[], T]) -> tuple[T, tuple[Guard, ...]]:
    """The result of some work, and the guards that fired in it, in order."""
    known, seen = guards(), dict[Guard, None]()

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        return line if frame.f_code.co_filename in known else None

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        guard = known[frame.f_code.co_filename].get(frame.f_lineno)
        if event == "line" and guard is not None:
            seen[guard] = None
        return line

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        result = work()
    finally:
        sys.settrace(before)
    return result, tuple(seen)
