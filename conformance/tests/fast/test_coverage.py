"""The page of what is covered: all that it names exists, and nothing of the system is left out."""

import sys
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def page() -> ModuleType:
    path = Path(__file__).resolve().parents[3] / "docs" / "coverage_page.py"
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[path.stem] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def data(page: ModuleType) -> dict:
    return page.rows_of(page.DATA.read_text(encoding="utf-8"))


def test_all_that_is_named_exists_and_nothing_is_left_out(page: ModuleType, data: dict) -> None:
    assert list(page.broken(data["function"] + data["knob"])) == []
    assert list(page.left_out(data)) == []
    assert len(list(page.knobs())) > 30


@pytest.mark.parametrize(
    ("column", "name"),
    [
        ("law", "A99"),
        ("law", "A40.G9"),
        ("executor", "trace.nothing"),
        ("executor", "trace"),
        ("executor", "nowhere.trace"),
        ("actions", "Nothing"),
        ("tests", "test_eager.test_that_nobody_wrote"),
    ],
)
def test_what_does_not_exist_is_found(page: ModuleType, data: dict, column: str, name: str) -> None:
    row = data["function"][0]
    spoilt = replace(row, **{column: (*getattr(row, column), name)})
    (problem,) = page.broken([spoilt])
    assert f"there is no {name} ({column})" in problem


def test_what_is_left_out_without_a_reason_is_found(page: ModuleType, data: dict) -> None:
    silent = next(row for row in data["function"] if row.why and not row.law)
    (problem,) = page.broken([replace(silent, why="")])
    assert "the reason why not" in problem
    fewer = {"function": data["function"][1:], "knob": data["knob"][1:]}
    problems = list(page.left_out(fewer))
    assert "function 1 is in 0 rows" in problems
    assert "no row is about the knob XLA_COMPILATION_CACHE_SIZE" in problems
    twice = {"function": [*data["function"], data["function"][0]], "knob": data["knob"]}
    assert "function 1 is in 2 rows" in page.left_out(twice)


def test_the_logs_of_a_row_are_those_that_contain_one_of_its_actions(
    page: ModuleType, data: dict
) -> None:
    rows = {row.n: row for row in data["function"]}
    assert rows["17"].logs == ["eager"]
    assert set(rows["6, 26"].logs) == {"eager", "rng"}
    assert rows["2"].logs == []
