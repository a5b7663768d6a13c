"""Designs against properties: every cell is what the explorer, or the graph law, has found.

Nothing here says which design is good. A property is some claims; a design has it if none of them
breaks within the bound, and otherwise the cell names the shortest program that breaks one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from markstep.spec.design import SOUND, TORCH_XLA_2_9, Design
from markstep.spec.invariants import CLAIMS, GRAPH_CLAIMS, Step
from markstep.spec.machine import AnyAction, step
from markstep.spec.named_designs import LAZY_LOADING
from markstep.spec.schedule import NotEnabledError, initial_state, perform
from markstep.spec.search.alphabet import Bound
from markstep.spec.search.explore import explore
from markstep.spec.search.search import Exploration
from markstep.spec.search.small_graphs import small_graphs
from markstep.spec.state import Phase, State
from markstep.spec.vocabulary import Action

COMPARED: tuple[Design, ...] = (SOUND, TORCH_XLA_2_9, *LAZY_LOADING)
BOUND = Bound(2, 2, actions=5, families=("sharding", "placeholder", "ahead", "faults"))
"""How far each design is explored unless somebody says otherwise."""
GRAPH_OPS = 2


@dataclass(frozen=True, slots=True)
class Property:
    """What somebody wants of lazy loading, as claims of the law."""

    title: str
    claims: tuple[str, ...]


PROPERTIES: tuple[Property, ...] = (
    Property("nothing is sent at a lazy mark", ("I120",)),
    Property("marking device data fetches nothing", ("I127",)),
    Property("nothing is sent at trace", ("I121",)),
    Property("nothing is sent at hash and warm-up", ("I122", "I60")),
    Property("only an execution that reads it loads", ("I78",)),
    Property("each host version is sent at most once", ("I79",)),
    Property("the pieces are sent, not copies", ("I84",)),
    Property("the annotation survives tracing", ("I12",)),
    Property("the annotation is told as it is", ("I11",)),
    Property("afterwards data lies as after an eager mark", ("I80", "I10")),
    Property("a warm-up helps the step", ("I48",)),
    Property("what has data can be executed", ("I126",)),
    Property("what cannot be executed is refused cleanly", ("I82", "I83", "I23", "I22")),
    Property("stubs can be marked", ("I86",)),
    Property("the host copy stays until it is loaded", ("I85",)),
    Property("the host copy is released then", ("I125",)),
    Property("a refused mark changes nothing", ("I124",)),
    Property("printing keeps pending work", ("I57",)),
    Property("nothing is lost on failure", ("I58",)),
    Property("donation is safe", ("I32", "I33", "I40")),
    Property("values survive, reading gives them", ("I56", "I87")),
)


@dataclass(frozen=True, slots=True)
class Broken:
    """The shortest program that breaks a claim under a design."""

    claim: str
    path: tuple[AnyAction, ...]
    """Every small step, the facts that it met included; none: a claim about graphs."""
    program: tuple[Action, ...]
    """What a person would write."""
    runs: bool
    """The program alone breaks the claim, with real values and a real cache."""
    executed: bool = False
    """The reference executor, built as the design, breaks it so."""

    @property
    def trace(self) -> tuple[AnyAction, ...]:
        """What `markstep replay` should run."""
        return self.program if self.runs or self.executed else self.path


Executor: TypeAlias = Callable[[Sequence[Action], str, Design], bool]
"""Whether a program breaks a claim on an executor that has a design; False: there is none."""


@dataclass
class Column:
    """One design: what it breaks, and what its exploration has not seen."""

    design: Design
    result: Exploration
    broken: dict[str, Broken] = field(default_factory=dict)

    def cell(self, wanted: Property) -> Broken | None:
        """What breaks a property first: the shortest."""
        found = [self.broken[id] for id in wanted.claims if id in self.broken]
        return min(found, key=lambda one: len(one.program), default=None)

    def says(self, wanted: Property) -> str:
        """The cell as a word."""
        broken = self.cell(wanted)
        if broken is not None:
            return f"✗ {broken.claim}"
        seen = [id for id in wanted.claims if id in GRAPH_CLAIMS or id in self.result.witnessed]
        if not self.result.exhausted:
            return "?"
        return "✓" if seen else "–"


def columns(
    designs: Sequence[Design],
    bound: Bound,
    tell: Callable[[int, int | None], None],
    executor: Executor,
) -> list[Column]:
    """Every design explored within the bound, and what was found tried on an executor."""
    made = []
    for i, design in enumerate(designs):
        tell(i, len(designs))
        made.append(column(design, bound, executor))
    return made


def column(design: Design, bound: Bound, executor: Executor) -> Column:
    """One design explored, and what it does to small graphs."""
    made = Column(design, explore(design, bound))
    for id, path in made.result.counterexamples.items():
        program = program_of(path, design)
        runs = breaks(program, id, design)
        made.broken[id] = Broken(id, path, program, runs, executor(program, id, design))
    graphs = small_graphs(ops=GRAPH_OPS)
    for claim in GRAPH_CLAIMS.values():
        if claim.find_violation(design, graphs) is not None:
            made.broken[claim.id] = Broken(claim.id, (), (), False)
    return made


def program_of(path: Sequence[AnyAction], design: Design) -> tuple[Action, ...]:
    """The actions of the program on a path, and of the environment where no call was waiting."""
    state, program = State(), []
    for action in path:
        if isinstance(action, Action) and state.call.phase == Phase.IDLE:
            program.append(action)
        state = step(state, action, design) or state
    return tuple(program)


def breaks(program: Sequence[Action], id: str, design: Design) -> bool:
    """Whether a program by itself breaks a claim, with the facts that real values give."""
    broken, state = False, initial_state()

    def judge(before: State, action: AnyAction, after: State) -> None:
        nonlocal broken
        broken = broken or not CLAIMS[id].predicate(Step(before, action, after, design))

    for action in program:
        try:
            after = perform(state, action, design, judge)
        except NotEnabledError:
            return broken
        if after is None:
            return broken
        state = after
    return broken
