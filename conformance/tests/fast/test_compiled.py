"""The generated step against the rules: every state and every step of small spaces."""

from collections import Counter
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from markstep.spec.compiled import on_jax, on_numpy
from markstep.spec.compiled.engines import Engine, TooLarge, check_size, explore_with
from markstep.spec.compiled.exploring import LevelSearch, go_on
from markstep.spec.compiled.judge import Judge
from markstep.spec.compiled.layout import Layout, pack_state, unpack_state
from markstep.spec.compiled.levels import Stepper, Steps, distinct
from markstep.spec.compiled.on_c import NoCompiler, compiler
from markstep.spec.compiled.program import Program
from markstep.spec.compiled.route import program_of
from markstep.spec.compiled.steps_c import CStepper
from markstep.spec.compiled.visited import Words
from markstep.spec.compiled.watching import Watch
from markstep.spec.design import SOUND, TORCH_XLA_2_9, Design
from markstep.spec.invariants import CLAIMS_IN_ORDER, Kind
from markstep.spec.machine import step
from markstep.spec.rules.transfer import buffers_in_use
from markstep.spec.search.alphabet import Bound, cost, moves
from markstep.spec.search.canonical import Key, canonical
from markstep.spec.search.expand import only_move
from markstep.spec.search.explore import explore
from markstep.spec.search.search import Exploration
from markstep.spec.state import State

TORCH_XLA = ("core", "donation", "faults", "placeholder")
SPACES = [
    pytest.param(SOUND, Bound(1, 2, families=("core", "donation")), id="one-record"),
    pytest.param(SOUND, Bound(2, 1, families=("core",)), id="two-records"),
    pytest.param(TORCH_XLA_2_9, Bound(1, 1, families=TORCH_XLA), id="torch_xla"),
    pytest.param(SOUND, Bound(1, 2, families=("core", "random", "scalars")), id="numbers"),
]


@cache
def searched(design: Design, bound: Bound) -> LevelSearch:
    program = Program(design, bound)
    search = LevelSearch(program, Stepper(program), Judge(program, ()))
    go_on(search)
    return search


@pytest.mark.parametrize(("design", "bound"), SPACES)
def test_every_step_is_the_rules_step(design: Design, bound: Bound) -> None:
    search = searched(design, bound)
    program, visited = search.program, search.visited
    stepper, layout = Stepper(program), program.layout
    assert len(set(keys_of(layout, visited.states))) == len(visited.states), "one state, two names"
    wave, transitions = visited.states, 0
    while len(wave):
        by_state = [Counter[Key]() for _ in range(len(wave))]
        passing = []
        for some in stepper.successors(wave):
            keys = keys_of(layout, some.states)
            for i, key, ways in zip(some.origins, keys, some.ways, strict=True):
                by_state[i][key] += int(ways)
            passing.append(some.states[stepper.passing(some.states)])
        for packed, found in zip(wave, by_state, strict=True):
            state = unpack_state(layout, packed.tobytes())
            expected = Counter(steps_within(state, program))
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
    found = searched(design, bound).result
    plain = explore(design, bound)
    assert (found.states, found.transitions) == (plain.states, plain.transitions)
    assert found.levels == plain.levels
    assert found.bound_hit == plain.bound_hit


def test_a_state_is_the_same_after_packing() -> None:
    search = searched(*SPACES[0].values)
    layout = search.program.layout
    for row in search.visited.states:
        state = unpack_state(layout, row.tobytes())
        assert pack_state(layout, state) == row.tobytes()


def lengths(result: Exploration) -> dict[str, int]:
    return {id: sum(map(cost, path)) for id, path in result.counterexamples.items()}


def findings(result: Exploration) -> tuple[object, ...]:
    counts = (result.states, result.transitions, result.levels)
    ends = (result.exhausted, result.bound_hit)
    return (*counts, *ends, lengths(result), result.witnessed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("design", "bound"),
    [
        pytest.param(TORCH_XLA_2_9, Bound(1, 1, families=TORCH_XLA), id="torch_xla"),
        pytest.param(SOUND, Bound(2, 1, actions=4, syncs=2, families=("core",)), id="sound-syncs"),
    ],
)
def test_an_engine_finds_what_the_rules_find(design: Design, bound: Bound) -> None:
    """Claims about steps, too: with near=1 nearly all of them are left to the generated step."""
    expected = explore(design, bound)
    assert findings(explore_with(Engine.NUMPY, design, bound, near=1).result) == findings(expected)
    assert expected.counterexamples or design == SOUND


def test_what_the_generated_step_finds_broken_is_shown_by_the_rules() -> None:
    program = Program(TORCH_XLA_2_9, Bound(1, 1, families=TORCH_XLA))
    judged = [claim.id for claim in CLAIMS_IN_ORDER if claim.kind == Kind.STATE]
    search = LevelSearch(program, Stepper(program), Judge(program, judged))
    go_on(search)
    for claim, seen in search.broken.items():
        assert sum(map(cost, program_of(search, claim, seen))) == seen.length
    with pytest.raises(AssertionError, match="keep I02"):
        program_of(search, "I02", seen)


def test_limits_cut_a_search_short() -> None:
    few = Bound(1, 2, families=("core",), max_states=50)
    search = explore_with(Engine.NUMPY, SOUND, few, near=0)
    assert (search.result.states, search.result.exhausted) == (50, False)
    assert search.result.frontier > 0


def test_a_state_with_more_rows_than_a_byte_has_bits_is_refused() -> None:
    with pytest.raises(TooLarge, match="9 buffer records"):
        check_size(TORCH_XLA_2_9, Bound(2, 5))
    check_size(SOUND, Bound(2, 5))


def test_the_step_in_c_is_the_step_on_numpy() -> None:
    try:
        compiler()
    except NoCompiler as error:
        pytest.skip(str(error))
    bound = Bound(1, 1, families=("core",))
    program = Program(SOUND, bound, Watch(("I35",), ("I40", "I66")))
    search = LevelSearch(program, CStepper(program, threads=2), Judge(program, ()))
    go_on(search)
    on_numpy_ = LevelSearch(program, Stepper(program), Judge(program, ()))
    go_on(on_numpy_)
    assert search.result.levels == on_numpy_.result.levels
    assert search.result.transitions == on_numpy_.result.transitions
    assert search.met == on_numpy_.met
    states = search.visited.states
    stepped = [steps_of(stepper, states) for stepper in (CStepper(program), Stepper(program))]
    assert stepped[0] == stepped[1]
    assert len(stepped[0]) > len(states)


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
