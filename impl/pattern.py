"""A graph of a form that is known is recognised by comparing; it need not be walked.

Training runs the same wide and shallow graph over and over. To walk it takes several steps of
Python for each edge; to compare it with what is known takes a few passes over lists. The answer
is exact: what is recognised is what ``discover`` would have found.
"""

from collections.abc import Callable, Iterator
from itertools import chain
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

from markstep.impl.graph import Form, Graph
from markstep.impl.node import Buffer, Node

WIDE: Final = 2
"""Ops for each layer, from which on comparing is no slower than walking."""

Pick: TypeAlias = Callable[[list[Node]], tuple[Any, ...]]
"""Takes what is at certain positions out of the uses (see ``Form.places``)."""


class Layer(NamedTuple):
    """Some ops that are discovered before any of their operands is looked at.

    ``ops``: where each occurs first; ``arities``: how many operands each has.
    """

    ops: Pick
    arities: list[int]


class Pattern(NamedTuple):
    """A form, prepared for comparing.

    ``parameters``: where each occurs first. ``again``: where something occurs that has occurred
    before, and ``before``: where it did so first.
    """

    form: Form
    layers: list[Layer]
    parameters: Pick
    again: Pick
    before: Pick


Patterns: TypeAlias = dict[int, Pattern]
"""By the number of roots: that of the last such graph that was compiled."""


def pattern_of(form: Form) -> Pattern | None:
    """How to recognise this form; None if it is so deep and narrow that a walk is as fast."""
    first: dict[int, int] = {}
    for position, place in enumerate(form.places):
        first.setdefault(place, position)
    layers = list(_layers(form, first))
    if len(form.ops) < WIDE * len(layers):
        return None
    again = [(place, first[use]) for place, use in enumerate(form.places) if first[use] != place]
    return Pattern(
        form,
        layers,
        _pick([first[~number] for number in range(len(form.parameters))]),
        _pick([place for place, _ in again]),
        _pick([place for _, place in again]),
    )


def _layers(form: Form, first: dict[int, int]) -> Iterator[Layer]:
    """The roots, what they use and was not among them, and so on."""
    begin, looked_at = 0, form.arities[0]
    while begin < len(form.ops):
        end = begin
        while end < len(form.ops) and first[end] < looked_at:
            end += 1
        arities = list(form.arities[1 + begin : 1 + end])
        yield Layer(_pick([first[number] for number in range(begin, end)]), arities)
        begin, looked_at = end, looked_at + sum(arities)


def _pick(positions: list[int]) -> Pick:
    # an itemgetter is fast, and gives a tuple only if there are several positions
    if len(positions) > 1:
        return itemgetter(*positions)
    return lambda uses: tuple(uses[position] for position in positions)


def recognise(patterns: Patterns, roots: list[Node]) -> Graph | None:
    """What ``discover`` finds, if the graph has the form that is known for so many roots."""
    pattern = patterns.get(len(roots))
    if pattern is None:
        return None
    uses, nodes = list(roots), list[Node]()
    for layer in pattern.layers:
        ops = layer.ops(uses)
        operands = [node.operands for node in ops]
        # from here on the uses are as many as the pattern knows, and its positions exist
        if list(map(len, operands)) != layer.arities:
            return None
        nodes += ops
        uses += chain.from_iterable(operands)
    parameters = pattern.parameters(uses)
    same = (
        [node.op for node in nodes] == list(pattern.form.ops)
        and [leaf.aval for leaf in parameters if type(leaf) is Buffer]
        == list(pattern.form.parameters)
        and [leaf.layout for leaf in parameters] == list(pattern.form.layouts)
        and pattern.again(uses) == pattern.before(uses)
        and len({*nodes, *parameters}) == len(nodes) + len(parameters)
    )
    return Graph(roots, nodes, list(parameters), pattern.form) if same else None
