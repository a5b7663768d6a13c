"""How many nodes a search will have: a guess from how its levels grow."""

from collections.abc import Sequence

FAR = 10**12
"""Beyond this nobody waits."""
SETTLED = 3
"""Levels that are needed before their growth says anything."""


def estimated_nodes(levels: Sequence[int], last: int | None) -> int | None:
    """How many nodes all levels up to the length ``last`` will have; None: no idea.

    Levels grow by a factor that itself changes, mostly downwards: the last change is continued. The
    level that is being searched, the last one given, is not complete and counts as at least what
    the continuation of the complete ones says.
    """
    complete = list(levels[:-1])
    if len(complete) < SETTLED or 0 in complete[-SETTLED:]:
        return None
    growth = complete[-1] / complete[-2]
    change = min(1.0, growth / (complete[-2] / complete[-3]))
    total, size = float(sum(complete)), float(complete[-1])
    for length in range(len(complete), FAR if last is None else last + 1):
        growth *= change
        size *= growth
        if length < len(levels):
            size = max(size, levels[length])
        total += size
        if size < 1 or total > FAR:
            break
        if last is None and growth >= 1 and change == 1.0:
            return None
    return int(total) if total <= FAR else None
