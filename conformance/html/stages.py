"""What the viewer shows of one state: picture, fields, what changed, claims, what is next."""

from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree.ElementTree import Element

from markstep.conformance.changes import shown_fields
from markstep.conformance.html.elements import Child, table, tag
from markstep.conformance.html.statepicture import state_picture
from markstep.conformance.possible import SHOWN, Choice, choices
from markstep.conformance.show import show, tensor
from markstep.conformance.walk import Part, Stage
from markstep.spec.design import Design
from markstep.spec.invariants import Claim
from markstep.spec.machine import rule_of
from markstep.spec.state import State


def stage_content(stage: Stage, id: str, design: Design, whole: bool) -> Iterator[Element]:
    """The content of the section of one state of a walk."""
    if stage.ended:
        yield tag("p", f"Ends with {stage.ended}.", class_="bad")
    yield from broken_here(stage)
    yield state_picture(stage.state, id)
    yield from changes_of(stage)
    yield from parts_of(stage)
    yield fields_of(stage.before, stage.state)
    yield from held(stage.exercised)
    yield next_of(stage.state, design, whole)


def broken_here(stage: Stage) -> Iterator[Element]:
    """The claims that the step breaks, and at which small step of the call."""
    if stage.broken:
        yield tag("h3", "Broken here")
        yield tag("ul", [broken_claim(c, p, stage) for c, p in stage.broken.items()])


def broken_claim(claim: Claim, part: Part, stage: Stage) -> Element:
    """One of them."""
    where = f" First by {show(part.action)}." if len(stage.parts) > 1 else ""
    name = tag("b", f"✗ {claim.id} {claim.name}", class_="bad")
    return tag("li", name, f": {claim.statement}{where}")


def held(claims: Sequence[Claim]) -> Iterator[Element]:
    """The claims that the step exercises and keeps."""
    if claims:
        summary = tag("summary", f"{len(claims)} invariants are exercised, and hold")
        names = [tag("b", f"✓ {claim.id} {claim.name}", class_="good") for claim in claims]
        said = [tag("li", n, f": {c.statement}") for n, c in zip(names, claims, strict=True)]
        yield tag("details", summary, tag("ul", said))


def changes_of(stage: Stage) -> Iterator[Element]:
    """What the step changed, and the guards that fired."""
    if stage.action is None:
        return
    yield tag("h3", "What it changed")
    lines = stage.changed or ["nothing"]
    yield tag("ul", [tag("li", tag("code", line)) for line in lines])
    if stage.guards:
        said = [
            tag("li", tag("b", guard.ids), ": ", tag("code", guard.condition))
            for guard in stage.guards
        ]
        yield tag("p", "Guards that fired:")
        yield tag("ul", said)


def parts_of(stage: Stage) -> Iterator[Element]:
    """The small steps of a call."""
    if len(stage.parts) < 2:
        return
    rows: list[list[Child]] = []
    for part in stage.parts:
        lines = [tag("div", tag("code", line)) for line in part.changed]
        id = rule_of(type(part.action)).id
        rows.append([id, tag("code", show(part.action)), tag("div", lines)])
    caption = "The steps of the call, and what each changed"
    summary = tag("summary", f"{len(stage.parts)} steps of the call")
    yield tag("details", summary, table(["id", "step", "changed"], rows, caption))


def fields_of(before: State, state: State) -> Element:
    """The fields that are not as they were made; changed ones are marked."""
    rows: list[list[Child]] = []
    for name, old, new in things(before, state):
        here, fresh = shown_fields(new), shown_fields(type(new)())
        there = shown_fields(old) if old is not None else fresh
        cells = [
            field(name, value, there[name])
            for name, value in here.items()
            if value != fresh[name] or value != there[name]
        ]
        if cells:
            rows.append([name, tag("div", cells, class_="fields")])
    caption = "Fields of the state; what the step changed is marked"
    summary = tag("summary", "Fields")
    return tag("details", summary, table(["of", "fields"], rows, caption))


def field(name: str, value: str, before: str) -> Element:
    """One field."""
    if value == before:
        return tag("span", f"{name} ", tag("code", value))
    return tag("mark", f"{name} ", tag("code", before), " → ", tag("code", value))


def things(before: State, state: State) -> Iterator[tuple[str, Any, Any]]:
    """(name, as it was, as it is) of each part of a state."""
    for row, record in enumerate(state.records):
        if record.live:
            names = " = ".join(tensor(n) for n, r in state.tensors.items() if r == row)
            known = row < len(before.records) and before.records[row].id == record.id
            yield names or f"record {row}", before.records[row] if known else None, record
    for row, buffer in enumerate(state.buffers):
        yield f"buffer {row}", before.buffers[row] if row < len(before.buffers) else None, buffer
    for name in ("execution", "device", "call"):
        yield name, getattr(before, name), getattr(state, name)


def next_of(state: State, design: Design, whole: bool) -> Element:
    """What can happen next, and why the rest cannot."""
    found = list(choices(state, design, whole))
    ways: list[list[Child]] = [[c.id, c.name, ways_of(c)] for c in found if c.ways]
    head = ["id", "action", "ways; → how it would end, with the guard that fires"]
    refused = [[c.id, c.name, c.refusal] for c in found if not c.ways]
    summary = tag("summary", f"What can happen next: {len(ways)} of {len(found)} actions")
    tables = [table(head, ways, "Possible next")] if ways else []
    if refused:
        tables.append(table(["id", "action", "why not"], refused, "Not possible now"))
    return tag("details", summary, tables)


def ways_of(choice: Choice) -> Element:
    """Some of the ways in which an action can happen."""
    shown = [tag("div", tag("code", str(way))) for way in choice.ways[:SHOWN]]
    more = len(choice.ways) - SHOWN
    rest = [tag("div", f"and {more} more", class_="dim")] if more > 0 else []
    return tag("div", shown, rest)
