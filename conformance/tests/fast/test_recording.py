"""Recordings of PyTorch programs: read, written, and what they show. No torch is needed here.

The recordings were made on torch_xla 2.9.0 with the programs in docs/examples.
"""

import gzip
import io
import json
import marshal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from markstep.conformance.cli.usage import UsageError
from markstep.conformance.exit_codes import ExitCode
from markstep.conformance.logs.monitor import monitor
from markstep.conformance.logs.rawlog import LogError
from markstep.conformance.recording.command import split_command
from markstep.conformance.recording.hazards import Hazard, hazards
from markstep.conformance.recording.lines import Program, read_recording, write_recording
from markstep.conformance.recording.notebook import Notebook, constant
from markstep.conformance.recording.outline import outline
from markstep.conformance.verdict import Verdict
from markstep.spec.design import SOUND, TORCH_XLA_2_9

RECORDINGS = Path(__file__).parents[1] / "recordings"
HEADER = Program("torch_xla", "2.9.0", "2.9.1", ("train.py",), {"PJRT_DEVICE": "CPU"})


def shown(name: str) -> list[Hazard]:
    return hazards(read_recording(RECORDINGS / f"{name}.jsonl.gz"))


def test_a_program_with_every_hazard_is_told_each_of_them_with_its_place() -> None:
    found = {hazard.kind: hazard.text for hazard in shown("hazardous")}
    assert "the clone of t1 made at hazardous.py:18" in found["lost value"]
    assert "1 buffers were donated there" in found["lost value"]
    assert "5 times, unchanged; 256 bytes too many" in found["uploaded twice"]
    assert "warm_up_cache at hazardous.py:" in found["useless warm-up"]
    again = [hazard.text for hazard in shown("hazardous") if hazard.kind == "recompiled"]
    assert any("a chain of seeds: 2 random ops" in text for text in again)
    assert any("a number that changes: aten.mul.Tensor" in text for text in again)


def test_host_copies_are_told() -> None:
    assert any(hazard.kind == "host copies" for hazard in shown("host_copies"))
    assert not any(hazard.kind == "host copies" for hazard in shown("hazardous"))


def test_a_clean_training_loop_has_only_the_compilation_of_its_second_step() -> None:
    (only,) = shown("mlp")
    assert only.kind == "recompiled" and "1 times, other ops" in only.text


def test_monitor_reports_recordings_beside_other_logs() -> None:
    report = monitor(sorted(RECORDINGS.glob("*.jsonl.gz")), TORCH_XLA_2_9)
    verdicts = [subject.verdict for subject in report.subjects]
    assert verdicts == [Verdict.VIOLATES, Verdict.VIOLATES, Verdict.CONFORMS]
    assert report.exit_code == ExitCode.VIOLATES
    assert {failure.name for failure in report.failures} == {"lost value"}
    assert any("uploaded twice" in note for note in report.notes)
    assert not any("explained whole" in note for note in report.notes)
    assert "mlp.jsonl.gz: the law explains 60 looks at tensors" in report.notes


# ---- the outline, run by the law -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["hazardous", "host_copies", "mlp"])
def test_the_law_says_what_every_tensor_of_a_program_holds(name: str) -> None:
    followed = outline(read_recording(RECORDINGS / f"{name}.jsonl.gz"), TORCH_XLA_2_9)
    assert followed.compared > 50
    assert (followed.found, followed.end) == ((), "")


def test_another_design_does_not_explain_what_torch_xla_did() -> None:
    followed = outline(read_recording(RECORDINGS / "hazardous.jsonl.gz"), SOUND)
    assert followed.found
    assert "t2 is value; the law says" in followed.found[0], "the clone was read"


def test_a_recording_that_was_tampered_with_is_not_explained(tmp_path: Path) -> None:
    given = gzip.decompress((RECORDINGS / "mlp.jsonl.gz").read_bytes()).decode().splitlines()
    last = max(i for i, line in enumerate(given) if '"mark_step"' in line)
    changed = [line.replace('"state":"value"', '"state":"deleted"', 1) for line in given[last:]]
    path = tmp_path / "tampered.jsonl"
    path.write_text("\n".join([*given[:last], *changed]) + "\n")
    report = monitor([path], TORCH_XLA_2_9)
    assert report.verdict == Verdict.VIOLATES
    assert report.failures[0].name == "not as the law says"
    assert "is deleted; the law says" in report.failures[0].observed


def test_a_recording_that_takes_too_long_is_inconclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("markstep.conformance.recording.outline.MAX_SECONDS", -1.0)
    report = monitor([RECORDINGS / "mlp.jsonl.gz"], TORCH_XLA_2_9)
    assert (report.verdict, report.exit_code) == (Verdict.INCONCLUSIVE, ExitCode.INCONCLUSIVE)
    assert any("out of time at line 2" in note for note in report.notes)


