"""What canonical forms are made of: words, comparisons, orders and names, as expressions."""

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import TypeAlias

from markstep.spec.compiled.layout import FOREIGN_OWNER
from markstep.spec.proofs.expressions import Expr, const, ite, make
from markstep.spec.state import NO_OWNER, NONE, SCALAR_OWNER

Part: TypeAlias = tuple[Expr, int]
"""A value that is not negative, and how many bits it has."""
WIDTH = 7
"""Bits of a word of a signature: words are small numbers of either sign on every backend."""


def eq(a: Expr, b: Expr | int) -> Expr:
    """Equality."""
    return make("eq", a, b if isinstance(b, Expr) else const(b))


def both(a: Expr, b: Expr) -> Expr:
    """Conjunction."""
    return make("and", a, b)


def has(mask: Expr, row: int) -> Expr:
    """Whether a mask holds a row."""
    return make("not", eq(make("bitand", mask, const(1 << row)), 0))


def union(parts: Iterable[Expr]) -> Expr:
    """Of parts of which at most one is not zero, or of masks: their union."""
    found = list(parts)
    op = "or" if all(part.logical for part in found) else "bitor"
    total = const(0)
    for part in found:
        total = make(op, total, part)
    return total


def shifted(e: Expr, by: int) -> Expr:
    """A value that is not negative, some bits further up."""
    return make("shl", e, const(by)) if by else e


def words(parts: Iterable[Part], width: int = WIDTH) -> list[Expr]:
    """Values beside each other in as few words as their order allows."""
    found: list[Expr] = []
    room = 0
    for e, bits in parts:
        if bits > room:
            found.append(const(0))
            room = width
        room -= bits
        found[-1] = make("bitor", found[-1], shifted(e, room))
    return found


def less(a: Sequence[Expr], b: Sequence[Expr]) -> tuple[Expr, Expr]:
    """(a < b, a = b) of two sequences of words."""
    smaller, same = const(0), const(1)
    for x, y in zip(a, b, strict=True):
        smaller = make("or", smaller, both(same, make("lt", x, y)))
        same = both(same, eq(x, y))
    return smaller, same


class Order:
    """Items in order of their signatures; equal ones stay as they are."""

    def __init__(self, signatures: Sequence[Sequence[Expr]]) -> None:
        self.size = len(signatures)
        position = [const(0)] * self.size
        rank = [const(0)] * self.size
        self.same: dict[tuple[int, int], Expr] = {}
        for i, j in combinations(range(self.size), 2):
            smaller, same = less(signatures[j], signatures[i])
            larger = make("not", make("or", smaller, same))
            self.same[i, j] = same
            position[i] = make("add", position[i], smaller)
            position[j] = make("add", position[j], make("not", smaller))
            rank[i] = make("add", rank[i], smaller)
            rank[j] = make("add", rank[j], larger)
        self.position, self.rank = position, rank
        self.at = [[eq(p, v) for v in range(self.size)] for p in position]
        """at[old][new]"""
        self.bit = [
            union(ite(there, const(1 << v), const(0)) for v, there in enumerate(row))
            for row in self.at
        ]

    def place(self, values: Sequence[Expr]) -> list[Expr]:
        """Values of old rows by new row."""
        return [
            union(ite(self.at[old][new], e, const(0)) for old, e in enumerate(values))
            for new in range(self.size)
        ]

    def mask(self, mask: Expr) -> Expr:
        """A mask of old rows as one of new rows."""
        return union(ite(has(mask, old), self.bit[old], const(0)) for old in range(self.size))

    def row(self, row: Expr) -> Expr:
        """The new row of an old row; NONE stays."""
        found = const(0)
        for old in range(self.size):
            place = make("add", self.position[old], const(1))
            found = make("bitor", found, ite(eq(row, old), place, const(0)))
        return make("add", found, const(NONE))


def bit_count(mask: Expr, size: int) -> Expr:
    """How many rows a mask holds."""
    total = const(0)
    for row in range(size):
        total = make("add", total, has(mask, row))
    return total


Known: TypeAlias = Sequence[tuple[Expr, Expr, Expr]]
"""(whether it counts, old id, new id)."""


def named(id: Expr, known: Known) -> Expr:
    """The new id of an old one that is known."""
    found = const(0)
    for there, old, new in reversed(known):
        found = ite(both(there, eq(id, old)), new, found)
    return found


def owner_named(id: Expr, known: Known) -> Expr:
    """The new id of an owner slot."""
    nobody = make("or", eq(id, NO_OWNER), eq(id, SCALAR_OWNER))
    found = named(id, known)
    known_one = make("not", eq(found, 0))
    return ite(nobody, id, ite(known_one, found, const(FOREIGN_OWNER)))
