"""Comparing designs: what is found is true, and what is true is found."""

from collections.abc import Iterator

import pytest

from markstep.conformance.cli.refinement import conditions_report, contract_report, refine_report
from markstep.conformance.verdict import Verdict
from markstep.spec.design import SOUND, TORCH_XLA_2_9, Design
from markstep.spec.machine import ACTIONS, ENVIRONMENT, step
from markstep.spec.named_designs import DESIGNS
from markstep.spec.search.alphabet import Bound, moves
from markstep.spec.search.conditions import conditions, hitting_sets
from markstep.spec.search.outcomes import ends, outcome_of, words
from markstep.spec.search.refine import Known, Refinement, refine
from markstep.spec.state import Phase, State
from markstep.spec.vocabulary import Action, CompleteExecution, ErrorKind

ONE = Bound(records=1, buffers=2, actions=3, families=("core", "faults", "placeholder"))
PAIRS = Bound(records=2, buffers=3, actions=4, families=("core", "faults"))


def compared(x: str, y: str, *never: str, bound: Bound = PAIRS) -> Refinement:
    return refine(DESIGNS[x], DESIGNS[y], Known(bound), frozenset(never))


def quiet(done: int, total: int | None) -> None:
    """Nobody is told."""


@pytest.mark.parametrize("name", ["sound", "torch_xla_2_9"])
def test_a_design_behaves_as_itself(name):
    result = compared(name, name, bound=ONE)
    assert result.difference is None
    assert result.exhausted
    assert result.pairs > 3


def test_the_first_fix_changes_only_what_happens_when_a_compilation_fails():
    """F1 of semantics.md §8.3: the ir is taken when nothing can fail any more."""
    found = compared("fixed_F1", "torch_xla_2_9").difference
    assert found is not None
    assert found.words == {"compile-failure"}
    result = compared("fixed_F1", "torch_xla_2_9", "compile-failure")
    assert result.difference is None
    assert result.exhausted


def test_a_fix_of_delivery_changes_only_what_happens_when_an_execution_fails():
    """F7: an error is delivered once."""
    found = compared("fixed_F7", "torch_xla_2_9").difference
    assert found is not None
    assert found.words == {"execution-failure"}
    assert found.seen.error != ErrorKind.EXECUTION_FAILED
    assert {seen.error for seen in found.possible} == {ErrorKind.EXECUTION_FAILED}


def test_the_difference_is_a_program_of_the_first_design():
    found = compared("torch_xla_2_9", "sound", "foreign-program").difference
    assert found is not None
    state = State()
    for action in found.program:
        after = step(state, action, TORCH_XLA_2_9)
        assert after is not None, action
        state = after
    assert state.raised == found.seen.error
    own = [action for action in found.program if ACTIONS[type(action)].phase == Phase.IDLE]
    assert len([a for a in own if not isinstance(a, ENVIRONMENT)]) == found.length == 4


# ---- the same by brute force: every program, every choice of the environment ------------------


def histories(design: Design, program: tuple[Action, ...], bound: Bound) -> set[tuple[object, ...]]:
    """Everything that can be seen of a program, without canonical states and without products."""
    now = {((), 0): [State()]}
    for n, action in enumerate(program):
        later: dict[tuple[tuple[object, ...], int], list[State]] = {}
        for (seen, at), states in now.items():
            assert at == n
            for before in [s for state in states for s in also_ended(state, design, bound)]:
                first = step(before, action, design)
                if first is None:
                    continue
                for end, steps, said, right in ends(
                    first, (action,), words(before, action), True, design, bound
                ):
                    shown = outcome_of(end, steps, said, right).seen
                    later.setdefault(((*seen, shown), n + 1), []).append(end)
        now = later
    return {seen for seen, _ in now}


def also_ended(state: State, design: Design, bound: Bound) -> Iterator[State]:
    """The state, and those in which the device has acted unseen."""
    yield state
    for action in moves(state, design, bound):
        if isinstance(action, ENVIRONMENT):
            after = step(state, action, design)
            if after is not None:
                yield after


def programs(length: int, bound: Bound) -> Iterator[tuple[Action, ...]]:
    """Every program, by the actions that are possible under either design."""
    todo: list[tuple[tuple[Action, ...], State]] = [((), State())]
    while todo:
        program, state = todo.pop()
        yield program
        if len(program) < length:
            for action in moves(state, SOUND, bound):
                after = step(state, action, SOUND)
                if after is not None and not isinstance(action, ENVIRONMENT):
                    end = next(ends(after, (action,), frozenset(), True, SOUND, bound))[0]
                    todo.append(((*program, action), end))


@pytest.mark.slow
def test_differences_are_those_of_all_programs_tried_one_by_one():
    shortest = 9
    for program in programs(3, ONE):
        x = histories(TORCH_XLA_2_9, program, ONE)
        if not x <= histories(SOUND, program, ONE):
            shortest = min(shortest, len(program))
    found = compared("torch_xla_2_9", "sound", bound=ONE).difference
    assert found is not None
    assert found.length == shortest


# ---- conditions ------------------------------------------------------------------------------


def test_hitting_sets_are_minimal_and_all():
    families = [frozenset("ab"), frozenset("bc"), frozenset("d")]
    assert list(hitting_sets(families)) == [frozenset("bd"), frozenset("acd")]
    assert list(hitting_sets([])) == [frozenset()]


def test_conditions_suffice_and_each_word_is_needed():
    bound = Bound(records=1, buffers=2, actions=4, families=("core", "faults", "placeholder"))
    known = Known(bound)
    found = conditions(TORCH_XLA_2_9, SOUND, known)
    assert found.complete
    assert found.sufficient
    for never in found.sufficient:
        assert refine(TORCH_XLA_2_9, SOUND, known, never).difference is None
        for word in never:
            assert refine(TORCH_XLA_2_9, SOUND, known, never - {word}).difference is not None


def test_the_page_of_conditions_names_the_command(tmp_path):
    page = tmp_path / "page.md"
    bound = Bound(records=1, buffers=1, actions=2)
    report = conditions_report(TORCH_XLA_2_9, SOUND, bound, quiet, page, "markstep refine …")
    assert report.verdict is Verdict.CONFORMS
    text = page.read_text(encoding="utf-8")
    assert "markstep refine …" in text
    assert "- `CreatePlaceholder`\n- `ReadMany`\n" in text


# ---- reports ---------------------------------------------------------------------------------


def test_sound_keeps_the_contract_and_torch_xla_does_not():
    tiny = Bound(records=1, buffers=2, actions=3)
    assert contract_report(SOUND, tiny, quiet).verdict is not Verdict.VIOLATES
    broken = contract_report(TORCH_XLA_2_9, tiny, quiet)
    assert {failure.id for failure in broken.failures} >= {"I58", "I87"}


def test_a_difference_is_reported_with_what_is_seen():
    report = refine_report(TORCH_XLA_2_9, SOUND, ONE, frozenset(), quiet)
    assert report.verdict is Verdict.VIOLATES
    (failure,) = report.failures
    assert failure.observed.startswith("error crash")


def test_a_search_that_is_cut_short_says_nothing():
    bound = Bound(records=1, buffers=2, actions=5, families=("core",), max_states=3)
    report = refine_report(SOUND, SOUND, bound, frozenset(), quiet)
    assert report.verdict is Verdict.INCONCLUSIVE


def test_spared_donors_are_a_word_of_their_own():
    assert words(State(), CompleteExecution(spares=2)) == {"spared-donor"}
    assert words(State(), CompleteExecution()) == frozenset()
