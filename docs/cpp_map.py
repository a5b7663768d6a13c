"""From the functions of torch_xla to the rules that state them, and back: read from the law."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from markstep import spec
from markstep.conformance.guards import Guard, guards
from markstep.spec.machine import ACTIONS, PARTS

SPEC = Path(spec.__path__[0])
MENTION = re.compile(r"\(C\+\+: ([^)]*?)[,)]")
SOURCES = ("rules/*.py", "state.py", "ir.py")
NOTES = ("(device)", "(user code)")
"""What is no function of torch_xla."""


def cpp_page() -> str:
    """The page."""
    return (
        "# From C++ to rules and back\n\n"
        "Which part of the law states which function of torch_xla: from the action table and from\n"
        "the docstrings of the law, which name their source. Beside it:\n"
        "[what each rule does](../reference/rules.md), and\n"
        "[the whole system in words](semantics.md), with places in the C++ sources.\n\n"
        "## From C++\n\n" + from_cpp() + "\n"
        "## From the law\n\n"
        "Guards are conditions under which a rule raises or returns early. `markstep show` says\n"
        "which of them fire in a step.\n\n" + to_cpp() + "\n"
        "This page does not say where in the C++ sources a function is: line numbers do not keep.\n"
    )


def from_cpp() -> str:
    """One row for each C++ name."""
    found: dict[str, list[str]] = {}
    for cls, rule in (ACTIONS | PARTS).items():
        if rule.cpp not in NOTES:
            link = f"[{rule.id}](../reference/rules.md#{rule.id}) `{cls.__name__}`"
            found.setdefault(rule.cpp, []).append(link)
    for name, place in mentions():
        found.setdefault(name, []).append(f"`{place}`")
    lines = [f"| `{name}` | {', '.join(found[name])} |" for name in sorted(found, key=str.lower)]
    return "\n".join(["| C++ | stated by |", "|---|---|", *lines]) + "\n"


def mentions() -> Iterator[tuple[str, str]]:
    """(C++ name, place) of every docstring that names its source."""
    for path in sorted(path for pattern in SOURCES for path in SPEC.glob(pattern)):
        module = ".".join(path.relative_to(SPEC).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                for mention in MENTION.findall(ast.get_docstring(node) or ""):
                    yield mention.split(" ")[0], f"{module}.{node.name}"


def to_cpp() -> str:
    """One row for each rule: its function, its source, its guards."""
    lines = []
    for cls, rule in (ACTIONS | PARTS).items():
        module = rule.effect.__module__.removeprefix("markstep.spec.")
        mine = "<br>".join(f"{g.ids}: `{condition(g)}`" for g in guards_of(rule.id))
        where = f"`{module}.{rule.effect.__name__}`"
        name = f"[{rule.id}](../reference/rules.md#{rule.id}) `{cls.__name__}`"
        lines.append(f"| {name} | {where} | {source(rule.cpp)} | {mine} |")
    head = ["| rule | function | C++ | guards |", "|---|---|---|---|"]
    return "\n".join([*head, *lines]) + "\n"


def source(cpp: str) -> str:
    """A C++ name as code; a note as it is."""
    return cpp.strip("()") if cpp in NOTES else f"`{cpp}`"


def guards_of(id: str) -> list[Guard]:
    """The guards of a rule, by number."""
    known = (guard for lines in guards().values() for guard in lines.values())
    mine = {guard.ids: guard for guard in known if guard.ids.startswith(f"{id}.")}
    return [mine[ids] for ids in sorted(mine)]


def condition(guard: Guard) -> str:
    """The condition, as a cell of a table takes it."""
    return guard.condition.replace("|", "\\|")
