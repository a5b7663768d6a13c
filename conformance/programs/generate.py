"""Programs from bytes: at every step one of the actions that are possible in the law's state.

The same bytes give the same program, and smaller bytes give simpler ones, so that Hypothesis can
draw and shrink them. Alternatives are weighted towards what is rare and has gone wrong before; the
sequences of `markstep.conformance.programs.motifs` are planned as a whole, with other actions in
between.
"""

from collections.abc import Sequence
from math import prod

from markstep.conformance.adapter import ALL_CAPABILITIES, SCALAR_TENSORS, missing_capability
from markstep.conformance.programs import illegal
from markstep.conformance.programs.exactness import stays_exact
from markstep.conformance.programs.motifs import MOTIFS
from markstep.conformance.programs.roles import Motif, Roles
from markstep.conformance.programs.shardings import SPMD_PERCENT, WEIGHT, sharded_action
from markstep.conformance.programs.source import Source
from markstep.conformance.programs.viewing import VIEW_WEIGHTS, view_action
from markstep.conformance.programs.weights import (
    BOUNDS,
    FILLED,
    HOW_MANY,
    IN_PLACE_OPS,
    LAYOUTS,
    LAYOUTS_OF_ARRAYS,
    MAKERS,
    OPS,
    OTHERS,
    SCALARS,
    SEEDS,
)
from markstep.spec import vocabulary as v
from markstep.spec.design import SOUND, Design
from markstep.spec.machine import enabled, names
from markstep.spec.schedule import (
    end_of_execution,
    fits,
    initial_state,
    perform,
    results_of_cached_run,
)
from markstep.spec.state import State
from markstep.spec.vocabulary import Action, DType, TensorName

MAX_TENSORS = 6
MAX_ACTIONS = 60
ILLEGAL_PERCENT = 5
MOTIF_PERCENT = 20
INTERRUPT_PERCENT = 20
"""How often some other action comes between those of a motif."""


