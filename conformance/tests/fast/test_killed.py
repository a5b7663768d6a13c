"""Whoever is killed while writing leaves the file as it was before, or as it was to be."""

import json
import os
import signal
from multiprocessing import get_context
from pathlib import Path
from random import Random
from time import sleep

import pytest

from markstep.conformance.cli.files import stream_atomically, write_atomically
from markstep.impl.persistent import SUFFIX, Directory, checked
from markstep.spec.design import SOUND
from markstep.spec.search import checkpoint
from markstep.spec.search.alphabet import Bound
from markstep.spec.search.search import Search

KILLS = 20
LENGTH = 1 << 20
BOUND = Bound(1, 2, actions=2)


def write_texts(folder: Path) -> None:
    number = 0
    while True:
        number += 1
        text = json.dumps({"number": number, "filling": str(number % 10) * LENGTH})
        write_atomically(folder / "report", text)


def read_text(path: Path) -> None:
    found = json.loads(path.read_text(encoding="utf-8"))
    assert found["filling"] == str(found["number"] % 10) * LENGTH


def write_programs(folder: Path) -> None:
    directory = Directory(folder, readonly=False, environment="here")
    number = 0
    while True:
        number += 1
        directory.store("it", bytes([number % 256]) * LENGTH)


def read_program(path: Path) -> None:
    body = checked(path.read_bytes(), "it", "here")
    assert body == body[:1] * LENGTH


def write_searches(folder: Path) -> None:
    search = Search.begun(SOUND, BOUND)
    while True:
        stream_atomically(folder / "search", lambda file: checkpoint.save(search, file))
        if not search.now:
            search.next_level()


def read_search(path: Path) -> None:
    checkpoint.load(path.read_bytes(), SOUND, BOUND)


JOBS = {
    "report": (write_texts, read_text),
    f"it{SUFFIX}": (write_programs, read_program),
    "search": (write_searches, read_search),
}


def kill_often(name: str, folder: Path, seed: int) -> None:
    """Kill a writer again and again, and look at what it leaves."""
    write, read = JOBS[name]
    random, path = Random(seed), folder / name
    for _ in range(KILLS):
        writer = os.fork()
        if not writer:
            write(folder)
        while not path.exists():
            sleep(0.001)
        sleep(random.random() * 0.03)
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
        read(path)
        path.unlink()


@pytest.mark.parametrize("name", JOBS)
def test_a_killed_writer_leaves_a_whole_file(name: str, tmp_path: Path) -> None:
    # in a process without threads, which may be forked
    process = get_context("spawn").Process(target=kill_often, args=(name, tmp_path, 1))
    process.start()
    process.join()
    assert process.exitcode == 0
