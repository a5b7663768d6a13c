"""The generated step against the rules: every state and every step of small spaces."""

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from markstep.spec.alphabet import Bound, moves
from markstep.spec.canonical import Key, canonical
from markstep.spec.compiled import on_jax, on_numpy
from markstep.spec.compiled.judge import STATE_CLAIMS, Judge
from markstep.spec.compiled.layout import Layout, pack_state, unpack_state
from markstep.spec.compiled.levels import Found, Stepper, Steps, distinct, search
from markstep.spec.compiled.on_c import NoCompiler, compiler
from markstep.spec.compiled.program import Program
from markstep.spec.compiled.steps_c import CStepper
from markstep.spec.compiled.visited import Visited, Words
from markstep.spec.design import SOUND, TORCH_XLA_2_9, Design
from markstep.spec.expand import only_move
from markstep.spec.explore import explore
from markstep.spec.machine import step
from markstep.spec.rules.transfer import buffers_in_use
from markstep.spec.state import State

TORCH_XLA = ("core", "donation", "faults", "placeholder")
SPACES = [
    pytest.param(SOUND, Bound(1, 2, families=("core", "donation")), id="one-record"),
    pytest.param(SOUND, Bound(2, 1, families=("core",)), id="two-records"),
    pytest.param(TORCH_XLA_2_9, Bound(1, 1, families=TORCH_XLA), id="torch_xla"),
]


@cache
def searched(design: Design, bound: Bound) -> tuple[Program, Found, Visited]:
    program = Program(design, bound)
    return program, *search(program)


@pytest.mark.parametrize(("design", "bound"), SPACES)
def test_every_step_is_the_rules_step(design: Design, bound: Bound) -> None:
    program, _, visited = searched(design, bound)
    stepper, layout = Stepper(program), program.layout
    assert len(set(keys_of(layout, visited.states))) == len(visited.states), "one state, two names"
    wave, transitions = visited.states, 0
    while len(wave):
        by_state: list[set[Key]] = [set() for _ in range(len(wave))]
        passing = []
        for some in stepper.successors(wave):
            for i, key in zip(some.origins, keys_of(layout, some.states), strict=True):
                by_state[i].add(key)
            passing.append(some.states[stepper.passing(some.states)])
        for packed, found in zip(wave, by_state, strict=True):
            state = unpack_state(layout, packed.tobytes())
            expected = set(steps_within(state, program))
            assert found == expected, state
            transitions += len(found)
        wave = distinct(np.concatenate(passing)) if passing else wave[:0]
    assert transitions > len(visited.states)


def keys_of(layout: Layout, states: "np.ndarray[object, np.dtype[np.uint64]]") -> list[Key]:
    return [canonical(unpack_state(layout, row.tobytes())).key for row in states]


def steps_within(state: State, program: Program) -> Iterator[Key]:
    """The steps of the plain explorer: the middle of a call may leave the bound for a while."""
    bound = program.bound
    for action in moves(state, program.design, bound):
        after = step(state, action, program.design)
        if after is None or sum(record.live for record in after.records) > bound.records:
            continue
        small = buffers_in_use(after).bit_count() <= bound.buffers
        if small or only_move(after, program) is not None:
            yield canonical(after).key


def test_the_search_visits_the_states_that_the_explorer_visits() -> None:
    design, bound = SPACES[0].values
    _, found, _ = searched(design, bound)
    plain = explore(design, bound)
    assert (found.states, found.depth) == (plain.states, plain.depth)
    assert found.bound_hit == plain.bound_hit


def test_a_state_is_the_same_after_packing() -> None:
    program, _, visited = searched(*SPACES[0].values)
    layout = program.layout
    for row in visited.states:
        state = unpack_state(layout, row.tobytes())
        assert pack_state(layout, state) == row.tobytes()


def test_the_judge_finds_the_claims_that_the_explorer_finds_broken() -> None:
    bound = Bound(1, 1, families=TORCH_XLA)
    program = Program(TORCH_XLA_2_9, bound)
    judge = Judge(program)
    search(program, judge=judge)
    about_states = {claim.id for claim in STATE_CLAIMS}
    broken = set(explore(TORCH_XLA_2_9, bound).counterexamples) & about_states
    assert set(judge.violated) == broken
    assert broken


def test_the_step_in_c_is_the_step_on_numpy() -> None:
    try:
        compiler()
    except NoCompiler as error:
        pytest.skip(str(error))
    program = Program(SOUND, Bound(1, 1, families=("core",)))
    found, visited = search(program, stepper=CStepper(program, threads=2))
    assert found.states == search(program)[0].states
    stepped = [
        steps_of(stepper, visited.states) for stepper in (CStepper(program), Stepper(program))
    ]
    assert stepped[0] == stepped[1]
    assert len(stepped[0]) > found.states


def steps_of(stepper: Steps, states: Words) -> list[tuple[int, int, bytes]]:
    return sorted(
        (int(origin), int(move), after.tobytes())
        for some in stepper.successors(states)
        for origin, move, after in zip(some.origins, some.moves, some.states, strict=True)
    )


def test_a_kernel_on_jax_is_the_kernel_on_numpy() -> None:
    program = Program(SOUND, Bound(1, 1, families=("core",)))
    kernel, count = program.canonical(0), 1000
    fields = np.random.default_rng(0).integers(0, 2, (len(program.layout.loose(0)), count))
    columns = fields.astype(np.uint8)
    for ours, theirs in zip(
        on_numpy.compiled(kernel)(columns), on_jax.compiled(kernel)(columns), strict=True
    ):
        assert (np.broadcast_to(ours, count) == np.broadcast_to(theirs, count)).all()


def test_a_bound_that_the_search_does_not_know_is_refused() -> None:
    with pytest.raises(ValueError, match="length of paths"):
        search(Program(SOUND, Bound(1, 1, actions=3)))