# ---- single hazards, on lines written by hand ---------------------------------------------------


def line(action: str, **more: Any) -> dict[str, Any]:
    counters = more.pop("counters", {})
    tensors = more.pop("tensors", None)
    entry = {"action": action, "args": more, "at": "train.py:7", "counters": counters}
    return entry | ({"tensors": tensors} if tensors is not None else {})


def recorded(tmp_path: Path, *lines: dict[str, Any]) -> list[Hazard]:
    path = tmp_path / "some.jsonl"
    blocks = io.BytesIO()
    marshal.dump([HEADER.to_json(), *lines], blocks)
    blocks.seek(0)
    assert write_recording(blocks, path) == len(lines)
    return hazards(read_recording(path))


COMPILES = {"UncachedCompile": 1}


def op(name: str, shapes: object, constants: object) -> dict[str, Any]:
    operands = {"inputs": ["t1"], "outs": ["t2"], "writes": []}
    return line("op", name=name, **operands, shapes=shapes, constants=constants)


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        (op("aten.pow", [[2]], [2]), op("aten.pow", [[2]], [3]), "a number that changes: aten.pow"),
        (op("aten.mul", [[2]], []), op("aten.mul", [[3]], []), "another shape: aten.mul"),
        (op("aten.mul", [[2]], []), op("aten.add", [[2]], []), "other ops: aten.add"),
        (op("aten.mul", [[2]], []), op("aten.mul", [[2]], []), "no visible reason"),
    ],
)
def test_why_a_program_is_compiled_again(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any], reason: str
) -> None:
    sync = line("mark_step", counters=COMPILES)
    (found,) = recorded(tmp_path, first, sync, second, sync)
    assert found.kind == "recompiled"
    assert reason in found.text and "at train.py:7" in found.text


def test_what_hits_the_cache_is_not_compiled_again(tmp_path: Path) -> None:
    hit = line("mark_step", counters={"CachedCompile": 1})
    assert not recorded(
        tmp_path, op("a", [], [1]), line("mark_step", counters=COMPILES), op("a", [], [2]), hit
    )


def test_a_warm_up_that_is_hit_is_no_hazard(tmp_path: Path) -> None:
    warm = line("warm_up_cache", counters=COMPILES) | {"args": {"tensors": ["t2"]}}
    hit = line("read", t="t2", counters={"CachedCompile": 1})
    assert not recorded(tmp_path, warm, hit)
    (found,) = recorded(tmp_path, warm, line("read", t="t2", counters=COMPILES))
    assert found.kind == "useless warm-up"


def test_equal_contents_at_other_places_are_other_data(tmp_path: Path) -> None:
    def upload(out: str, at: str, source: int, content: str) -> dict[str, Any]:
        data = {"source": source, "content": content, "bytes": 16, "shape": [4], "dtype": "float32"}
        return line("from_host", out=out, **data) | {"at": at}

    assert not recorded(tmp_path, upload("t1", "a.py:1", 1, "ff"), upload("t2", "a.py:2", 2, "ff"))
    assert not recorded(tmp_path, upload("t1", "a.py:1", 1, "ff"), upload("t2", "a.py:1", 1, "fe"))
    one, other = upload("t1", "a.py:1", 1, "ff"), upload("t2", "a.py:1", 2, "ff")
    assert not recorded(tmp_path, one, other), "weights that begin alike"
    (found,) = recorded(tmp_path, one, line("mark_step", wait=True), other)
    assert "2 times, unchanged; 16 bytes too many" in found.text
    (found,) = recorded(tmp_path, one, upload("t2", "a.py:1", 1, "ff"))
    assert "2 times, unchanged; 16 bytes too many" in found.text


# ---- the file -----------------------------------------------------------------------------------


def test_a_block_that_is_cut_off_is_left_out(tmp_path: Path) -> None:
    blocks = io.BytesIO()
    marshal.dump([HEADER.to_json(), line("mark_step", wait=True)], blocks)
    marshal.dump([line("mark_step", wait=True)] * 5, blocks)
    blocks.truncate(blocks.tell() - 9)
    blocks.seek(0)
    assert write_recording(blocks, tmp_path / "cut.jsonl.gz") == 1
    assert len(read_recording(tmp_path / "cut.jsonl.gz").lines) == 1


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda line: line | {"action": "dance"}, "unknown action 'dance'"),
        (lambda line: line | {"step": 5}, "step 5 where step 0 must be"),
        (lambda line: line | {"more": 1}, "unknown field 'more'"),
        (lambda line: line | {"args": {"tensors": "t1"}}, "is a text, not a list"),
        (lambda line: line | {"counters": {"MarkStep": "1"}}, "is a text, not an integer"),
    ],
)
def test_a_malformed_line_is_an_error_with_its_place(
    tmp_path: Path, change: Callable[[dict[str, Any]], dict[str, Any]], text: str
) -> None:
    path = tmp_path / "bad.jsonl"
    bad = change({"step": 0, "action": "mark_step", "args": {}})
    path.write_text(f"{json.dumps(HEADER.to_json())}\n{json.dumps(bad)}\n")
    with pytest.raises(LogError, match=f"bad.jsonl:2: .*{text}"):
        read_recording(path)
    report = monitor([path], TORCH_XLA_2_9)
    assert (report.verdict, report.exit_code) == (Verdict.ERROR, ExitCode.ERROR)


