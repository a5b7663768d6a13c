"""A graph is recognised exactly where walking it would have found the known form."""

import random

import numpy as np
from executor_cases import data

from markstep.impl import Executor
from markstep.impl import syncing as syncing_module
from markstep.impl.aval import aval_of
from markstep.impl.graph import discover
from markstep.impl.node import Buffer, new_node
from markstep.impl.pattern import pattern_of, recognise
from markstep.impl.table import named

OPS = [named("neg"), named("add"), named("mul")]
AVALS = [aval_of((2,), "float32"), aval_of((), "float32")]


def some_graph(rng):
    """Roots of a small graph; sharing, repeated roots and roots without an op do occur."""
    nodes = [Buffer(rng.choice(AVALS)) for _ in range(rng.randint(1, 3))]
    for _ in range(rng.randint(0, 4)):
        operands = tuple(rng.choices(nodes, k=rng.randint(0, 2)))
        nodes.append(new_node(rng.choice(OPS), operands, AVALS[0]))
    return rng.choices(nodes, k=rng.randint(1, 3))


def test_what_is_recognised_is_what_a_walk_finds():
    rng = random.Random(0)
    graphs = [some_graph(rng) for _ in range(400)]
    patterns = [pattern for roots in graphs[:100] if (pattern := pattern_of(discover(roots).form))]
    recognised = 0
    for pattern in patterns:
        for roots in graphs:
            walked = discover(roots)
            known = recognise({pattern.form.arities[0]: pattern}, roots)
            assert known == (walked if walked.form == pattern.form else None)
            recognised += known is not None
    assert recognised > 2 * len(patterns), "more than each pattern in its own graph"


def test_operands_are_counted_for_each_op():
    x, concat = Buffer(AVALS[0]), named("add")

    def roots(first, second):
        return [new_node(concat, (x,) * n, AVALS[0]) for n in (first, second)]

    pattern = pattern_of(discover(roots(1, 2)).form)
    assert recognise({2: pattern}, roots(1, 2)) is not None
    assert recognise({2: pattern}, roots(2, 1)) is None


def test_a_step_like_the_last_is_not_walked(monkeypatch):
    ex = Executor("xla")
    pairs = [(data(ex), data(ex)) for _ in range(3)]
    walks = []

    def counting(roots):
        walks.append(len(roots))
        return discover(roots)

    monkeypatch.setattr(syncing_module, "discover", counting)
    for _ in range(4):
        for parameter, gradient in pairs:
            parameter -= gradient * 0.5
        ex.mark_step(wait=True)
    assert walks == [3]
    for parameter, gradient in pairs:
        np.testing.assert_allclose(parameter.numpy(), gradient.numpy() * -1.0)


def test_a_deep_and_narrow_graph_has_no_pattern():
    node = Buffer(AVALS[0])
    for _ in range(10):
        node = new_node(OPS[0], (node,), AVALS[0])
    assert pattern_of(discover([node]).form) is None
