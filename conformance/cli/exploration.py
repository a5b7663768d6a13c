"""`markstep explore`: an exploration of the law as a report."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from time import monotonic

from markstep.conformance.changes import diff_states
from markstep.conformance.cli.engines import RULES, Searched, search_with
from markstep.conformance.cli.interrupts import Interrupts
from markstep.conformance.cli.searchfiles import (
    SearchFiles,
    Tell,
    emit_programs,
    write_page,
    write_walk,
)
from markstep.conformance.report.model import ClaimCount, Failure, Report
from markstep.conformance.report.names import known_hazards
from markstep.conformance.show import counted, show_graph
from markstep.conformance.verdict import Verdict
from markstep.spec import SPEC_VERSION
from markstep.spec.design import Design
from markstep.spec.invariants import CLAIMS, GRAPH_CLAIMS, GraphClaim, by_number
from markstep.spec.invariants.keys import Violation
from markstep.spec.machine import AnyAction, step
from markstep.spec.search.alphabet import Bound
from markstep.spec.search.estimate import estimated_nodes
from markstep.spec.search.search import Exploration, Search
from markstep.spec.search.small_graphs import small_graphs
from markstep.spec.state import State

CONTRACT_CLAIMS = ("I56", "I58", "I74", "I87")
"""The contract, which the machine has to refine: values stay obtainable, reading gives them."""
GRAPH_OPS = 2
"""Ops of the graphs on which an exploration checks the graph law; a test goes up to three."""


def explore_report(
    design: Design,
    bound: Bound,
    claims: Sequence[str],
    tell: Tell,
    files: SearchFiles | None = None,
    command: str = "",
    engine: str = RULES,
) -> Report:
    """Explore, and report on the given claims; on all of them if none is given."""
    if claims and all(id in GRAPH_CLAIMS for id in claims):
        return graph_report(design, claims)
    files = files or SearchFiles()
    with Interrupts() as interrupts:
        search = search_with(engine, design, bound, files, tell, interrupts)
    result = search.result
    wanted = claims or sorted([*CLAIMS, *GRAPH_CLAIMS], key=by_number)
    report = report_of(result, [id for id in wanted if id in CLAIMS])
    if not interrupts.asked:
        judge_graphs(report, design, [id for id in wanted if id in GRAPH_CLAIMS])
    report.verdict = verdict_of(result, report)
    report.interrupted = interrupts.asked and files.kept is None
    if not result.exhausted:
        report.notes += remaining(search, files.kept)
    if isinstance(search, Search) and files.emit is not None and not interrupts.asked:
        emit_programs(search, files.emit, report, tell)
    if files.page is not None and not interrupts.asked:
        write_page(result, files.page, command)
    if claims:
        unseen = [id for id in claims if id in result.unwitnessed]
        report.vacuous = [f"{id}: no state within the bound exercises its premise" for id in unseen]
    if isinstance(search, Search) and files.html is not None:
        write_walk(search, files.html, report, command, tell)
    return report


def remaining(search: Searched, kept: Path | None) -> Iterator[str]:
    """What a search that was cut short has left, and how to go on."""
    result = search.result
    nodes = estimated_nodes(result.levels, result.bound.actions)
    if nodes is not None:
        share = search.expanded / max(nodes, search.nodes)
        hours = result.seconds * (1 / max(share, 1e-9) - 1) / 3600
        yield f"estimate: {share:.1%} of the states are expanded, the rest would take {hours:.1f} h"
    if kept is not None:
        yield f"saved in {kept}: give --resume {kept} to go on"


def graph_report(design: Design, claims: Sequence[str]) -> Report:
    """The graph law alone: no state has to be visited."""
    report, begin = Report("explore", design=design.name), monotonic()
    judge_graphs(report, design, claims)
    report.duration_s = monotonic() - begin
    report.steps = sum(count.checked for count in report.claims.values())
    report.verdict = Verdict.VIOLATES if report.failures else Verdict.CONFORMS
    return report


def report_of(result: Exploration, claims: Sequence[str]) -> Report:
    """The findings of an exploration about some claims."""
    report = Report("explore", design=result.design.name, duration_s=result.seconds)
    report.spec_version = SPEC_VERSION
    report.small_steps = report.steps = result.transitions
    for id in claims:
        found = id in result.counterexamples
        seen = int(id in result.witnessed)
        report.claims[id] = ClaimCount(result.transitions, seen, int(found), result.exhausted)
        if found:
            report.failures.append(failure_of(id, result.counterexamples[id], result.design))
    reach = "all within the bound" if result.exhausted else "the search was cut short"
    if result.bound_hit:
        reach += "; some steps lead out of it, to larger programs, which were not looked at"
    report.notes.append(
        f"{counted(result.states, 'state')}, {counted(result.transitions, 'step')}, paths of up "
        f"to {counted(result.depth, 'program action')} and failures: {reach}"
    )
    lost = [id for id in CONTRACT_CLAIMS if id in result.counterexamples]
    kept = f"is broken: {', '.join(lost)}" if lost else "is kept so far"
    report.notes.append(f"machine ⊑ contract (the values of eager execution) {kept}")
    return report


def judge_graphs(report: Report, design: Design, claims: Sequence[str]) -> None:
    """Check claims of the graph law on every graph of up to GRAPH_OPS ops."""
    if not claims:
        return
    graphs = small_graphs(ops=GRAPH_OPS)
    for id in claims:
        claim = GRAPH_CLAIMS[id]
        violation = claim.find_violation(design, graphs)
        seen = sum(map(claim.premise, graphs))
        report.claims[id] = ClaimCount(len(graphs), seen, int(violation is not None))
        if violation is not None:
            report.failures.append(graph_failure(claim, violation, design))
    report.notes.append(f"the graph law on all {len(graphs)} graphs of up to {GRAPH_OPS} ops")


def graph_failure(claim: GraphClaim, graphs: Violation, design: Design) -> Failure:
    """The graphs that break a claim of the graph law; there is no program to replay."""
    texts = "  |  ".join(show_graph(roots) for roots in graphs)
    return Failure(
        claim.id,
        claim.statement,
        (),
        0,
        expected="the claim holds for all graphs",
        observed=f"not for {texts}",
        design=design.name,
        name=claim.name,
    )


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
        issue=known_hazards(id),
        name=claim.name,
    )
