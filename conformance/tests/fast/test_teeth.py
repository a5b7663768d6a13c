"""The main job has teeth: executors with one lie each are found out, by a short program.

Each mutant changes one decision of the reference executor. All of them have to be noticed within
the small profile, and the program that shows the lie must not be longer than a person can follow.
"""

from collections.abc import Callable
from typing import Any

import pytest

from markstep.conformance.adapters.reference import ReferenceAdapter
from markstep.conformance.check import check
from markstep.conformance.show import show_program
from markstep.impl import cached, device, donation, executor, reading, syncing, trace
from markstep.impl.arithmetic import SUB
from markstep.impl.executor import Executor
from markstep.impl.graph import Graph
from markstep.impl.node import delete
from markstep.impl.record import Record
from markstep.impl.syncing import Config

LONGEST = 9
Patch = pytest.MonkeyPatch


def wrap(patch: Patch, owner: Any, name: str, change: Callable[..., Any]) -> None:
    """Replace ``owner.name`` by a function that is given the original one first."""
    original = getattr(owner, name)
    patch.setattr(owner, name, lambda *args, **named: change(original, *args, **named))


def donors_are_chosen_though_needed(patch: Patch) -> None:
    patch.setattr(donation, "_needed", lambda live, outputs: set())


def donors_are_not_in_the_key(patch: Patch) -> None:
    wrap(patch, Graph, "key", lambda original, graph, donors: original(graph, ()))


def wiring_is_not_in_the_key(patch: Patch) -> None:
    def without_positions(original: Any, graph: Graph, donors: Any) -> Any:
        return original(graph, donors)._replace(places=())

    wrap(patch, Graph, "key", without_positions)


def clones_are_not_marked(patch: Patch) -> None:
    def unmarked(original: Any, record: Record, node: Any) -> None:
        original(record, node)
        record.is_cloned = False

    wrap(patch, Record, "set_ir", unmarked)


def updates_forget_their_origin(patch: Patch) -> None:
    def orphaned(original: Any, ctx: Any, record: Record, node: Any) -> None:
        original(ctx, record, node)
        record.alias_id = record.id

    wrap(patch, trace, "assign", orphaned)


def failures_give_nothing_back(patch: Patch) -> None:
    patch.setattr(device, "give_back", lambda live, execution: None)


def failures_consume_their_donors(patch: Patch) -> None:
    def consuming(original: Any, live: Any, execution: Any) -> None:
        original(live, execution)
        delete(execution.donors)

    wrap(patch, device, "give_back", consuming)


def failures_are_never_told(patch: Patch) -> None:
    def silent(original: Any, live: Any, execution: Any) -> None:
        original(live, execution)
        for record in live:
            record.failure = None

    wrap(patch, device, "give_back", silent)


def failures_are_told_again_and_again(patch: Patch) -> None:
    def insistent(ctx: Any, records: list[Record]) -> None:
        for record in records:
            if record.failure is not None:
                raise record.failure.error()

    for module in (syncing, reading, cached, executor):
        patch.setattr(module, "deliver", insistent)


def reads_truncate(patch: Patch) -> None:
    patch.setattr(reading, "Config", lambda force, sync, wait: Config(True, sync, wait))


def reads_lend_the_host_copy(patch: Patch) -> None:
    def lending(original: Any, record: Record, results: Any) -> Any:
        return record.host if record.host is not None else original(record, results)

    wrap(patch, reading, "_value", lending)


def everything_is_uploaded(patch: Patch) -> None:
    def forced(original: Any, ctx: Any, records: Any, *, force: bool) -> None:
        original(ctx, records, force=True)

    wrap(patch, cached, "collect", forced)


def scalars_are_all_alike(patch: Patch) -> None:
    def two(original: Any, ctx: Any, value: Any, dtype: Any) -> Any:
        return original(ctx, value if value in (0, 1, -1) else 2, dtype)

    wrap(patch, trace, "scalar", two)


def subtraction_is_the_wrong_way_round(patch: Patch) -> None:
    patch.setattr(SUB.plain, "on_host", lambda x, y: y - x)


def marks_are_ignored(patch: Patch) -> None:
    wrap(patch, donation, "mark", lambda original, ctx, record, flag: True)


def a_forbidden_execution_runs(patch: Patch) -> None:
    patch.setattr(Executor, "allow_execution", lambda self, flag: None)


def the_cache_cannot_be_cleared(patch: Patch) -> None:
    patch.setattr(Executor, "clear_cache", lambda self: None)


def barriers_count_before_they_succeed(patch: Patch) -> None:
    def early(self: Executor, wait: bool = False) -> None:
        self._ctx.count("MarkStep")
        self.sync_live(wait)

    patch.setattr(Executor, "mark_step", early)


def stubs_are_left_pending(patch: Patch) -> None:
    patch.setattr(Executor, "clear_pending", lambda self: None)


MUTANTS = (
    donors_are_chosen_though_needed,
    donors_are_not_in_the_key,
    wiring_is_not_in_the_key,
    clones_are_not_marked,
    updates_forget_their_origin,
    failures_give_nothing_back,
    failures_consume_their_donors,
    failures_are_never_told,
    failures_are_told_again_and_again,
    reads_truncate,
    reads_lend_the_host_copy,
    everything_is_uploaded,
    scalars_are_all_alike,
    subtraction_is_the_wrong_way_round,
    marks_are_ignored,
    a_forbidden_execution_runs,
    the_cache_cannot_be_cleared,
    barriers_count_before_they_succeed,
    stubs_are_left_pending,
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_lie_is_found_out(mutant: Callable[[Patch], None], monkeypatch: Patch) -> None:
    mutant(monkeypatch)
    report = check(
        lambda: ReferenceAdapter("interpret"), profile="small", most_failures=1, suite=False
    )
    assert report.exit_code in (1, 4)
    (failure,) = report.failures
    assert len(failure.program) <= LONGEST, show_program(failure.program, failure.step)
