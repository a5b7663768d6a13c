"""The payload: what is only carried, combined and compared (design.md §3).

Two kinds of payload exist. `Payload` itself is the erased one: every operation gives None, which is
what the explorer and the prover use. `markstep.spec.graph.GraphPayload` is the real one: op graphs
with keys, symbolic contents, the compilation cache and counters, used in lockstep and on logs.
Facts about the payload never steer a rule directly; they arrive as arguments of a step.
"""

from collections.abc import Mapping

from markstep.spec.design import Design
from markstep.spec.evaluator import Value
from markstep.spec.ir import Node, Program
from markstep.spec.strides import Step
from markstep.spec.vocabulary import DType, Number, Sharding

CACHE_CAPACITY = 2048
"""Programs that the compilation cache holds by default (XLA_COMPILATION_CACHE_SIZE)."""
SCALAR_CAPACITY = 128
"""Numbers that the scalar cache of a device holds (semantics.md §1.10)."""


class Payload:
    """The erased payload, and the interface of the real one."""

    def draft(self) -> "Payload":
        """A copy that a rule may change."""
        return self

    def share(self, other: "Payload") -> None:
        """Take over what the process shares, as the payload of another device has it."""

    def count(self, counter: str, amount: int = 1) -> None:
        """Add to a counter of semantics.md §1.12."""

    def totals(self) -> Mapping[str, int]:
        """Every counter that has moved."""
        return {}

    def registry_order(self, rows: list[int], ids: list[int]) -> list[int]:
        """Record rows in registration order. Erased: any order is as good as another."""
        return rows

    def number(self) -> int:
        """A fresh identity for a device buffer."""
        return 0

    def count_upload(self, shape: tuple[int, ...], dtype: DType, sharding: Sharding) -> None:
        """Counters of one array sent to the device, or in pieces to all of them."""

    def count_download(
        self, arrays: list[tuple[tuple[int, ...], Sharding]], by_program: bool
    ) -> None:
        """Counters of one device-to-host transfer of arrays, by shape and how they lie."""

    def count_graph(self, roots: tuple[Node | None, ...]) -> None:
        """Sample TensorsGraphSize."""

    def count_sample(self, metric: str, amount: int) -> None:
        """Sample a value metric."""

    def count_run(self, sharded: bool, eager: bool) -> None:
        """Counters of one execution that ended."""

    def count_execution(self, results: int, counted: bool, sharded: bool) -> None:
        """Counters of one execution that ended well."""

    def host_array(self, value: Value) -> Value | None:
        """An array given by the program."""
        return None

    def plus_one(self, value: Value | None) -> Value | None:
        """An array after 1 was added to each element."""
        return None

    def shape_of(self, node: Node | None) -> tuple[int, ...]:
        """The shape of a node's result."""
        return ()

    def leaf(self, buffer: int, shape: tuple[int, ...], dtype: DType) -> Node | None:
        """A device_data node over a buffer row."""
        return None

    def constant(self, value: Number, dtype: DType) -> Node | None:
        """An inlined scalar."""
        return None

    def apply(
        self, op: str, operands: tuple[Node | None, ...], hints: tuple[Sharding, ...] = ()
    ) -> Node | None:
        """A pending op. Raises ValueError when the shapes do not fit. ``hints``: the shardings that
        are on the operands now."""
        return None

    def hinted(self, node: Node | None, hint: Sharding, sharding: Sharding) -> Node | None:
        """A pending hint that a value, on whose node there is ``hint``, lies in another way."""
        return None

    def viewed(self, nodes: tuple[Node | None, ...], step: Step) -> Node | None:
        """A pending view of a value; of a value and a part: the value with the part written in."""
        return None

    def meaning(self, node: Node | None, values: tuple[Value | None, ...]) -> Value | None:
        """What an op gives eagerly for operand values."""
        return None

    def expand(self, node: Node | None, shape: tuple[int, ...]) -> Node | None:
        """A scalar node as an array; the node itself if there are no sizes."""
        return None

    def expanded(self, value: Number, shape: tuple[int, ...]) -> Value | None:
        """An array of one number."""
        return None

    def seed_value(self) -> Value | None:
        """The running seed, to be uploaded."""
        return None

    def advance_seed(self) -> None:
        """The running seed goes on by one use."""

    def skip_seed(self) -> None:
        """The seed of the step goes on by one use, unlike its graph, which is forgotten."""

    def current_seed(self) -> Node | None:
        """The graph of the running seed."""
        return None

    def running_seed(self) -> int | None:
        """The seed after all uses so far."""
        return None

    def begin_seed(self, row: int) -> None:
        """The seed of this step is a leaf over a buffer row from now on."""

    def next_seed(self) -> Node | None:
        """The graph of the seed for one more use."""
        return None

    def draws_from_next(
        self, node: Node | None, contents: list[Value | None], before: "Payload"
    ) -> bool:
        """Whether a draw uses the seed after the one that ran before it."""
        return True

    def set_seed(self, seed: int) -> None:
        """Begin again with a seed."""

    def step_seed(self) -> None:
        """Begin a step with the seed that follows."""

    def seeds_are_right(self, seed: Value | None) -> bool:
        """Whether the running seed is what the seed's graph gives for the buffer's contents."""
        return True

    def seed_follows(self, before: "Payload") -> bool:
        """Whether the seed is that of the step after."""
        return True

    def random(
        self, design: Design, bound: Node | None, seed: Node | None, shape: tuple[int, ...]
    ) -> Node | None:
        """A pending draw of random numbers from 0 to a bound."""
        return None

    def drawn(self, node: Node | None, bound: int) -> Value | None:
        """What a draw gives for the running seed, where the design says."""
        return None

    def use_scalar(self, value: Number, dtype: DType) -> None:
        """A number of the scalar cache is now the most recently used."""

    def forget_scalar(self, row: int) -> None:
        """Drop a buffer row from the scalar cache."""

    def remember_scalar(self, value: Number, dtype: DType, row: int) -> None:
        """Put a buffer row into the scalar cache."""

    def number_parameters(self, roots: tuple[Node | None, ...], mask: int) -> tuple[int, ...]:
        """Parameter rows in the order of their numbers."""
        return ()

    def key(
        self,
        design: Design,
        force: bool,
        roots: tuple[Node | None, ...],
        leaves: tuple[int, ...],
        donors: int,
        layout: object = None,
    ) -> object:
        """The key of a program under a design; ``layout``: how things lie, in SPMD mode."""
        return None

    def peek(self, key: object) -> Program | None:
        """The cached program of a key; the cache does not notice."""
        return None

    def find(self, key: object) -> Program | None:
        """The cached program of a key, which is now the most recently used."""
        return None

    def own_program(self, roots: tuple[Node | None, ...]) -> Program | None:
        """What a correct compiler would make of a graph."""
        return None

    def compile(
        self,
        key: object,
        roots: tuple[Node | None, ...],
        leaves: tuple[int, ...],
        shardings: tuple[Sharding, ...] = (),
        spmd: bool = False,
    ) -> Program | None:
        """A program for the graph, put into the cache under its key; how its parameters lie, and in
        which mode it is compiled."""
        return None

    def settle(self, key: object, choice: tuple[Sharding, ...]) -> None:
        """The partitioner has chosen, for good, how the outputs of a program lie."""

    def settled(self, key: object) -> tuple[Sharding, ...] | None:
        """What it chose, if it did."""
        return None

    def count_shardings(self, key: object) -> None:
        """Running by key asks the program once how its outputs lie."""

    def cached_programs(self) -> int:
        """How many programs the compilation cache holds."""
        return 0

    def evict(self) -> None:
        """Drop every cached program."""

    def run(
        self,
        program: Program | None,
        contents: tuple[Value | None, ...],
        shardings: tuple[Sharding, ...] = (),
    ) -> tuple[Value | None, ...]:
        """The results of a program for parameter contents; one per output. Nobody knows them if the
        parameters lie otherwise than the program was compiled for."""
        return ()

    def graft(
        self, roots: tuple[Node | None, ...], buffer: int, recipe: Node | None
    ) -> tuple[Node | None, ...]:
        """The nodes with every leaf over a buffer row replaced by a recipe; sharing stays."""
        return roots


ERASED = Payload()
"""The payload of the explorer and the prover."""
