"""What programs must never do, at least, so that one design behaves as another.

Every difference between two designs comes with the words of its program; a condition has to exclude
one word of each. The smallest such conditions are tried; each either holds for every program within
the bound, or gives a new difference.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from markstep.spec.design import Design
from markstep.spec.search.refine import Difference, Known, refine

Words: TypeAlias = frozenset[str]


@dataclass
class Conditions:
    """Under which conditions X behaves as Y, within a bound."""

    x: Design
    y: Design
    sufficient: list[Words] = field(default_factory=list)
    """Every minimal condition."""
    differences: list[Difference] = field(default_factory=list)
    """Shortest programs, each under a condition that did not suffice; they show why every word of
    a sufficient condition is needed."""
    hopeless: Difference | None = None
    """A difference that no condition excludes."""
    complete: bool = False
    """Every comparison was carried through, so that there are no other minimal conditions."""


def conditions(
    x: Design, y: Design, known: Known, tell: Callable[[int], bool] = lambda pairs: False
) -> Conditions:
    """Find every minimal condition under which no difference shows within the bound."""
    result = Conditions(x, y)
    while (never := untried(result)) is not None:
        found = refine(x, y, known, never, tell)
        if found.difference is None:
            if not found.exhausted:
                return result
            result.sufficient.append(never)
        elif not found.difference.words:
            result.hopeless = found.difference
            return result
        else:
            result.differences.append(found.difference)
    result.complete = True
    return result


def untried(result: Conditions) -> Words | None:
    """A smallest condition that excludes every known difference and is not known to suffice."""
    sets = hitting_sets([difference.words for difference in result.differences])
    return next((never for never in sets if never not in result.sufficient), None)


def hitting_sets(families: Iterable[Words]) -> Iterator[Words]:
    """Every minimal set that has a word of each of the given sets, smaller ones first."""
    minimal: set[Words] = {frozenset()}
    for words in families:
        hit = {chosen for chosen in minimal if chosen & words}
        grown = {chosen | {word} for chosen in minimal - hit for word in words}
        minimal = hit | {new for new in grown if not any(old < new for old in hit | grown)}
    yield from sorted(minimal, key=lambda chosen: (len(chosen), sorted(chosen)))
