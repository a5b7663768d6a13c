"""Which claims follow by induction, and what stands in the way of the others.

A claim that is not inductive may not be assumed either, so it is taken out and everything is asked
again, until what is assumed is what is shown.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from multiprocessing import get_context
from time import monotonic

from markstep.spec.design import Design
from markstep.spec.invariants import CLAIMS, CLAIMS_IN_ORDER, PAYLOAD, Kind, Step
from markstep.spec.invariants import SPMD as ABOUT_SPMD
from markstep.spec.machine import AnyAction, step
from markstep.spec.proofs.enumeration import check_by_enumeration
from markstep.spec.proofs.instances import at, cases
from markstep.spec.proofs.obligations import TYPES, Finding, Gap, check_case
from markstep.spec.proofs.states import Case, concrete
from markstep.spec.sorts import SPMD
from markstep.spec.state import State
from markstep.spec.vocabulary import EvictCache
from markstep.spec.workers import begin, end_all

BASE = "I93"
"""What the cases themselves take for granted: an idle machine and a free device are blank."""
Progress = Callable[[int, int | None], None]


class Method(StrEnum):
    """How obligations are decided."""

    Z3 = "z3"
    """Path by path, by z3."""
    ENUMERATION = "enumeration"
    """By trying every state that matters, where these are few."""


CHECKS = {Method.Z3: check_case, Method.ENUMERATION: check_by_enumeration}


class Outcome(StrEnum):
    """What is known of a claim."""

    PROVED = "proved"
    """It holds in every state (step) that can be reached within the bound on rows."""
    GIVEN = "proved, given the others"
    """No step breaks it from a state in which the others hold; they are not all shown here."""
    GAP = "counterexample to induction"
    """Some step breaks it, from a state that is not known to be reachable."""
    UNKNOWN = "unknown"
    """Neither: z3 gave no answer, more states matter than are tried, or what it was shown from is
    itself not shown."""
    VIOLATED = "violated at the start"
    """It does not hold in the first state."""


@dataclass
class Proof:
    """What a search for a proof has found."""

    design: Design
    records: int
    buffers: int
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    gaps: dict[str, Gap] = field(default_factory=dict)
    rounds: int = 0
    total: Finding = field(default_factory=Finding)
    seconds: float = 0.0
    method: Method = Method.Z3
    modes: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    """The claims that somebody wants to know about; the others are assumed and shown beside."""
    closed: bool = False
    """What was assumed in the last round is what was shown in it."""


RETURNED = ("I11",)
"""Claims about a value that a call gives back, which is no control field."""


def provable(ids: Sequence[str], modes: Sequence[str] = ()) -> list[str]:
    """The given claims, or all, and every claim about states: those hold each other up. Where SPMD
    mode stays off there is nothing to prove about it."""
    about = [c for c in CLAIMS_IN_ORDER if not ids or c.id in ids or c.kind == Kind.STATE]
    silent = {*PAYLOAD, *RETURNED, *(() if SPMD in modes else ABOUT_SPMD)}
    return [c.id for c in about if c.id not in silent]


def prove(
    design: Design,
    ids: Sequence[str],
    records: int,
    buffers: int,
    rounds: int = 8,
    processes: int = 2,
    progress: Progress | None = None,
    method: Method = Method.Z3,
    modes: tuple[str, ...] = (),
) -> Proof:
    """Look for a proof of the claims. ``modes``: those that may be on."""
    proof, started = Proof(design, records, buffers, method=method, modes=modes), monotonic()
    proof.asked = tuple(ids) or tuple(provable(ids, modes))
    left = starting(proof, provable(ids, modes))
    with workers(processes) as pool:
        while not proof.closed and proof.rounds < rounds and (BASE in left):
            found = one_round(pool, proof, left, progress)
            broken = {gap.claim for gap in found.gaps}
            broken |= set(found.unknown) if method == Method.Z3 else set()
            for gap in found.gaps:
                proof.gaps.setdefault(gap.claim, gap)
            weakened = [id for id in left if id in broken and CLAIMS[id].kind == Kind.STATE]
            proof.closed = not weakened and TYPES not in broken
            for id in [id for id in left if id in broken] if proof.closed else weakened:
                left.remove(id)
    for id in proof.outcomes:
        if id in proof.gaps and id not in left:
            proof.outcomes[id] = Outcome.GAP
        elif id in left and proof.closed and id not in proof.total.unknown:
            proof.outcomes[id] = proved(proof, id, left)
    proof.seconds = monotonic() - started
    return proof


@contextmanager
def workers(processes: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that check cases. They are ended at once if it is not to be gone on with."""
    # A fork of a process that has threads, as JAX and z3 make them, may hang.
    fresh = get_context("forkserver")
    with ProcessPoolExecutor(processes, mp_context=fresh, initializer=begin) as pool:
        try:
            yield pool
        except BaseException:
            end_all()
            raise


def proved(proof: Proof, id: str, left: list[str]) -> Outcome:
    """What is known of a claim that no step breaks."""
    if proof.method == Method.Z3:
        return Outcome.PROVED
    shown = set(proof.asked) - set(proof.total.unknown)
    states = {other for other in left if CLAIMS[other].kind == Kind.STATE}
    if id not in proof.asked:
        return Outcome.UNKNOWN
    return Outcome.PROVED if states <= shown else Outcome.GIVEN


def starting(proof: Proof, ids: list[str]) -> list[str]:
    """The claims that hold at the start; all outcomes are unknown at first."""
    first = Step(State(), EvictCache(), State(), proof.design)
    proof.outcomes = dict.fromkeys(ids, Outcome.UNKNOWN)
    for id in ids:
        if CLAIMS[id].kind == Kind.STATE and not CLAIMS[id].predicate(first):
            proof.outcomes[id] = Outcome.VIOLATED
    return [id for id in ids if proof.outcomes[id] != Outcome.VIOLATED]


def one_round(
    pool: ProcessPoolExecutor, proof: Proof, left: list[str], progress: Progress | None
) -> Finding:
    """All obligations, under the claims that are left."""
    whole = Finding()
    every = cases(proof.records, proof.buffers, proof.modes)
    check, given = CHECKS[proof.method], tuple(left)
    asked = given if proof.method == Method.Z3 else tuple([id for id in left if id in proof.asked])
    jobs = [pool.submit(check, case, proof.design, given, asked) for case in every]
    for done, job in enumerate(jobs):
        whole.add(job.result())
        if progress is not None:
            progress(proof.rounds * len(jobs) + done + 1, None)
    proof.rounds += 1
    proof.total = whole
    return whole


@dataclass(frozen=True)
class Replay:
    """A counterexample to induction, run by the plain rule."""

    before: State
    action: AnyAction
    after: State


def replay(gap: Gap, design: Design) -> Replay:
    """Take the step of a counterexample concretely.

    Raises AssertionError if the plain rule does not break the claim: then the prover is wrong.
    """
    before, action = concrete(gap.case, gap.given), at(gap.action, gap.given)
    after = step(before, action, design)
    if after is None:
        raise AssertionError(f"{action} is not enabled")
    if gap.claim != TYPES and CLAIMS[gap.claim].predicate(Step(before, action, after, design)):
        raise AssertionError(f"{gap.claim} holds after {action}: the prover disagrees with the law")
    return Replay(before, action, after)


def in_words(case: Case) -> Iterator[str]:
    """What a case is."""
    yield "during a call" if case.phase is None else f"phase {case.phase.name}"
    yield "an execution runs" if case.executing else "the device is free"
