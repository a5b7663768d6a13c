"""A searched state space as a page: its states with the moves between them, and the shortest way
to each claim that breaks."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from markstep.conformance.html.elements import Child, table, tag
from markstep.conformance.html.stages import fields_of, next_of
from markstep.conformance.html.statepicture import state_picture
from markstep.conformance.html.viewer import Stop, Tell, stops_of, viewer_page
from markstep.conformance.report.model import Report
from markstep.conformance.show import show, tensor
from markstep.conformance.walk import walk
from markstep.spec.invariants import CLAIMS, Step
from markstep.spec.machine import step
from markstep.spec.observe import abstract_state
from markstep.spec.search.canonical import unpack
from markstep.spec.search.expand import Expand, Path, continued, expand
from markstep.spec.search.search import Search
from markstep.spec.state import CallKind, Phase, State
from markstep.spec.trace import Trace

STATES = 120
"""States that are drawn; the page says how many there are."""
WALKS = 12
"""Counterexamples that can be walked."""


def space_page(
    search: Search, report: Report, command: str, tell: Tell = lambda done, of: None
) -> str:
    """The page. It opens at the first step of the first counterexample, if there is one."""
    found = [id for id in report.claims if id in search.result.counterexamples][:WALKS]
    stops = [stop for id in found for stop in counterexample(search, id)]
    first = stops[0].id if stops else "state-0"
    stops += states(search, tell)
    shown, known = min(STATES, len(search.numbers)), len(search.numbers)
    facts = {
        "outcome": f"{report.verdict.value}, exit code {int(report.exit_code)}",
        "design": report.design,
        "states": f"{known}, of which {shown} are drawn; names are given anew in each",
        "broken": ", ".join(failure.id for failure in report.failures) or "no invariant",
        "specification": report.spec_version,
    }
    return viewer_page(f"States of {report.design}", facts, command, stops, first)


def counterexample(search: Search, id: str) -> list[Stop]:
    """The shortest program that breaks a claim, as a walk."""
    design = search.result.design.name
    trace = Trace(search.result.counterexamples[id], design, ids=(id,))
    group = f"✗ {id} {CLAIMS[id].name}"
    return stops_of(list(walk(trace)), id, design, whole=False, group=group)


def states(search: Search, tell: Tell) -> Iterator[Stop]:
    """The first states that were found, those behind the shortest programs first."""
    numbers = {key: number for number, key in enumerate(search.numbers)}
    for number, key in enumerate(list(search.numbers)[:STATES]):
        tell(number, min(STATES, len(numbers)))
        state = unpack(key)
        content: list[Child] = [
            *reached(search, number, numbers),
            state_picture(state, f"state-{number}"),
            *moves_from(search, key, numbers),
            fields_of(state, state),
            next_of(state, search.result.design, whole=False),
        ]
        head = f"State {number}: {described(state)}"
        yield Stop(f"state-{number}", head, content, group="States")


def described(state: State) -> str:
    """A state in a few words."""
    if state.device.crashed:
        return "the process has died"
    each = [(tensor(n), state.record_of(n)) for n in sorted(state.tensors)]
    words = [f"{name} {abstract_state(state, record)}" for name, record in each]
    if state.call.phase != Phase.IDLE:
        words.append(f"in {CallKind(state.call.kind).name}, next {Phase(state.call.phase).name}")
    if state.execution.running:
        words.append("running")
    return ", ".join(words) or "nothing"


def reached(search: Search, number: int, numbers: dict[bytes, int]) -> Iterator[Element]:
    """Where a shortest way to the state comes from."""
    node = search.numbers[list(search.numbers)[number]]
    parent = search.parents[node]
    if parent >= 0:
        came = numbers[search.keys[parent]]
        action = show(search.steps(parent, search.taken[node])[0])
        yield tag("p", "Reached from ", link_to(came), " by ", tag("code", action), ".")


def link_to(number: int, **attributes: object) -> Element:
    """A link to a state, if it is on the page."""
    if number >= STATES:
        return tag("span", f"state {number}, which is not drawn")
    return tag("a", f"state {number}", href=f"#state-{number}", **attributes)


def moves_from(search: Search, key: bytes, numbers: dict[bytes, int]) -> Iterator[Element]:
    """Every move that stays within the bound, and where it leads."""
    result = search.result
    found = expand(Expand(key, result.design, result.bound, (), ()))
    rows: list[list[Child]] = []
    for move, _, _, target in found.successors:
        path, _ = continued(unpack(key), move, result)
        known = numbers.get(target)
        where = "beyond the search" if known is None else link_to(known, class_="edge")
        broken = ", ".join(f"✗ {id}" for id in breaks(search, key, path))
        rows.append([tag("code", show(path[0])), where, tag("b", broken, class_="bad")])
    if rows:
        yield table(["move", "leads to", "breaks"], rows, "Moves; the keys 1 to 9 take the first")
    if found.bound_hit:
        yield tag("p", "Other moves lead out of the bound.", class_="dim")


def breaks(search: Search, key: bytes, path: Path) -> Iterator[str]:
    """The claims with a counterexample that a move breaks."""
    result, state = search.result, unpack(key)
    seen: dict[str, None] = {}
    for action in path:
        after = step(state, action, result.design)
        if after is None:
            break
        judged = Step(state, action, after, result.design)
        seen |= {id: None for id in result.counterexamples if not CLAIMS[id].predicate(judged)}
        state = after
    yield from seen
