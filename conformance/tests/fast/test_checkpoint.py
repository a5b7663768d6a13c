"""A search that is saved goes on as if nothing had happened; no other file is taken for one."""

import hashlib
import io
import json
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from markstep.conformance.cli.app import code_of
from markstep.conformance.cli.exploration import explore_report
from markstep.conformance.cli.searchfiles import SearchFiles
from markstep.conformance.cli.usage import UsageError
from markstep.conformance.exit_codes import ExitCode
from markstep.spec.design import SOUND, TORCH_XLA_2_9
from markstep.spec.search import checkpoint
from markstep.spec.search.alphabet import Bound
from markstep.spec.search.checkpoint import APART, CheckpointError, law, load, save
from markstep.spec.search.estimate import estimated_nodes
from markstep.spec.search.explore import explore, go_on
from markstep.spec.search.search import Exploration, Search

TINY = Bound(records=1, buffers=2, families=("core", "faults"))


def findings(result: Exploration) -> tuple[object, ...]:
    return (
        result.states,
        result.transitions,
        result.levels,
        result.exhausted,
        result.counterexamples,
        result.witnessed,
    )


def saved(search: Search) -> bytes:
    file = io.BytesIO()
    save(search, file)
    return file.getvalue()


def begun(design=TORCH_XLA_2_9, bound=TINY, batches: int = 1) -> Search:
    """A search that was stopped after some batches."""
    search, left = Search.begun(design, bound), iter(range(batches))
    go_on(search, lambda _: next(left, None) is None)
    return search


@pytest.mark.parametrize("calls", [None, 2])
@pytest.mark.parametrize("batches", [1, 5, 8])
def test_a_search_that_was_saved_finds_the_same(calls, batches):
    bound = replace(TINY, syncs=calls)
    search = load(saved(begun(bound=bound, batches=batches)), TORCH_XLA_2_9, bound)
    assert not search.done
    go_on(search)
    assert findings(search.result) == findings(explore(TORCH_XLA_2_9, bound))


def test_a_search_that_hit_a_limit_goes_on_under_a_higher_one():
    small = replace(TINY, max_states=100)
    search = Search.begun(TORCH_XLA_2_9, small)
    go_on(search)
    assert not search.result.exhausted
    search = load(saved(search), TORCH_XLA_2_9, TINY)
    go_on(search)
    assert findings(search.result) == findings(explore(TORCH_XLA_2_9, TINY))


def test_saving_twice_gives_the_same_bytes():
    data = saved(begun())
    assert saved(load(data, TORCH_XLA_2_9, TINY)) == data


def test_a_file_that_was_cut_off_is_refused():
    data = saved(begun())
    for size in (0, 5, 30, len(data) // 2, len(data) - 1):
        with pytest.raises(CheckpointError):
            load(data[:size], TORCH_XLA_2_9, TINY)


def test_a_changed_byte_is_noticed():
    data = bytearray(saved(begun()))
    data[len(data) // 2] ^= 1
    with pytest.raises(CheckpointError, match="damaged"):
        load(bytes(data), TORCH_XLA_2_9, TINY)


def rewritten(data: bytes, **changes: object) -> bytes:
    """A checkpoint with another header and a digest that fits."""
    magic, line, rest = data[:-32].split(b"\n", 2)
    header = {**json.loads(line), **changes}
    body = magic + b"\n" + json.dumps(header).encode() + b"\n" + rest
    return body + hashlib.sha256(body).digest()


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"law": "0"}, "another text of the law"),
        ({"design": "sound"}, "give --design sound"),
        ({"bound": {"records": 7}}, "records 7, not 1"),
        ({"bound": []}, "records None"),
        ({"nodes": 10**9}, "shorter"),
        ({"nodes": -1}, "shorter"),
        ({"nodes": "x"}, "damaged"),
        ({"later": None}, "damaged"),
        ({"counterexamples": {"I01": [{"action": "Nonsense"}]}}, "damaged"),
    ],
)
def test_a_header_that_does_not_fit_is_refused_in_words(changes, what):
    with pytest.raises(CheckpointError, match=what):
        load(rewritten(saved(begun()), **changes), TORCH_XLA_2_9, TINY)


