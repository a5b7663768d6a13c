"""Reading raw logs: what is sound is read as it is, everything else is one clear error."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from logfiles import changed, header, lines_of, named, write

from markstep.conformance.logs import rawlog
from markstep.conformance.logs.rawlog import LogError, read_log
from markstep.conformance.logs.rawrecord import Crashed, Ok, RawTensor, RawVoid, Sample

LOG = named("faults/p0006")


def message(path: Path) -> str:
    """The error of a log, which must be one line that begins with the place."""
    with pytest.raises(LogError) as caught:
        read_log(path)
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith(str(path))
    return text.removeprefix(str(path))


def test_a_log_is_read_as_typed_values() -> None:
    log = read_log(named("faults/p0062"))
    assert (log.header.system, log.header.profile, log.header.env) == (
        "torch_xla",
        "faults",
        {"PJRT_DEVICE": "CPU"},
    )
    assert [step.step for step in log.steps] == list(range(len(log.steps)))
    assert [step.line for step in log.steps] == list(range(2, len(log.steps) + 2))
    shown = [tensor for step in log.steps for tensor in step.tensors.values()]
    assert {type(tensor) for tensor in shown} <= {RawTensor, RawVoid}
    assert any(isinstance(by, Sample) for step in log.steps for by in step.counters.values())
    assert any(isinstance(step.outcome, Ok) for step in log.steps)
    assert isinstance(log.steps[-1].outcome, Crashed)


def test_a_plain_file_is_read_like_a_packed_one(tmp_path: Path) -> None:
    plain = tmp_path / "log.jsonl"
    plain.write_bytes(gzip.decompress(LOG.read_bytes()))
    assert read_log(plain).steps == read_log(LOG).steps


def truncated(path: Path) -> None:
    path.write_bytes(LOG.read_bytes()[:-20])


def damaged(path: Path) -> None:
    data = bytearray(LOG.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def not_gzip(path: Path) -> None:
    path.write_bytes(b'{"format": "markstep-raw-log"}\n')


def not_json(path: Path) -> None:
    path.write_bytes(gzip.compress(b"hello\n"))


def not_text(path: Path) -> None:
    path.write_bytes(gzip.compress(b"\xff\xfe\n"))


def empty(path: Path) -> None:
    path.write_bytes(gzip.compress(b""))


def directory(path: Path) -> None:
    path.mkdir()


def missing(path: Path) -> None:
    pass


def too_large(path: Path) -> None:
    path.write_bytes(gzip.compress(b" " * (rawlog.MAX_BYTES + 1), 1))


def long_line(path: Path) -> None:
    path.write_bytes(gzip.compress(b"[" * (rawlog.MAX_LINE_BYTES + 1), 1))


def deep(path: Path) -> None:
    path.write_bytes(gzip.compress(b"[" * 100_000))


def too_many_steps(path: Path) -> None:
    write(path, [header(), *({} for _ in range(rawlog.MAX_STEPS + 1))])


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (truncated, ": the gzip file is truncated; copy it again"),
        (damaged, ": damaged gzip file"),
        (not_gzip, ": not a gzip file; copy it again, or rename it"),
        (not_json, ":1: not JSON: Expecting value at column 1"),
        (not_text, ":1: not UTF-8 text"),
        (empty, ": the file is empty; a log begins with a header line"),
        (directory, ": cannot be read (Is a directory)"),
        (missing, ": cannot be read (No such file or directory)"),
        (too_large, ": more than 32 MiB when unpacked"),
        (long_line, ":1: more than 1 MiB in one line"),
        (deep, ":1: nested too deeply"),
        (too_many_steps, ": more than 10000 steps"),
    ],
)
def test_a_file_that_is_no_log_is_one_error(
    make: Callable[[Path], None], expected: str, tmp_path: Path
) -> None:
    path = tmp_path / "log.jsonl.gz"
    make(path)
    assert message(path).startswith(expected)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"format": "something"}, ":1: field format is 'something'"),
        ({"version": 2}, ":1: the log is of version 2, written by a newer markstep; this one"),
        ({"version": 0}, ":1: the log is of version 0; the first version is 1"),
        ({"version": "1"}, ":1: field version is a text, not an integer"),
        ({"spmd": 0}, ":1: field spmd is a number, not a boolean"),
        ({"env": []}, ":1: field env is a list, not an object"),
        ({"more": 1}, ":1: the line has unknown field 'more'"),
    ],
)
def test_a_wrong_header_is_one_error(
    changes: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "log.jsonl.gz", [header(**changes)])
    assert message(path).startswith(expected)


def test_a_newer_header_with_unknown_fields_is_told_by_its_version(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl.gz", [{"format": "markstep-raw-log", "version": 9}])
    assert "written by a newer markstep; this one reads version 1" in message(path)


STEP: dict[str, Any] = {
    "step": 0,
    "action": "wait_device_ops",
    "args": {},
    "outcome": {"ok": True, "value": None},
    "tensors": {},
    "counters": {},
}
TENSOR: dict[str, Any] = {
    "id": 1,
    "alias": 1,
    "view": False,
    "ir": None,
    "data": {"kind": "plain", "state": "value", "handle": 1},
    "host": None,
    "sharding_spec": None,
    "shape": [2, 2],
    "dtype": "f32",
}


def tensor(**changes: object) -> dict[str, Any]:
    return {"tensors": {"t1": {**TENSOR, **changes}}}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"step": 1}, "step 1 where step 0 must be: the log has a gap"),
        ({"step": True}, "field step is a boolean, not an integer"),
        ({"step": -1}, "field step is -1, less than 0"),
        ({"action": None}, "field action is null, not a text"),
        ({"args": []}, "field args is a list, not an object"),
        ({"outcome": {}}, "field outcome has no field 'hang'"),
        ({"outcome": {"ok": True}}, "field outcome has no field 'value'"),
        ({"outcome": {"ok": False, "value": 1}}, "field outcome.ok is 'False', not True"),
        ({"outcome": {"error": {"type": "E"}}}, "field outcome.error has no field 'message'"),
        ({"outcome": {"ok": True, "value": 1, "crash": "SIGSEGV"}}, "field outcome has unknown"),
        ({"outcome": {"crash": "SIGKILL"}}, "field outcome.crash is 'SIGKILL', not"),
        ({"counters": {"MarkStep": "1"}}, "field counters.MarkStep is a text, not an integer"),
        ({"counters": {"InboundData": {"n": 1}}}, "field counters.InboundData has no field 'sum'"),
        ({"transient": "t1"}, "field transient is a text, not a list"),
        ({"more": 1}, "the line has unknown field 'more'"),
        (tensor(id="1"), "field tensors.t1.id is a text, not an integer"),
        (tensor(shape=[2.5]), "field tensors.t1.shape is a number, not an integer"),
        (tensor(data={"kind": "other"}), "field tensors.t1.data.kind is 'other'"),
        (tensor(more=1), "field tensors.t1 has unknown field 'more'"),
    ],
)
def test_a_wrong_step_is_one_error(changes: dict[str, Any], expected: str, tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl.gz", [header(), {**STEP, **changes}])
    assert message(path).startswith(f":2: {expected}")


@pytest.mark.parametrize("field", list(STEP))
def test_every_field_of_a_step_is_needed(field: str, tmp_path: Path) -> None:
    step = {name: value for name, value in STEP.items() if name != field}
    path = write(tmp_path / "log.jsonl.gz", [header(), step])
    assert message(path).startswith(f":2: the line has no field '{field}'")


def test_a_crash_shows_neither_tensors_nor_counters(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl.gz", [header(), {**STEP, "outcome": {"crash": "SIGSEGV"}}])
    assert message(path).startswith(":2: the line has unknown field 'tensors', 'counters'")


def test_nothing_follows_a_crash(tmp_path: Path) -> None:
    lines = lines_of(named("faults/p0062"))
    path = write(tmp_path / "log.jsonl.gz", [*lines, {**STEP, "step": len(lines) - 1}])
    assert f":{len(lines) + 1}: a step after the process died in line {len(lines)}" in message(path)


def test_a_gap_between_steps_is_an_error(tmp_path: Path) -> None:
    lines = lines_of(LOG)
    path = write(tmp_path / "log.jsonl.gz", [*lines[:5], *lines[6:]])
    assert message(path).startswith(":6: step 5 where step 4 must be")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"step": 0, "step": 0}', "field 'step' twice"),
        ('{"step": NaN}', "NaN is not a JSON number"),
        ('{"step": 1e999}', "a number too large for a double"),
        ('{"step": ' + "1" * 5000 + "}", "an integer of more than 20 digits"),
        ("", "not JSON"),
        ("[]", "the line is a list, not an object"),
    ],
)
def test_only_strict_json_is_read(line: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(f"{json.dumps(header())}\n{line}\n{json.dumps(STEP)}\n", encoding="utf-8")
    assert message(path).startswith(f":2: {expected}")


def test_too_many_tensors_are_refused(tmp_path: Path) -> None:
    tensors = {f"t{i}": TENSOR for i in range(300)}
    path = write(tmp_path / "log.jsonl.gz", [header(), {**STEP, "tensors": tensors}])
    assert "has more than 256 tensors" in message(path)


def test_reading_stops_at_the_first_error(tmp_path: Path) -> None:
    lines = changed(changed(lines_of(LOG), 3, more=1), 7, more=2)
    assert message(write(tmp_path / "log.jsonl.gz", lines)).startswith(":4: ")
