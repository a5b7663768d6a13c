"""What each call makes of a tensor in each state: found by running the law."""

from markstep.spec import vocabulary as v
from markstep.spec.design import SOUND, TORCH_XLA_2_9, Design
from markstep.spec.observe import abstract_state
from markstep.spec.schedule import initial_state, perform
from markstep.spec.state import State
from markstep.spec.vocabulary import TensorName

T, OTHER, OUT = TensorName(0), TensorName(1), TensorName(2)
MAKE = (v.CreateFromHost(T, (1,), (1,)),)
MAKE_OTHER = (v.CreateFromHost(OTHER, (1,), (1,)),)
PENDING = (*MAKE_OTHER, v.Apply(T, "neg", (OTHER,)))

STATES: dict[str, tuple[v.Action, ...]] = {
    "HOST": (v.CreateFromHost(T, (1,), (1,), upload=False),),
    "IR": PENDING,
    "LEAF": MAKE,
    "LEAFc": (*MAKE_OTHER, v.Clone(T, OTHER)),
    "DATA": (*MAKE, v.Sync((T,))),
    "PEND": (*PENDING, v.Sync((T,), wait=False)),
    "STUB": (v.CreatePlaceholder(T, (1,)),),
    "GONE": (
        *MAKE,
        *MAKE_OTHER,
        v.CopyInto(OTHER, T),
        v.StepBarrier(),
        v.AssignInPlace(OTHER, "neg"),
        v.StepBarrier(wait=True),
    ),
    "DEAD": (*MAKE_OTHER, v.Apply(T, "failing_compile", (OTHER,)), v.Sync((T,))),
}
"""A program that brings the tensor T into each abstract state, where a design has it."""

CALLS: dict[str, v.Action] = {
    "`Sync(wait)`": v.Sync((T,)),
    "`Sync`, no wait": v.Sync((T,), wait=False),
    "`ReadOne`": v.ReadOne(T),
    "`ReadMany`": v.ReadMany((T,)),
    "`WarmUp`": v.WarmUp((T,)),
    "`GraphHash`": v.GraphHash((T,)),
    "`RunCached`": v.RunCached((T,), (OUT,)),
    "`ClearPending`": v.ClearPending(),
}


def sync_page() -> str:
    """The page: one table per design."""
    return (
        "# What a call makes of a tensor\n\n"
        "Each cell was found by running the law: the state of a tensor (semantics.md §2.1) that\n"
        "is alone in the call, after it; what the call did with the device; the error if any.\n"
        "A step barrier is a `Sync` of every live tensor. The flag `sync` changes no cell: it\n"
        "only lets the buffers that in-place updates made obsolete be donated. *Downloads* counts\n"
        "transfers, of which `ReadMany` makes one even if all values are on the host.\n\n"
        + "".join(table_of(design) for design in (SOUND, TORCH_XLA_2_9))
        + "This page does not say what happens when a call fails half way: the rules do.\n"
    )


def table_of(design: Design) -> str:
    """Abstract state × call under a design, for the states that the design can reach."""
    lines = [f"## {design.name}\n", "| state | " + " | ".join(CALLS) + " |"]
    lines.append("|---" * (len(CALLS) + 1) + "|")
    for name, program in STATES.items():
        state = reached(program, design)
        if abstract_state(state, state.record_of(T)) != name:
            continue
        cells = [cell(state, call, design) for call in CALLS.values()]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n\n"


def reached(program: tuple[v.Action, ...], design: Design) -> State:
    """The state after a program; what raises has its effect."""
    state = initial_state()
    for action in program:
        state = perform(state, action, design) or state
    return state


def cell(before: State, call: v.Action, design: Design) -> str:
    """What a call makes of the tensor."""
    after = perform(before, call, design)
    if after is None:
        return "not possible"
    old, new = before.payload.totals(), after.payload.totals()
    did = [word for counter, word in DOES.items() if new.get(counter, 0) > old.get(counter, 0)]
    if after.execution.running and not before.execution.running:
        did.append("runs")
    where = abstract_state(after, after.record_of(T)).value
    error = f"**{after.raised.value}**" if after.raised != v.ErrorKind.NONE else ""
    return ", ".join([where, *did, error] if error else [where, *did])


DOES = {
    "TransferToDevice": "uploads",
    "UncachedCompile": "compiles",
    "ExecuteTime": "ran",
    "TransferFromDevice": "downloads",
}
