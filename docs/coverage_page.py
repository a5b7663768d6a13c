"""The page that says where each function and knob of the described system is in this repository.

The data are in `coverage.toml`. Everything that it names is looked up: a rule, claim or design
field that does not exist, a symbol that cannot be imported, an action that is none and a test that
nobody wrote are errors, and so is a function or a knob that is missing.
"""

import ast
import dataclasses
import gzip
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import get_args

from markstep.conformance.logs.reduction import REDUCTION
from markstep.spec import vocabulary
from markstep.spec.invariants import CLAIMS, GRAPH_CLAIMS
from markstep.spec.machine import ACTIONS

ROOT = Path(__file__).parent.parent
DATA = ROOT / "docs" / "coverage.toml"
TESTS = ROOT / "conformance" / "tests"
FUNCTIONS = 63
COLUMNS = ("law", "executor", "actions", "tests", "why")
KNOB = re.compile(r"\b[A-Z]+_[A-Z_]+[A-Z]|\b[a-z]+_[a-z_]+|\beager\b")


class Missing(Exception):
    """Something that the data name does not exist, or they leave something out."""


@dataclasses.dataclass(frozen=True)
class Row:
    """One function, or one knob."""

    n: str
    name: str
    law: tuple[str, ...] = ()
    executor: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    why: str = ""

    @property
    def logs(self) -> list[str]:
        """Profiles of recorded logs in which one of the actions is."""
        return [profile for profile, made in profiles().items() if made & {*self.actions}]


def coverage_page() -> str:
    """The page, if everything that it names exists."""
    data = rows_of(DATA.read_text(encoding="utf-8"))
    problems = [*broken(data["function"] + data["knob"]), *left_out(data)]
    if problems:
        raise SystemExit("docs/coverage.toml: " + "\n".join(problems))
    return (
        "# Coverage\n\n"
        "Where each function of the described executor is, by its number in [the\n"
        "description](../explanation/semantics.md) §3, and each of its knobs (§7): in the law by\n"
        "the ids of [rules](rules.md), guards, [claims](invariants.md) and [design\n"
        "fields](designs.md), in the executor by the symbol of `markstep.impl`, the\n"
        "[actions](actions.md) and tests that exercise it, and the profiles of recorded logs in\n"
        "which such an action is. What is not modelled has a reason.\n\n"
        f"## Functions\n\n{table('function', data['function'])}\n"
        f"## Knobs\n\n{table('knob', data['knob'])}\n"
        "This page does not say how well a test does its work.\n"
    )


def rows_of(text: str) -> dict[str, list[Row]]:
    """The data, by kind."""

    def row(given: dict[str, str]) -> Row:
        lists = {key: tuple(given[key].split()) for key in COLUMNS[:-1] if key in given}
        return Row(given.get("n", ""), given["name"], **lists, why=given.get("why", ""))

    return {kind: list(map(row, rows)) for kind, rows in tomllib.loads(text).items()}


def broken(rows: Iterable[Row]) -> Iterator[str]:
    """What the rows name that does not exist, and rows that say nothing."""
    exists: dict[str, Callable[[str], bool]] = {
        "law": lambda id: id in laws(),
        "executor": is_symbol,
        "actions": lambda name: name in actions(),
        "tests": lambda name: name in tests(),
    }
    for row in rows:
        for column, known in exists.items():
            for name in getattr(row, column):
                if not known(name):
                    yield f"{row.n} {row.name}: there is no {name} ({column})"
        if not row.why and not (row.law and row.executor and row.tests):
            yield f"{row.n} {row.name}: law, executor and tests, or the reason why not"


def left_out(data: dict[str, list[Row]]) -> Iterator[str]:
    """Functions and knobs of the description that no row is about."""
    numbers = [n for row in data["function"] for n in numbers_in(row.n)]
    for n in range(1, FUNCTIONS + 1):
        if numbers.count(n) != 1:
            yield f"function {n} is in {numbers.count(n)} rows"
    named = {name for row in data["knob"] for name in KNOB.findall(row.name)}
    for name in sorted({name for cell in knobs() for name in KNOB.findall(cell)} - named):
        yield f"no row is about the knob {name}"


def numbers_in(text: str) -> Iterator[int]:
    """The numbers of "1, 12" or "19–25"."""
    for part in text.split(", "):
        first, _, last = part.partition("–")
        yield from range(int(first), int(last or first) + 1)


def knobs() -> list[str]:
    """The first cells of the table of knobs in the description."""
    text = (ROOT / "docs" / "explanation" / "semantics.md").read_text(encoding="utf-8")
    section = text.split("\n## 7.")[1].split("\n## 8.")[0]
    return [line.split("|")[1] for line in section.splitlines() if line.startswith("| ")][1:]


@cache
def laws() -> frozenset[str]:
    """Ids of rules, guards, claims and design fields."""
    rules = "".join(path.read_text("utf-8") for path in (ROOT / "spec" / "rules").glob("*.py"))
    fields = re.findall(r"\bD\d\d\b", (ROOT / "spec" / "design.py").read_text(encoding="utf-8"))
    guards = re.findall(r"\bA\d\d\.G\d+\b", rules)
    ids = {rule.id for rule in ACTIONS.values()}
    return frozenset({*ids, *guards, *fields, *CLAIMS, *GRAPH_CLAIMS})


def is_symbol(name: str) -> bool:
    """Whether a symbol of the executor can be imported, or is an attribute of one that can."""
    module, *path = name.split(".")
    try:
        found: object = import_module(f"markstep.impl.{module}")
        for part in path:
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return False
    return bool(path)


@cache
def actions() -> frozenset[str]:
    """Names of the actions."""
    return frozenset(kind.__name__ for kind in get_args(vocabulary.Action))


@cache
def tests() -> frozenset[str]:
    """Every test, by its file and name."""
    found = set()
    for path in TESTS.rglob("test_*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                found.add(f"{path.stem}.{node.name}")
    return frozenset(found)


@cache
def profiles() -> dict[str, frozenset[str]]:
    """For each profile of the logs in this repository, the actions that its logs reduce to."""
    found: dict[str, set[str]] = {}
    for path in sorted((TESTS / "logs").glob("*/*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            next(lines)
            names = {json.loads(line)["action"] for line in lines}
        made = {kind.__name__ for name in names for kind in REDUCTION[name].makes}
        found.setdefault(path.parent.name, set()).update(made)
    return {profile: frozenset(made) for profile, made in found.items()}


def table(kind: str, rows: list[Row]) -> str:
    """The rows as a Markdown table."""
    head = (kind, "law", "executor", "actions", "tests", "recorded logs", "not modelled, and why")
    lines = [head, ("---",) * len(head)]
    for row in rows:
        name = f"{row.n} `{row.name}`".strip() if row.n else f"`{row.name}`"
        cells = [(one for one in getattr(row, column)) for column in COLUMNS[:-1]]
        law, executor, made, tested = (", ".join(f"`{one}`" for one in cell) for cell in cells)
        lines.append((name, law, executor, made, tested, ", ".join(row.logs), row.why))
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)
