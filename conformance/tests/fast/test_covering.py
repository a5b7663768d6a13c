"""Programs made from a space that was searched: they go where they say, and any executor can."""

import pytest

from markstep.conformance.adapters.model import ModelAdapter
from markstep.conformance.adapters.reference import ReferenceAdapter
from markstep.conformance.cli.exploration import explore_report
from markstep.conformance.cli.searchfiles import SearchFiles
from markstep.conformance.lockstep.session import run_program
from markstep.conformance.programs.covering import Cover, Reason, cover
from markstep.conformance.verdict import Verdict
from markstep.spec.design import SOUND, TORCH_XLA_2_9, Design
from markstep.spec.schedule import initial_state, perform
from markstep.spec.search.alphabet import Bound
from markstep.spec.search.canonical import canonical, pack
from markstep.spec.search.explore import go_on
from markstep.spec.search.search import Search
from markstep.spec.search.space import Space
from markstep.spec.trace import read_trace

PAIRS = Bound(records=2, buffers=2, actions=3, families=("core", "faults"))


def space_of(design: Design, bound: Bound) -> Space:
    search = Search.begun(design, bound)
    search.edges = []
    go_on(search)
    return Space.of(search)


@pytest.fixture(scope="module")
def space() -> Space:
    return space_of(SOUND, PAIRS)


@pytest.fixture(scope="module")
def found(space: Space) -> Cover:
    return cover(space)


def test_every_move_is_covered_or_has_a_reason(space: Space, found: Cover):
    assert found.moves == len(space.edges)
    assert found.covered + found.left_out.total() == found.moves
    assert found.covered > 0.9 * found.moves
    assert Reason.MISSED not in found.left_out


def test_the_programs_pass_through_every_state_between_calls(space: Space, found: Cover):
    seen = set()
    for program in found.programs:
        state = initial_state()
        for action in program:
            after = perform(state, action, SOUND)
            assert after is not None, action
            state = after
            seen.add(pack(canonical(state)))
    idle = {key for n, key in enumerate(space.keys) if space.state(n).idle}
    assert idle <= seen


def test_the_programs_are_few(found: Cover):
    assert len(found.programs) < found.moves / 20


def test_the_executor_takes_them_in_lockstep(found: Cover):
    for program in found.programs:
        result = run_program(program, ReferenceAdapter("interpret"), SOUND)
        assert result.verdict is Verdict.CONFORMS, result


def test_an_executor_of_another_design_is_noticed(found: Cover):
    verdicts = {
        run_program(program, ModelAdapter(TORCH_XLA_2_9), SOUND).verdict
        for program in found.programs
    }
    assert Verdict.VIOLATES in verdicts


def test_answers_of_the_cache_that_no_program_gives_are_left_out():
    left_out = cover(space_of(TORCH_XLA_2_9, PAIRS)).left_out
    assert left_out[Reason.CACHE] > 0


def test_they_are_written_as_traces(tmp_path):
    bound = Bound(records=1, buffers=1, actions=2, families=("core",))
    report = explore_report(SOUND, bound, [], lambda done, total: None, SearchFiles(emit=tmp_path))
    paths = sorted(tmp_path.iterdir())
    assert paths
    for path in paths:
        trace = read_trace(path)
        assert trace.design == "sound"
        assert trace.with_states().states == trace.states
    assert any("moves of the space" in note for note in report.notes)
