"""The action table as a Hypothesis state machine: one rule for each action, in lockstep.

Hypothesis chooses among the rules whose action is possible in the law's state, and one more that
tries what is impossible. It explores and shrinks well but takes a few thousand rules a second at
best; `markstep.conformance.programs.generate` decodes whole programs from bytes and is much faster.
Both choose from the same law.
"""

import re
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from markstep.conformance.adapter import Factory, make, missing_capability
from markstep.conformance.claims import ClaimWatch, all_claims
from markstep.conformance.lockstep.session import Counts, Session
from markstep.conformance.programs import illegal
from markstep.conformance.programs.exactness import stays_exact
from markstep.conformance.show import show, show_program
from markstep.spec import vocabulary as v
from markstep.spec.design import SOUND, Design
from markstep.spec.machine import ACTIONS, enabled
from markstep.spec.schedule import end_of_execution, fits, results_of_cached_run
from markstep.spec.state import Phase, State
from markstep.spec.vocabulary import Action, TensorName

MAX_TENSORS = 5
SCALARS = (2, 1)
BOOLEANS = (False, True)
VIEWS = ("view", "reshape")


class Disagreement(AssertionError):
    """The law and the executor part, or the law breaks a claim of its own."""


def enumerate_actions(kind: type, state: State, fresh: TensorName) -> Iterator[Action]:
    """Candidates for one row of the action table in a state. Not all of them are possible."""
    live = list(state.tensors)
    few = [(name,) for name in live] + list(product(live[:2], live[-2:]))
    match kind:
        case v.CreateFromHost:
            yield from (v.CreateFromHost(fresh, (1, 2, 3, 4), (2, 2), upload=u) for u in BOOLEANS)
            yield v.CreateFromHost(fresh, (1, 2, 3, 4), (4,), v.DType.S32)
        case v.CreatePlaceholder:
            yield v.CreatePlaceholder(fresh, (2, 2))
        case v.Random:
            yield from (v.Random(name, bound) for name in live for bound in (1, 9))
        case v.SetSeed:
            yield from (v.SetSeed(seed) for seed in (101, 2**64 - 1))
        case v.Fill:
            yield from (v.Fill(fresh, shape, n) for shape in ((), (2, 2)) for n in SCALARS)
        case v.Apply | v.AssignInPlace:
            yield from _operations(kind, live, fresh)
        case v.Clone | v.Detach:
            yield from (kind(fresh, name) for name in live)
        case v.CopyInto:
            yield from (v.CopyInto(a, b) for a, b in product(live, live))
        case v.CopyFromHost:
            yield from (v.CopyFromHost(t, (4, 3, 2, 1), u) for t, u in product(live, BOOLEANS))
        case v.ViewOf:
            yield from _views(live, fresh)
        case v.Drop | v.Look | v.ReadOne | v.WriteToResult | v.ReadSpec | v.ClearSharding:
            yield from (kind(name) for name in live)
        case v.MarkSharding:
            some = product(live, v.Sharding, BOOLEANS)
            yield from (v.MarkSharding(name, how, lazy) for name, how, lazy in some)
        case v.BindData | v.LoadShards:
            yield from (kind(name, (1, 2, 3, 4)) for name in live)
        case v.SetDonation:
            yield from (v.SetDonation(name, flag) for name, flag in product(live, BOOLEANS))
        case v.Sync:
            yield from (v.Sync(t, s, w) for t, s, w in product(few, BOOLEANS, BOOLEANS))
        case v.WarmUp:
            yield from (v.WarmUp(t, s) for t, s in product(few, BOOLEANS))
        case v.ReadMany | v.GraphHash | v.DumpGraph:
            yield from (kind(t) for t in few)
        case v.RunCached:
            yield from (_run_cached(state, t, fresh) for t in few)
        case v.SyncLive | v.StepBarrier | v.SetDonorConfig | v.AllowExecution | v.SetEager:
            yield from (kind(flag) for flag in BOOLEANS)
        case _:
            yield kind()


def _operations(kind: type, live: list[TensorName], fresh: TensorName) -> Iterator[Action]:
    """Every op of the alphabet on few operands."""
    several = [(op, pair, None) for op in v.BINARY_OPS for pair in product(live, live)]
    single: list[tuple[str, tuple[TensorName, ...], v.Number | None]] = [
        (op, (name,), number)
        for name in live
        for op in (*v.UNARY_OPS, *v.SCALAR_OPS, *v.FAULTY_OPS)
        for number in (SCALARS if op in v.SCALAR_OPS else (None,))
    ]
    for op, inputs, number in (*single, *several):
        if kind is v.Apply:
            yield v.Apply(fresh, op, inputs, number)
        else:
            yield v.AssignInPlace(inputs[0], op, inputs[1:], number)


