"""Claims about programs: keys, the cache, arguments, and stages before execution.

Source: semantics.md §6, Hash and cache, and the stage claims 82 and 83 for plain leaves.
"""

from markstep.spec.invariants.claim import Kind, Step, claim
from markstep.spec.invariants.sync import COMPILE_ONLY, raised
from markstep.spec.payload import CACHE_CAPACITY
from markstep.spec.rules.donation import choose_donors
from markstep.spec.rules.errors import is_stub
from markstep.spec.rules.execution import Schedule
from markstep.spec.rules.sync import Compile, Lookup, PostOrder, layout_of
from markstep.spec.state import CallKind, rows
from markstep.spec.vocabulary import ErrorKind


@claim(
    "I82",
    Kind.STEP,
    lambda t: (
        isinstance(t.action, PostOrder)
        and t.before.call.kind in COMPILE_ONLY
        and any([is_stub(t.before, row) for row in rows(t.before.call.params)])
    ),
    why="Compile first, load later.",
)
def stages_before_execution_are_total(t: Step) -> bool:
    """Tracing, hashing and compiling a graph never ask for the values of its leaves."""
    if t.before.call.kind not in COMPILE_ONLY:
        return True
    asking = (ErrorKind.UNMATERIALIZED, ErrorKind.NO_VALUE, ErrorKind.CRASH)
    return not t.returned or t.after.raised not in asking


def meets_a_stub(t: Step) -> bool:
    """A call that would execute has a parameter that will never have a value."""
    if isinstance(t.action, Schedule):
        return any([is_stub(t.before, row) for row in rows(t.before.call.params)])
    return t.returned and t.after.raised == ErrorKind.UNMATERIALIZED


@claim(
    "I83",
    Kind.STEP,
    meets_a_stub,
    why="An executor must refuse what it cannot run, before anything changes.",
    broken=True,
    hazards=("H-08",),
)
def unexecutable_graphs_are_refused(t: Step) -> bool:
    """No program with a parameter that will never have a value reaches the device."""
    if not isinstance(t.action, Schedule):
        return True
    return not any([is_stub(t.before, row) for row in rows(t.before.call.params)])


@claim(
    "I50",
    Kind.STEP,
    lambda t: isinstance(t.action, Lookup) and t.before.call.kind == CallKind.RUN_CACHED,
    why="A caller that keeps a key must be able to run it: eviction is not its fault.",
    broken=True,
    hazards=("H-13",),
)
def runs_by_key_survive_eviction(t: Step) -> bool:
    """Running a graph by its key never fails because the cache has no entry."""
    asked = isinstance(t.action, Lookup) and t.returned
    return not (asked and t.after.raised == ErrorKind.UNKNOWN_GRAPH)


@claim(
    "I52",
    Kind.STEP,
    lambda t: isinstance(t.action, Schedule) and t.before.call.params != 0,
    why="Arguments and parameters must be the same list.",
    broken=True,
)
def arguments_fit_the_program(t: Step) -> bool:
    """Every program is scheduled with the arguments that it takes, all different."""
    if not isinstance(t.action, Schedule):
        return True
    call = t.before.call
    return not call.doomed and len(call.leaves) == len(set(call.leaves))


@claim(
    "I43",
    Kind.STEP,
    lambda t: isinstance(t.action, Lookup) and t.action.hit,
    why="The program of another graph computes another value, in silence.",
    broken=True,
    hazards=("H-11",),
)
def equal_keys_mean_equal_programs(t: Step) -> bool:
    """A cache hit gives a program that computes what the graph means, on the devices in use."""
    return not (isinstance(t.action, Lookup) and (t.action.foreign or t.action.plain))


@claim(
    "I90",
    Kind.STEP,
    lambda t: isinstance(t.action, Compile) and t.action.fails,
    why="A failed compile is reported, not remembered.",
)
def failed_compiles_raise(t: Step) -> bool:
    """A compile that fails raises to its caller, starts nothing and leaves nothing in the cache."""
    if not (isinstance(t.action, Compile) and t.action.fails):
        return True
    remembered = t.after.payload.peek(t.before.call.key) is not None
    return raised(t) and not t.after.call.holds_lock and not remembered


@claim(
    "I47",
    Kind.STEP,
    lambda t: (
        isinstance(t.action, PostOrder)
        and t.before.call.kind == CallKind.GRAPH_HASH
        and t.before.call.params != 0
    ),
    why="A caller hashes, warms up, and then runs by that hash.",
)
def graph_hash_is_the_warm_up_key(t: Step) -> bool:
    """A graph hash gives the key under which a warm-up of the same tensors compiles, if it does."""
    if not isinstance(t.action, PostOrder) or t.before.call.kind != CallKind.GRAPH_HASH:
        return True
    if t.before.call.outputs == 0:
        return True
    if not t.returned or t.after.raised != ErrorKind.NONE:
        return True
    warming = t.before.draft()
    call, payload = warming.call, warming.payload
    call.kind = CallKind.WARM_UP
    donors = choose_donors(warming, t.design)
    call.leaves = payload.number_parameters(call.roots, call.params)
    layout = layout_of(warming, t.design)
    key = payload.key(t.design, call.force, call.roots, call.leaves, donors, layout)
    return bool(t.after.value == key)


@claim(
    "I49",
    Kind.STATE,
    lambda t: isinstance(t.action, Compile) and not t.action.fails,
    why="An executor that runs for weeks must not grow.",
)
def cache_is_bounded(t: Step) -> bool:
    """The compilation cache never holds more programs than its capacity."""
    return t.after.payload.cached_programs() <= CACHE_CAPACITY
