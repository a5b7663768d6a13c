"""Facts about single functions of the law, proved by running them on symbols.

They need no induction: a decision about one record, the keys of small graphs, the chain of seeds.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from markstep.spec.design import SOUND, TORCH_XLA_2_9, Design
from markstep.spec.invariants.lemmas import well_formed
from markstep.spec.ir import Roots, graph_key, number_parameters, ordered, program_of
from markstep.spec.proofs import tiling
from markstep.spec.proofs.expressions import Expr, const, make
from markstep.spec.proofs.merging import merging
from markstep.spec.proofs.solver import Solver, where_different, where_equal, where_false, word
from markstep.spec.proofs.states import Case, unknown
from markstep.spec.proofs.symbolic import Run, follow, lift
from markstep.spec.randomness import next_step_seed
from markstep.spec.rules import sync
from markstep.spec.search.small_graphs import small_graphs
from markstep.spec.state import NONE, Phase, State
from markstep.spec.vocabulary import IrKind

OPS = 2
"""Graphs have up to so many ops."""
MODULUS = 2**64


@dataclass(frozen=True)
class Fact:
    """One fact: its name, what it says, and a search for what speaks against it."""

    name: str
    statement: str
    against: Callable[[], str | None]
    """Gives a counterexample in words, or None."""


FACTS: list[Fact] = []


def fact(name: str) -> Callable[[Callable[[], str | None]], Callable[[], str | None]]:
    """Make a search for a counterexample a fact; its docstring is the statement."""

    def register(against: Callable[[], str | None]) -> Callable[[], str | None]:
        FACTS.append(Fact(name, " ".join((against.__doc__ or "").split()), against))
        return against

    return register


@dataclass(frozen=True)
class Decision:
    """What collection does with one record, as expressions over the state before."""

    before: State
    done: dict[str, Expr]
    """For each thing that it can do, whether it does it."""


def decision(prefix: str) -> Decision:
    """`collect_record` of the law, run on a record and a call of which nothing is known."""
    before, s = (fresh_collection(prefix) for _ in range(2))
    result = follow(Run([]), lambda: sync.collect_record(s, 0, SOUND))
    record, old = s.records[0], before.records[0]
    done = {
        "raise": lift(result == 0),
        "evaluate": lift(s.call.outputs != 0),
        "upload": lift(s.call.uploads != 0),
        "take the leaf as handle": lift(record.handle != old.handle),
    }
    return Decision(before, done)


def fresh_collection(prefix: str) -> State:
    """A call that has collected nothing yet."""
    s = unknown(Case(1, 1, Phase.COLLECT, False), prefix)
    s.call.outputs = s.call.uploads = s.call.params = s.call.borrowers = 0
    return s


def assume_well_formed(solver: Solver, s: State) -> None:
    """Of the record nothing else is known but lemma I94."""
    solver.add(lift(follow(Run([]), lambda: well_formed(s.records[0]))))


def example_of(solver: Solver) -> str | None:
    """An assignment that agrees with what a solver knows, in words."""
    example = solver.example([])
    if example is None:
        return None
    return ", ".join(f"{e.name} = {value}" for e, value in example.complete().items())


@fact("sync decision: total")
def decision_is_total() -> str | None:
    """For every record and configuration, collection does at most one of: take the leaf as handle,
    evaluate, queue an upload, raise; it does none only if there is a handle already, or if no force
    is asked for and there is no pending work."""
    with merging(1, 1):
        found = decision("")
        record, call = found.before.records[0], found.before.call
        solver, done = Solver(), list(found.done.values())
        assume_well_formed(solver, found.before)
        twice = [make("and", a, b) for i, a in enumerate(done) for b in done[:i]]
        idle = lift(record.handle == NONE)
        for e in done:
            idle = make("and", idle, make("not", e))
        pending = make("or", lift(call.force == 1), lift(record.ir != IrKind.NONE))
        solver.add(any_of([*twice, make("and", idle, pending)]))
        return example_of(solver)


@fact("sync decision: deterministic")
def decision_is_determined() -> str | None:
    """What collection does with a record depends on nothing but: has it a handle, the kind of its
    ir, the clone mark, a host copy, and whether the call has force."""
    with merging(1, 1):
        one, other = decision("one."), decision("other.")
        solver = Solver()
        for s in (one.before, other.before):
            assume_well_formed(solver, s)
        for a, b in zip(looked_at(one.before), looked_at(other.before), strict=True):
            solver.add(make("eq", a, b))
        pairs = zip(one.done.values(), other.done.values(), strict=True)
        solver.add(any_of([make("not", make("eq", a, b)) for a, b in pairs]))
        return example_of(solver)


def looked_at(s: State) -> list[Expr]:
    """What the decision may depend on."""
    record = s.records[0]
    fields = (record.handle == NONE, record.ir, record.is_cloned, record.host, s.call.force)
    return [lift(field) for field in fields]


def any_of(parts: list[Expr]) -> Expr:
    """Whether one of some expressions is true."""
    found = const(0)
    for part in parts:
        found = make("or", found, part)
    return found


def meaning(roots: Roots) -> list[Any]:
    """What the program of a graph gives for contents of which nothing is known."""
    buffers, _ = number_parameters(ordered(roots))
    contents: Any = tuple([(word(f"parameter {i}"),) for i in range(len(buffers))])
    return [number for value in program_of(roots).run(contents) for number in value or ()]


def collisions(design: Design) -> Iterator[tuple[Roots, Roots, str]]:
    """Graphs with equal keys, and contents on which their programs differ."""
    seen: dict[object, Roots] = {}
    for roots in small_graphs(OPS):
        other = seen.setdefault(graph_key(design, True, roots, ()), roots)
        if other is roots:
            continue
        for a, b in zip(meaning(other), meaning(roots), strict=True):
            if (contents := where_different(a, b)) is not None:
                yield other, roots, f"{contents}"
                break


@fact("keys: equal key, equal program")
def keys_tell_programs_apart() -> str | None:
    """With the positions of all operands in the key, graphs of up to two ops that have one key
    compute the same function, whatever their parameters hold."""
    found = next(collisions(SOUND), None)
    return None if found is None else f"{shown(found[0])} and {shown(found[1])}: {found[2]}"


def shown(roots: Roots) -> str:
    """A graph in words."""
    number = {node: i for i, node in enumerate(ordered(roots))}
    lines = [
        f"%{i} = {node.op}({', '.join(f'%{number[o]}' for o in node.operands)})"
        + (f" of buffer {node.buffer}" if node.buffer >= 0 else "")
        for node, i in number.items()
    ]
    return "; ".join(lines) + " → " + ", ".join(f"%{number[root]}" for root in roots)


@fact("keys: the wiring of torch_xla collides")
def leaf_sequences_collide() -> str | None:
    """With the sequence of parameter numbers only, as torch_xla 2.9 has it, two graphs with one key
    compute different functions (F01)."""
    found = next(collisions(TORCH_XLA_2_9), None)
    return None if found is not None else "no two graphs collide"


def factors() -> tuple[int, int]:
    """The step of the seed is seed ↦ (factor · seed + summand) mod 2⁶⁴ with these numbers."""
    summand = next_step_seed(0)
    return (next_step_seed(1) - summand) % MODULUS, summand


@fact("seeds: linear")
def steps_are_linear() -> str | None:
    """The seed after a step barrier is a linear function of the seed before, modulo 2⁶⁴."""
    factor, summand = factors()
    x: Any = word("seed")
    return told(where_different(next_step_seed(x), x * factor + summand))


@fact("seeds: injective")
def steps_are_injective() -> str | None:
    """Different seeds have different successors: a step can be undone."""
    factor, summand = factors()
    x: Any = word("seed")
    back = (next_step_seed(x) - summand) * pow(factor, -1, MODULUS)
    return told(where_different(back, x))


@fact("seeds: never stuck")
def steps_move() -> str | None:
    """No seed is its own successor."""
    x: Any = word("seed")
    return told(where_equal(next_step_seed(x), x))


@fact("seeds: period")
def seeds_come_back() -> str | None:
    """Every seed comes back after 2⁶⁰ steps and not before. (A full period of 2⁶⁴ is impossible: by
    Hull and Dobell the factor less one would have to be a multiple of 4.)"""
    factor, summand = factors()
    if factor % 4 == 1:
        return "the factor less one is a multiple of 4"
    for _ in range(59):
        factor, summand = twice(factor, summand)
    x = word("seed")
    early = where_equal(x * factor + summand, x)
    factor, summand = twice(factor, summand)
    return told(early) or told(where_different(x * factor + summand, x))


def twice(factor: int, summand: int) -> tuple[int, int]:
    """The linear function applied to its own result."""
    return factor * factor % MODULUS, (factor * summand + summand) % MODULUS


def told(words: dict[str, int] | None) -> str | None:
    """A counterexample in words."""
    return None if words is None else str(words)


def pieces_fact(name: str, claims: Sequence[Callable[..., bool]], statement: str) -> None:
    """Make claims about pieces a fact."""

    def against() -> str | None:
        return next((f"{c.__name__}: {found}" for c in claims if (found := where_false(c))), None)

    FACTS.append(Fact(f"pieces: {name}", statement, against))


pieces_fact(
    "every element once",
    (tiling.covers, tiling.apart),
    "For every size of an axis and every number of tiles, each element is in exactly one tile.",
)
pieces_fact(
    "zeros behind the elements",
    (tiling.inside, tiling.padded_last, tiling.padded_little),
    "A tile begins where the one before ends and is as long as that one; only the last tile that "
    "has elements lacks some, those behind it have none, and all together lack fewer elements than "
    "there are tiles (none if the number of tiles divides the size).",
)
pieces_fact(
    "tiles have one number each",
    (tiling.numbered_once,),
    "However many axes are cut, each tile has a number of its own, row by row from 0 on.",
)