def _views(live: list[TensorName], fresh: TensorName) -> Iterator[Action]:
    for name in live:
        yield from (v.ViewOf(fresh, name, op, sizes) for op in VIEWS for sizes in ((4,), (2, 2)))
        yield v.ViewOf(fresh, name, "slice", (0, 1, 2))
        yield v.ViewOf(fresh, name, "transpose")


def _run_cached(state: State, tensors: tuple[TensorName, ...], fresh: TensorName) -> Action:
    results = results_of_cached_run(state, tensors)
    return v.RunCached(tensors, tuple(TensorName(fresh + i) for i in range(len(results))))


class Lockstep(RuleBasedStateMachine):
    """The part of the machine that is the same for every executor. See `machine_for`."""

    factory: Factory
    design: Design = SOUND

    def __init__(self) -> None:
        super().__init__()
        self.adapter = make(type(self).factory, self.design)
        self.watch = ClaimWatch(all_claims().values())
        self.session = Session(self.adapter, self.design, self.watch, Counts())
        self.program: list[Action] = []
        self.made = 0
        self._possible: dict[type, list[Action]] = {}

    @property
    def fresh(self) -> TensorName:
        """The next unused name."""
        return TensorName(self.made)

    def possible(self, kind: type) -> list[Action]:
        """The actions of one row of the table that may happen now."""
        if self.session.over:
            return []
        if kind not in self._possible:
            state = self.session.state
            found = enumerate_actions(kind, state, self.fresh)
            self._possible[kind] = [action for action in found if self._may(state, action)]
        return self._possible[kind]

    def _may(self, state: State, action: Action) -> bool:
        if missing_capability(self.adapter.capabilities, action) is not None:
            return False
        if not enabled(state, action, self.design) or not fits(state, action):
            return False
        return stays_exact(state, action) and not self._too_many(state, action)

    def _too_many(self, state: State, action: Action) -> bool:
        return len(state.tensors) >= MAX_TENSORS and bool(
            getattr(action, "outs", ()) or hasattr(action, "out")
        )

    def take(self, action: Action) -> None:
        """One action on both sides. Raises Disagreement."""
        if isinstance(action, v.CompleteExecution):
            action = end_of_execution(self.session.state, self.design)
        self.program.append(action)
        self.made += 3
        self._possible = {}
        found = self.session.step(action)
        if found is not None:
            raise Disagreement(
                f"{found.id} {found.statement}\n{show_program(self.program, len(self.program) - 1)}"
                f"\nexpected  {found.expected}\nobserved  {found.observed}"
            )

    def impossible(self) -> list[Action]:
        """Actions that must be refused now."""
        state = self.session.state
        wanted = illegal.candidates(state, self.fresh)
        return [a for a in wanted if not (enabled(state, a, self.design) and fits(state, a))]

    def teardown(self) -> None:
        self.adapter.close()


def machine_for(factory: Factory, design: Design = SOUND) -> type[Lockstep]:
    """The state machine that holds one executor to the law: a rule for each row of the table."""
    body: dict[str, Any] = {"factory": staticmethod(factory), "design": design}
    for kind, row in ACTIONS.items():
        if row.phase == Phase.IDLE:
            body[_snake(kind.__name__)] = _rule_for(kind)
    body["something_impossible"] = _impossible_rule()
    return type(f"LockstepOf{getattr(factory, '__name__', 'Executor')}", (Lockstep,), body)


def _rule_for(kind: type) -> Callable[..., None]:
    def run(self: Lockstep, data: st.DataObject) -> None:
        self.take(data.draw(st.sampled_from(self.possible(kind)).map(Shown)).action)

    run.__name__, run.__doc__ = _snake(kind.__name__), kind.__doc__
    wrapped = rule(data=st.data())(precondition(lambda self: bool(self.possible(kind)))(run))
    return wrapped


def _impossible_rule() -> Callable[..., None]:
    def run(self: Lockstep, data: st.DataObject) -> None:
        self.take(data.draw(st.sampled_from(self.impossible()).map(Shown)).action)

    run.__name__, run.__doc__ = "something_impossible", "An action that must be refused."
    wrapped = rule(data=st.data())(precondition(lambda self: not self.session.over)(run))
    return wrapped


class Shown:
    """An action that Hypothesis prints as readable Python."""

    def __init__(self, action: Action) -> None:
        self.action = action

    def __repr__(self) -> str:
        return show(self.action)


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
