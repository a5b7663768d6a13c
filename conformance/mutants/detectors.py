"""What looks for a lie: random programs, the shipped scenarios, recorded logs, search, proofs.

This module imports the law and the executor, so it is itself imported only when a lie is installed.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import jax

from markstep.conformance.check import Run, suite_programs
from markstep.conformance.lockstep.play import Player
from markstep.conformance.logs.monitor import monitor_log
from markstep.conformance.mutants.catalogue import Mutant
from markstep.conformance.mutants.trials import HANG_S, Clock, Found, Terms
from markstep.conformance.programs.shrink import Program
from markstep.conformance.report.model import Failure
from markstep.conformance.suite.golden import first_mismatch
from markstep.conformance.suite.zoo.reports import reports, trace_of
from markstep.conformance.verdict import Verdict
from markstep.spec.design import SOUND, TORCH_XLA_2_9
from markstep.spec.machine import AnyAction
from markstep.spec.search.alphabet import Bound
from markstep.spec.search.explore import explore
from markstep.spec.search.search import Search
from markstep.spec.vocabulary import Action

Detect: TypeAlias = Callable[[Mutant | None, Terms, Clock], Found]
SEARCHED = Bound(records=2, buffers=3, actions=5)
PROVED = ((1, 2), (2, 3))
"""Rows of records and of buffer records: first few, so that an easy lie is found soon."""
LOG_SUFFIX = "*.jsonl.gz"


def random(mutant: Mutant | None, terms: Terms, clock: Clock) -> Found:
    """The main job without the suite: generated programs alone."""
    return _lockstep(terms, clock, ())


def scenarios(mutant: Mutant | None, terms: Terms, clock: Clock) -> Found:
    """The shipped programs and the traces of the bug zoo in lockstep, then the states that are
    written down for the golden traces."""
    shown = [trace_of(report).actions for report in reports().values() if report.claims]
    found = _lockstep(terms, clock, (*suite_programs(), *map(calls_of, shown)))
    return found if found.by else Found(found.steps, first_mismatch() or "")


def zoo(mutant: Mutant | None, terms: Terms, clock: Clock) -> Found:
    """The traces of the reports that the mutant brings back; ``field``: those that find it out."""
    steps, by, seen = 0, "", []
    for bug in mutant.bugs if mutant is not None else reports():
        if not reports()[bug].claims:
            continue
        found = _lockstep(terms, clock, (calls_of(trace_of(reports()[bug]).actions),))
        steps += found.steps
        by = by or found.by
        seen += [bug] * bool(found.by)
    return Found(steps, by, " ".join(seen))


def calls_of(actions: tuple[AnyAction, ...]) -> Program:
    """The program of a trace that has no small steps."""
    return tuple(action for action in actions if isinstance(action, Action))


def _lockstep(terms: Terms, clock: Clock, programs: tuple[Program, ...]) -> Found:
    from markstep.conformance.adapters.reference import ReferenceAdapter

    share_compiled(terms)
    player = Player(lambda: ReferenceAdapter(), SOUND, HANG_S)
    run = Run(player, SOUND, terms.profile, terms.seed, most_failures=1)
    run.confirms = False

    def each() -> Iterator[Program]:
        for program in programs:
            clock(run.counts.steps)
            yield program

    if programs:
        run.first(each(), "of the suite")
    else:
        run.generated(lambda done, total: clock(done))
    failures = run.report.failures
    return _told(failures[0], run.counts.steps) if failures else Found(run.counts.steps)


def share_compiled(terms: Terms) -> None:
    """Let JAX keep what it compiles for the trials to come, and take it from those before."""
    if terms.compiled is not None:
        update: Callable[[str, object], None] = jax.config.update
        update("jax_compilation_cache_dir", str(terms.compiled))
        update("jax_persistent_cache_min_compile_time_secs", 0.0)
        update("jax_persistent_cache_min_entry_size_bytes", -1)


def _told(failure: Failure, steps: int) -> Found:
    return Found(steps, failure.id, failure.field or failure.observed)


def logs(mutant: Mutant | None, terms: Terms, clock: Clock) -> Found:
    """Recorded logs of torch_xla, which the law has to predict."""
    steps = 0
    for path in sorted(terms.logs.rglob(LOG_SUFFIX)) if terms.logs is not None else ():
        clock(steps)
        said = monitor_log(path, TORCH_XLA_2_9)
        steps += said.accepted
        if said.verdict not in (Verdict.CONFORMS, Verdict.UNSUPPORTED):
            return Found(steps, f"log {path.parent.name}/{path.name.partition('.')[0]}")
    return Found(steps)


def explorer(mutant: Mutant | None, terms: Terms, clock: Clock) -> Found:
    """Every state within a bound, until some claim is broken."""

    def watch(search: Search) -> bool:
        clock(search.result.states)
        return bool(search.result.counterexamples)

    result = explore(SOUND, SEARCHED, watch)
    return Found(result.states, next(iter(result.counterexamples), ""))


def prover(mutant: Mutant | None, terms: Terms, clock: Clock) -> Found:
    """Induction over every state: a step that breaks a claim though all claims hold before it."""
    from markstep.spec.proofs.instances import cases
    from markstep.spec.proofs.obligations import check_case
    from markstep.spec.proofs.prove import provable

    ids, done = provable([]), 0
    for size in PROVED:
        for case in cases(*size):
            clock(done)
            gaps = check_case(case, SOUND, ids).gaps
            done += 1
            if gaps:
                return Found(done, gaps[0].claim)
    return Found(done)


DETECTORS: dict[str, Detect] = {
    "random": random,
    "scenarios": scenarios,
    "zoo": zoo,
    "logs": logs,
    "explorer": explorer,
    "prover": prover,
}
