"""The generated step of one exploration: for each case its moves as kernels, made when needed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations

from markstep.spec.compiled.kernel import Kernel, kernel, loose_field, packed_field
from markstep.spec.compiled.layout import Layout, phase_of
from markstep.spec.compiled.moves import Case, Known, Move, all_moves, anything, loose, unknown
from markstep.spec.compiled.renaming import Renaming
from markstep.spec.compiled.watching import Watch
from markstep.spec.design import Design
from markstep.spec.proofs.merging import merging
from markstep.spec.proofs.symbolic import Symbol, summary
from markstep.spec.search.alphabet import Bound, middle_room
from markstep.spec.search.expand import only_move


@dataclass(frozen=True)
class CaseCode:
    """The moves of a case."""

    moves: Sequence[Move]
    ways: Kernel
    """How many actions each move is; 0: it cannot be made."""
    steps: Sequence[Kernel]
    """For each move: every field after it (`Layout.loose`), the bytes that are watched, and whether
    it needs more rows."""


@dataclass
class Program:
    """The generated step under a design, within a bound."""

    design: Design
    bound: Bound
    watch: Watch = field(default_factory=Watch)
    made: dict[Case, CaseCode] = field(default_factory=dict)
    forms: dict[int, Kernel] = field(default_factory=dict)
    known: Known = field(default_factory=dict)
    passes: dict[Case, Kernel | bool] = field(default_factory=dict)
    steps: dict[object, Kernel] = field(default_factory=dict)

    @cached_property
    def layout(self) -> Layout:
        """Where the fields of states lie."""
        room = middle_room(self.bound, self.design)
        return Layout(self.bound.records, room, counted=self.bound.syncs is not None)

    def code(self, case: Case) -> CaseCode:
        """The moves of a case."""
        if case not in self.made:
            moves = all_moves(self.layout, case, self.design, self.bound, self.known, self.watch)
            ways = kernel(packed_field(self.layout), [move.ways for move in moves])
            self.made[case] = CaseCode(moves, ways, [self.step(move) for move in moves])
        return self.made[case]

    def step(self, move: Move) -> Kernel:
        """What a move leads to."""
        ends = [move.ends[path] for path in self.layout.loose(move.spare)]
        outputs = (*ends, *move.seen, move.outside)
        if outputs not in self.steps:
            self.steps[outputs] = kernel(packed_field(self.layout), outputs)
        return self.steps[outputs]

    def canonical(self, spare: int) -> Kernel:
        """From the fields after a step: the packed state, whether its records tie, whether it does
        not fit, whether it is more than the bound allows."""
        if spare not in self.forms:
            fields, order = loose(self.layout, spare), range(self.layout.records)
            form = Renaming(self.layout, fields, spare, order, self.bound.buffers).form()
            outputs = [*form.bytes, form.tie, form.outside, form.full]
            self.forms[spare] = kernel(loose_field(self.layout, spare), outputs)
        return self.forms[spare]

    @cached_property
    def turns(self) -> list[Kernel]:
        """A packed state whose records tie, with these in each other order."""
        fields, found = anything(self.layout), []
        for order in list(permutations(range(self.layout.records)))[1:]:
            form = Renaming(self.layout, fields, 0, order, self.bound.buffers).form()
            found.append(kernel(packed_field(self.layout), form.bytes))
        return found

    def case_of(self, control: int) -> Case | None:
        """The case of the states with a first byte; None: nothing can happen any more."""
        phase, running, crashed = phase_of(control, self.layout)
        return None if crashed else Case(phase, running)

    def passing(self, control: int) -> Kernel | bool:
        """Whether states with a first byte have one successor and are not stored: the plain
        explorer's `only_move`. A kernel where the first byte does not tell."""
        case = self.case_of(control)
        if case is None:
            return False
        if case not in self.passes:
            self.passes[case] = self.only_move(case)
        return self.passes[case]

    def only_move(self, case: Case) -> Kernel | bool:
        """The explorer's question, asked about a case."""
        state = unknown(self.layout, case)
        with merging(self.layout.records, self.layout.buffers):
            found = summary(lambda: only_move(state, self) is not None)
        if not isinstance(found, Symbol):
            return bool(found)
        return kernel(packed_field(self.layout), [found.expr])
