"""Whether the state of a counterexample to induction can be reached: the explorer is asked."""

from collections.abc import Iterator, Sequence

from markstep.spec.design import Design
from markstep.spec.machine import step
from markstep.spec.rules.transfer import buffers_in_use
from markstep.spec.search.alphabet import Bound, moves
from markstep.spec.search.canonical import canonical, pack, unpack
from markstep.spec.state import State

PATIENCE = 4_000
"""So many states are visited; beyond that, nobody knows."""


def reached(states: Sequence[State], design: Design, bound: Bound) -> set[int]:
    """The places of those states that a search from the start meets, up to renaming."""
    wanted: dict[bytes, list[int]] = {}
    for i, state in enumerate(states):
        wanted.setdefault(pack(canonical(state)), []).append(i)
    found: set[int] = set()
    for key in visited(design, bound):
        found.update(wanted.pop(key, []))
        if not wanted:
            break
    return found


def visited(design: Design, bound: Bound) -> Iterator[bytes]:
    """Reachable states, the nearest first, as packed canonical keys."""
    first = pack(canonical(State()))
    seen, queue = {first}, [first]
    for key in queue:
        yield key
        for after in successors(unpack(key), design, bound):
            new = pack(canonical(after))
            if new not in seen and len(seen) < min(PATIENCE, bound.max_states):
                seen.add(new)
                queue.append(new)


def successors(state: State, design: Design, bound: Bound) -> Iterator[State]:
    """The states after one step that are within the bound."""
    for action in moves(state, design, bound):
        after = step(state, action, design)
        if after is None or sum(record.live for record in after.records) > bound.records:
            continue
        if buffers_in_use(after).bit_count() <= bound.buffers:
            yield after
