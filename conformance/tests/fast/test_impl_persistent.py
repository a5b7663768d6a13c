"""Programs in a directory: found by the next process, and never trusted when they are not whole."""

import json
import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from markstep.impl import Executor, ExecutorError
from markstep.impl.persistent import MAGIC, entry

HITS = ("PersistentCacheHit", "PersistentCacheMiss", "PersistentCacheDeserializeFailure")
PROGRAM = """
import sys
from markstep.impl import Executor
ex = Executor()
ex.initialize_cache(sys.argv[1])
x = ex.tensor([1.0, 2.0])
for _ in range(3):
    x = x * x + 0.5
x += 1
ex.mark_step(wait=True)
counters = ex.counters
print(x.numpy().tolist(), counters["PersistentCacheHit"], counters["CreateCompileHandles"])
"""
VALUE = "[9.0625, 432.0625"


def other_process(path: Path, before: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", before + PROGRAM, str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


def run(path: Path, *, readonly: bool = False) -> tuple[int, ...]:
    """A program of an executor of its own, with the right result: its hits, misses, failures."""
    ex = Executor()
    ex.initialize_cache(path, readonly=readonly)
    x = ex.tensor(np.arange(4, dtype=np.float32))
    x += 1
    ex.mark_step(wait=True)
    y = x * 3
    assert y.numpy().tolist() == [3.0, 6.0, 9.0, 12.0]
    return tuple(ex.counters[name] for name in HITS)


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    assert run(tmp_path / "programs") == (0, 2, 0)
    return tmp_path / "programs"


def test_processes_that_write_at_once_leave_a_program_that_the_next_one_finds(
    tmp_path: Path,
) -> None:
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(other_process, [tmp_path, tmp_path]))
    third = other_process(tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    assert {done.stdout.split("]")[0] for done in (*both, third)} == {VALUE}
    assert all(done.stderr == "" for done in (*both, third))
    assert third.stdout.split()[-2:] == ["1", "0"]


def test_a_hit_counts_as_one_and_donates_as_the_program_did(stored: Path) -> None:
    ex = Executor()
    ex.initialize_cache(stored)
    x = ex.tensor(np.arange(4, dtype=np.float32))
    old = x.record.ir
    x += 1
    ex.mark_step(wait=True)
    assert ex.counters["CachedCompile"] == ex.counters["PersistentCacheHit"] == 1
    assert ex.counters["UncachedCompile"] == ex.counters["CreateCompileHandles"] == 0
    assert old.deleted
    assert x.numpy().tolist() == [1.0, 2.0, 3.0, 4.0]


def test_what_is_in_memory_is_not_looked_for_in_the_directory(stored: Path) -> None:
    ex = Executor()
    ex.initialize_cache(stored)
    for _ in range(3):
        (ex.tensor(np.arange(4, dtype=np.float32)) * 3).numpy()
    assert ex.counters["PersistentCacheHit"] == 1
    ex.clear_cache()
    (ex.tensor(np.arange(4, dtype=np.float32)) * 3).numpy()
    assert ex.counters["PersistentCacheHit"] == 2


def truncate(data: bytes) -> bytes:
    return data[:-100]


def empty(data: bytes) -> bytes:
    return b""


def garbage(data: bytes) -> bytes:
    return os.urandom(len(data))


def flip_a_bit(data: bytes) -> bytes:
    place = len(data) - 1000
    return data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]


def rename(data: bytes) -> bytes:
    return data.replace(b'"name": "', b'"name": "0', 1)


def change_version(data: bytes) -> bytes:
    return data.replace(b"jaxlib ", b"jaxlib 0.", 1)


