"""Every reader withstands damaged input, and a reader that does not is found out."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from markstep.conformance.fuzzing.campaign import campaign, made
from markstep.conformance.fuzzing.readers import READERS, Reader

INPUTS = 250


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_reader_reads_or_refuses_and_does_nothing_else(reader: Reader) -> None:
    last = campaign(reader, INPUTS, seed=1)
    assert last.found is None
    # both outcomes are common, or the damage would test nothing
    assert 0 < last.read < last.inputs == INPUTS


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_an_example_is_valid(reader: Reader, tmp_path: Path) -> None:
    for number, data in enumerate(reader.examples()):
        path = tmp_path / str(number)
        path.write_bytes(data)
        reader.read(path)


def test_an_input_is_made_again_from_its_number() -> None:
    reader = READERS[0]
    examples = reader.examples()
    first = [made(reader, examples, 3, number) for number in range(20)]
    assert first == [made(reader, examples, 3, number) for number in range(20)]
    assert len(set(first)) > 10


def evaluates(path: Path) -> object:
    return eval(path.read_text(encoding="utf-8", errors="replace"))


def writes(path: Path) -> object:
    return path.with_name("other").write_bytes(b"")


def raises(path: Path) -> object:
    return json.loads(path.read_bytes())["a"]


def goes_on(path: Path) -> object:
    while True:
        pass


@pytest.mark.parametrize(
    ("read", "what"),
    [
        (evaluates, "causes compile"),
        (writes, "to write"),
        (raises, "Error"),
        (goes_on, "not come to an end"),
    ],
)
def test_a_reader_that_does_more_is_found_out(
    read: object, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("markstep.conformance.fuzzing.campaign.PATIENCE_S", 0.2)
    reader = Reader("bad", lambda: [b'{"a": 1}'], read, (UnicodeError,))  # type: ignore[arg-type]
    last = campaign(reader, 50, seed=1)
    assert last.found is not None
    assert what in last.found.what


def test_the_command_tells_what_it_did() -> None:
    options = ["--inputs", "20", "--reader", "program", "--processes", "1"]
    command = [sys.executable, "-m", "markstep.conformance.fuzzing", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("program            20 inputs")
