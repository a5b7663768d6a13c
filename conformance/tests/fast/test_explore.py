"""The search: what it finds, and that it does not depend on how it is run."""

from dataclasses import replace

import pytest

from markstep.conformance.cli.exploration import explore_report
from markstep.conformance.cli.searchfiles import SearchFiles
from markstep.spec.design import SOUND, TORCH_XLA_2_9, Design
from markstep.spec.invariants import GRAPH_CLAIMS
from markstep.spec.machine import step
from markstep.spec.named_designs import DESIGNS
from markstep.spec.search.alphabet import Bound, cost, moves, syncs
from markstep.spec.search.canonical import canonical, pack, unpack
from markstep.spec.search.expand import Expand, expand
from markstep.spec.search.explore import explore, go_on
from markstep.spec.search.search import Exploration, Search
from markstep.spec.search.small_graphs import small_graphs
from markstep.spec.state import Phase, State

START = pack(canonical(State()))
TINY = Bound(records=1, buffers=2, families=("core", "faults"))


def findings(result: Exploration) -> tuple[object, ...]:
    return (
        result.states,
        result.transitions,
        result.depth,
        result.exhausted,
        result.counterexamples,
        result.witnessed,
    )


def test_sound_is_exhausted_without_a_counterexample():
    result = explore(SOUND, TINY)
    assert result.exhausted
    assert result.counterexamples == {}
    assert {"I01", "I32", "I56", "I58", "I88"} <= result.witnessed


def test_the_result_does_not_depend_on_the_number_of_processes():
    alone = explore(TORCH_XLA_2_9, TINY)
    together = explore(TORCH_XLA_2_9, Bound(1, 2, families=TINY.families, processes=2))
    assert findings(alone) == findings(together)


def test_a_counterexample_is_a_program_that_breaks_the_claim():
    result = explore(TORCH_XLA_2_9, TINY)
    assert "I58" in result.counterexamples
    for path in result.counterexamples.values():
        state = State()
        for action in path:
            after = step(state, action, TORCH_XLA_2_9)
            assert after is not None, action
            state = after


def test_a_limit_makes_the_search_incomplete():
    result = explore(SOUND, Bound(records=1, buffers=2, max_states=50))
    assert not result.exhausted
    assert result.frontier > 0


def test_calls_are_the_actions_that_begin_one():
    """What `--syncs` counts is what the law makes a call of."""
    for key in some_states(TORCH_XLA_2_9, 80):
        state = unpack(key)
        for action in moves(state, TORCH_XLA_2_9, Bound(2, 3)):
            after = step(state, action, TORCH_XLA_2_9)
            if after is not None and state.call.phase == Phase.IDLE:
                assert (after.call.phase != Phase.IDLE) == bool(syncs(action)), action


def test_a_bound_on_calls_keeps_exactly_what_is_reached_with_so_few():
    bound = Bound(records=1, buffers=1, syncs=2, families=("core",))
    fewest, todo = {START: 0}, [START]
    while todo:
        key = todo.pop()
        for _, _, begun, successor in expand(Expand(key, SOUND, bound, (), ())).successors:
            calls = fewest[key] + begun
            if calls <= 2 and calls < fewest.get(successor, 3):
                fewest[successor] = calls
                todo.append(successor)
    search = Search.begun(SOUND, bound)
    go_on(search)
    assert search.result.exhausted
    assert search.result.bound_hit
    assert {key: search.calls[node] for key, node in search.numbers.items()} == fewest


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sound", "torch_xla_2_9", "fixed_F4"])
def test_ends_tried_only_where_they_matter_find_the_same(name):
    """The reduction of ends loses no state between calls, no violation, no shortest length."""
    found, sizes = [], []
    for reduced in (False, True):
        search = Search.begun(DESIGNS[name], replace(TINY, reduced=reduced))
        go_on(search)
        result = search.result
        assert result.exhausted
        idle = {key for key in search.numbers if unpack(key).call.phase == Phase.IDLE}
        lengths = {id: sum(map(cost, path)) for id, path in result.counterexamples.items()}
        found.append((idle, lengths, result.witnessed))
        sizes.append(result.transitions)
    assert found[0] == found[1]
    assert sizes[1] < 0.9 * sizes[0]


def some_states(design: Design, most: int) -> list[bytes]:
    """Packed states that are reachable, depth first."""
    todo, seen = [START], dict[bytes, None]()
    while todo and len(seen) < most:
        key = todo.pop()
        if key not in seen:
            seen[key] = None
            found = expand(Expand(key, design, Bound(2, 3), (), ()))
            todo.extend(successor for *_, successor in found.successors)
    return list(seen)


def test_packing_a_canonical_state_loses_nothing():
    for key in some_states(TORCH_XLA_2_9, 400):
        assert pack(canonical(unpack(key))) == key


@pytest.mark.parametrize("claim", GRAPH_CLAIMS.values(), ids=lambda claim: claim.id)
def test_the_graph_law_holds_under_sound(claim):
    assert claim.find_violation(SOUND, small_graphs(ops=2)) is None


def test_torch_xla_breaks_the_graph_law_where_it_is_said_to():
    graphs = small_graphs(ops=2)
    broken = {
        id for id, c in GRAPH_CLAIMS.items() if c.find_violation(TORCH_XLA_2_9, graphs) is not None
    }
    assert broken == {id for id, c in GRAPH_CLAIMS.items() if c.broken_by_torch_xla}


def test_an_exploration_reports_the_graphs_that_break_the_graph_law():
    report = explore_report(TORCH_XLA_2_9, Bound(1, 1), ["I43g"], lambda done, total: None)
    (failure,) = report.failures
    assert failure.id == "I43g"
    assert "sub" in failure.observed


def test_the_page_of_an_exploration_names_what_is_broken_and_by_what(tmp_path):
    page = tmp_path / "page.md"
    bound = Bound(records=2, buffers=2, actions=3, families=("core", "faults"))
    files = SearchFiles(page=page)
    explore_report(TORCH_XLA_2_9, bound, [], lambda done, total: None, files, "markstep explore …")
    text = page.read_text(encoding="utf-8")
    assert "Written by `markstep explore …`" in text
    assert "every state within the bound" in text
    (line,) = [line for line in text.splitlines() if line.startswith("| [I01]")]
    assert "| 3 | H-01, H-02 |" in line
    assert "Compile(fails=True)" in line
