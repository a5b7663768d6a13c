"""What has to be shown for claims to hold in every reachable state, and the search for a gap.

`init`: the claims about states hold in the first state. `step`: from any state in which they hold,
every action leads to one in which they hold, and the claims about steps hold of it. Each path of
each rule is one question to z3. A state from which a step breaks a claim is a counterexample to
induction: nobody knows whether it can be reached.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache
from time import monotonic
from typing import Any

from markstep.spec import machine
from markstep.spec.contract import lost_records
from markstep.spec.design import Design
from markstep.spec.invariants import CLAIMS, Claim, Kind, Step
from markstep.spec.machine import AnyAction
from markstep.spec.proofs.expressions import (
    Expr,
    conjuncts,
    const,
    domain_of,
    evaluate,
    make,
    substitute,
    values,
    var,
)
from markstep.spec.proofs.instances import actions_in, can_be
from markstep.spec.proofs.merging import merging
from markstep.spec.proofs.solver import Solver, Undecided
from markstep.spec.proofs.states import Case, copied, fields_of, unknown
from markstep.spec.proofs.symbolic import Run, Symbol, lift, lower, paths, summary
from markstep.spec.state import State
from markstep.spec.vocabulary import EvictCache

TYPES = "types"
AFTER = "after."


@dataclass(frozen=True)
class Gap:
    """A step that breaks a claim (or, with an empty id, leaves the types) in some state."""

    claim: str
    case: Case
    action: AnyAction
    given: dict[str, int]
    """The control fields of the state before."""


@dataclass
class Finding:
    """What the obligations of some actions have shown."""

    paths: int = 0
    """Paths that some state takes."""
    discarded: int = 0
    """Paths that need more rows than there are."""
    questions: int = 0
    seconds: float = 0.0
    gaps: list[Gap] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    """Claims about which z3 gave no answer."""

    def add(self, other: "Finding") -> None:
        """Put two findings together."""
        self.paths += other.paths
        self.discarded += other.discarded
        self.questions += other.questions
        self.seconds += other.seconds
        self.gaps += other.gaps
        self.unknown += other.unknown


@cache
def afterwards(case: Case) -> State:
    """The state after a step, as claims see it; ``case`` is an open one."""
    return unknown(case, AFTER)


@cache
def beforehand(case: Case) -> State:
    """The state before a step of a case."""
    return unknown(case)


def about_step(claim: Claim, case: Case, action: AnyAction, design: Design) -> Expr:
    """What a claim says of a step from a case, over the fields before and after."""
    after = afterwards(case.open)
    step = Step(beforehand(case), action, after, design)
    return lift(summary(lambda: claim.predicate(step)))


@cache
def about_state(id: str, case: Case, design: Design) -> tuple[Expr, ...]:
    """What a claim about states says over the fields afterwards: a conjunction."""
    after = afterwards(case)
    step = Step(after, EvictCache(), after, design)
    return conjuncts(lift(summary(lambda: CLAIMS[id].predicate(step))))


@cache
def _lost(case: Case) -> Expr:
    return lift(summary(lambda: lost_records(afterwards(case))))


@dataclass(frozen=True)
class Path:
    """What is asked along the paths of one action."""

    action: AnyAction
    said: dict[Expr, str]
    """What is claimed of its steps, and by which claim."""
    gaps: Set[str]
    """Claims that need not be asked for any more."""
    found: Finding


class Induction:
    """The obligations of one case under some claims about states that are assumed before a step."""

    def __init__(self, case: Case, design: Design, claims: Sequence[Claim]) -> None:
        self.case, self.design, self.claims = case, design, claims
        self.solver = Solver()
        """Knows what is assumed of the state before: which paths are there?"""
        self.judge = Solver(AFTER)
        """Knows the same, and what the claims say of the state after a step."""
        self.targets = {
            path: symbol.expr
            for path, symbol in fields_of(afterwards(case.open)).items()
            if isinstance(symbol, Symbol)
        }
        before = fields_of(beforehand(case))
        self.before = {path: lift(before.get(path, 0)) for path in self.targets}
        self.parts: dict[Expr, str] = {}
        """What is claimed of states, and by which claim."""
        self.looked_at: dict[Expr, list[Expr]] = {e: [] for e in self.targets.values()}
        """For each field after a step, the parts that look at it."""
        by = {self.targets[path]: e for path, e in self.before.items()}
        memo: dict[Expr, Expr] = {}
        for claim in [claim for claim in claims if claim.kind == Kind.STATE]:
            for part in about_state(claim.id, case.open, design):
                assumed = substitute(part, by, memo)
                self.solver.add(assumed)
                self.judge.add(assumed)
                self.judge.literal(part)
                self.parts.setdefault(part, claim.id)
                for variable in part.variables:
                    self.looked_at[variable].append(part)

    def check(self, action: AnyAction, failed: Set[str] = frozenset()) -> Finding:
        """The obligations of one action, but for claims of which a gap is known."""
        found, started = Finding(), monotonic()
        if not self.solver.feasible([]):
            return found

        def code() -> State | None:
            state = copied(beforehand(self.case))
            if not machine.enabled(state, action, self.design):
                return None
            if not can_be(state, action, self.design):
                return None
            machine.take(state, action, self.design)
            return state

        asked = self.solver.queries + self.judge.queries
        about = [claim for claim in self.claims if claim.kind == Kind.STEP]
        said = {about_step(claim, self.case, action, self.design): claim.id for claim in about}
        with self.solver.scope():
            for run, after in paths(code, self.solver):
                if run.outside:
                    found.discarded += 1
                elif after is not None:
                    found.paths += 1
                    known_gaps = {*failed, *(gap.claim for gap in found.gaps)}
                    self.check_path(run, after, Path(action, said, known_gaps, found))
        found.questions = self.solver.queries + self.judge.queries - asked
        found.seconds = monotonic() - started
        return found

    def check_path(self, run: Run, after: State, path: "Path") -> None:
        """The one question of a path, asked again without the claims that it has found broken."""
        found = {field: lift(value) for field, value in fields_of(after).items()}
        ends = {field: e for field, e in found.items() if field in self.targets}
        fixed = [e for field, e in found.items() if field not in self.targets]
        assert all([e.op == "const" for e in fixed]), "a field that is not modelled has changed"
        open_ = self.open_parts(ends) | path.said
        if (typed := self.typed(ends, run)).op != "const":
            open_[typed] = TYPES
        open_ = {e: id for e, id in open_.items() if id not in path.gaps and e is not TRUE}
        if not open_:
            return
        self.find_gaps(run, ends, open_, path)

    def find_gaps(
        self, run: Run, ends: dict[str, Expr], open_: dict[Expr, str], path: "Path"
    ) -> None:
        """One state for each claim that the path can break."""
        while open_:
            try:
                example = self.counterexample(run, ends, open_)
            except Undecided:
                path.found.unknown += sorted(set(open_.values()))
                return
            if example is None:
                return
            given = {e.name: value for e, value in example.items()}
            broken = {id for e, id in open_.items() if not evaluate(e, example)}
            path.found.gaps += [Gap(id, self.case, path.action, given) for id in sorted(broken)]
            open_ = {e: id for e, id in open_.items() if id not in broken}

    def counterexample(
        self, run: Run, ends: dict[str, Expr], claims: Iterable[Expr]
    ) -> Mapping[Expr, int] | None:
        """A state from which the path leads to one where an expression is false."""
        read = {variable for e in claims for variable in e.variables}
        if ends["lost"] is LATER:
            read.update(_lost(self.case.open).variables)
        with self.judge.scope():
            for e, side in run.taken:
                self.judge.add(e if side else make("not", e))
            for field, e in ends.items():
                if self.targets[field] in read:
                    self.judge.add(make("eq", self.targets[field], self.end(field, e)))
            self.judge.add_some_false(claims)
            example = self.judge.example([])
            return None if example is None else example.complete()

    def end(self, path: str, e: Expr) -> Expr:
        """The value of a field after the step; the ghost of lost values is what it says it is."""
        if e is LATER:
            return _lost(self.case.open)
        target = self.targets[path]
        return make("not", make("eq", e, const(0))) if target.logical else e

    def open_parts(self, ends: dict[str, Expr]) -> dict[Expr, str]:
        """What the step could break of claims about states: it changes a field that they look at.

        The rest is what was assumed before the step.
        """
        changed = [self.targets[field] for field, e in ends.items() if e is not self.before[field]]
        parts = dict.fromkeys([part for e in changed for part in self.looked_at[e]])
        return {part: self.parts[part] for part in parts}

    def typed(self, ends: dict[str, Expr], run: Run) -> Expr:
        """Whether every field afterwards has a value of its sort."""
        fine = const(1)
        for path, e in ends.items():
            allowed = domain_of(self.targets[path])
            possible = None if e is LATER else values(e, _domains(e, run))
            if e is LATER or e is self.before.get(path) or (possible and possible <= allowed):
                continue
            one = const(0)
            for value in sorted(allowed):
                one = make("or", one, make("eq", e, const(value)))
            fine = make("and", fine, one)
        return fine


TRUE = const(1)
LATER = var("later", frozenset(range(2)))
"""Stands for the records whose value is lost after the step, which is computed only once."""


def _later(state: State) -> Any:
    return lower(LATER)


def _domains(e: Expr, run: Run) -> dict[Expr, frozenset[int]]:
    return {v: run.domains.get(v) or domain_of(v) for v in e.variables}


def check_case(
    case: Case, design: Design, ids: Sequence[str], asked: Sequence[str] = ()
) -> Finding:
    """The obligations of every action in a case, for all claims that are assumed before it."""
    found = Finding()
    with merging(case.records, case.buffers, case.modes, _later):
        induction = Induction(case, design, [CLAIMS[id] for id in ids])
        for action in actions_in(case):
            found.add(induction.check(action, {gap.claim for gap in found.gaps}))
    return found
