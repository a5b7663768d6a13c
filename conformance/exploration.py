"""`markstep explore`: an exploration of the law as a report."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markstep.conformance.changes import diff_states
from markstep.conformance.report.model import ClaimCount, Failure, Report
from markstep.conformance.verdict import Verdict
from markstep.spec.alphabet import Bound
from markstep.spec.design import Design
from markstep.spec.explore import Exploration, explore
from markstep.spec.invariants import CLAIMS
from markstep.spec.machine import AnyAction, step
from markstep.spec.state import State


@dataclass
class Latest:
    """Keeps what an exploration has found so far, for the case that it is interrupted."""

    tell: Callable[[int, int | None], None]
    result: Exploration | None = None

    def __call__(self, result: Exploration, states: int) -> None:
        self.result = result
        result.states = states
        self.tell(states, None)


def explore_report(
    design: Design,
    bound: Bound,
    claims: Sequence[str],
    progress: Callable[[int, int | None], None],
) -> Report:
    """Explore, and report on the given claims; on all of them if none is given."""
    latest, interrupted = Latest(progress), False
    try:
        result = explore(design, bound, latest)
    except KeyboardInterrupt:
        interrupted = True
        result = latest.result or Exploration(design, bound)
    report = report_of(result, claims or sorted(CLAIMS))
    report.interrupted = interrupted
    if claims:
        unseen = [id for id in claims if id in result.unwitnessed]
        report.vacuous = [f"{id}: no state within the bound exercises its premise" for id in unseen]
    return report


def report_of(result: Exploration, claims: Sequence[str]) -> Report:
    """The findings of an exploration about some claims."""
    report = Report("explore", design=result.design.name, duration_s=result.seconds)
    report.small_steps = report.steps = result.transitions
    for id in claims:
        found = id in result.counterexamples
        seen = int(id in result.witnessed)
        report.claims[id] = ClaimCount(result.transitions, seen, int(found))
        if found:
            report.failures.append(failure_of(id, result.counterexamples[id], result.design))
    report.verdict = verdict_of(result, report)
    reach = "all within the bound" if result.exhausted else "the search was cut short"
    report.notes.append(
        f"{result.states} states, {result.transitions} steps, paths of up to {result.depth} "
        f"program actions and failures: {reach}"
    )
    if result.bound_hit:
        report.notes.append("some steps lead out of the bound; larger programs were not looked at")
    return report


def verdict_of(result: Exploration, report: Report) -> Verdict:
    """A search that was cut short is inconclusive, unless it found something."""
    if report.failures:
        return Verdict.VIOLATES
    return Verdict.CONFORMS if result.exhausted else Verdict.INCONCLUSIVE


def failure_of(id: str, path: tuple[AnyAction, ...], design: Design) -> Failure:
    """The shortest program that breaks a claim, with what its last step changed."""
    claim = CLAIMS[id]
    state = State()
    before = state
    for action in path:
        before, state = state, step(state, action, design) or state
    return Failure(
        id,
        claim.statement,
        path,
        len(path) - 1,
        expected="the invariant holds",
        observed="it does not hold",
        changed=diff_states(before, state),
        design=design.name,
        name=claim.name,
    )
