"""What a user can see of one action, under every choice of the environment.

An action of the program is followed to the end of its call. Between calls a state is known by its
canonical form; tensors are known by their place in it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from markstep.spec import vocabulary as v
from markstep.spec.design import Design
from markstep.spec.invariants import CLAIMS, Step
from markstep.spec.machine import ENVIRONMENT, AnyAction, step
from markstep.spec.rules.sync import Compile, Lookup
from markstep.spec.rules.transfer import buffers_in_use
from markstep.spec.search.alphabet import Bound, moves
from markstep.spec.search.canonical import canonical, pack, tensors_in_order, unpack
from markstep.spec.search.naming import names_given, renamed_action
from markstep.spec.state import Phase, State
from markstep.spec.vocabulary import ErrorKind, TensorName

MOST_BUFFERS = 7
"""A packed mask has room for so many."""
READS_RIGHT = CLAIMS["I87"]


@dataclass(frozen=True, slots=True)
class Seen:
    """What a user can see of one action."""

    error: ErrorKind
    right: bool
    """What was read, if anything, is what eager execution gives."""
    flag: bool
    """The answer of A19."""
    tensors: int
    """How many tensors there are afterwards."""

    @property
    def told(self) -> str:
        """The same in a few words."""
        if self.error != ErrorKind.NONE:
            return f"error {self.error.value}"
        if not self.right:
            return "a wrong value"
        return "a marked buffer" if self.flag else "no error"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One way in which an action can end."""

    seen: Seen | None
    """None: the device has acted, not the program."""
    key: bytes
    names: tuple[TensorName, ...]
    """What each tensor of the state afterwards is called in the state before."""
    steps: tuple[AnyAction, ...]
    words: frozenset[str]
    """Which of WORDS the steps are."""
    records: int
    buffers: int


def outcomes(key: bytes, action: AnyAction, design: Design, bound: Bound) -> list[Outcome]:
    """Every way in which an action can end; none if it is not possible."""
    before = unpack(key)
    after = step(before, action, design)
    if after is None:
        return []
    word = words(before, action)
    found: dict[tuple[object, ...], Outcome] = {}
    for end, steps, said, right in ends(after, (action,), word, True, design, bound):
        outcome = outcome_of(end, steps, said, right)
        found.setdefault((outcome.seen, outcome.key, outcome.names, outcome.words), outcome)
    return list(found.values())


def ends(
    state: State,
    steps: tuple[AnyAction, ...],
    said: frozenset[str],
    right: bool,
    design: Design,
    bound: Bound,
) -> Iterator[tuple[State, tuple[AnyAction, ...], frozenset[str], bool]]:
    """Every way to the end of a call: last state, steps, words, whether reads were right."""
    if state.call.phase == Phase.IDLE:
        yield state, steps, said, right
        return
    for move in moves(state, design, bound):
        after = step(state, move, design)
        if after is not None:
            well = right and READS_RIGHT.predicate(Step(state, move, after, design))
            yield from ends(after, (*steps, move), said | words(state, move), well, design, bound)


def outcome_of(
    state: State, steps: tuple[AnyAction, ...], said: frozenset[str], right: bool
) -> Outcome:
    """The end of an action, up to names."""
    form = canonical(state)
    seen = None
    if not isinstance(steps[0], ENVIRONMENT):
        flag = isinstance(steps[0], v.SetDonation) and bool(state.value)
        seen = Seen(state.raised, right, flag, len(state.tensors))
    return Outcome(
        seen,
        pack(form) if len(form.buffer_order) <= MOST_BUFFERS else b"",
        tuple(tensors_in_order(state, form.record_order)),
        steps,
        said,
        sum(record.live for record in state.records),
        buffers_in_use(state).bit_count(),
    )


# ---- words for kinds of programs -------------------------------------------------------------

WORDS: dict[str, str] = {
    "Clone": "a tensor is cloned",
    "CopyInto": "a tensor is copied into another",
    "Detach": "a tensor is detached",
    "ReadMany": "several tensors are read by one call, which keeps their pending work",
    "WarmUp": "a program is compiled ahead",
    "GraphHash": "the key of a graph is asked for",
    "RunCached": "a program is run by its key",
    "ClearPending": "pending work is cleared",
    "SetDonation": "the user marks a buffer for donation",
    "SetDonorConfig": "donation marks are honoured in every execution",
    "AllowExecution": "executions are forbidden for a while",
    "WriteToResult": "an array that was read is written to",
    "CreatePlaceholder": "a tensor is made without data",
    "host-only": "a tensor's data stays on the host until it is needed",
    "sync-of-some": "some tensors are synced and others live",
    "sync-without-donation": "a sync is told not to donate",
    "no-wait": "a sync does not wait for its execution",
    "spared-donor": "the runtime does not consume a donor",
    "compile-failure": "the compiler fails",
    "execution-failure": "an execution fails",
    "foreign-program": "the cache gives the program of another graph",
    "misfit": "a program is given arguments that do not fit it",
}
"""What programs can be said never to do, or the environment to them."""


def words(state: State, action: AnyAction) -> frozenset[str]:
    """Which of WORDS an action is, taken in a state."""
    said = {type(action).__name__: True}
    match action:
        case v.CreateFromHost() | v.CopyFromHost():
            said["host-only"] = not action.upload
        case v.Sync():
            rows = {state.tensors[name] for name in action.tensors}
            said["sync-of-some"] = rows != set(state.tensors.values())
            said["sync-without-donation"] = not action.sync
            said["no-wait"] = not action.wait
        case v.StepBarrier():
            said["no-wait"] = not action.wait
        case v.CompleteExecution():
            said["spared-donor"] = action.spares != 0
        case v.FailExecution():
            said["execution-failure"] = True
        case Compile():
            said["compile-failure"] = action.fails
        case Lookup():
            said["foreign-program"], said["misfit"] = action.foreign, action.misfits
    return frozenset(word for word, true in said.items() if true and word in WORDS)


def program_of(pieces: list[tuple[AnyAction, ...]], design: Design) -> tuple[AnyAction, ...]:
    """Actions with their steps, each in the names of the state before it, as one program."""
    program: list[AnyAction] = []
    state = State()
    for piece in pieces:
        form, taken = canonical(state), len(names_given(program))
        names = tensors_in_order(state, form.record_order)
        first = renamed_action(piece[0], names, form.buffer_order, taken)
        for action in (first, *piece[1:]):
            if isinstance(action, v.CompleteExecution) and action.spares:
                action = replace(action, spares=state.execution.donors)
            after = step(state, action, design)
            if after is None:
                raise AssertionError(f"{action} does not continue the path")
            program.append(action)
            state = after
    return tuple(program)
