"""A trace as a page to walk through: one section for each state, with a URL of its own."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from xml.etree.ElementTree import Element

from markstep.conformance.html.elements import Child, copied, document, tag
from markstep.conformance.html.stages import stage_content
from markstep.conformance.walk import Stage, walk
from markstep.spec import SPEC_VERSION
from markstep.spec.named_designs import DESIGNS
from markstep.spec.trace import Trace

Tell: TypeAlias = Callable[[int, int], None]
"""Told how many of how many states are drawn."""

KEYS = "Keys: ← and → walk, Home and End go to the first and the last state."


@dataclass(frozen=True, slots=True)
class Stop:
    """A place on the page."""

    id: str
    head: str
    content: Sequence[Child]
    mark: str = ""
    group: str = ""
    """Under which it is listed."""
    before: str = ""
    """The ids of the stops before and behind, if there are any."""
    behind: str = ""


def trace_page(trace: Trace, name: str, command: str, tell: Tell = lambda done, of: None) -> str:
    """The page of a trace. ``tell`` is told how far it is."""
    stages = list(walk(trace))
    whole = not trace.by_small_steps
    stops = stops_of(stages, "step", trace.design, whole, tell=tell)
    broken = list(dict.fromkeys(claim.id for stage in stages for claim in stage.broken))
    facts = {
        "design": trace.design,
        "steps": str(len(trace.actions)),
        "saved for": ", ".join(trace.ids),
        "broken": ", ".join(broken) or "no invariant",
        "specification": SPEC_VERSION,
    }
    return viewer_page(f"Trace {name}", facts, command, stops, "step-start")


def stops_of(
    stages: Sequence[Stage],
    prefix: str,
    design: str,
    whole: bool,
    group: str = "",
    tell: Tell = lambda done, of: None,
) -> list[Stop]:
    """A stop for each stage of a walk."""
    ids = [f"{prefix}-{'start' if s.number < 0 else s.number}" for s in stages]
    stops = []
    for i, (id, stage) in enumerate(zip(ids, stages, strict=True)):
        tell(i, len(ids))
        head = stage.text if stage.number < 0 else f"Step {stage.number}: {stage.text}"
        content = list(stage_content(stage, id, DESIGNS[design], whole))
        mark = "✗" if stage.broken else ""
        before, behind = ids[i - 1] if i else "", ids[i + 1] if i + 1 < len(ids) else ""
        stops.append(Stop(id, head[0].upper() + head[1:], content, mark, group, before, behind))
    return stops


def viewer_page(
    title: str, facts: dict[str, str], command: str, stops: Sequence[Stop], first: str
) -> str:
    """A page with stops; where scripts run it shows one at a time."""
    pairs = [(tag("dt", name), tag("dd", value)) for name, value in facts.items() if value]
    header = tag(
        "header",
        tag("h1", title),
        tag("dl", [item for pair in pairs for item in pair], class_="facts"),
        tag("p", "To see it again:"),
        copied(command, "again", "Copy the command"),
        tag("p", KEYS, class_="keys dim", hidden=True),
    )
    nav = tag("nav", list(groups(stops)), aria_label="All states")
    main = tag("main", [section(stop) for stop in stops], id="main", data_first=first)
    skip = tag("a", "To the states", href="#main", class_="skip")
    body = tag("div", nav, main, class_="walk")
    return document(title, ["copy.js", "paper.js", "walk.js"], skip, header, body)


def groups(stops: Sequence[Stop]) -> Iterator[Element]:
    """The lists of links to all stops."""
    for group in dict.fromkeys(stop.group for stop in stops):
        inside = [stop for stop in stops if stop.group == group]
        links = [tag("li", tag("a", label(stop), href=f"#{stop.id}")) for stop in inside]
        listed = tag("ol", links, class_="stops")
        if not group:
            yield listed
            continue
        yield tag("details", tag("summary", group), listed, class_="group")


def label(stop: Stop) -> str:
    """A stop in the list of all."""
    return f"{stop.mark} {stop.head.removeprefix('Step ')}".strip()


def section(stop: Stop) -> Element:
    """The section of a stop, with links to its neighbours."""
    links = [
        tag("a", word, href=f"#{target}", rel=rel)
        for word, target, rel in (("← back", stop.before, "prev"), ("on →", stop.behind, "next"))
        if target
    ]
    named = f"{stop.id}-head"
    head = tag("h2", f"{stop.mark} {stop.head}".strip(), id=named, tabindex="-1")
    about = {"id": stop.id, "class_": "stop", "aria_labelledby": named}
    return tag("section", tag("p", links, class_="moves"), head, *stop.content, **about)
