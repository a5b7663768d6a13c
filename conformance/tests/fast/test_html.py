"""The report as a page, its pictures, the badge and the summary."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from webpage import Page, checked

from markstep.conformance.check import check
from markstep.conformance.cli.exploration import failure_of
from markstep.conformance.html.badge import badge
from markstep.conformance.html.elements import tag
from markstep.conformance.html.picture import LONGEST, picture
from markstep.conformance.html.report import report_page
from markstep.conformance.html.timeline import MEANS, timeline
from markstep.conformance.report.model import Failure, Report
from markstep.conformance.report.summary import summary
from markstep.conformance.verdict import Verdict
from markstep.spec.design import SOUND, TORCH_XLA_2_9
from markstep.spec.rules.sync import Collect
from markstep.spec.trace import Trace, dumps
from markstep.spec.vocabulary import (
    AbstractState,
    Apply,
    AssignInPlace,
    Clone,
    CreateFromHost,
    CreatePlaceholder,
    Detach,
    ReadOne,
    StepBarrier,
    Sync,
    TensorName,
)

T0, T1 = TensorName(0), TensorName(1)
FAILS = (CreateFromHost(T0, (1, 2), (2,)), Apply(T1, "failing_execute", (T0,)), StepBarrier(True))
Markstep = Callable[..., tuple[int, str, str]]


def failure(**changes: Any) -> Failure:
    """The execution of step 2 fails: the placeholder of t1 was visible without a lock (I28)."""
    given: dict[str, Any] = {
        "id": "I28",
        "statement": "Statement with <b>, \"quotes\" & 'more'.",
        "program": FAILS,
        "step": 2,
        "expected": "t0 ir: leaf; t1 data: none",
        "observed": "t0 ir: op; t1 data: value",
        "changed": ["t0: LEAF → DATA"],
        "design": "torch_xla_2_9",
        "issue": "H-07",
        "replay": "markstep replay 'a file.itf.json'",
    }
    return Failure(**{**given, **changes})


def page_of(*failures: Failure, **changes: Any) -> Page:
    found = Report("run", adapter="mine <2>", steps=9, failures=list(failures), **changes)
    return checked(report_page(found))


# ---- the picture ----------------------------------------------------------------------------


def test_the_words_for_states_are_those_of_the_vocabulary() -> None:
    assert list(MEANS) == list(AbstractState)
    assert MEANS[AbstractState.IR] == "pending work" and all(MEANS.values())


def test_a_timeline_says_what_each_tensor_and_buffer_is_after_each_step() -> None:
    program = (*FAILS[:1], Clone(T1, T0), Sync((T0, T1)), Detach(TensorName(2), T1))
    moments = timeline(program, "torch_xla_2_9")
    assert [m.label for m in moments] == ["0", "1", "2", "3"]
    states = [{name: seen.state for name, seen in m.tensors.items()} for m in moments]
    assert states == [
        {0: "LEAF"},
        {0: "LEAF", 1: "LEAFc"},
        {0: "DATA", 1: "DATA"},
        {0: "DATA", 1: "DATA", 2: "DATA"},
    ]
    assert moments[1].buffers[0].about == "leaf t0 t1" and moments[1].buffers[0].shared
    assert moments[2].buffers[0].about == "t0" and not moments[2].buffers[0].shared
    assert moments[3].tensors[T1].about == "= t2"


def test_the_failing_call_is_shown_step_by_step_and_marked_where_the_claim_breaks() -> None:
    moments = timeline(FAILS, "torch_xla_2_9", failing=2, claim="I28")
    assert [m.label for m in moments][:4] == ["0", "1", "2", "2.1"]
    (wrong,) = [m for m in moments if m.wrong]
    assert wrong.text == "  Install()"
    assert wrong.tensors[T1].state == "STUB"
    assert moments[-1].text.endswith("→ error execution-failed")


def test_where_the_executor_parts_from_the_law_the_end_of_the_call_is_marked() -> None:
    moments = timeline(FAILS, "torch_xla_2_9", failing=2, claim="A12")
    assert [m.wrong for m in moments] == [False] * (len(moments) - 1) + [True]


def test_a_step_that_is_not_possible_is_drawn_as_that() -> None:
    moments = timeline((ReadOne(T0),), "sound", failing=0)
    assert [(m.text, m.wrong) for m in moments] == [("ReadOne(t0)  → not possible here", True)]


def test_programs_by_small_steps_and_those_that_kill_the_process_are_drawn() -> None:
    small = timeline((FAILS[0], Sync((T0,)), Collect()), "sound")
    assert [m.text for m in small][1:] == ["Sync(t0)", "  Collect()"]
    stub = (CreatePlaceholder(T0, (1,)), AssignInPlace(T0, "neg"), ReadOne(T0))
    assert timeline(stub, "torch_xla_2_9")[-1].ended == "the process dies"


def test_a_long_program_is_drawn_from_where_it_gets_interesting() -> None:
    program = (*FAILS[:1], *(AssignInPlace(T0, "neg") for _ in range(99)))
    moments = timeline(program, "sound", failing=89)
    figure = ElementTree.tostring(picture(moments, 89, "p", "title"), encoding="unicode")
    assert f"{90 - LONGEST} steps before are not drawn." in figure
    assert "✗ 89" in figure and ">90<" not in figure


# ---- the page -------------------------------------------------------------------------------


def test_a_page_says_everything_and_escapes_what_it_is_told() -> None:
    page = page_of(failure(), verdict=Verdict.VIOLATES, notes=["a <note>"], again="markstep run")
    for text in (
        "markstep run: ✗ violates",
        "adapter mine <2>",
        "I28 visible_placeholders_are_locked",
        "Statement with <b>, \"quotes\" & 'more'.",
        "t1 data: value",
        "t0: LEAF → DATA",
        "markstep replay 'a file.itf.json'",
        "H-07",
        "> 2 StepBarrier(wait=True)",
        "torch_xla.sync(wait=True)",
        "a <note>",
        "2.6 (here it goes wrong) Install()",
    ):
        assert text in page.text
    assert len(page.named("svg")) == 1


@pytest.mark.parametrize(
    "odd",
    [
        failure(program=(), step=-1),
        failure(program=(), step=-1, observed="\x00\x1b[31m ]]> </script>"),
        failure(id="LOCKSTEP", verdict=Verdict.ERROR, step=0),
        failure(id="logs/a & b.gz", name="line 3, step 1, <x>"),
    ],
)
def test_odd_failures_make_a_page_too(odd: Failure) -> None:
    page_of(odd, odd)


@pytest.mark.parametrize("verdict", Verdict)
def test_every_verdict_has_a_mark_and_a_colour(verdict: Verdict) -> None:
    found = Report("run", steps=9, verdict=verdict, failures=[failure(verdict=verdict)])
    text = report_page(found)
    assert f'class="verdict v-{verdict.value}"' in text and f".v-{verdict.value}" in text
    checked(text)


def test_a_run_with_failures_and_counterexamples_of_searches_make_a_page() -> None:
    found = check("model", design=TORCH_XLA_2_9, profile="tiny", seed=1, most_failures=6)
    path = (CreateFromHost(T0, (1,), (1,)), Sync((T0,)), Collect())
    found.failures.append(failure_of("I01", path, SOUND))
    page = checked(report_page(found))
    assert len(page.named("svg")) == len(found.failures) >= 6
    assert {f"{f.id}" for f in found.failures} <= set(page.text.split())


def test_a_control_character_never_reaches_a_page() -> None:
    made = ElementTree.tostring(tag("p", "a\x00b", title="\x1b"), encoding="unicode")
    assert made == '<p title="�">a�b</p>'


# ---- badge and summary ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (Report("run", adapter="mine", steps=1), "mine conforms"),
        (Report("run", adapter="mine", steps=1, failures=[failure()]), "mine violates"),
        (Report("run", adapter="a<b"), "a<b vacuous"),
        (Report("explore", steps=1, verdict=Verdict.INCONCLUSIVE), "inconclusive"),
        (Report("run", steps=1, interrupted=True), "interrupted"),
    ],
)
def test_a_badge_says_how_it_ended(report: Report, said: str) -> None:
    svg = ElementTree.fromstring(badge(report))
    texts = [element.text for element in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["markstep", said]


def test_a_summary_is_short_and_cannot_be_broken_by_what_it_reports() -> None:
    odd = failure(statement="a | b <script> `c`", observed="```\n</details>")
    text = summary(
        Report("run", adapter="mine", steps=9, failures=[odd] * 30, again="markstep run")
    )
    assert text.startswith("## markstep run: violates\n")
    assert "a \\| b &lt;script> 'c'" in text
    assert "… and 10 more." in text
    assert "````\nexpected  t0 ir" in text
    assert text.count("<details>") == 20


def test_every_file_that_is_asked_for_is_written(markstep: Markstep) -> None:
    wanted = ["--html", "r.html", "--badge", "b.svg", "--summary", "s.md", "--quiet"]
    Path("s.md").write_text("# Job\n", encoding="utf-8")
    Path("t.itf.json").write_text(dumps(Trace((FAILS[0], ReadOne(T0)))), encoding="utf-8")
    code, out, err = markstep("replay", "t.itf.json", *wanted)
    assert (code, err, out.count("\n")) == (0, "", 1)
    assert "markstep replay: ✓ conforms" in checked(Path("r.html").read_text("utf-8")).text
    assert "conforms" in Path("b.svg").read_text("utf-8")
    assert Path("s.md").read_text("utf-8").startswith("# Job\n## markstep replay: conforms\n")
