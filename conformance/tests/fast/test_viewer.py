"""Walking through traces and state spaces: in the terminal and as pages."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from webpage import Page, checked

from markstep.conformance.guards import fired, guards
from markstep.conformance.html import space
from markstep.conformance.possible import candidates, choices, possible
from markstep.conformance.walk import walk
from markstep.spec import rules
from markstep.spec.design import SOUND, TORCH_XLA_2_9, Design
from markstep.spec.machine import ACTIONS, PARTS, enabled
from markstep.spec.schedule import initial_state, perform
from markstep.spec.search.alphabet import Bound
from markstep.spec.search.canonical import unpack
from markstep.spec.search.explore import go_on
from markstep.spec.search.search import Search
from markstep.spec.trace import Trace, dumps
from markstep.spec.vocabulary import (
    AbstractState,
    Apply,
    CompleteExecution,
    CreateFromHost,
    CreatePlaceholder,
    Detach,
    Drop,
    ReadOne,
    RunCached,
    StepBarrier,
    Sync,
    TensorName,
)

T0, T1 = TensorName(0), TensorName(1)
FAILS = (CreateFromHost(T0, (1, 2), (2,)), Apply(T1, "failing_execute", (T0,)), StepBarrier(True))
Markstep = Callable[..., tuple[int, str, str]]


def saved(*actions: object, **about: object) -> str:
    Path("t.itf.json").write_text(dumps(Trace(actions, **about)), encoding="utf-8")
    return "t.itf.json"


# ---- guards ---------------------------------------------------------------------------------


def test_every_guard_in_the_text_of_the_rules_is_known() -> None:
    files = [path for folder in rules.__path__ for path in Path(folder).glob("*.py")]
    written = {id for path in files for id in re.findall(r"A\d\d\.G\d+", path.read_text("utf-8"))}
    known = [guard for lines in guards().values() for guard in lines.values()]
    assert {id for guard in known for id in guard.ids.split(", ")} == written
    assert all(guard.ids[:3] in {rule.id for rule in (ACTIONS | PARTS).values()} for guard in known)


def test_a_guard_is_named_where_it_fires_and_nowhere_else() -> None:
    state = perform(initial_state(), FAILS[0], SOUND)
    assert state is not None
    _, none = fired(lambda: perform(state, ReadOne(T0), SOUND))
    assert none == ()
    after, some = fired(lambda: perform(state, RunCached((T0,), ()), TORCH_XLA_2_9))
    assert after is not None and after.raised == "unknown-graph"
    assert [guard.ids for guard in some] == ["A44.G1"]


def test_whoever_watches_the_program_goes_on_watching() -> None:
    import sys

    def tracer(*event: object) -> None:
        return None

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        fired(lambda: None)
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)


# ---- what can happen next -------------------------------------------------------------------


@pytest.mark.parametrize("design", [SOUND, TORCH_XLA_2_9], ids=["sound", "torch_xla_2_9"])
def test_an_action_has_a_way_or_a_reason_and_the_law_agrees(design: Design) -> None:
    search = Search.begun(design, Bound(records=2, buffers=2, actions=3, max_states=80))
    go_on(search)
    for state in map(unpack, search.numbers):
        tried = candidates(state, design)
        found = {choice.name: choice for choice in choices(state, design, whole=False)}
        assert len(found) == len(ACTIONS)
        for cls in ACTIONS:
            choice = found[cls.__name__]
            ways = [a for a in tried.get(cls, ()) if possible(state, a, design)]
            assert [way.action for way in choice.ways] == ways
            assert bool(choice.ways) != bool(choice.refusal)
            assert all(enabled(state, action, design) for action in ways)


def test_the_reasons_say_what_is_in_the_way() -> None:
    state = initial_state()
    reasons = {choice.id: choice.refusal for choice in choices(state, SOUND, whole=True)}
    assert reasons["A09"] == "there is no tensor for it"
    assert reasons["A30"] == "nothing runs on the device"
    assert reasons["A41"] == "no call is running"
    *_, last = walk(Trace((FAILS[0], Sync((T0,)))))
    assert last.parts[1].before.call.phase != 0
    inside = {c.id: c.refusal for c in choices(last.parts[1].before, SOUND, whole=False)}
    assert inside["A01"] == "a call is running, and its next step is A40 Collect"


def test_an_action_that_would_raise_says_so_and_names_the_guard() -> None:
    placeholder = CreatePlaceholder(T0, (1,))
    state = perform(initial_state(), placeholder, SOUND)
    assert state is not None
    (read,) = [c for c in choices(state, SOUND, whole=True) if c.name == "ReadOne"]
    assert str(read.ways[0]).startswith("ReadOne(t0) → error no-value (A51.G3: ")


# ---- in the terminal ------------------------------------------------------------------------


def test_show_prints_what_each_step_changed_and_broke(markstep: Markstep) -> None:
    code, out, err = markstep("show", saved(*FAILS, design="torch_xla_2_9"))
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert "   1  t1 = Apply('failing_execute', t0)" in lines
    assert "      t1: new, IR, reads {0}" in lines
    assert "   2  StepBarrier(wait=True)  → error execution-failed" in lines
    assert any(line.startswith("    ✗ I28 visible_placeholders_are_locked: ") for line in lines)


def test_show_of_one_step_says_everything_about_it(markstep: Markstep) -> None:
    code, out, _ = markstep("show", saved(*FAILS, design="torch_xla_2_9"), "--step", "2")
    assert code == 0
    for text in (
        "guard A49.G1: s.call.failed",
        "t1: DEAD → STUB",
        "buffer 1: status PLACEHOLDER",
        "A10  Sync(t0) → error execution-failed (A50.G2: ",
        "not A30, A31: nothing runs on the device",
    ):
        assert text in out
    assert "t1 = Apply" not in out


def test_show_under_another_design_shows_its_states(markstep: Markstep) -> None:
    code, out, _ = markstep("show", saved(*FAILS, design="torch_xla_2_9"), "--design", "sound")
    assert code == 0
    assert "✗" not in out


MISTAKES = [
    (["none.itf.json"], "markstep: show: none.itf.json: "),
    (["t.itf.json", "--step", "9"], "markstep: --step: there is no step 9; give a number from 0"),
    (["t.itf.json", "--design", "sond"], "markstep: --design: unknown design 'sond'; did you mean"),
    (["t.itf.json", "--html", "no/x.html"], "markstep: --html no: cannot write there"),
]


@pytest.mark.parametrize(("arguments", "line"), MISTAKES)
def test_mistakes_are_one_line(markstep: Markstep, arguments: list[str], line: str) -> None:
    saved(*FAILS)
    code, out, err = markstep("show", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(line)


# ---- as pages -------------------------------------------------------------------------------


def sections(page: Page) -> list[str]:
    """The ids of the states that can be walked to."""
    return [one["id"] for one in page.named("section") if one.get("class") == "stop"]


def test_a_trace_as_a_page_has_a_section_for_every_step(markstep: Markstep) -> None:
    trace = saved(*FAILS, Detach(TensorName(2), T1), Drop(T1), design="torch_xla_2_9")
    assert markstep("show", trace, "--html", "t.html")[0] == 0
    page = checked(Path("t.html").read_text("utf-8"))
    assert sections(page) == ["step-start", *(f"step-{i}" for i in range(5))]
    assert len([a for a in page.named("a") if a.get("rel") == "next"]) == 5
    for text in (
        "✗ Step 2: StepBarrier(wait=True)",
        "✗ I28 visible_placeholders_are_locked : While a placeholder",
        "First by Install().",
        "t1 = t2 STUB",
        "A49.G1",
        "nothing runs on the device",
        "markstep show t.itf.json",
    ):
        assert text in page.text


def test_a_trace_by_small_steps_of_every_kind_of_state_is_a_page(markstep: Markstep) -> None:
    program = (*FAILS[:1], Apply(T1, "neg", (T0,)), Sync((T1,), wait=False), CompleteExecution())
    assert markstep("show", saved(*program), "--html", "t.html")[0] == 0
    page = checked(Path("t.html").read_text("utf-8"))
    assert "filled by" in page.text and "execution 1 runs" in page.text
    assert AbstractState.PENDING.value in page.text


def test_a_small_space_is_a_page_that_opens_at_a_counterexample(markstep: Markstep) -> None:
    bound = ["--records", "1", "--buffers", "2", "--actions", "3"]
    few = ["--families", "core", "--families", "faults"]
    wanted = ["--html", "s.html", "--claim", "I01", "--quiet"]
    code, _, err = markstep("explore", "--design", "torch_xla_2_9", *bound, *few, *wanted)
    assert (code, err) == (1, "")
    text = Path("s.html").read_text("utf-8")
    page = checked(text)
    assert 'data-first="I01-start"' in text
    ids = sections(page)
    states = [id for id in ids if id.startswith("state-")]
    assert ids[0] == "I01-start" and 3 < len(states) <= space.STATES
    edges = [a for a in page.named("a") if a.get("class") == "edge"]
    assert len(edges) > len(states)
    assert "✗ I01" in page.text and f"{len(states)}, of which {len(states)} are drawn" in page.text


def test_a_space_that_is_too_large_is_drawn_in_part_and_says_so(
    markstep: Markstep, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space, "STATES", 12)
    code, _, _ = markstep(
        "explore", "--families", "core", "--max-states", "40", "--html", "s.html", "--quiet"
    )
    assert code == 3
    page = checked(Path("s.html").read_text("utf-8"))
    assert sections(page) == [f"state-{i}" for i in range(12)]
    assert "40, of which 12 are drawn" in page.text and "is not drawn" in page.text


def test_claims_about_graphs_alone_have_a_report_and_no_states(markstep: Markstep) -> None:
    code, out, _ = markstep("explore", "--claim", "I43g", "--html", "g.html", "--quiet")
    assert code == 0 and out.startswith("conforms")
    page = checked(Path("g.html").read_text("utf-8"))
    assert sections(page) == [] and "I43g" in page.text
