"""`markstep replay`: the programs of trace files once more, by the law alone or in lockstep."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

from markstep.conformance.adapter import Factory, make
from markstep.conformance.changes import diff_states
from markstep.conformance.claims import ClaimWatch, all_claims
from markstep.conformance.lockstep import Counts, ProgramResult, run_program
from markstep.conformance.progress import Progress
from markstep.conformance.report.model import ClaimCount, Failure, Report, Subject
from markstep.conformance.report.names import claim_names
from markstep.conformance.verdict import Verdict
from markstep.spec.design import DESIGNS, Design
from markstep.spec.evaluator import EXACT
from markstep.spec.machine import ACTIONS
from markstep.spec.observe import outcome
from markstep.spec.state import Phase, State
from markstep.spec.trace import Trace


@dataclass
class Ended:
    """How the replay of one trace ended."""

    verdict: Verdict
    message: str = ""
    failures: Sequence[Failure] = ()


def replay_traces(
    traces: Sequence[tuple[Path, Trace]],
    factory: Factory | None,
    design: Design | None,
    progress: Progress,
) -> Report:
    """Replay each trace, under its own design unless another is given."""
    begin = monotonic()
    names = {design.name if design else trace.design for _, trace in traces}
    report = Report("replay", design=", ".join(sorted(names)))
    try:
        for i, (path, trace) in enumerate(traces):
            progress(i, len(traces))
            chosen = trace if design is None else replace(trace, design=design.name, states=())
            report_one(path, chosen, replay_one(chosen, factory, report), report)
    except KeyboardInterrupt:
        report.interrupted = True
    report.duration_s = monotonic() - begin
    report.verdict = worst(subject.verdict for subject in report.subjects)
    return report


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of several things together."""
    order = (Verdict.ERROR, Verdict.VIOLATES, Verdict.UNSUPPORTED, Verdict.INCONCLUSIVE)
    found = set(verdicts)
    return next((verdict for verdict in order if verdict in found), Verdict.CONFORMS)


def report_one(path: Path, trace: Trace, ended: Ended, report: Report) -> None:
    """Put one trace into the report."""
    report.programs += 1
    steps = len(trace.actions)
    report.subjects.append(Subject(str(path), ended.verdict, steps, ended.message))
    for failure in ended.failures:
        failure.trace_file = str(path)
        adapter = f" --adapter {failure.adapter}" if failure.adapter else ""
        failure.replay = f"markstep replay {path}{adapter} --design {failure.design}"
        report.failures.append(failure)


def replay_one(trace: Trace, factory: Factory | None, report: Report) -> Ended:
    """One program. The law runs first: it says whether the program can be compared at all."""
    watch = ClaimWatch(all_claims().values())
    alone = by_the_law(trace, watch, report)
    if alone.verdict == Verdict.INCONCLUSIVE or factory is None:
        count_claims(watch, report)
        return alone
    return in_lockstep(trace, factory, report)


def by_the_law(trace: Trace, watch: ClaimWatch, report: Report) -> Ended:
    """The law alone: every claim is looked at in every small step."""
    observer = watch.observer(DESIGNS[trace.design])
    failures: list[Failure] = []
    stale = ""
    for i, (before, action, after) in enumerate(trace.run(observer)):
        report.steps += 1
        report.count_action(action, None if after is None else outcome(after))
        if after is None:
            continue
        if not exact(after):
            text = f"values beyond ±{EXACT} at step {i}: not exact in float32"
            return Ended(Verdict.INCONCLUSIVE, text, failures)
        claim = watch.take_broken()
        if claim is not None:
            watch.ignore.add(claim.id)
            failures.append(broken(claim.id, claim.statement, trace, i, (before, after)))
    if failures:
        return Ended(Verdict.VIOLATES, ", ".join(f.id for f in failures), failures)
    if trace.states and trace.states != trace.with_states().states:
        stale = "the stored states are not those that the law gives now"
    return Ended(Verdict.CONFORMS, stale)


def broken(id: str, statement: str, trace: Trace, i: int, states: tuple[State, State]) -> Failure:
    """A claim that does not hold after step ``i``."""
    name = claim_names().get(id, ("", ""))[0]
    return Failure(
        id,
        statement,
        trace.actions,
        i,
        expected="the invariant holds",
        observed="it does not hold",
        changed=diff_states(*states),
        design=trace.design,
        seed=trace.seed,
        name=name,
    )


def exact(state: State) -> bool:
    """Whether every value that the program means so far is exact in float32."""
    return all(
        abs(number) <= EXACT
        for record in state.records
        if record.live and record.truth is not None
        for number in record.truth
    )


def in_lockstep(trace: Trace, factory: Factory, report: Report) -> Ended:
    """The law and an executor side by side. Phases of calls are not the program's to choose."""
    program: Any = tuple(a for a in trace.actions if ACTIONS[type(a)].phase == Phase.IDLE)
    design = DESIGNS[trace.design]
    adapter = make(factory, design)
    report.adapter_version = adapter.version
    counts, watch = Counts(), ClaimWatch(())
    try:
        result = run_program(program, adapter, design, watch, counts)
    finally:
        adapter.close()
    if result.verdict == Verdict.CONFORMS:
        return Ended(Verdict.CONFORMS)
    return Ended(result.verdict, result.message, [divergence(result, trace, adapter.name)])


def divergence(result: ProgramResult, trace: Trace, adapter: str) -> Failure:
    """The failure that a program in lockstep ended with."""
    found = result.divergence
    return Failure(
        found.id if found else "LOCKSTEP",
        found.statement if found else "The executor follows the protocol.",
        result.program,
        result.step,
        expected=found.expected if found else "an observation",
        observed=found.observed if found else result.message,
        changed=list(found.changed) if found else [],
        verdict=result.verdict,
        adapter=adapter,
        design=trace.design,
        seed=trace.seed,
    )


def count_claims(watch: ClaimWatch, report: Report) -> None:
    """Add what was looked at to the report."""
    report.small_steps += watch.small_steps
    for id, count in watch.counts.items():
        total = report.claims.setdefault(id, ClaimCount())
        total.checked += count.checked
        total.witnessed += count.witnessed
        total.broken += count.broken
