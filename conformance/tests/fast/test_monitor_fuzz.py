"""Whatever a file holds, the monitor gives a verdict: no exception, no hang, no file too large."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from logfiles import LOGS, lines_of

from markstep.conformance.logs import taking
from markstep.conformance.logs.monitor import monitor_log
from markstep.conformance.verdict import Verdict
from markstep.spec.design import SOUND, TORCH_XLA_2_9
from markstep.spec.evaluator import evaluate
from markstep.spec.machine import step

DATA = [path.read_bytes() for path in LOGS]
TEXT = [gzip.decompress(data) for data in DATA]
LINES = [lines_of(path) for path in LOGS]

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 12),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(("", "t1", "t2", "t99", "value", "deleted", "device_data", "f32", "mul")),
    st.text(max_size=8),
)
MOST_STEPS = 100
"""Steps of the law for one line of a log: alternatives are searched up to a bound."""

JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "log.jsonl"


def judge(path: Path, data: bytes) -> None:
    """Both questions about a file: each must be answered, by few steps of the law, on one line."""
    path.write_bytes(data)
    for design in (TORCH_XLA_2_9, SOUND):
        steps = 0

        def counted(*given: Any) -> Any:
            nonlocal steps
            steps += 1
            return step(*given)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(taking, "step", counted)
            verdict = monitor_log(path, design)
        assert steps <= MOST_STEPS * (verdict.accepted + 1)
        assert isinstance(verdict.verdict, Verdict)
        assert 0 <= verdict.accepted <= verdict.steps
        if verdict.error is not None:
            assert str(verdict.error).startswith(str(path))
            assert "\n" not in str(verdict.error)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to everything inside a JSON value."""
    if isinstance(value, dict):
        inside = [p for key, one in value.items() for p in places(one, (*path, key))]
    elif isinstance(value, list):
        inside = [p for i, one in enumerate(value) for p in places(one, (*path, i))]
    else:
        inside = []
    return [*([path] if path else []), *inside]


def change(value: Any, path: tuple[Any, ...], new: Any, how: str) -> Any:
    """A JSON value in which the end of a path is replaced, deleted or doubled."""
    copy = value.copy()
    if len(path) > 1:
        copy[path[0]] = change(value[path[0]], path[1:], new, how)
    elif how == "delete":
        del copy[path[0]]
    elif how == "double" and isinstance(copy, list):
        copy.insert(path[0], copy[path[0]])
    else:
        copy[path[0]] = new
    return copy


@settings(max_examples=150)
@given(st.data())
def test_changed_bytes_of_a_packed_log(target: Path, data: st.DataObject) -> None:
    log = bytearray(data.draw(st.sampled_from(DATA)))
    for _ in range(data.draw(st.integers(1, 4))):
        log[data.draw(st.integers(0, len(log) - 1))] = data.draw(st.integers(0, 255))
    judge(target, bytes(log[: data.draw(st.integers(0, len(log)))]))


@settings(max_examples=150)
@given(st.data())
def test_changed_bytes_of_the_text(target: Path, data: st.DataObject) -> None:
    text = bytearray(data.draw(st.sampled_from(TEXT)))
    for _ in range(data.draw(st.integers(1, 3))):
        begin = data.draw(st.integers(0, len(text) - 1))
        end = begin + data.draw(st.integers(0, 4))
        text[begin:end] = data.draw(st.binary(max_size=4) | st.sampled_from((b"9", b"-", b"0")))
    judge(target, bytes(text))


@settings(max_examples=300)
@given(st.data())
def test_changed_values(target: Path, data: st.DataObject) -> None:
    lines = list(data.draw(st.sampled_from(LINES)))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        path = data.draw(st.sampled_from(places(lines[at])))
        how = data.draw(st.sampled_from(("replace", "replace", "delete", "double")))
        lines[at] = change(lines[at], path, data.draw(JSON), how)
        if not lines[at]:
            break
    judge(target, packed(lines))


@settings(max_examples=100)
@given(st.data())
def test_lines_left_out_repeated_and_mixed(target: Path, data: st.DataObject) -> None:
    lines = list(data.draw(st.sampled_from(LINES)))
    others = data.draw(st.sampled_from(LINES))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines)))
        piece = data.draw(st.sampled_from(("nothing", "same", "other")))
        new = {"nothing": [], "same": lines[at - 1 : at] * 2, "other": others[at : at + 2]}[piece]
        lines[at : at + 1] = new
    numbered = lines[:1] + [{**line, "step": i} for i, line in enumerate(lines[1:])]
    judge(target, packed(data.draw(st.sampled_from((lines, numbered)))))


@settings(max_examples=100)
@given(st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
def test_anything_at_all(target: Path, data: bytes) -> None:
    judge(target, data)
    judge(target, gzip.compress(data))


def packed(lines: list[Any]) -> bytes:
    """The lines as a plain log."""
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def test_a_wrong_value_that_is_squared_again_and_again_does_not_grow_without_end() -> None:
    value: tuple[float, ...] | None = (3,)
    for _ in range(60):
        value = evaluate("mul", (value, value), ((1,), (1,)))
    assert value is None