def test_a_newer_format_is_refused():
    data = saved(begun()).replace(b"markstep search 1\n", b"markstep search 2\n", 1)
    with pytest.raises(CheckpointError, match="format"):
        load(data, TORCH_XLA_2_9, TINY)


def test_only_what_can_change_a_search_is_part_of_the_law(tmp_path):
    """Proofs and compiled steps may change while a search is kept."""
    assert law() == law()
    assert {path.name for path in Path(checkpoint.__file__).parent.parent.iterdir()} >= set(APART)


def quiet(done: int, total: int | None) -> None:
    """Nobody is told."""


def test_the_command_refuses_a_foreign_file_in_one_line(tmp_path, capsys):
    file = tmp_path / "x"
    file.write_bytes(b"hello")
    files = SearchFiles(resume=file)
    code = code_of(lambda: explore_report(SOUND, TINY, [], quiet, files).exit_code)
    assert code is ExitCode.USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("it is no checkpoint of a search")
    with pytest.raises(UsageError, match="cannot be read"):
        SearchFiles(resume=tmp_path / "none").begin(SOUND, TINY)
    with pytest.raises(UsageError, match="emit"):
        SearchFiles(resume=file, emit=tmp_path).check()


def test_interrupting_saves_and_is_inconclusive(tmp_path):
    """Ctrl-C between two batches; afterwards the file is gone on from."""
    file, told = tmp_path / "deep" / "x.search", []

    def interrupt(done: int, total: int | None) -> None:
        if not told:
            signal.raise_signal(signal.SIGINT)
        told.append(done)

    report = explore_report(SOUND, TINY, [], interrupt, SearchFiles(checkpoint=file))
    assert report.exit_code is ExitCode.INCONCLUSIVE
    assert any(f"--resume {file}" in note for note in report.notes)
    report = explore_report(SOUND, TINY, [], quiet, SearchFiles(resume=file))
    assert report.exit_code is ExitCode.CONFORMS
    assert [path.name for path in file.parent.iterdir()] == ["x.search"]


def test_a_batch_that_is_stopped_is_expanded_again(tmp_path):
    """The search that goes on is the one that was never stopped."""
    whole, stopped = Search.begun(SOUND, TINY), Search.begun(SOUND, TINY)
    go_on(whole)
    asked = iter(range(1000))
    go_on(stopped, stop=lambda: next(asked) == 20)
    assert not stopped.done
    go_on(stopped)
    assert (stopped.keys, stopped.parents) == (whole.keys, whole.parents)
    assert stopped.result.counterexamples == whole.result.counterexamples


def test_interrupting_without_a_file_is_only_that():
    def interrupt(done: int, total: int | None) -> None:
        if not done % 2:
            signal.raise_signal(signal.SIGINT)

    told = iter(range(100))
    report = explore_report(SOUND, TINY, [], lambda *_: interrupt(next(told), None))
    assert report.exit_code is ExitCode.INTERRUPTED


# ---- estimate --------------------------------------------------------------------------------


def test_the_estimate_is_the_sum_where_growth_is_steady():
    assert estimated_nodes([1, 10, 100, 1000, 7], last=4) == 11111
    assert estimated_nodes([1, 2, 4, 8, 16, 32, 64], last=6) == 127


def test_the_estimate_ends_where_growth_shrinks():
    estimate = estimated_nodes([1, 4, 38, 115, 243, 339, 284, 169, 82, 20], last=None)
    assert estimate is not None
    assert 1200 < estimate < 1400


def test_there_is_no_estimate_without_evidence_or_end():
    assert estimated_nodes([1, 2], last=5) is None
    assert estimated_nodes([1, 2, 4, 8, 3], last=None) is None
    assert estimated_nodes([0, 0, 0, 0, 0], last=5) is None


def test_the_estimate_of_a_real_space_is_near():
    search = begun(bound=TINY)
    whole = explore(TORCH_XLA_2_9, TINY)
    while len(search.result.levels) < len(whole.levels) - 3:
        left = iter([True])
        go_on(search, lambda _, left=left: next(left, False))
    estimate = estimated_nodes(search.result.levels, None)
    assert estimate is not None
    assert whole.states / 2 < estimate < whole.states * 2
