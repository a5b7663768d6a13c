"""A step against its size: measured side by side, drawn, and told in a table."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from webpage import checked

from markstep.conformance.benchmarks import sizes
from markstep.conformance.benchmarks.series import Series
from markstep.conformance.html.chart import APART, bench_page, chart, shown, spread


def series(name: str, **times: float) -> Series:
    return Series(name, f"what {name} does", "1.0", {int(n[1:]): s for n, s in times.items()})


def test_executors_take_turns_and_one_that_fails_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order: list[str] = []

    def step(name: str) -> Callable[[int], Callable[[], Any]]:
        return lambda size: lambda: order.append(f"{name}{size}")

    def no_device(size: int) -> Any:
        raise RuntimeError("no usable devices\nand more")

    def too_deep(size: int) -> Callable[[], Any]:
        return lambda: 1 // (2 - size)

    made = {"a": step("a"), "b": step("b"), "none": no_device, "deep": too_deep}
    monkeypatch.setattr(sizes, "EXECUTORS", {n: ("json", m) for n, m in made.items()})
    monkeypatch.setattr(sizes, "REPEATS", 1)
    told: list[str] = []
    found = {one.name: one for one in sizes.measure(told.append, (1, 2, 3))}
    assert order[:6] == ["a1", "b1"] * 3
    assert set(found["a"].seconds) == {1, 2, 3}
    assert found["none"].failed == "1 operations: RuntimeError: no usable devices"
    assert set(found["deep"].seconds) == {1}
    assert found["deep"].failed.startswith("2 operations: ZeroDivisionError")
    assert any(line.startswith("none") for line in told)


def test_one_that_is_slow_is_not_asked_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "EXECUTORS", {"slow": ("json", lambda size: lambda: None)})
    monkeypatch.setattr(sizes, "best", lambda step, repeats: 2.0)
    (slow,) = sizes.measure(lambda line: None, (1, 2))
    assert slow.seconds == {1: 2.0} and not slow.failed


def test_what_is_not_installed_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "EXECUTORS", {"x": ("no_such_package", sizes.reference)})
    assert sizes.measure(lambda line: None, (1,)) == []


def test_labels_stay_apart_and_in_order() -> None:
    places = spread({0: 100.0, 1: 101.0, 2: 50.0, 3: 102.0})
    assert places == {2: 50.0, 0: 100.0, 1: 100.0 + APART, 3: 100.0 + 2 * APART}


def test_every_point_lies_in_the_plot_and_larger_times_are_higher() -> None:
    svg = chart([series("a", n1=1e-5, n100=1e-3), series("b", n1=2e-5, n1000=0.5)], "Times")
    points = [(float(c.get("cx", 0)), float(c.get("cy", 0))) for c in svg.iter("circle")]
    assert len(points) == 4
    view = [float(n) for n in (svg.get("viewBox") or "").split()]
    assert all(0 < x < view[2] and 0 < y < view[3] for x, y in points)
    assert points[0][1] > points[1][1] > points[3][1] and points[0][0] == points[2][0]


@pytest.mark.parametrize(
    ("seconds", "text"), [(1.2345e-5, "12.3 µs"), (9.99e-4, "999 µs"), (0.0456, "45.6 ms")]
)
def test_times_have_three_digits(seconds: float, text: str) -> None:
    assert shown(seconds) == text


def test_the_page_says_what_was_measured_and_what_failed() -> None:
    failed = Series("broken <x>", "does not run", "2.0", failed="1 operations: no device")
    page = checked(bench_page([series("a", n1=1e-5), failed], "Linux", "markstep bench"))
    for text in ("what a does", "10 µs", "broken <x>", "no device", "markstep bench", "Linux"):
        assert text in page.text
    checked(bench_page([failed], "Linux", "markstep bench"))


def test_bench_measures_the_reference_executor_beside_jax(
    markstep: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = {n: e for n, e in sizes.EXECUTORS.items() if e[0] == "jax"}
    monkeypatch.setattr(sizes, "EXECUTORS", mine)
    monkeypatch.setattr(sizes, "SIZES", (1, 3))
    code, out, err = markstep("bench", "--html", "b.html", "--json", "b.json")
    assert (code, err, len(out.splitlines())) == (0, "", 6)
    figures = json.loads(Path("b.json").read_text("utf-8"))["series"]
    assert [one["name"] for one in figures] == ["markstep", "jax.jit", "jax, eager"]
    assert all(set(one["seconds"]) == {"1", "3"} for one in figures)
    page = checked(Path("b.html").read_text("utf-8"))
    assert len(page.named("circle")) == 6
