"""From numbers of packed states to a program: the way is taken once more with the plain rules."""

from collections.abc import Iterator
from itertools import pairwise

from markstep.spec.compiled.exploring import LevelSearch, Sighting
from markstep.spec.compiled.layout import unpack_state
from markstep.spec.invariants import CLAIMS, Step
from markstep.spec.machine import AnyAction, step
from markstep.spec.search.alphabet import cost, moves
from markstep.spec.search.canonical import canonical, pack, unpack
from markstep.spec.search.expand import Path, Searched, only_move, readable
from markstep.spec.state import State


def program_of(search: LevelSearch, claim: str, seen: Sighting) -> tuple[AnyAction, ...]:
    """The program that breaks a claim.

    Raises AssertionError if the plain rules do not go that way: then the generated step is wrong.
    """
    keys = way_to(search, seen.node)
    pieces = [link(*pair, search.program) for pair in pairwise(keys)]
    end = breaking(keys[-1], claim, seen.price, search.program)
    return readable(tuple(a for piece in (*pieces, end) for a in piece), search.program.design)


def way_to(search: LevelSearch, node: int) -> list[bytes]:
    """The plain keys of the visited states on the way to one, itself included."""
    keys = []
    while node >= 0:
        packed = search.visited.states[node].tobytes()
        keys.append(pack(canonical(unpack_state(search.program.layout, packed))))
        node = int(search.parents.values[node])
    return keys[::-1]


def link(before: bytes, after: bytes, program: Searched) -> Path:
    """The steps between two visited states, in the names of the first."""
    for steps in taken(before, program):
        *_, (path, _, end) = steps
        if pack(canonical(end)) == after:
            return path
    raise AssertionError("the rules do not lead where the generated step does")


def breaking(before: bytes, claim: str, price: int, program: Searched) -> Path:
    """Steps from a visited state of which the last breaks a claim."""
    for steps in taken(before, program):
        for path, last, end in steps:
            paid = cost(path[0]) == price
            if paid and not CLAIMS[claim].predicate(Step(last, path[-1], end, program.design)):
                return path
    raise AssertionError(f"the rules keep {claim} where the generated step breaks it")


def taken(key: bytes, program: Searched) -> Iterator[list[tuple[Path, State, State]]]:
    """For each move from a visited state: the steps up to each point, the states around it."""
    state = unpack(key)
    for action in moves(state, program.design, program.bound):
        path: Path = (action,)
        before, found = state, list[tuple[Path, State, State]]()
        after = step(state, action, program.design)
        while after is not None:
            found.append((path, before, after))
            following = only_move(after, program)
            if following is None:
                break
            before, path = after, (*path, following)
            after = step(before, following, program.design)
        if found:
            yield found