# ---- the notebook, with eyes that see what the test says ----------------------------------------


class Thing:
    """A tensor object."""

    def __init__(self, record: int) -> None:
        self.record = record


class Eyes:
    """Shows a buffer for every record."""

    def __init__(self) -> None:
        self.steps = 0

    def number(self, tensor: Thing) -> int:
        return tensor.record

    def settle(self, tensors: Any) -> None:
        pass

    def shows(self, tensor: Thing) -> dict[str, Any]:
        return {"data": {"state": "value", "handle": f"0x{tensor.record + self.steps}"}}

    def counters(self) -> dict[str, int]:
        return {"MarkStep": self.steps, "Other": 3}


def written(notebook: Notebook, file: io.BytesIO) -> list[dict[str, Any]]:
    notebook.save()
    file.seek(0)
    lines: list[dict[str, Any]] = []
    while file.tell() < len(file.getvalue()):
        lines += marshal.load(file)
    return lines[1:]


def test_a_record_has_one_name_and_is_dropped_with_its_last_tensor() -> None:
    file, eyes = io.BytesIO(), Eyes()
    notebook = Notebook(file, HEADER, eyes, Path(__file__).parent)
    one, other, third = Thing(7), Thing(7), Thing(9)
    assert [notebook.name(t) for t in (one, other, third, one)] == ["t7", "t7", "t9", "t7"]
    del one, third
    notebook.before()
    eyes.steps += 1
    notebook.after("mark_step", {"wait": False})
    drop, step = written(notebook, file)
    assert drop == {"action": "drop", "args": {"tensors": ["t9"]}}
    assert list(step["tensors"]) == ["t7"] and step["counters"] == {"MarkStep": 1}
    assert step["at"].startswith("test_recording.py:")
    assert other is not None


def test_only_what_changed_is_written_down_and_buffers_are_numbered() -> None:
    file, eyes = io.BytesIO(), Eyes()
    notebook = Notebook(file, HEADER, eyes, Path("/nowhere"))
    things = [Thing(1), Thing(2)]
    for thing in things:
        notebook.name(thing)
    for _ in range(2):
        notebook.before()
        notebook.after("mark_step", {})
    eyes.steps = 5
    notebook.after("read", {"t": "t2"}, ValueError("gone\nfor good"), only=["t2"])
    first, second, read = written(notebook, file)
    assert [s["data"]["handle"] for s in first["tensors"].values()] == [1, 2]
    assert second["tensors"] == {} and "at" not in second
    assert list(read["tensors"]) == ["t2"]
    assert read["outcome"] == {"error": {"type": "ValueError", "message": "gone"}}


def test_a_host_array_has_one_number_until_it_changes() -> None:
    notebook = Notebook(io.BytesIO(), HEADER, Eyes(), Path("/nowhere"))
    one, other = Thing(1), Thing(2)
    first = notebook.source(one, 0)
    assert notebook.source(one, 0) == first != notebook.source(other, 0)
    assert notebook.source(one, 1) not in (first, notebook.source(other, 0))


def test_constants_are_written_as_json_can_hold_them() -> None:
    values = [1, True, None, 0.5, float("inf"), float("nan"), "x" * 200, int]
    assert json.loads(json.dumps([constant(v) for v in values]))[:4] == [1, True, None, 0.5]
    assert constant(float("inf")) == "inf" and len(str(constant("x" * 200))) == 80


# ---- the command line ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "no program is given"),
        (["torchrun", "train.py"], "'torchrun' is no Python interpreter"),
        (["python"], "is not a program with arguments"),
        (["python", "-X", "dev", "train.py"], "is not a program with arguments"),
        (["python", "-m"], "is not a program with arguments"),
        (["python", "nowhere.py"], "record nowhere.py: no such file"),
    ],
)
def test_a_command_that_is_no_python_program_is_refused(words: list[str], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        split_command(words)


def test_programs_are_scripts_modules_and_code() -> None:
    assert split_command(["python3", __file__, "-x"]) == ("python3", [__file__, "-x"])
    assert split_command([sys.executable, "-m", "json.tool"])[1] == ["-m", "json.tool"]
    assert split_command(["python", "-c", "pass"])[1] == ["-c", "pass"]
