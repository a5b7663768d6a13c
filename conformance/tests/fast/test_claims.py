"""The claims as a set, and law mutants that only a claim about values or errors can see."""

from dataclasses import replace
from string import ascii_lowercase

import pytest

from markstep.spec import graph
from markstep.spec import vocabulary as v
from markstep.spec.design import SOUND, TORCH_XLA_2_9, Design, KeyWiring
from markstep.spec.graph import GraphPayload
from markstep.spec.invariants import CLAIMS, GRAPH_CLAIMS, LEFT_OUT, broken
from markstep.spec.ir import Program
from markstep.spec.machine import ACTIONS, AnyAction, step
from markstep.spec.rules import errors, reading, sync
from markstep.spec.schedule import initial_state, perform
from markstep.spec.search.small_graphs import small_graphs
from markstep.spec.state import State
from markstep.spec.vocabulary import TensorName

X, Y, Z = TensorName(0), TensorName(1), TensorName(2)


def test_every_invariant_of_the_description_is_a_claim_or_left_out_with_a_reason():
    numbered = {f"I{n:02d}" for n in range(1, 87)}
    claims = {id.rstrip(ascii_lowercase) for id in (*CLAIMS, *GRAPH_CLAIMS)}
    assert numbered - claims == set(LEFT_OUT)
    assert all(LEFT_OUT.values())


@pytest.mark.parametrize("claim", GRAPH_CLAIMS.values(), ids=lambda claim: claim.id)
def test_some_small_graph_exercises_each_claim_of_the_graph_law(claim):
    assert any(claim.premise(roots) for roots in small_graphs(ops=2))


def broken_by(program: list[v.Action], design: Design = SOUND) -> set[str]:
    """The ids of the claims that a program breaks on the law as it now is."""
    found: set[str] = set()

    def watch(before: State, action: AnyAction, after: State) -> None:
        found.update(claim.id for claim in broken(before, action, after, design))

    state = initial_state()
    for action in program:
        if isinstance(action, v.CompleteExecution | v.FailExecution):
            after = step(state, action, design)
            assert after is not None
            watch(state, action, after)
        else:
            after = perform(state, action, design, watch)
            assert after is not None, action
        state = after
    return found


MAKE = [v.CreateFromHost(X, (1, 2), (2,)), v.CreateFromHost(Y, (5, 7), (2,))]
FAILED_UNHEARD = [
    *MAKE,
    v.Apply(Z, "sub", (X, Y)),
    v.Sync((Z,), wait=False),
    v.FailExecution(),
    v.ReadOne(Z),
]


def test_the_law_as_it_is_breaks_no_claim_on_these_programs():
    assert broken_by([*MAKE, v.ReadMany((X, Y, X))]) == set()
    assert broken_by(FAILED_UNHEARD) == set()


def test_I87_a_read_that_gives_the_first_value_for_all_is_seen(monkeypatch):
    honest = reading.fetched

    def lie(s: State, design: Design) -> object:
        values = honest(s, design)
        return (values[0],) * len(values) if isinstance(values, tuple) else values

    monkeypatch.setattr(reading, "fetched", lie)
    assert "I87" in broken_by([*MAKE, v.ReadMany((X, Y))])


def test_I87_results_in_reverse_order_are_seen(monkeypatch):
    honest = Program.run
    monkeypatch.setattr(Program, "run", lambda self, contents: honest(self, contents)[::-1])
    program = [*MAKE, v.AssignInPlace(X, "neg"), v.AssignInPlace(Y, "neg"), v.StepBarrier()]
    assert "I87" in broken_by([*program, v.ReadOne(X)])


def test_I43_a_key_without_the_wiring_is_seen():
    unsound = replace(SOUND, key_wiring=KeyWiring.LEAF_SEQUENCE)
    W, U, T, S = (TensorName(n) for n in range(3, 7))
    first = [v.Apply(Z, "sub", (X, Y)), v.Apply(W, "sub", (X, Y)), v.Apply(U, "add", (Z, W))]
    other = [v.Apply(T, "sub", (Y, X)), v.Apply(S, "add", (Z, T))]
    program = [*MAKE, *first, v.ReadMany((U,)), *other, v.ReadMany((S,))]
    assert {"I43", "I87"} <= broken_by(program, unsound)


def test_I71_an_error_that_stays_after_it_was_raised_is_seen(monkeypatch):
    def lie(s: State, design: Design) -> bool:
        carriers = [r for r in s.records if r.live and r.error]
        if not carriers or s.call.members == 0:
            return False
        carriers[0].error = 0
        errors.finish(s, v.ErrorKind.EXECUTION_FAILED)
        return True

    monkeypatch.setattr(reading, "deliver", lie)
    two = [*FAILED_UNHEARD[:3], v.Clone(TensorName(3), Z), v.Sync((Z, TensorName(3)), wait=False)]
    assert "I71" in broken_by([*two, v.FailExecution(), v.ReadOne(Z)])


def test_I90_a_failed_compile_that_is_remembered_is_seen(monkeypatch):
    honest = sync.compile_program

    def lie(s: State, a: sync.Compile, design: Design) -> None:
        s.payload.compile(s.call.key, s.call.roots, s.call.leaves)
        honest(s, a, design)

    monkeypatch.setitem(ACTIONS, sync.Compile, replace(ACTIONS[sync.Compile], effect=lie))
    program = [*MAKE, v.Apply(Z, "failing_compile", (X,)), v.ReadMany((Z,))]
    assert "I90" in broken_by(program)


def test_I49_the_cache_forgets_the_least_recently_used(monkeypatch):
    monkeypatch.setattr(graph, "CACHE_CAPACITY", 2)
    payload, (a, b, c) = GraphPayload(), small_graphs(ops=1)[:3]
    for key, roots in (("a", a), ("b", b)):
        payload.compile(key, roots, ())
    payload.find("a")
    payload.compile("c", c, ())
    assert payload.cached_programs() == 2
    assert payload.peek("a") is not None
    assert payload.peek("b") is None


@pytest.mark.parametrize(("design", "error"), [(SOUND, "none"), (TORCH_XLA_2_9, "deleted")])
def test_D47_a_graph_that_reads_a_donated_buffer_can_be_written_by_sound_alone(
    design: Design, error: str
) -> None:
    """On torch_xla 2.9.0 `_get_xla_tensors_hlo` raises "Error while lowering"."""
    program = [
        *(v.CreateFromHost(X, (1,), (1,)), v.SetDonation(X, True)),
        *(v.Apply(Y, "add_scalar", (X,), 1), v.Sync((Y,), sync=True, wait=True)),
        *(v.Apply(Z, "add_scalar", (X,), 1), v.DumpGraph((Z,))),
    ]
    state = initial_state()
    for action in program:
        after = perform(state, action, design)
        assert after is not None
        state = after
    assert state.raised == error
