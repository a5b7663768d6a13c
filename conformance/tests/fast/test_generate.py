"""Generated programs: reproducible, lawful but for a few, exact, and rich in what is rare."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from markstep.conformance.programs.exactness import LARGEST
from markstep.conformance.programs.generate import MAX_TENSORS, Chooser, decode
from markstep.conformance.programs.motifs import MOTIFS
from markstep.conformance.programs.openings import opening_of
from markstep.conformance.programs.roles import Motif, Roles
from markstep.conformance.programs.source import Source, program_bytes
from markstep.spec import vocabulary as v
from markstep.spec.design import SOUND, TORCH_XLA_2_9, Design
from markstep.spec.machine import ACTIONS
from markstep.spec.schedule import initial_state, perform
from markstep.spec.state import Phase, State

PROGRAM_ACTIONS = {kind for kind, rule in ACTIONS.items() if rule.phase == Phase.IDLE}


def run(program: tuple[v.Action, ...], design: Design = SOUND) -> list[State | None]:
    states, state = [], initial_state()
    for action in program:
        after = perform(state, action, design)
        states.append(after)
        state = after or state
    return states


def test_the_same_seed_gives_the_same_program() -> None:
    assert decode(program_bytes(3, 7)) == decode(program_bytes(3, 7))
    assert decode(program_bytes(3, 7)) != decode(program_bytes(4, 7))


@given(st.binary(max_size=120))
def test_any_bytes_are_a_program(data: bytes) -> None:
    program = decode(data)
    for before, after in zip([initial_state(), *run(program)], run(program), strict=False):
        assert after is None or len(after.tensors) <= MAX_TENSORS + 2, (before, after)


def test_few_actions_are_impossible_and_all_values_exact() -> None:
    states = [s for number in range(200) for s in run(decode(program_bytes(0, number)))]
    refused = sum(state is None for state in states)
    assert 0.01 < refused / len(states) < 0.06
    for state in filter(None, states):
        for record in state.records:
            assert record.truth is None or max(map(abs, record.truth)) <= LARGEST


def test_a_run_opens_with_every_motif() -> None:
    openings = {opening_of(1, number) for number in range(100)}
    assert openings == {*MOTIFS, None}
    assert [opening_of(1, n) for n in range(9)] != [opening_of(2, n) for n in range(9)]


@pytest.mark.parametrize("motif", MOTIFS, ids=lambda m: m.__name__)
def test_an_opening_is_not_disturbed(motif: Motif) -> None:
    chooser = Chooser(Source(program_bytes(0, 7)), SOUND, opening=motif)
    state, program = initial_state(), []
    while chooser.opening is not None:
        program.append(chooser.choose(state))
        state = perform(state, program[-1], SOUND) or state
    rest = iter([type(action) for action in motif(Roles(*map(v.TensorName, range(4)), True))])
    began = next(i for i, action in enumerate(program) if isinstance(action, v.CreateFromHost))
    done = [type(action) for action in program[began + 2 : -1]]  # the last may come behind it
    assert all(kind in rest for kind in done)  # a subsequence: the steps that are possible


def test_every_action_of_the_table_occurs() -> None:
    programs = [decode(program_bytes(0, number)) for number in range(400)]
    counts = Counter(type(action) for program in programs for action in program)
    assert {kind for kind in PROGRAM_ACTIONS if counts[kind] < 5} == set()


@pytest.mark.parametrize("design", [SOUND, TORCH_XLA_2_9], ids=lambda d: d.name)
def test_every_kind_of_error_that_the_design_has_occurs(design: Design) -> None:
    seen = Counter(
        state.raised
        for number in range(400)
        for state in run(decode(program_bytes(5, number), design), design)
        if state is not None
    )
    wanted = {
        v.ErrorKind.NO_VALUE,
        v.ErrorKind.UNMATERIALIZED,
        v.ErrorKind.COMPILE_FAILED,
        v.ErrorKind.EXECUTION_FAILED,
        v.ErrorKind.REFUSED,
    }
    if design is TORCH_XLA_2_9:
        wanted -= {v.ErrorKind.UNMATERIALIZED}
        wanted |= {v.ErrorKind.CRASH, v.ErrorKind.LOST, v.ErrorKind.DELETED}
        wanted |= {v.ErrorKind.UNKNOWN_GRAPH}
    assert wanted <= set(seen), seen


@pytest.mark.parametrize("motif", MOTIFS, ids=lambda m: m.__name__)
def test_a_motif_is_possible_up_to_what_may_fail(motif: object) -> None:
    start: tuple[v.Action, ...] = (
        v.CreateFromHost(1, (1, 2, 3, 4), (2, 2)),
        v.CreateFromHost(2, (1, 2, 3, 4), (2, 2)),
    )
    planned = motif(Roles(1, 2, 3, 4, wait=False))
    states = run((*start, *planned))
    ends = (v.CompleteExecution, v.FailExecution)
    refused = [
        action
        for action, state in zip((*start, *planned), states, strict=True)
        if state is None and not isinstance(action, ends)
    ]
    assert refused == []
