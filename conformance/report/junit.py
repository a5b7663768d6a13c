"""A report as JUnit XML: one test case per claim, per action and per file.

*violates* is a failure, *error* an error; *inconclusive*, *flaky* and *unsupported* are skipped,
with the reason, because a green light would say too much.
"""

from collections.abc import Iterable
from typing import Any

from junitparser import Error, JUnitXml, Skipped, TestCase, TestSuite
from junitparser import Failure as JUnitFailure

from markstep.conformance.report.console import failure_lines
from markstep.conformance.report.model import Report
from markstep.conformance.report.names import action_names, claim_names, claims_in_order
from markstep.conformance.show import printable
from markstep.conformance.verdict import Verdict


def to_junit(report: Report) -> str:
    """The XML text."""
    xml: Any = JUnitXml("markstep")
    suites = {
        "claims": list(_claims(report)),
        "actions": list(_actions(report)),
        "files": list(_files(report)),
        "run": list(_rest(report)),
    }
    for name, cases in suites.items():
        if cases:
            xml.add_testsuite(_suite(name, cases, report))
    xml.update_statistics()
    text: bytes = xml.tostring()
    return text.decode("utf-8")


def _suite(name: str, cases: list[TestCase], report: Report) -> TestSuite:
    suite = TestSuite(f"markstep.{name}")
    for key in ("command", "adapter", "adapter_version", "design", "profile", "seed"):
        suite.add_property(key, printable(str(getattr(report, key))))
    suite.add_property("spec_version", report.spec_version)
    for case in cases:
        suite.add_testcase(case)
    return suite


def _claims(report: Report) -> Iterable[TestCase]:
    names = claim_names()
    for id in claims_in_order(report.claims):
        count = report.claims[id]
        case = _case("claims", f"{id} {names.get(id, ('',))[0]}".strip())
        if count.verdict == Verdict.INCONCLUSIVE:
            reason = f"inconclusive: looked at {count.checked} times, its premise never occurred"
            case.result = [Skipped(reason)]
        _attach(case, id, report)
        if count.broken and not case.result:
            case.result = [JUnitFailure(f"broken {count.broken} times")]
        yield case


def _actions(report: Report) -> Iterable[TestCase]:
    names = action_names()
    for id, count in sorted(report.actions.items()):
        case = _case("actions", f"{id} {names.get(id, '')}".strip())
        if not count.exercised and not count.refused:
            case.result = [Skipped("unsupported: never taken")]
        _attach(case, id, report)
        yield case


def _files(report: Report) -> Iterable[TestCase]:
    for subject in report.subjects:
        case = _case("files", subject.name)
        case.result = _result(subject.verdict, printable(subject.message))
        yield case


def _rest(report: Report) -> Iterable[TestCase]:
    """Failures of no claim or action, what makes a pass vacuous, and the run as a whole."""
    for failure in report.failures:
        if failure.id not in report.claims and failure.id not in report.actions:
            case = _case("run", printable(failure.id))
            _attach(case, failure.id, report)
            yield case
    case = _case("run", "verdict")
    if report.interrupted:
        case.result = [Skipped("interrupted: the report is partial")]
    elif report.vacuous:
        case.result = [JUnitFailure(printable("; ".join(report.vacuous)), "vacuous")]
    elif report.verdict in (Verdict.INCONCLUSIVE, Verdict.FLAKY, Verdict.UNSUPPORTED):
        case.result = _result(report.verdict, "; ".join(report.notes))
    yield case


def _attach(case: TestCase, id: str, report: Report) -> None:
    """Add the failures that carry this id."""
    for failure in report.failures:
        if failure.id == id:
            case.result = [*case.result, *_result(failure.verdict, printable(failure.statement))]
            text = "\n".join(line.plain for line in failure_lines(failure, report))
            for result in case.result[-1:]:
                result.text = printable(text)


def _result(verdict: Verdict, message: str) -> list[Any]:
    if verdict == Verdict.VIOLATES:
        return [JUnitFailure(message, verdict.value)]
    if verdict == Verdict.ERROR:
        return [Error(message, verdict.value)]
    if verdict in (Verdict.INCONCLUSIVE, Verdict.FLAKY, Verdict.UNSUPPORTED):
        return [Skipped(f"{verdict.value}: {message}")]
    return []


def _case(suite: str, name: str) -> TestCase:
    return TestCase(printable(name), f"markstep.{suite}", 0.0)
