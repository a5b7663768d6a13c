"""`markstep replay`: the programs of trace files once more, by the law alone or in lockstep."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from struct import pack, unpack
from time import monotonic
from typing import Any

from markstep.conformance.adapter import Factory
from markstep.conformance.changes import diff_states
from markstep.conformance.claims import ClaimWatch, all_claims
from markstep.conformance.cli.progress import Progress
from markstep.conformance.lockstep.deadline import LIMIT_S
from markstep.conformance.lockstep.play import Player
from markstep.conformance.lockstep.session import Counts, ProgramResult
from markstep.conformance.report.model import ClaimCount, Failure, Report, Subject
from markstep.conformance.verdict import Verdict
from markstep.spec.design import Design
from markstep.spec.evaluator import EXACT
from markstep.spec.invariants import Claim
from markstep.spec.machine import ACTIONS, AnyAction
from markstep.spec.named_designs import DESIGNS
from markstep.spec.observe import outcome
from markstep.spec.state import Phase, State
from markstep.spec.trace import Trace
from markstep.spec.vocabulary import FAULTY_OPS, Apply, AssignInPlace, Number


class Players:
    """One executor for each design, made when it is needed."""

    def __init__(self, name: str, factory: Factory | None) -> None:
        self.name, self.factory = name, factory
        self.known: dict[str, Player] = {}

    def of(self, design: Design) -> Player:
        """The executor held to a design."""
        if design.name not in self.known and self.factory is not None:
            self.known[design.name] = Player(self.factory, design, LIMIT_S)
        return self.known[design.name]

    def close(self) -> list[str]:
        """Release them all; what the report should say of it."""
        for player in self.known.values():
            player.close()
        return [note for player in self.known.values() for note in player.notes]


@dataclass
class Ended:
    """How the replay of one trace ended."""

    verdict: Verdict
    message: str = ""
    failures: Sequence[Failure] = ()


def replay_traces(
    traces: Sequence[tuple[Path, Trace]],
    players: Players,
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
            chosen = trace
            if design is not None and design.name != trace.design:
                chosen = replace(trace, design=design.name, states=())
            report_one(path, chosen, replay_one(chosen, players, report), report)
    except KeyboardInterrupt:
        report.interrupted = True
    finally:
        report.notes += players.close()
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
        adapter = f" --adapter {quote(failure.adapter)}" if failure.adapter else ""
        failure.replay = f"markstep replay {quote(str(path))}{adapter} --design {failure.design}"
        report.failures.append(failure)


def replay_one(trace: Trace, players: Players, report: Report) -> Ended:
    """One program. The law runs first: it says whether the program can be compared at all."""
    watch = ClaimWatch(all_claims().values())
    try:
        ended = by_the_law(trace, watch, report)
    except OverflowError as error:
        ended = Ended(Verdict.INCONCLUSIVE, f"values that no float holds: {error}")
    except RecursionError:
        ended = Ended(Verdict.INCONCLUSIVE, "graphs that are deeper than the law can follow")
    ended.message = "; ".join(filter(None, (ended.message, other_states(trace))))
    report.small_steps += watch.small_steps
    for id, count in watch.counts.items():
        total = report.claims.setdefault(id, ClaimCount())
        total.checked += count.checked
        total.witnessed += count.witnessed
        total.broken += count.broken
    if ended.verdict == Verdict.INCONCLUSIVE or players.factory is None:
        return ended
    compared = in_lockstep(trace, players, report)
    verdict = worst((ended.verdict, compared.verdict))
    message = "; ".join(filter(None, (ended.message, compared.message)))
    return Ended(verdict, message, [*ended.failures, *compared.failures])


def by_the_law(trace: Trace, watch: ClaimWatch, report: Report) -> Ended:
    """The law alone, with every claim."""
    failures: list[Failure] = []
    for i, (before, action, after) in enumerate(trace.run(watch.observer(DESIGNS[trace.design]))):
        report.steps += 1
        report.count_action(action, None if after is None else outcome(after))
        if after is None:
            continue
        if not exact(after, action) or loses_a_value(before, action, after):
            text = f"values beyond ±{EXACT}, or finer than float32, at step {i}: not exact"
            return Ended(Verdict.INCONCLUSIVE, text, failures)
        new = watch.take_new()
        failures += [failure_of(broken.claim, trace, i, before, after) for broken in new]
    if failures:
        failures.sort(key=lambda failure: failure.id not in trace.ids)
        return Ended(Verdict.VIOLATES, ", ".join(f.id for f in failures), failures)
    return Ended(Verdict.CONFORMS)


def other_states(trace: Trace) -> str:
    """Where the states in a file are not those that the law gives now, in words."""
    if not trace.states:
        return ""
    try:
        now = trace.with_states().states
    except (OverflowError, RecursionError):
        return ""  # the verdict says already that the law gives no states
    i = next(
        (i for i, (old, new) in enumerate(zip(trace.states, now, strict=True)) if old != new), -1
    )
    return (
        "" if i < 0 else f"the law now gives other states than those in the file, from states[{i}]"
    )


def failure_of(claim: Claim, trace: Trace, i: int, before: State, after: State) -> Failure:
    """A claim that does not hold after step ``i``."""
    return Failure(
        claim.id,
        claim.statement,
        trace.actions,
        i,
        expected="the invariant holds",
        observed="it does not hold",
        changed=diff_states(before, after),
        design=trace.design,
        seed=trace.seed,
        name=claim.name,
    )


def exact(state: State, action: AnyAction) -> bool:
    """Whether every value that the program means so far is exact in float32, and the scalar is."""
    records = [r for r in state.records if r.live and r.truth is not None]
    numbers = [number for record in records for number in record.truth or ()]
    scalar: Number | None = getattr(action, "scalar", None)
    return all(map(held, numbers if scalar is None else [*numbers, scalar]))


def held(number: Number) -> bool:
    """Whether float32 holds the number exactly, and sums with it."""
    return abs(number) <= EXACT and unpack("f", pack("f", number))[0] == number


def loses_a_value(before: State, action: AnyAction, after: State) -> bool:
    """Whether the law knows all operands, but not what they give: it is too large."""
    match action:
        case Apply():
            inputs, out = action.inputs, action.out
        case AssignInPlace():
            inputs, out = (action.target, *action.others), action.target
        case _:
            return False
    if action.op in FAULTY_OPS or out not in after.tensors:
        return False
    known = [before.record_of(n).truth is not None for n in inputs if n in before.tensors]
    return all(known) and bool(known) and after.record_of(out).truth is None


def in_lockstep(trace: Trace, players: Players, report: Report) -> Ended:
    """The law and an executor side by side. Phases of calls are not the program's to choose."""
    program: Any = tuple(a for a in trace.actions if ACTIONS[type(a)].phase == Phase.IDLE)
    player = players.of(DESIGNS[trace.design])
    report.adapter_version = player.adapter.version
    result = player.given(program, ClaimWatch(()), Counts())
    if result.verdict == Verdict.CONFORMS:
        return Ended(Verdict.CONFORMS)
    if result.verdict == Verdict.UNSUPPORTED:
        return Ended(Verdict.UNSUPPORTED, result.message)
    return Ended(result.verdict, result.message, [divergence(result, trace, players.name)])


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
