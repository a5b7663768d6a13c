"""A report as a page: verdicts, numbers, each failure with its picture and how to see it again."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from markstep.conformance.exit_codes import ExitCode
from markstep.conformance.html.elements import Child, copied, document, table, tag
from markstep.conformance.html.picture import picture
from markstep.conformance.html.timeline import timeline
from markstep.conformance.report.model import Failure, Report
from markstep.conformance.report.names import action_names, claim_names, claims_in_order
from markstep.conformance.show import show_program
from markstep.conformance.torch_xla.pytorch import as_pytorch
from markstep.conformance.verdict import Verdict
from markstep.spec.machine import ENVIRONMENT
from markstep.spec.vocabulary import Action

MARKS = {
    Verdict.CONFORMS: "✓",
    Verdict.KNOWN: "✓",
    Verdict.FIXED: "✓",
    Verdict.VIOLATES: "✗",
    Verdict.ERROR: "!",
    Verdict.INCONCLUSIVE: "?",
    Verdict.UNSUPPORTED: "–",
    Verdict.FLAKY: "~",
}
"""Verdicts are never told by colour alone."""
PICTURES = 50
"""Failures that are drawn; a page with more would be slow, and nobody would look at them."""


def report_page(report: Report) -> str:
    """The page."""
    sections = [
        ("failures", f"Failures ({len(report.failures)})", list(failures(report))),
        ("claims", "Invariants", list(claims(report))),
        ("actions", "Actions", list(actions(report))),
        ("files", "Files", list(subjects(report))),
        ("notes", "Notes", list(notes(report))),
    ]
    shown = [(id, head, content) for id, head, content in sections if content]
    links = [tag("li", tag("a", head, href=f"#{id}")) for id, head, _ in shown]
    main = [
        tag(
            "section",
            tag("h2", head, id=f"{id}-head"),
            content,
            id=id,
            aria_labelledby=f"{id}-head",
        )
        for id, head, content in shown
    ]
    return document(
        f"{word(report)}: markstep {report.command} {report.adapter}".rstrip(),
        ["copy.js", "paper.js"],
        tag("a", "To the findings", href="#main", class_="skip"),
        tag("header", list(header(report))),
        tag("nav", tag("ul", links), aria_label="On this page"),
        tag("main", main, id="main", tabindex="-1"),
        tag("footer", tag("p", f"Written by markstep {report.spec_version}.")),
    )


def section(id: str, head: str, content: list[Element]) -> Element:
    """A part of the page with its heading."""
    named = f"{id}-head"
    return tag("section", tag("h2", head, id=named), content, id=id, aria_labelledby=named)


def word(report: Report) -> str:
    """The verdict of the whole run in one word."""
    if report.interrupted:
        return "interrupted"
    return "vacuous" if report.exit_code == ExitCode.VACUOUS else report.verdict.value


def verdict(said: Verdict) -> Element:
    """A verdict with its mark."""
    return tag("span", f"{MARKS[said]} {said.value}", class_=f"verdict v-{said.value}")


def header(report: Report) -> Iterator[Element]:
    """What was compared with what, how it went, and the command that does it again."""
    said = word(report)
    mark = MARKS[report.verdict] if said == report.verdict.value else "?"
    chip = tag("span", f"{mark} {said}", class_=f"verdict v-{said}")
    yield tag("h1", f"markstep {report.command}: ", chip)
    facts = {
        "adapter": f"{report.adapter} {report.adapter_version}".strip(),
        "design": report.design,
        "profile": report.profile,
        "seed": "" if report.seed is None else str(report.seed),
        "specification": report.spec_version,
        "platform": report.platform,
    }
    pairs = [(tag("dt", name), tag("dd", value)) for name, value in facts.items() if value]
    yield tag("dl", [item for pair in pairs for item in pair], class_="facts")
    yield tag("ul", [tag("li", tag("b", n), what) for n, what in numbers(report)], class_="tiles")
    if report.again:
        yield tag("p", "To do the same again:")
        yield copied(report.again, "again", "Copy the command")


def numbers(report: Report) -> Iterator[tuple[str, str]]:
    """How much was done."""
    seen = sum(bool(count.witnessed) for count in report.claims.values())
    amounts = {
        "files": len(report.subjects),
        "programs": report.programs,
        "steps": report.steps,
        "small steps": report.small_steps,
        "failures": len(report.failures),
    }
    for what, number in amounts.items():
        if number or what == "failures":
            yield f"{number:,}".replace(",", " "), what
    if report.claims:
        yield f"{seen} of {len(report.claims)}", "invariants exercised"
    yield f"{report.duration_s:.1f} s", "duration"
    yield str(int(report.exit_code)), "exit code"


def failures(report: Report) -> Iterator[Element]:
    """Each failure as an article."""
    for number, failure in enumerate(report.failures, 1):
        yield article(failure, report, f"failure-{number}", number <= PICTURES)


def article(failure: Failure, report: Report, id: str, with_picture: bool) -> Element:
    """One failure: what is broken, where, what it looks like, how to see it again."""
    name = failure.name or action_names().get(failure.id) or claim_names().get(failure.id, ("",))[0]
    head = tag("h3", f"{failure.id} {name} ".lstrip(), verdict(failure.verdict), id=f"{id}-head")
    about = [f"design {failure.design}"]
    if failure.adapter or report.adapter:
        about.insert(0, f"adapter {failure.adapter or report.adapter} {report.adapter_version}")
    if failure.program:
        about.append(f"at step {failure.step} of {len(failure.program)}")
    parts: list[Child] = [tag("p", failure.statement), tag("p", " · ".join(about), class_="dim")]
    if failure.program and with_picture:
        title = f"The program of {failure.id}, step by step"
        moments = timeline(failure.program, failure.design, failure.step, failure.id)
        parts.append(picture(moments, failure.step, f"{id}-picture", title))
    parts += [sides(failure), *changed(failure), *texts(failure, id)]
    class_ = f"v-{failure.verdict.value}"
    return tag("article", head, *parts, id=id, class_=class_, aria_labelledby=f"{id}-head")


def sides(failure: Failure) -> Element:
    """Expected beside observed, part by part."""
    expected, observed = failure.expected.split("; "), failure.observed.split("; ")
    if len(expected) != len(observed):
        expected, observed = [failure.expected], [failure.observed]
    boxes = [
        tag("div", tag("h4", head), tag("ul", [tag("li", tag("code", one)) for one in said]))
        for head, said in (("Expected", expected), ("Observed", observed))
    ]
    return tag("div", boxes, class_="sides")


def changed(failure: Failure) -> Iterator[Element]:
    """What the law changed at the failing step."""
    if failure.changed:
        yield tag("h4", f"What step {failure.step} changes by the law")
        yield tag("ul", [tag("li", tag("code", line)) for line in failure.changed])


def texts(failure: Failure, id: str) -> Iterator[Element]:
    """The command that shows it again, where it is saved, and the program as text."""
    if failure.replay:
        yield tag("h4", "See it again")
        yield copied(failure.replay, f"{id}-replay", "Copy the replay command")
    more = {
        "program": failure.shortening,
        "known as": failure.issue,
        "trace": failure.trace_file,
        "code": failure.code_file,
    }
    pairs = [(tag("dt", name), tag("dd", value)) for name, value in more.items() if value]
    if pairs:
        yield tag("dl", [item for pair in pairs for item in pair], class_="facts")
    if failure.program:
        program = show_program(failure.program, failure.step)
        shown = copied(program, f"{id}-program", "Copy the program")
        yield tag("details", tag("summary", "The program as text"), shown)
    if code := script(failure):
        shown = copied(code, f"{id}-code", "Copy the PyTorch script")
        yield tag("details", tag("summary", "The same as a PyTorch script for torch_xla"), shown)


def script(failure: Failure) -> str:
    """The program for users of PyTorch, where it can be written so."""
    if failure.code:
        return failure.code
    program = failure.program[: failure.step + 1]
    plain = [a for a in program if isinstance(a, Action) and not isinstance(a, ENVIRONMENT)]
    if not program or len(plain) < len(program):
        return ""
    return as_pytorch(plain, failure.statement)


def claims(report: Report) -> Iterator[Element]:
    """One row for each claim, what is broken first."""
    names, rows = claim_names(), list[list[Child]]()
    for id in sorted(claims_in_order(report.claims), key=lambda id: not report.claims[id].broken):
        count, (name, statement) = report.claims[id], names.get(id, ("", ""))
        said: Child = verdict(count.verdict)
        if count.verdict == Verdict.INCONCLUSIVE:
            said = tag("span", "? not witnessed", class_="verdict v-inconclusive")
        text = tag("span", tag("code", name), tag("br"), statement)
        numbers = (count.checked, count.witnessed, count.broken)
        rows.append([id, said, text, *map(str, numbers)])
    if rows:
        head = ["id", "verdict", "invariant", "checked", "witnessed", "broken"]
        yield table(head, rows, "Every invariant, by small steps; broken ones first")


def actions(report: Report) -> Iterator[Element]:
    """One row for each action."""
    names = action_names()
    rows = [
        [id, names.get(id, ""), str(count.exercised), str(count.refused), str(count.errors)]
        for id, count in sorted(report.actions.items())
    ]
    if rows:
        head = ["id", "action", "exercised", "refused", "errors"]
        yield table(head, rows, "How often each action was taken")


def subjects(report: Report) -> Iterator[Element]:
    """One row for each log or trace."""
    rows: list[list[Child]] = [
        [s.name, verdict(s.verdict), str(s.steps), s.message] for s in report.subjects
    ]
    if rows:
        yield table(["file", "verdict", "steps", ""], rows, "Every file that was looked at")


def notes(report: Report) -> Iterator[Element]:
    """What else there is to know."""
    said = [*(f"fixed: {one}" for one in report.fixed), *report.vacuous, *report.notes]
    if said:
        yield tag("ul", [tag("li", note) for note in said])
