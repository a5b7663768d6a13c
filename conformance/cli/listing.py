"""`markstep list`: what there is, as tables or as JSON."""

import inspect
import json
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import TypeAlias

from rich.table import Table
from rich.text import Text

from markstep.conformance.cli.usage import pick, reader_may_leave
from markstep.conformance.exit_codes import ExitCode
from markstep.conformance.report.console import console, print_table

Rows: TypeAlias = list[dict[str, str]]


def list_verb(what: str | None, as_json: bool) -> ExitCode:
    """Print one list or all of them."""
    chosen = list(LISTS) if what is None else [pick("list", what, LISTS)]
    lists = {name: LISTS[name]() for name in chosen}
    with reader_may_leave():
        print_lists(lists, as_json)
    return ExitCode.CONFORMS


def print_lists(lists: dict[str, Rows], as_json: bool) -> None:
    """Tables, or one JSON object."""
    if as_json:
        print(json.dumps({"format": 1, **lists}, indent=1, ensure_ascii=False))
        return
    to = console()
    for i, (name, rows) in enumerate(lists.items()):
        if i:
            to.print()
        if len(lists) > 1:
            to.print(Text(name, "bold"))
        print_table(_table(rows), to)


def _table(rows: Rows) -> Table:
    columns = list(rows[0]) if rows else []
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=bool(rows))
    for name in columns:
        last = name == columns[-1]
        table.add_column(name, header_style="bold", no_wrap=not last, overflow="fold")
    for row in rows:
        table.add_row(*row.values())
    return table


def actions() -> Rows:
    """The action table: of the program and its environment, then the phases of a call."""
    from markstep.spec.machine import ACTIONS

    return [
        {"id": rule.id, "action": cls.__name__, "does": sentence(cls), "C++": rule.cpp}
        for cls, rule in ACTIONS.items()
    ]


def claims() -> Rows:
    """The invariants."""
    from markstep.conformance.report.names import claim_names

    return [
        {"id": id, "invariant": name, "statement": statement}
        for id, (name, statement) in claim_names().items()
    ]


def designs() -> Rows:
    """The named designs, each by what it changes in the nearest one before it."""
    from markstep.spec.design import differences
    from markstep.spec.named_designs import DESIGNS

    rows: Rows = []
    for i, (name, design) in enumerate(DESIGNS.items()):
        before = list(DESIGNS.values())[:i]
        base = min(before, key=lambda other: len(differences(other, design)), default=design)
        changed = differences(base, design)
        text = ", ".join(f"{field}={value}" for field, (_, value) in changed.items())
        rows.append({"design": name, "from": base.name if before else "", "changes": text})
    return rows


def adapters() -> Rows:
    """The adapters that are installed."""
    from markstep.conformance.adapter import GROUP

    return [
        {"adapter": point.name, "object": point.value}
        for point in sorted(entry_points(group=GROUP), key=lambda p: p.name)
    ]


def profiles() -> Rows:
    """How much a run does."""
    from markstep.conformance.check import PROFILES

    return [{"profile": name, "runs": str(profile)} for name, profile in PROFILES.items()]


def sentence(cls: type) -> str:
    """The docstring of an action class without its id, on one line."""
    text = " ".join((inspect.getdoc(cls) or "").split())
    return text.partition(": ")[2] or text


LISTS: dict[str, Callable[[], Rows]] = {
    "actions": actions,
    "claims": claims,
    "designs": designs,
    "adapters": adapters,
    "profiles": profiles,
}
