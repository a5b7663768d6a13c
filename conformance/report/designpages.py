"""The table of designs and properties as Markdown, as HTML and for a terminal."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from markstep.conformance.designtable import PROPERTIES, Broken, Column, Property
from markstep.conformance.html.elements import Child, document, table, tag
from markstep.conformance.report.pages import within, written_by
from markstep.conformance.show import show_program
from markstep.spec.invariants import CLAIMS, GRAPH_CLAIMS
from markstep.spec.trace import SUFFIX
from markstep.spec.vocabulary import Action

Program: TypeAlias = tuple[Action, ...]

LEGEND = (
    "✓: no program within the bound breaks it; ✗ with the claim that is broken; –: nothing\n"
    "within the bound exercises it; ?: the search was cut short."
)


def trace_name(design: str, claim: str) -> str:
    """The file of a counterexample."""
    return f"{claim}-{design}{SUFFIX}"


def shown(found: Sequence[Column]) -> Iterator[tuple[str, list[str]]]:
    """(property, what each design does with it)."""
    for wanted in PROPERTIES:
        yield wanted.title, [column.says(wanted) for column in found]


def others(column: Column) -> list[str]:
    """What a design breaks that belongs to none of the properties."""
    listed = {id for wanted in PROPERTIES for id in wanted.claims}
    return sorted(set(column.broken) - listed, key=lambda id: int("0" + id.strip("Ig")))


def terminal(found: Sequence[Column]) -> str:
    """The table as lines of text."""
    names = [column.design.name for column in found]
    widths = [max(len(name), 7) for name in names]
    first = max(len(wanted.title) for wanted in PROPERTIES)
    lines = [" " * first + "  " + "  ".join(map(str.ljust, names, widths))]
    for title, cells in shown(found):
        lines.append(title.ljust(first) + "  " + "  ".join(map(str.ljust, cells, widths)))
    lines += [f"{c.design.name} breaks besides: {', '.join(others(c)) or 'nothing'}" for c in found]
    written = "the programs: --markdown, --html; as files to replay: --traces"
    return "\n".join((*lines, "", LEGEND, written, ""))


def cited(found: Sequence[Column]) -> Iterator[tuple[Property, Column, Broken]]:
    """Every cell that says that something is broken."""
    for wanted in PROPERTIES:
        for column in found:
            broken = column.cell(wanted)
            if broken is not None:
                yield wanted, column, broken


def statement(id: str) -> str:
    """What a claim says."""
    return (CLAIMS[id] if id in CLAIMS else GRAPH_CLAIMS[id]).statement


def how(broken: Broken) -> str:
    """What the program needs to show the fault."""
    if broken.executed:
        return "The program shows it, on the reference executor built so, too."
    if broken.runs:
        return "The program alone shows it."
    return "It shows with facts of the trace: what the cache knows, how executions end."


def markdown(found: Sequence[Column], command: str, traces: str | None) -> str:
    """The page of the manual; ``traces``: where the counterexamples lie, seen from the page."""
    names = [f"`{column.design.name}`" for column in found]
    seconds = sum(column.result.seconds for column in found)
    lines = [
        "# Designs for sharded tensors, compared\n",
        written_by(command, seconds),
        f"The bound: {within(found[0].result.bound)}.\n\n{LEGEND}\n",
        f"| property | {' | '.join(names)} |",
        f"|---|{'---|' * len(names)}",
    ]
    for title, cells in shown(found):
        links = [linked(cell, column) for cell, column in zip(cells, found, strict=True)]
        lines.append(f"| {title} | {' | '.join(links)} |")
    lines += ["\nWhat is broken besides:\n"]
    lines += [f"- `{c.design.name}`: {', '.join(others(c)) or 'nothing'}" for c in found]
    lines += ["\n## Shortest programs\n", *sections(found, traces)]
    return "\n".join(lines)


def linked(cell: str, column: Column) -> str:
    """A cell that leads to its program."""
    claim = cell.removeprefix("✗ ")
    return f"[{cell}](#{claim}-{column.design.name})" if cell != claim else cell


def grouped(found: Sequence[Column]) -> dict[tuple[str, Program], list[tuple[str, Broken]]]:
    """The designs that one program shows to break one claim."""
    groups: dict[tuple[str, Program], list[tuple[str, Broken]]] = {}
    for _, column, broken in cited(found):
        known = groups.setdefault((broken.claim, broken.program), [])
        if all(name != column.design.name for name, _ in known):
            known.append((column.design.name, broken))
    return groups


def sections(found: Sequence[Column], traces: str | None) -> Iterator[str]:
    """Each program with the designs that it is about."""
    for (claim, program), group in grouped(found).items():
        anchors = "".join(f'<a id="{claim}-{name}"></a>' for name, _ in group)
        under = ", ".join(f"`{name}`" for name, _ in group)
        yield f"{anchors}**{claim}** under {under}: {statement(claim)}\n"
        first, broken = group[0]
        if not broken.path:
            yield "A claim about graphs: there is no program to run.\n"
            continue
        yield f"```\n{show_program(program)}\n```\n"
        link = f" [{trace_name(first, claim)}]({traces}/{trace_name(first, claim)})"
        yield f"{how(broken)}{link if traces is not None else ''}\n"


def html(found: Sequence[Column], command: str) -> str:
    """The same as one file for a browser."""
    head = ["property", *(column.design.name for column in found)]
    rows = [[title, *cells] for title, cells in shown(found)]
    body: list[Child] = [
        tag("h1", "Designs for sharded tensors, compared"),
        tag("p", f"{command} — {within(found[0].result.bound)}"),
        tag("p", LEGEND),
        table(head, rows, "Designs and properties"),
    ]
    for (claim, program), group in grouped(found).items():
        title = f"{claim} under {', '.join(name for name, _ in group)}"
        text = show_program(program) if group[0][1].path else "a claim about graphs"
        said = tag("p", statement(claim))
        body.append(tag("details", tag("summary", title), said, tag("pre", text)))
    return document("Designs for sharded tensors", (), *body)
