"""`markstep refine`: whether one design behaves as another, and for which programs."""

from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic

from markstep.conformance.changes import diff_states
from markstep.conformance.cli.exploration import CONTRACT_CLAIMS, explore_report
from markstep.conformance.cli.files import write_atomically
from markstep.conformance.cli.interrupts import Interrupts
from markstep.conformance.cli.usage import pick
from markstep.conformance.report.model import Failure, Report
from markstep.conformance.report.pages import conditions_page
from markstep.conformance.show import show
from markstep.conformance.verdict import Verdict
from markstep.spec.design import Design
from markstep.spec.machine import ACTIONS, AnyAction, step
from markstep.spec.search.alphabet import Bound
from markstep.spec.search.checkpoint import law
from markstep.spec.search.conditions import Conditions, conditions
from markstep.spec.search.outcomes import WORDS
from markstep.spec.search.refine import Difference, Known, Refinement, refine
from markstep.spec.state import Phase, State

CONTRACT = "contract"
"""The other side of a refinement that is no design: eager execution."""
Tell = Callable[[int, int | None], None]


def check_words(never: Sequence[str]) -> frozenset[str]:
    """The words of a condition. Raises UsageError."""
    for word in never:
        pick("--never", word, WORDS, "word", listed=", ".join(WORDS))
    return frozenset(never)


def refine_report(x: Design, y: Design, bound: Bound, never: frozenset[str], tell: Tell) -> Report:
    """Look for a shortest program on which X shows what Y cannot."""
    begin, known = monotonic(), Known(bound)
    with Interrupts() as interrupts:

        def watch(pairs: int) -> bool:
            tell(pairs, None)
            return interrupts.asked

        result = refine(x, y, known, never, watch)
    report = Report("refine", design=f"{x.name}, {y.name}", duration_s=monotonic() - begin)
    report.steps = report.small_steps = sum(map(len, known.found.values()))
    report.interrupted = interrupts.asked
    report.notes.append(
        f"{result.pairs} states of {x.name}, each with what {y.name} may be in; "
        f"{reach(result, bound)}"
    )
    if result.bound_hit:
        report.notes.append("some steps lead out of the bound; larger programs were not looked at")
    if result.difference is not None:
        report.failures.append(failure_of(result, result.difference))
        report.verdict = Verdict.VIOLATES
    elif not result.exhausted:
        report.verdict = Verdict.INCONCLUSIVE
    return report


def reach(result: Refinement, bound: Bound) -> str:
    """How far a comparison went."""
    if result.difference is not None:
        return f"a difference after {result.difference.length} program actions and failures"
    if not result.exhausted:
        return "the search was cut short"
    limit = "any number of" if bound.actions is None else f"up to {bound.actions}"
    return f"no difference in programs of {limit} actions and failures"


def failure_of(result: Refinement, found: Difference) -> Failure:
    """The shortest program on which the designs differ."""
    state = before = State()
    for action in found.program:
        before, state = state, step(state, action, result.x) or state
    never = f" for programs that never: {', '.join(sorted(result.never))}" if result.never else ""
    return Failure(
        "REFINEMENT",
        f"{result.x.name} behaves as {result.y.name}{never}.",
        found.program,
        len(found.program) - 1,
        expected=" or ".join(seen.told for seen in found.possible),
        observed=found.seen.told,
        changed=diff_states(before, state),
        design=result.x.name,
    )


def conditions_report(
    x: Design, y: Design, bound: Bound, tell: Tell, page: Path | None, command: str
) -> Report:
    """Find every minimal condition under which X behaves as Y; write the page if it is wanted."""
    begin, known = monotonic(), Known(bound)
    law()  # as the text is now: it may be edited while the search runs
    with Interrupts() as interrupts:

        def watch(pairs: int) -> bool:
            tell(len(known.found), None)
            return interrupts.asked

        result = conditions(x, y, known, watch)
    report = Report("refine", design=f"{x.name}, {y.name}", duration_s=monotonic() - begin)
    report.steps = report.small_steps = sum(map(len, known.found.values()))
    report.interrupted = interrupts.asked
    for found in result.differences:
        report.notes.append(f"differ by {{{', '.join(sorted(found.words))}}}: {in_a_line(found)}")
    for never in result.sufficient:
        what = f"for programs that never: {', '.join(sorted(never))}" if never else "always"
        report.notes.append(f"{x.name} behaves as {y.name} {what}")
    report.verdict = verdict_of(result)
    if page is not None and result.complete:
        write_atomically(page, conditions_page(result, bound, report.duration_s, command))
    return report


def verdict_of(result: Conditions) -> Verdict:
    """Whether every condition was found."""
    if result.hopeless is not None:
        return Verdict.VIOLATES
    return Verdict.CONFORMS if result.complete else Verdict.INCONCLUSIVE


def in_a_line(found: Difference) -> str:
    """A difference: the actions of its program, what is seen, what could have been."""
    possible = " or ".join(seen.told for seen in found.possible)
    return f"{'; '.join(map(show, own_actions(found)))} → {found.seen.told}, not {possible}"


def own_actions(found: Difference) -> list[AnyAction]:
    """The actions of the program and of the environment, without the steps of calls."""
    return [a for a in found.program if ACTIONS[type(a)].phase == Phase.IDLE]


def contract_report(x: Design, bound: Bound, tell: Tell) -> Report:
    """Whether a design keeps the contract: values stay obtainable, and reading gives them."""
    report = explore_report(x, bound, CONTRACT_CLAIMS, tell)
    report.command, report.design = "refine", f"{x.name}, {CONTRACT}"
    return report