class Chooser:
    """Chooses the next action of one program, given the law's state."""

    def __init__(
        self,
        source: Source,
        design: Design,
        capabilities: frozenset[str] = ALL_CAPABILITIES,
        opening: Motif | None = None,
    ) -> None:
        """``opening``: what the program begins with, undisturbed, once there are two tensors."""
        self.source, self.design, self.capabilities = source, design, capabilities
        self.agenda: list[Action] = []
        """What a motif still wants to do."""
        self.made, self.opening = 0, opening

    def fresh(self) -> TensorName:
        """A tensor name that was never used."""
        self.made += 1
        return TensorName(self.made - 1)

    @property
    def done(self) -> bool:
        """The program is long enough: its bytes are used up, and its opening is not cut short."""
        return self.source.exhausted and self.opening is None

    def choose(self, state: State) -> Action:
        """The next action. Possible in the state, but for a few that are deliberately not."""
        if self.made == 0 and not state.device.spmd and self._wants_spmd():
            return v.UseSpmd()
        if self.opening is not None and not self.agenda:
            if len(state.tensors) < 2:
                return self.create(state)
            self._plan(self.opening, state)
        if self.agenda and (self.opening or not self.source.percent(INTERRUPT_PERCENT)):
            planned = self._planned(state)
            if planned is not None:
                return planned
        roll = self.source.below(100)
        if roll >= 100 - ILLEGAL_PERCENT:
            action = self._impossible(state)
        elif roll >= 100 - ILLEGAL_PERCENT - MOTIF_PERCENT and not self.agenda:
            self._plan(self.source.pick(MOTIFS), state)
            action = self._planned(state)
        else:
            action = self._ordinary(state)
        if action is None or not self.supported(action):
            return self.create(state)
        return action

    def _wants_spmd(self) -> bool:
        return self.supported(v.UseSpmd()) and self.source.percent(SPMD_PERCENT)

    def supported(self, action: Action) -> bool:
        """Whether the adapter can do the action at all."""
        return missing_capability(self.capabilities, action) is None

    def possible(self, state: State, action: Action) -> bool:
        """Whether the law lets the action happen here and its values stay exact."""
        return self._lawful(state, action) and stays_exact(state, action)

    def _lawful(self, state: State, action: Action) -> bool:
        return enabled(state, action, self.design) and fits(state, action)

    def _impossible(self, state: State) -> Action | None:
        kinds = illegal.kinds(state, self.fresh())
        action = self.source.pick(self.source.weighted(kinds))
        return None if self._lawful(state, action) else action

    def _plan(self, motif: Motif, state: State) -> None:
        """Put a motif on the agenda, if there is room for the tensors that it makes."""
        live = list(state.tensors)
        if 0 < len(live) <= MAX_TENSORS - 2:
            x = self.source.pick(live)
            alike = [name for name in live if name != x and _alike(state, x, name)]
            y = self.source.pick(live if self.source.percent(30) or not alike else alike)
            wait = not self.source.percent(40)
            self.agenda = motif(Roles(x, y, self.fresh(), self.fresh(), wait))

    def _planned(self, state: State) -> Action | None:
        while self.agenda:
            action = self.agenda.pop(0)
            self.opening = self.opening if self.agenda else None
            if isinstance(action, v.CompleteExecution) and state.execution.running:
                action = end_of_execution(state, self.design)
            if self.supported(action) and self.possible(state, action):
                return action
        return None

    def _ordinary(self, state: State) -> Action | None:
        kind = self.source.weighted(self._kinds(state))
        action: Action | None = getattr(self, f"_{kind}")(state, list(state.tensors))
        if action is None or not self.possible(state, action):
            return None
        return action

    def _kinds(self, state: State) -> list[tuple[int, str]]:
        """Weights of the kinds of action, 256 at most in all."""
        if not state.tensors:
            return [(1, "create")]
        full = len(state.tensors) + self._planned_tensors() >= MAX_TENSORS
        running, device = state.execution.running, state.device
        makers = [(1 if full else weight, kind) for weight, kind in MAKERS]
        situation = [
            (24 if running else 0, "complete"),
            (12 if running else 0, "fail"),
            (1 if device.allow_execution else 40, "allow_execution"),
            (2, "donor_config"),
            (WEIGHT if device.spmd else 0, "sharded"),
            (0 if device.spmd else 6 if device.eager else 1, "eager"),
            (24 if full else 3, "drop"),
            *(VIEW_WEIGHTS if "aliasing" in self.capabilities else ()),
        ]
        return [*makers, *OTHERS, *(entry for entry in situation if entry[0])]

    def _planned_tensors(self) -> int:
        return sum(len(names(action)[1]) for action in self.agenda)

    # ---- kinds of action --------------------------------------------------------------------

    def create(self, state: State) -> Action:
        """A new tensor from the host: possible in every state."""
        shape, dtype = self._layout()
        value = self._values(shape)
        host_only = self.source.percent(30) and "host_only" in self.capabilities
        return v.CreateFromHost(self.fresh(), value, shape, dtype, not host_only)

    def _layout(self) -> tuple[tuple[int, ...], DType]:
        scalars = SCALAR_TENSORS in self.capabilities
        return self.source.weighted(LAYOUTS if scalars else LAYOUTS_OF_ARRAYS)

    def _values(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        first = 1 + self.source.below(5)
        return tuple(range(first, first + min(prod(shape), 4)))

    def _create(self, state: State, live: list[TensorName]) -> Action:
        return self.create(state)

    def _placeholder(self, state: State, live: list[TensorName]) -> Action:
        shape, dtype = self._layout()
        return v.CreatePlaceholder(self.fresh(), shape, dtype)

    def _fill(self, state: State, live: list[TensorName]) -> Action:
        shape, dtype = self.source.weighted(FILLED)
        return v.Fill(self.fresh(), shape, self.source.pick(SCALARS), dtype)

    def _random(self, state: State, live: list[TensorName]) -> Action:
        return v.Random(self.source.pick(live), self.source.pick(BOUNDS))

    def _set_seed(self, state: State, live: list[TensorName]) -> Action:
        return v.SetSeed(self.source.pick(SEEDS))

    def _get_seed(self, state: State, live: list[TensorName]) -> Action:
        return v.GetSeed()

    def _operation(self, ops: Sequence[tuple[int, str]]) -> tuple[str, v.Number | None]:
        op = self.source.weighted(ops)
        return op, self.source.pick(SCALARS) if op in v.SCALAR_OPS else None

    def _apply(self, state: State, live: list[TensorName]) -> Action | None:
        op, scalar = self._operation(OPS)
        out, first = self.fresh(), self.source.pick(live)
        if op not in v.BINARY_OPS:
            return v.Apply(out, op, (first,), scalar)
        wanted = [v.Apply(out, op, (first, other)) for other in live]
        return self._one_possible(state, wanted)

    def _in_place(self, state: State, live: list[TensorName]) -> Action | None:
        op, scalar = self._operation(IN_PLACE_OPS)
        target = self.source.pick(live)
        if op not in v.BINARY_OPS:
            return v.AssignInPlace(target, op, (), scalar)
        wanted = [v.AssignInPlace(target, op, (other,)) for other in live]
        return self._one_possible(state, wanted)

    def _one_possible(self, state: State, wanted: Sequence[Action]) -> Action | None:
        possible = [action for action in wanted if self.possible(state, action)]
        return self.source.pick(possible) if possible else None

    def _clone(self, state: State, live: list[TensorName]) -> Action:
        return v.Clone(self.fresh(), self.source.pick(live))

    def _detach(self, state: State, live: list[TensorName]) -> Action:
        return v.Detach(self.fresh(), self.source.pick(live))

    def _copy_into(self, state: State, live: list[TensorName]) -> Action | None:
        source = self.source.pick(live)
        return self._one_possible(state, [v.CopyInto(target, source) for target in live])

    def _copy_from_host(self, state: State, live: list[TensorName]) -> Action:
        target = self.source.pick(live)
        values = self._values(state.record_of(target).shape)
        return v.CopyFromHost(target, values, not self.source.percent(30))

    def _view(self, state: State, live: list[TensorName]) -> Action:
        return view_action(self.source, state, self.source.pick(live), self.fresh())

    def _look(self, state: State, live: list[TensorName]) -> Action:
        return v.Look(self.source.pick(live))

    def _drop(self, state: State, live: list[TensorName]) -> Action:
        return v.Drop(self.source.pick(live))

    def _some(self, live: list[TensorName]) -> tuple[TensorName, ...]:
        """One to three tensors, sometimes one of them twice; rarely none."""
        return tuple(self.source.pick(live) for _ in range(self.source.pick(HOW_MANY)))

    def _sync(self, state: State, live: list[TensorName]) -> Action:
        flags = self.source.below(4)
        return v.Sync(self._some(live), sync=flags < 3, wait=flags % 2 == 0)

    def _sync_live(self, state: State, live: list[TensorName]) -> Action:
        return v.SyncLive(wait=not self.source.percent(50))

    def _step_barrier(self, state: State, live: list[TensorName]) -> Action:
        return v.StepBarrier(wait=not self.source.percent(60))

    def _warm_up(self, state: State, live: list[TensorName]) -> Action:
        return v.WarmUp(self._some(live), sync=self.source.percent(50))

    def _read_one(self, state: State, live: list[TensorName]) -> Action:
        return v.ReadOne(self.source.pick(live))

    def _read_many(self, state: State, live: list[TensorName]) -> Action:
        return v.ReadMany(self._some(live))

    def _graph_hash(self, state: State, live: list[TensorName]) -> Action:
        return v.GraphHash(self._some(live))

    def _run_cached(self, state: State, live: list[TensorName]) -> Action:
        return run_cached(state, self._some(live), self)

    def _clear_pending(self, state: State, live: list[TensorName]) -> Action:
        return v.ClearPending()

    def _set_donation(self, state: State, live: list[TensorName]) -> Action:
        return v.SetDonation(self.source.pick(live), not self.source.percent(15))

    def _donor_config(self, state: State, live: list[TensorName]) -> Action:
        return v.SetDonorConfig(not state.device.donor_config)

    def _wait_device(self, state: State, live: list[TensorName]) -> Action:
        return v.WaitDevice()

    def _dump_graph(self, state: State, live: list[TensorName]) -> Action:
        return v.DumpGraph(self._some(live))

    def _allow_execution(self, state: State, live: list[TensorName]) -> Action:
        return v.AllowExecution(not state.device.allow_execution)

    def _eager(self, state: State, live: list[TensorName]) -> Action:
        return v.SetEager(not state.device.eager)

    def _evict_cache(self, state: State, live: list[TensorName]) -> Action:
        return v.EvictCache()

    def _write_to_result(self, state: State, live: list[TensorName]) -> Action:
        return v.WriteToResult(self.source.pick(live))

    def _sharded(self, state: State, live: list[TensorName]) -> Action:
        return sharded_action(self.source, state, self.source.pick(live), self._values)

    def _complete(self, state: State, live: list[TensorName]) -> Action:
        return end_of_execution(state, self.design)

    def _fail(self, state: State, live: list[TensorName]) -> Action:
        return v.FailExecution(deletes=not self.design.failure_keeps_donors)


def run_cached(state: State, tensors: tuple[TensorName, ...], chooser: Chooser) -> v.RunCached:
    """A run by key with as many results as the graph has outputs."""
    results = results_of_cached_run(state, tensors)
    return v.RunCached(tensors, tuple(chooser.fresh() for _ in results))


def _alike(state: State, a: TensorName, b: TensorName) -> bool:
    one, other = state.record_of(a), state.record_of(b)
    return (one.shape, one.dtype) == (other.shape, other.dtype)


def decode(
    data: bytes, design: Design = SOUND, capabilities: frozenset[str] = ALL_CAPABILITIES
) -> tuple[Action, ...]:
    """The program that the bytes mean under a design."""
    chooser, state = Chooser(Source(data), design, capabilities), initial_state()
    program: list[Action] = []
    while not chooser.done and len(program) < MAX_ACTIONS:
        action = chooser.choose(state)
        program.append(action)
        state = perform(state, action, design) or state
        if state.device.crashed:
            break
    return tuple(program)
