"""The benchmark says which of its figures miss what is wanted."""

import numpy as np
import pytest

from markstep.conformance.benchmark import Row, direct_sgd, lazy_sgd


@pytest.mark.parametrize(
    ("row", "wanted", "missed"),
    [
        (Row("step", "ratio", 2.0, "×", at_most=2), "≤ 2", False),
        (Row("step", "ratio", 2.1, "×", at_most=2), "≤ 2", True),
        (Row("law", "steps", 19_999, "per s", at_least=20_000), "≥ 20000", True),
        (Row("law", "steps", 20_000, "per s", at_least=20_000), "≥ 20000", False),
        (Row("step", "time", 1e9, "µs"), "", False),
    ],
)
def test_a_figure_says_when_it_misses_its_bound(row, wanted, missed):
    assert row.line().endswith("missed") == row.plain()["missed"] == missed
    assert wanted in row.line()


def test_all_steps_of_gradient_descent_compute_the_same():
    start = [np.full((2, 2), number, np.float32) for number in (1, 2)]
    results = []
    for step in (lazy_sgd(start, scaled=True), lazy_sgd(start, scaled=False), direct_sgd(start)):
        for _ in range(3):
            values = step()
        results.append([np.asarray(value) for value in values])
    np.testing.assert_allclose(results[0], results[2], rtol=1e-6)
    np.testing.assert_allclose(results[1], results[2], rtol=1e-6)