def no_program(data: bytes) -> bytes:
    """A whole entry of the right name and place, but what it holds is none."""
    header = data[len(MAGIC) :].split(b"\n")[0]
    fields = json.loads(header)
    return entry(fields["name"], b"not a program", fields["environment"])


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (truncate, "truncated"),
        (empty, "not a program of this format"),
        (garbage, "not a program of this format"),
        (flip_a_bit, "the checksum differs"),
        (rename, "that of another program"),
        (change_version, "made in another environment"),
        (no_program, "cannot be loaded"),
    ],
    ids=lambda given: getattr(given, "__name__", None),
)
def test_an_entry_that_is_not_right_is_compiled_again_and_replaced(
    stored: Path, spoil, why: str
) -> None:
    files = sorted(stored.iterdir())
    whole = files[0].read_bytes()
    files[0].write_bytes(spoil(whole))
    with pytest.warns(RuntimeWarning, match=why):
        assert run(stored) == (1, 0, 1)
    assert run(stored) == (2, 0, 0)
    assert sorted(stored.iterdir()) == files


def test_a_directory_that_is_only_read_is_not_changed(stored: Path) -> None:
    files = sorted(stored.iterdir())
    files[0].write_bytes(b"spoilt")
    files[1].unlink()
    with pytest.warns(RuntimeWarning, match="compiled again$"):
        assert run(stored, readonly=True) == (0, 1, 1)
    assert [file.read_bytes() for file in stored.iterdir()] == [b"spoilt"]


def test_entries_of_other_users_are_not_loaded(stored: Path, monkeypatch) -> None:
    if os.getuid() == 0:
        for file in stored.iterdir():
            os.chown(file, 54321, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.warns(RuntimeWarning, match="belongs to another user"):
        assert run(stored)[0] == 0


def test_a_full_disk_is_told_of_once_and_leaves_no_file(tmp_path: Path) -> None:
    """The limit on the size of files makes the kernel refuse writes, as a full disk does."""
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
    more = limit + "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    done = other_process(tmp_path, more)
    assert done.stdout.split()[-2:] == ["0", "1"]
    assert done.stderr.count("programs are not kept") == 1
    assert list(tmp_path.iterdir()) == []


def test_different_constants_and_donors_are_different_programs(tmp_path: Path) -> None:
    for value in (1, 0, -1):
        ex = Executor()
        ex.initialize_cache(tmp_path)
        x, y = ex.tensor([1.0]), ex.tensor([1.0])
        kept, x = x, x + value
        y += value
        ex.sync_live()
        assert (x.numpy()[0], y.numpy()[0], kept.numpy()[0]) == (1 + value, 1 + value, 1)


def test_functions_of_one_name_are_told_apart_by_what_they_do(tmp_path: Path) -> None:
    for number, expected in ((1.0, 2.0), (5.0, 6.0)):
        ex = Executor()
        ex.initialize_cache(tmp_path)
        result = ex.apply(lambda x, number=number: x + number, ex.tensor([1.0]))
        assert result.numpy().tolist() == [expected]


def test_a_directory_that_cannot_be_used_is_one_clear_error(tmp_path: Path, ex) -> None:
    (tmp_path / "file").write_text("")
    for path, readonly in ((tmp_path / "file", False), (tmp_path / "none", True)):
        with pytest.raises(ExecutorError, match="bad-argument: no programs can be kept in"):
            ex.initialize_cache(path, readonly=readonly)


@pytest.mark.parametrize(("room", "compiled"), [(0, 6), (1, 6), (2, 2)])
def test_the_memory_of_programs_has_the_room_that_it_is_given(room: int, compiled: int) -> None:
    ex = Executor("interpret", cache_size=room)
    x = ex.tensor([1.0])
    for _ in range(3):
        assert (x * 2).numpy() == 2
        assert (x + 2).numpy() == 3
    assert ex.counters["CreateCompileHandles"] == compiled
    with pytest.raises(ValueError, match="0 programs or more, not -1"):
        Executor(cache_size=-1)


def test_with_room_for_one_the_program_in_use_stays() -> None:
    ex = Executor("interpret", cache_size=1)
    for _ in range(3):
        assert (ex.tensor([1.0]) * 2).numpy() == 2
    assert ex.counters["CreateCompileHandles"] == 1


def test_a_program_that_calls_python_is_of_one_process(tmp_path: Path) -> None:
    ex = Executor()
    ex.initialize_cache(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ExecutorError, match="execution-failed"):
            ex.call("failing_execute", ex.tensor([1.0]))[:1].numpy()
    assert not any(tmp_path.iterdir())
