"""The real payload: graphs, values, the scalar cache, the compilation cache and counters.

Used in lockstep and on recorded logs. It computes what the rules never ask for directly: keys,
values, and the facts that the environment would otherwise choose (`markstep.spec.schedule`).
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from math import prod

from markstep.spec.design import Design, Generator
from markstep.spec.evaluator import Value, evaluate
from markstep.spec.ir import (
    EXPAND,
    HINT,
    RANDOM,
    THREEFRY,
    Node,
    Program,
    constant_node,
    graft,
    graph_key,
    hint_node,
    leaf_node,
    number_parameters,
    op_node,
    ordered,
    program_of,
    sized_node,
    view_node,
)
from markstep.spec.layouts import DEVICES, bytes_of
from markstep.spec.payload import CACHE_CAPACITY, SCALAR_CAPACITY, Payload
from markstep.spec.randomness import (
    FIRST_SEED,
    INCREMENT,
    MULTIPLIER,
    draw,
    next_seed,
    next_step_seed,
)
from markstep.spec.state import NONE, has
from markstep.spec.strides import Step
from markstep.spec.vocabulary import DType, Number, Sharding

ALPHA_OPS = ("add", "sub")
"""Ops that carry the multiplier alpha of ATen as a last, constant operand."""
ELEMENT_BYTES = 4


class GraphPayload(Payload):
    """Everything that is carried along with the control state of one process."""

    def __init__(self) -> None:
        self.counters: dict[str, int] = {}
        self.scalars: OrderedDict[tuple[Number, DType], int] = OrderedDict()
        self.programs: OrderedDict[object, Program] = OrderedDict()
        self.partitions: dict[object, tuple[Sharding, ...]] = {}
        self.asked_shardings: frozenset[object] = frozenset()
        self.numbers = 0
        self.seed = self.running = FIRST_SEED
        self.seed_node: Node | None = None

    def draft(self) -> "GraphPayload":
        copy = GraphPayload.__new__(GraphPayload)
        copy.seed, copy.running, copy.seed_node = self.seed, self.running, self.seed_node
        copy.counters = self.counters.copy()
        copy.scalars = self.scalars.copy()
        copy.programs = self.programs.copy()
        copy.partitions, copy.asked_shardings = self.partitions, self.asked_shardings
        copy.numbers = self.numbers
        return copy

    def share(self, other: Payload) -> None:
        """Counters, programs and the identities of buffers are the process's; seeds and cached
        scalars are each device's own."""
        assert isinstance(other, GraphPayload)
        self.counters, self.programs = other.counters.copy(), other.programs.copy()
        self.partitions, self.asked_shardings = other.partitions, other.asked_shardings
        self.numbers = other.numbers

    # ---- counters ---------------------------------------------------------------------------

    def count(self, counter: str, amount: int = 1) -> None:
        self.counters[counter] = self.counters.get(counter, 0) + amount

    def totals(self) -> Mapping[str, int]:
        return self.counters

    def count_sample(self, metric: str, amount: int) -> None:
        self.count(f"{metric}.n")
        self.count(f"{metric}.sum", amount)

    def count_upload(self, shape: tuple[int, ...], dtype: DType, sharding: Sharding) -> None:
        self.count("CreateDataHandles", 1 if sharding == Sharding.NONE else DEVICES)
        self.count("TransferToDevice")
        size, plain = ELEMENT_BYTES * (1 + (dtype == DType.S64)), sharding == Sharding.NONE
        sent = prod(shape) * size if plain else bytes_of(shape, sharding, size)
        self.count_sample("OutboundData", sent)

    def count_download(
        self, arrays: list[tuple[tuple[int, ...], Sharding]], by_program: bool
    ) -> None:
        for _, sharding in arrays:
            if sharding != Sharding.NONE:
                self.count("ReplicateShardedData")
            if by_program and sharding not in (Sharding.NONE, Sharding.REPLICATED):
                for counter in ("CreateCompileHandles", "CompileTime", "ExecuteReplicatedTime"):
                    self.count(counter)
        self.count_sample("InboundData", sum(prod(shape) for shape, _ in arrays) * ELEMENT_BYTES)

    def count_graph(self, roots: tuple[Node | None, ...]) -> None:
        self.count_sample("TensorsGraphSize", len(ordered(_nodes(roots))))

    def count_run(self, sharded: bool, eager: bool) -> None:
        timer = "EagerOpExecuteTime" if eager else "ExecuteTime"
        self.count("ExecuteReplicatedTime" if sharded else timer)

    def count_execution(self, results: int, counted: bool, sharded: bool) -> None:
        if not sharded:
            self.count("CreateDataHandles", results)
        if counted:
            self.count("ExecuteReplicated" if sharded else "ExecuteComputation")

    def count_shardings(self, key: object) -> None:
        if key not in self.asked_shardings:
            self.asked_shardings |= {key}
            self.count("UncachedOutputSharding")

    # ---- values and nodes -------------------------------------------------------------------

    def registry_order(self, rows: list[int], ids: list[int]) -> list[int]:
        return [row for _, row in sorted(zip(ids, rows, strict=True))]

    def number(self) -> int:
        self.numbers += 1
        return self.numbers

    def host_array(self, value: Value) -> Value | None:
        return tuple(value)

    def plus_one(self, value: Value | None) -> Value | None:
        return None if value is None else tuple(v + 1 for v in value)

    def shape_of(self, node: Node | None) -> tuple[int, ...]:
        return node.shape if node is not None else ()

    def leaf(self, buffer: int, shape: tuple[int, ...], dtype: DType) -> Node | None:
        return leaf_node(buffer, shape, dtype)

    def constant(self, value: Number, dtype: DType) -> Node | None:
        return constant_node(value, dtype)

    def apply(
        self, op: str, operands: tuple[Node | None, ...], hints: tuple[Sharding, ...] = ()
    ) -> Node | None:
        known = _nodes(operands)
        base = op.removesuffix("_scalar")
        if op == "failing_execute":
            zero = op_node("expand_huge", (constant_node(0, known[0].dtype),))
            known, base = (zero, op_node("sum", known)), "add"
        if base in ALPHA_OPS:
            known = (*known, constant_node(1, known[0].dtype))
        return op_node(base, known, hints)

    def hinted(self, node: Node | None, hint: Sharding, sharding: Sharding) -> Node | None:
        return None if node is None else hint_node(node, hint, sharding)

    def viewed(self, nodes: tuple[Node | None, ...], step: Step) -> Node | None:
        return None if None in nodes else view_node(_nodes(nodes), step)

    def meaning(self, node: Node | None, values: tuple[Value | None, ...]) -> Value | None:
        if node is None or len(node.operands) < len(values):
            return None
        if any(operand.op == "expand_huge" for operand in node.operands):
            return None
        return evaluate(node.op, values, tuple(operand.shape for operand in node.operands))

    def expand(self, node: Node | None, shape: tuple[int, ...]) -> Node | None:
        if node is None or shape == ():
            return node
        return sized_node(EXPAND, (node,), shape, node.dtype)

    def expanded(self, value: Number, shape: tuple[int, ...]) -> Value | None:
        return (value,) * prod(shape)

    def graft(
        self, roots: tuple[Node | None, ...], buffer: int, recipe: Node | None
    ) -> tuple[Node | None, ...]:
        if recipe is None:
            return roots
        new = iter(graft(_nodes(roots), buffer, recipe))
        return tuple([root if root is None else next(new) for root in roots])

    # ---- seeds ------------------------------------------------------------------------------

    def seed_value(self) -> Value | None:
        return (self.running,)

    def running_seed(self) -> int | None:
        return self.running

    def begin_seed(self, row: int) -> None:
        self.seed_node = leaf_node(row, (), DType.S64)

    def advance_seed(self) -> None:
        self.running = next_seed(self.running)

    def skip_seed(self) -> None:
        self.set_seed(next_seed(self.seed))

    def current_seed(self) -> Node | None:
        return self.seed_node

    def draws_from_next(
        self, node: Node | None, contents: list[Value | None], before: Payload
    ) -> bool:
        assert isinstance(before, GraphPayload)
        if node is None:
            return True
        draw = node.operands[0] if node.op == HINT else node  # how it is to lie is said over it
        seed = draw.operands[-1:]
        rows = number_parameters(ordered(seed))[0]
        given = tuple([contents[row] for row in rows])
        return program_of(seed).run(given) == ((next_seed(before.running),),)

    def next_seed(self) -> Node | None:
        self.advance_seed()
        assert self.seed_node is not None
        constants = (constant_node(MULTIPLIER, DType.S64), constant_node(INCREMENT, DType.S64))
        product = sized_node("seed_mul", (constants[0], self.seed_node), (), DType.S64)
        self.seed_node = sized_node("seed_add", (constants[1], product), (), DType.S64)
        return self.seed_node

    def set_seed(self, seed: int) -> None:
        self.seed = self.running = seed
        self.seed_node = None

    def step_seed(self) -> None:
        self.set_seed(next_step_seed(self.seed))

    def seeds_are_right(self, seed: Value | None) -> bool:
        if self.seed_node is None:
            return self.running == self.seed
        return program_of((self.seed_node,)).run((seed,)) == ((self.running,),)

    def seed_follows(self, before: Payload) -> bool:
        assert isinstance(before, GraphPayload)
        return self.seed == self.running == next_step_seed(before.seed)

    def random(
        self, design: Design, bound: Node | None, seed: Node | None, shape: tuple[int, ...]
    ) -> Node | None:
        known = design.generator == Generator.THREEFRY
        operands = _nodes((constant_node(0, DType.S64), bound, seed))
        return sized_node(THREEFRY if known else RANDOM, operands, shape, DType.F32)

    def drawn(self, node: Node | None, bound: int) -> Value | None:
        if node is None or node.op != THREEFRY:
            return None
        return draw(self.running, bound, prod(node.shape))

    # ---- caches -----------------------------------------------------------------------------

    def scalar_facts(self, value: Number, dtype: DType) -> tuple[int, int]:
        """(row at which the scalar cache has a number, row that the number would displace)."""
        found = self.scalars.get((value, dtype), NONE)
        full = len(self.scalars) >= SCALAR_CAPACITY
        return found, next(iter(self.scalars.values())) if full and found == NONE else NONE

    def use_scalar(self, value: Number, dtype: DType) -> None:
        self.scalars.move_to_end((value, dtype))

    def forget_scalar(self, row: int) -> None:
        self.scalars = OrderedDict((k, r) for k, r in self.scalars.items() if r != row)

    def remember_scalar(self, value: Number, dtype: DType, row: int) -> None:
        self.scalars[value, dtype] = row

    def number_parameters(self, roots: tuple[Node | None, ...], mask: int) -> tuple[int, ...]:
        return number_parameters(ordered(_nodes(roots)))[0]

    def key(
        self,
        design: Design,
        force: bool,
        roots: tuple[Node | None, ...],
        leaves: tuple[int, ...],
        donors: int,
        layout: object = None,
    ) -> object:
        positions = tuple(i for i, row in enumerate(leaves) if has(donors, row))
        key = graph_key(design, force, _nodes(roots), positions)
        return key if layout is None else (key, layout)

    def peek(self, key: object) -> Program | None:
        return self.programs.get(key)

    def find(self, key: object) -> Program | None:
        program = self.programs.get(key)
        if program is not None:
            self.programs.move_to_end(key)
        return program

    def own_program(self, roots: tuple[Node | None, ...]) -> Program | None:
        return program_of(_nodes(roots))

    def compile(
        self,
        key: object,
        roots: tuple[Node | None, ...],
        leaves: tuple[int, ...],
        shardings: tuple[Sharding, ...] = (),
        spmd: bool = False,
    ) -> Program | None:
        program = replace(program_of(_nodes(roots)), shardings=shardings, spmd=spmd)
        self.programs[key] = program
        if len(self.programs) > CACHE_CAPACITY:
            self.programs.popitem(last=False)
        return program

    def settle(self, key: object, choice: tuple[Sharding, ...]) -> None:
        if key not in self.partitions:
            self.partitions = {**self.partitions, key: choice}

    def settled(self, key: object) -> tuple[Sharding, ...] | None:
        return self.partitions.get(key)

    def cached_programs(self) -> int:
        return len(self.programs)

    def evict(self) -> None:
        self.programs.clear()

    def run(
        self,
        program: Program | None,
        contents: tuple[Value | None, ...],
        shardings: tuple[Sharding, ...] = (),
    ) -> tuple[Value | None, ...]:
        if program is None:
            return ()
        if program.spmd and program.shardings != shardings:
            return (None,) * len(program.roots)
        return program.run(contents)


def _nodes(nodes: tuple[Node | None, ...]) -> tuple[Node, ...]:
    return tuple(node for node in nodes if node is not None)
