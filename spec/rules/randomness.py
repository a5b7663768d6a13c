"""Random tensors and the seed: a parameter that every use moves on.

The seed of a step is uploaded at its first use; later uses compose more of the graph on it, so that
a program depends on how often the seed was used since the last barrier. Source: semantics.md §3.6
(GetRngSeed), §3.26–29, §3.36 (MarkStep).
"""

from markstep.spec.design import Design, EagerSeeds
from markstep.spec.ir import Node
from markstep.spec.rules.annotations import hand_on_spec
from markstep.spec.rules.objects import lost
from markstep.spec.rules.scalars import scalar_operand
from markstep.spec.rules.tensors import successor, updated
from markstep.spec.rules.transfer import fail, succeed, upload
from markstep.spec.state import NONE, State, bit
from markstep.spec.vocabulary import DType, ErrorKind, GetSeed, IrKind, Random, SetSeed


def random(s: State, a: Random, design: Design) -> None:
    """A27. An in-place op over the bound and the next seed, and not over what the tensor held."""
    # GUARD
    row = s.tensors[a.target]
    old = s.records[row]
    if lost(old):  # A27.G1
        return fail(s, ErrorKind.LOST)
    # EFFECT
    facts = (a.cached_at, a.evicts)
    bound, bound_row = scalar_operand(s, a.bound, DType.S64, facts, design)
    seed, seed_row = next_seed(s, design)
    record = successor(s, old)
    record.ir, record.deps = IrKind.OP, bit(seed_row) | bit(bound_row)
    record.node = s.payload.random(design, bound, seed, record.shape)
    record.truth = s.payload.drawn(record.node, a.bound)
    # OBSERVE
    updated(s, a.target, record, design)
    return hand_on_spec(s, old, row, design)


def next_seed(s: State, design: Design) -> tuple[Node | None, int]:
    """The seed for one use, and the buffer row that it reads (C++: GetRngSeed). In eager mode it is
    uploaded for each use, so that the programs of one op are one program."""
    if s.device.eager and design.eager_seeds == EagerSeeds.NEXT:
        s.payload.advance_seed()
        upload_seed(s)
        return s.payload.current_seed(), s.device.seed
    if s.device.seed == NONE:
        upload_seed(s)
    if s.device.eager:
        node, row = s.payload.current_seed(), s.device.seed
        s.payload.skip_seed()
        s.device.seed = NONE
        return node, row
    return s.payload.next_seed(), s.device.seed


def upload_seed(s: State) -> None:
    """The running seed becomes a parameter, which later uses compose on."""
    s.device.seed = NONE
    s.device.seed = upload(s, s.payload.seed_value(), (), DType.S64)
    s.payload.begin_seed(s.device.seed)


def set_seed(s: State, a: SetSeed, design: Design) -> None:
    """A28. The seed of this step, as if nothing had used it; what was traced keeps the old one."""
    # EFFECT
    s.payload.set_seed(a.seed)
    s.device.seed = NONE
    # OBSERVE
    succeed(s)


def get_seed(s: State, a: GetSeed, design: Design) -> None:
    """A29. The running seed, known without executing anything (I75)."""
    succeed(s, s.payload.running_seed())
