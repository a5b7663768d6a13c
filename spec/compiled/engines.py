"""Engines of `markstep explore` that run the generated step, and what they leave to the rules.

What paths of NEAR actions show is found by the rules themselves. Only claims that they neither
break nor exercise there are generated: most of the text of claims about steps need not be compiled.
"""

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum

from markstep.spec.compiled import on_numpy
from markstep.spec.compiled.exploring import LevelSearch, Watcher, go_on
from markstep.spec.compiled.judge import Judge
from markstep.spec.compiled.layout import MOST_ROWS
from markstep.spec.compiled.levels import Stepper, Steps
from markstep.spec.compiled.moves import most_spare
from markstep.spec.compiled.program import Program
from markstep.spec.compiled.route import program_of
from markstep.spec.compiled.watching import Watch
from markstep.spec.design import Design
from markstep.spec.invariants import CLAIMS, CLAIMS_IN_ORDER, PAYLOAD, Kind
from markstep.spec.search.alphabet import Bound
from markstep.spec.search.explore import explore
from markstep.spec.search.search import Exploration

NEAR = 3
"""Program actions and failures on the paths that the rules themselves look at."""


class Engine(StrEnum):
    """What runs the step of a search."""

    RULES = "rules"
    NUMPY = "numpy"
    JAX = "jax"
    C = "c"


class TooLarge(ValueError):
    """A packed state has no room for so many rows."""


def check_size(design: Design, bound: Bound) -> None:
    """Raises TooLarge."""
    layout = Program(design, bound).layout
    spare = most_spare(layout, bound.families)
    if max(layout.records, layout.buffers + spare) > MOST_ROWS:
        rows = f"{layout.records} records and {layout.buffers + spare} buffer records"
        raise TooLarge(f"{rows}, as there can be for a moment, do not fit into a packed state")


def begun(design: Design, bound: Bound, engine: Engine, near: Exploration) -> LevelSearch:
    """A search with the generated step, for what a search nearby has not shown."""
    pending = [c for c in CLAIMS_IN_ORDER if c.id not in {*near.counterexamples, *PAYLOAD}]
    steps = tuple(c.id for c in pending if c.kind == Kind.STEP)
    program = Program(design, bound, Watch(steps, tuple(near.unwitnessed)))
    judge = Judge(program, [c.id for c in pending if c.kind == Kind.STATE])
    return LevelSearch(program, MAKERS[engine](program), judge)


def nearby(design: Design, bound: Bound, actions: int = NEAR) -> Exploration:
    """What the rules show in the first few actions."""
    few = min(actions, bound.actions) if bound.actions is not None else actions
    return explore(design, replace(bound, actions=few))


def explore_with(
    engine: Engine,
    design: Design,
    bound: Bound,
    watch: Watcher | None = None,
    near: int = NEAR,
) -> LevelSearch:
    """Visit every state within the bound; the result is that of `explore`."""
    known = nearby(design, bound, near)
    search = begun(design, bound, engine, known)
    go_on(search, watch)
    finish(search, known)
    return search


def finish(search: LevelSearch, near: Exploration) -> None:
    """Put together what was found far and nearby, with the programs that show it."""
    result = search.result
    result.seconds += near.seconds
    result.witnessed = near.witnessed | search.met
    result.counterexamples = dict(near.counterexamples)
    for claim in [id for id in CLAIMS if id in search.broken]:
        result.counterexamples[claim] = program_of(search, claim, search.broken[claim])


def _on_numpy(program: Program) -> Steps:
    return Stepper(program, on_numpy.compiled)


def _on_jax(program: Program) -> Steps:
    from markstep.spec.compiled import on_jax  # JAX takes long to import

    return Stepper(program, on_jax.compiled)


def _in_c(program: Program) -> Steps:
    from markstep.spec.compiled.on_c import compiler
    from markstep.spec.compiled.steps_c import CStepper

    compiler()
    return CStepper(program, program.bound.processes)


MAKERS: dict[Engine, Callable[[Program], Steps]] = {
    Engine.NUMPY: _on_numpy,
    Engine.JAX: _on_jax,
    Engine.C: _in_c,
}
