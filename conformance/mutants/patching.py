"""Loading a room with one lie in it: the source text of one module is changed as it is imported.

Nothing on disk is touched, and production code knows nothing of it. It has to happen in a process
of its own, before the module is imported.
"""

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent, indent
from types import CodeType, ModuleType

from markstep.conformance.mutants.catalogue import CatalogueError, Mutant

MOST_INDENTED = 60


def source_of(mutant: Mutant) -> str:
    """The text of the module that is changed, as it is. Does not import it."""
    room, _, inside = mutant.file.partition("/")
    spec = find_spec(f"markstep.{room}")
    if spec is None or spec.origin is None:
        raise CatalogueError(f"{mutant.id}: there is no markstep.{room}")
    try:
        return (Path(spec.origin).parent / inside).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CatalogueError(f"{mutant.id}: there is no {mutant.file}") from None


def changed(mutant: Mutant, source: str) -> str:
    """The text with the lie. Raises CatalogueError unless the old text is there exactly once."""
    lines = source.splitlines(keepends=True)
    first, last = _span(mutant, ast.parse(source), len(lines))
    found = list(occurrences("".join(lines[first:last]), mutant.old, mutant.new))
    if len(found) != 1:
        where = f"{mutant.file}, {mutant.function or 'the whole file'}"
        times = f"the old text occurs {len(found)} times, not once"
        raise CatalogueError(f"{mutant.id}: {where}: {times}")
    text = "".join((*lines[:first], *found, *lines[last:]))
    try:
        if ast.dump(ast.parse(text)) == meaning(source):
            raise CatalogueError(f"{mutant.id}: the new text means the same as the old one")
    except SyntaxError as error:
        raise CatalogueError(f"{mutant.id}: with the new text: {error}") from None
    return text


@lru_cache(maxsize=64)
def meaning(source: str) -> str:
    """What a text means: layout and comments are no part of it."""
    return ast.dump(ast.parse(source))


def occurrences(text: str, old: str, new: str) -> Iterator[str]:
    """The text with one occurrence of the old one replaced, for each occurrence.

    Whole lines are found however deep they are indented together; what replaces a part of a line
    by several lines is indented like that line.
    """
    if "\n" in old or old.startswith(" "):
        for depth in range(0, MOST_INDENTED, 4):
            block = indent(dedent(old), " " * depth)
            for found in re.finditer("^" + re.escape(block), text, re.MULTILINE):
                put = indent(dedent(new), " " * depth)
                yield text[: found.start()] + put + text[found.end() :]
        return
    for found in re.finditer(re.escape(old), text):
        line = text[text.rfind("\n", 0, found.start()) + 1 :]
        put = new.replace("\n", "\n" + " " * (len(line) - len(line.lstrip(" "))))
        yield text[: found.start()] + put + text[found.end() :]


def _span(mutant: Mutant, tree: ast.Module, lines: int) -> tuple[int, int]:
    """The lines of the function that is changed: (first, behind the last)."""
    if not mutant.function:
        return 0, lines
    body: Sequence[ast.stmt] = tree.body
    found: ast.FunctionDef | ast.ClassDef | None = None
    for name in mutant.function.split("."):
        inside = (s for s in body if isinstance(s, ast.FunctionDef | ast.ClassDef))
        found = next((s for s in inside if s.name == name), None)
        if found is None:
            raise CatalogueError(f"{mutant.id}: there is no {mutant.function} in {mutant.file}")
        body = found.body
    assert found is not None
    first = min([found.lineno, *(decorator.lineno for decorator in found.decorator_list)])
    return first - 1, found.end_lineno or lines


class Liar(MetaPathFinder):
    """Finds the module of a mutant where it is, and gives it another loader."""

    def __init__(self, mutant: Mutant) -> None:
        self.module, self.text = mutant.module, changed(mutant, source_of(mutant))
        if self.module in sys.modules:
            raise RuntimeError(f"{self.module} is already imported, as it is")

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that the others find, if it is that of the module."""
        if name != self.module:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None and spec.origin is not None:
                spec.loader = ChangedSource(name, spec.origin, self.text)
                return spec
        return None


class ChangedSource(SourceFileLoader):
    """Loads a module from a text, as if the file held it."""

    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self.text = text

    def get_code(self, fullname: str) -> CodeType | None:
        """The text compiled; no cached byte code is read or written."""
        return compile(self.text, self.path, "exec", dont_inherit=True)


def install(mutant: Mutant) -> None:
    """From now on the module of the mutant is imported with its lie."""
    sys.meta_path.insert(0, Liar(mutant))
