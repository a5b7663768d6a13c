"""The canonical form as expressions: rows in order of what can be said of them, ids as numbers.

As in `search.canonical`, two states that differ by a renaming get one form. Records are put
in order of a signature that names no other row, then buffers in order of one that names records.
Records whose signatures are equal are told of (`Form.tie`): then all their orders have to be tried.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

from markstep.spec.compiled.layout import FOREIGN_OWNER, IMPLIED, RECORD_FIELDS, SORTS, Layout
from markstep.spec.compiled.ordering import (
    Order,
    Part,
    bit_count,
    both,
    eq,
    has,
    named,
    owner_named,
    shifted,
    union,
    words,
)
from markstep.spec.proofs.expressions import Expr, const, ite, make
from markstep.spec.sorts import Sort
from markstep.spec.state import NONE

Fields: TypeAlias = Mapping[str, Expr]
EMPTY = {Sort.BUFFER: NONE, Sort.RECORD: NONE, Sort.EXECUTION_ID: 0}
"""What says that a field names nothing."""


@dataclass(frozen=True)
class Form:
    """A renamed state."""

    bytes: list[Expr]
    """The packed state."""
    tie: Expr
    """Whether another order of the records is as good."""
    outside: Expr
    """Whether more buffers are in use than a packed state has."""
    full: Expr
    """Whether more buffers are in use than the bound allows."""


class Renaming:
    """The canonical form of the state after a step."""

    def __init__(
        self, layout: Layout, ends: Fields, spare: int, order: Sequence[int], room: int
    ) -> None:
        self.layout, self.buffers = layout, layout.buffers + spare
        self.f, self.room = dict(ends), room
        self.old_order = order
        """The order in which records with equal signatures stay."""

    def form(self) -> Form:
        """The packed canonical state."""
        self.drop_what_nothing_refers_to()
        tie = self.order_records()
        self.rename_ids()
        self.rename_executions()
        self.order_buffers()
        outside = self.more_than(self.layout.buffers)
        return Form(self.packed(), tie, outside, self.more_than(self.room))

    def more_than(self, room: int) -> Expr:
        """Whether more buffers are in use than there is room for."""
        if self.buffers <= room:
            return const(0)
        return make("lt", const(room), bit_count(self.f["used"], self.buffers))

    def drop_what_nothing_refers_to(self) -> None:
        """Masks and rows name only records that live and buffers that are in use."""
        f = self.f
        live = [f[f"record{r}.live"] for r in range(self.layout.records)]
        living = union(ite(e, const(1 << r), const(0)) for r, e in enumerate(live))
        used = f["used"]
        for path, sort in self.sorted_paths():
            if sort == Sort.RECORDS:
                f[path] = make("bitand", f[path], living)
            elif sort == Sort.BUFFERS:
                f[path] = make("bitand", f[path], used)

    def sorted_paths(self) -> list[tuple[str, Sort]]:
        """Every field and its sort."""
        rows = [f"record{r}" for r in range(self.layout.records)]
        rows += [f"buffer{b}" for b in range(self.buffers)]
        found = [(f"{p}.{n}", s) for p in rows for n, s in SORTS[p.rstrip("0123456789")].items()]
        return found + self.single_paths()

    def single_paths(self) -> list[tuple[str, Sort]]:
        """The same of what there is once."""
        parts = ("execution", "device", "call")
        found = [(f"{part}.{n}", sort) for part in parts for n, sort in SORTS[part].items()]
        return [("lost", Sort.RECORDS), *found]

    def order_records(self) -> Expr:
        """Put the records in order; whether another order is as good."""
        f, old_order = self.f, self.old_order
        signatures = [self.record_signature(r) for r in old_order]
        order = Order(signatures)
        tie = const(0)
        for (i, _), same in order.same.items():
            tie = make("or", tie, both(same, f[f"record{old_order[i]}.live"]))
        for name in (*RECORD_FIELDS, "live", "id"):
            none = 1 if SORTS["record"].get(name) == Sort.BUFFER else 0  # makes NONE positive
            olds = [make("add", f[f"record{r}.{name}"], const(none)) for r in old_order]
            for new, e in enumerate(order.place(olds)):
                f[f"record{new}.{name}"] = make("add", e, const(-none))
        table = {old: position for position, old in enumerate(old_order)}
        for path, sort in self.single_paths():
            if sort == Sort.RECORDS:
                bits = [
                    ite(has(f[path], old), order.bit[at], const(0)) for old, at in table.items()
                ]
                f[path] = union(bits)
            elif sort == Sort.RECORD:
                places = [
                    ite(eq(f[path], old), make("add", order.position[at], const(1)), const(0))
                    for old, at in table.items()
                ]
                f[path] = make("add", union(places), const(NONE))
        return tie

    def record_signature(self, r: int) -> list[Expr]:
        """What can be said of a record without naming another row."""
        f = self.f
        count, buffers = self.layout.names.bit_length(), self.buffers.bit_length()
        own = {name: f[f"record{r}.{name}"] for name in SORTS["record"]}
        parts: list[Part] = [
            (make("not", own["live"]), 1),
            (f[f"record{r}.names"], count),
        ]
        refs = [name for name, sort in SORTS["record"].items() if sort == Sort.BUFFER]
        for name, sort in SORTS["record"].items():
            if sort == Sort.BUFFERS:
                parts.append((bit_count(own[name], self.buffers), buffers))
            elif sort == Sort.RECORD_ID:
                parts.append((eq(own[name], own["id"]), 1))
            elif sort in EMPTY:
                parts.append((eq(own[name], EMPTY[sort]), 1))
            elif name not in IMPLIED:
                parts.append((own[name], self.layout.places[f"record{r}.{name}"].bits))
        parts += [(eq(own[a], own[b]), 1) for a, b in combinations(refs, 2)]
        for path, sort in self.single_paths():
            if sort in (Sort.RECORDS, Sort.RECORD):
                names = has(f[path], r) if sort == Sort.RECORDS else eq(f[path], r)
                parts.append((names, 1))
        return words(parts)

    def rename_ids(self) -> None:
        """A record has its row's number; an ancestor that is gone the next free one."""
        f, n = self.f, self.layout.records
        ids = [f[f"record{r}.id"] for r in range(n)]
        live = [f[f"record{r}.live"] for r in range(n)]
        known = [(both(live[r], const(1)), ids[r], const(r + 1)) for r in range(n)]
        gone, count = [], const(n + 1)
        for r in range(n):
            alias = f[f"record{r}.alias_id"]
            is_known = const(0)
            for there, id, _ in known:
                is_known = make("or", is_known, both(there, eq(alias, id)))
            new = both(live[r], make("not", is_known))
            gone.append((new, alias, count))
            known.append((new, alias, count))
            count = make("add", count, new)
        self.owner_names = known
        for r in range(n):
            f[f"record{r}.alias_id"] = ite(
                live[r], named(f[f"record{r}.alias_id"], known), const(0)
            )
        for b in range(self.buffers):
            f[f"buffer{b}.owner"] = owner_named(f[f"buffer{b}.owner"], known)

    def rename_executions(self) -> None:
        """Executions are numbered by age."""
        f = self.f
        paths = [f"record{r}.error" for r in range(self.layout.records)] + ["execution.id"]
        olds = [f[path] for path in paths]
        first = []
        for i, old in enumerate(olds):
            again = eq(old, 0)
            for other in olds[:i]:
                again = make("or", again, eq(old, other))
            first.append(make("not", again))
        for path, old in zip(paths, olds, strict=True):
            place = const(1)
            for new, other in zip(first, olds, strict=True):
                place = make("add", place, both(new, make("lt", other, old)))
            f[path] = ite(eq(old, 0), const(0), place)

    def order_buffers(self) -> None:
        """Put the buffers in order, those in use first."""
        f, numbers = self.f, range(self.buffers)
        self.is_used = [has(f["used"], b) for b in numbers]
        plain = [self.buffer_signature(b) for b in numbers]
        rank = Order(plain).rank
        order = Order([[*plain[b], *self.recipe_signature(b, rank)] for b in numbers])
        self.buffer_order = order
        for path, sort in self.sorted_paths():
            if sort == Sort.BUFFERS:
                f[path] = order.mask(f[path])
            elif sort == Sort.BUFFER:
                held = both(make("le", const(0), f[path]), self.names_used(f[path]))
                f[path] = ite(held, order.row(f[path]), const(NONE))

    def names_used(self, row: Expr) -> Expr:
        """Whether a row is one of a buffer in use."""
        found = const(0)
        for b, used in enumerate(self.is_used):
            found = make("or", found, both(eq(row, b), used))
        return found

    def buffer_signature(self, b: int) -> list[Expr]:
        """What can be said of a buffer without naming another."""
        f = self.f
        owners = (2 * self.layout.records + 2).bit_length()
        parts: list[Part] = [(make("not", self.is_used[b]), 1)]
        for name, sort in SORTS["buffer"].items():
            if sort == Sort.RECORD_ID:
                parts.append((make("add", f[f"buffer{b}.{name}"], const(-FOREIGN_OWNER)), owners))
            elif sort not in (Sort.BUFFER, Sort.BUFFERS):
                bits = self.layout.places[f"buffer0.{name}"].bits
                parts.append((f[f"buffer{b}.{name}"], bits))
        others = [path for path in self.sorted_paths() if not path[0].startswith("buffer")]
        for path, sort in others:
            if sort in (Sort.BUFFERS, Sort.BUFFER):
                names = has(f[path], b) if sort == Sort.BUFFERS else eq(f[path], b)
                parts.append((names, 1))
        return words(parts)

    def recipe_signature(self, b: int, rank: Sequence[Expr]) -> list[Expr]:
        """Which buffers, by their ranks, a buffer names, and which name it."""
        numbers = range(self.buffers)
        bits = [union(ite(eq(e, v), const(1 << v), const(0)) for v in numbers) for e in rank]
        fields = [n for n, sort in SORTS["buffer"].items() if sort in (Sort.BUFFER, Sort.BUFFERS)]
        found = [
            union(ite(self.names(b, name, i), bits[i], const(0)) for i in numbers)
            for name in fields
        ]
        named_by = const(0)
        for name in fields:
            for i in numbers:
                here = both(self.is_used[i], self.names(i, name, b))
                named_by = make("bitor", named_by, ite(here, bits[i], const(0)))
        return [*found, named_by]

    def names(self, b: int, name: str, other: int) -> Expr:
        """Whether a field of a buffer names another."""
        e = self.f[f"buffer{b}.{name}"]
        return has(e, other) if SORTS["buffer"][name] == Sort.BUFFERS else eq(e, other)

    def packed(self) -> list[Expr]:
        """The bytes of the state, rows in their new order."""
        f, layout, order = self.f, self.layout, self.buffer_order
        found = [const(0)] * layout.size

        def put(path: str, e: Expr) -> Expr:
            place = layout.places[path]
            code = make("add", e, const(-place.least)) if place.least else e
            return shifted(code, place.shift)

        for path, place in layout.places.items():
            if not path.startswith(("record", "buffer")):
                found[place.byte] = make("bitor", found[place.byte], put(path, f[path]))
        for r in range(layout.records):
            row = self.row_bytes(f"record{r}", "record0", RECORD_FIELDS)
            for byte, e in row.items():
                found[byte + r * len(row)] = ite(f[f"record{r}.live"], e, const(0))
        rows = [
            self.row_bytes(f"buffer{b}", "buffer0", SORTS["buffer"]) for b in range(self.buffers)
        ]
        for byte in rows[0]:
            ordered = order.place(
                [ite(self.is_used[b], row[byte], const(0)) for b, row in enumerate(rows)]
            )
            for new, e in enumerate(ordered[: layout.buffers]):
                found[byte + new * len(rows[0])] = e
        return found

    def row_bytes(self, part: str, first: str, names: Iterable[str]) -> dict[int, Expr]:
        """The bytes of a row, by where those of the first row of its kind lie."""
        found: dict[int, Expr] = {}
        for name in names:
            place = self.layout.places[f"{first}.{name}"]
            code = make("add", self.f[f"{part}.{name}"], const(-place.least))
            found[place.byte] = make(
                "bitor", found.get(place.byte, const(0)), shifted(code, place.shift)
            )
        return found
