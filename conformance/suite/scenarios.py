"""The golden traces: fifteen short programs with the state after every step, under two designs.

They are those of semantics.md, Appendix D. Under `torch_xla_2_9` the law must reproduce the fault,
step by step; under `sound` every tensor must keep its value. Those of several devices are in
`sharded.py` (SPMD mode) and `devices.py`.

After each step the states of all tensors are given in order of their names, then the kind of error
if the step raises.
"""

from dataclasses import dataclass

from markstep.spec import vocabulary as v
from markstep.spec.vocabulary import Action, TensorName

T0, T1, T2, T3 = map(TensorName, range(4))
ONE_TO_FOUR = (1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class Step:
    """One action and what it leads to: `DATA GONE ! no-value`."""

    action: Action
    sound: str
    torch_xla: str = ""
    """Under torch_xla_2_9; empty: the same."""
    value: object = None
    """What a reader gets, unless the step raises."""
    compiled: str = ""
    """For steps that look a program up: "hit" or "miss" under both designs, or "hit/miss"."""
    parameters: str = ""
    """The names of the parameters in order of their numbers."""

    def expected(self, design: str) -> tuple[list[str], str]:
        """(states, kind of error) under a design."""
        text = self.torch_xla if design == "torch_xla_2_9" and self.torch_xla else self.sound
        states, _, error = text.partition("!")
        return states.split(), error.strip() or "none"


@dataclass(frozen=True, slots=True)
class Scenario:
    """One golden trace."""

    id: str
    title: str
    hazard: str = ""
    steps: tuple[Step, ...] = ()
    left_out: str = ""
    """What of the trace is not in this core, and why."""

    @property
    def program(self) -> tuple[Action, ...]:
        """The actions alone."""
        return tuple(step.action for step in self.steps)


def create(name: TensorName, upload: bool = True) -> Action:
    """A 2x2 tensor."""
    return v.CreateFromHost(name, ONE_TO_FOUR, (2, 2), upload=upload)


def plus_one(name: TensorName) -> Action:
    """In place."""
    return v.AssignInPlace(name, "add_scalar", (), 1)


BARRIER = v.StepBarrier(wait=True)
NO_WAIT = v.StepBarrier(wait=False)

BORROW = Scenario(
    "G01",
    "Borrow, then update the borrower",
    "H-04",
    (
        Step(create(T0), "LEAF"),
        Step(create(T1), "LEAF LEAF"),
        Step(BARRIER, "DATA DATA"),
        Step(v.CopyInto(T1, T0), "DATA LEAFc", "DATA LEAF"),
        Step(BARRIER, "DATA DATA"),
        Step(plus_one(T1), "DATA IR"),
        Step(BARRIER, "DATA DATA", "GONE DATA"),
        Step(v.ReadOne(T0), "DATA DATA", "GONE DATA ! no-value", ONE_TO_FOUR),
        Step(v.ReadOne(T1), "DATA DATA", "GONE DATA", (2, 3, 4, 5)),
    ),
)
CLONE_READ_UPDATE = Scenario(
    "G02",
    "Clone, read the clone, update the source",
    "H-03",
    (
        Step(create(T0), "LEAF"),
        Step(BARRIER, "DATA"),
        Step(v.Clone(T1, T0), "DATA LEAFc"),
        Step(v.ReadOne(T1), "DATA LEAFc", "DATA DATA", ONE_TO_FOUR),
        Step(plus_one(T0), "IR LEAFc", "IR DATA"),
        Step(BARRIER, "DATA DATA", "DATA GONE"),
        Step(v.ReadOne(T1), "DATA DATA", "DATA GONE ! no-value", ONE_TO_FOUR),
    ),
)
CLONE_UPDATE = Scenario(
    "G02-unread",
    "The same without the read: nothing is lost",
    "H-03",
    (
        Step(create(T0), "LEAF"),
        Step(BARRIER, "DATA"),
        Step(v.Clone(T1, T0), "DATA LEAFc"),
        Step(plus_one(T0), "IR LEAFc"),
        Step(BARRIER, "DATA DATA"),
        Step(v.ReadOne(T1), "DATA DATA", value=ONE_TO_FOUR),
    ),
)
REFUSED_COMPILE = Scenario(
    "G03",
    "A refused compile takes everything with it, and wedges the device",
    "H-01, H-02",
    (
        Step(create(T0), "LEAF"),
        Step(v.Apply(T1, "add_scalar", (T0,), 1), "LEAF IR"),
        Step(v.Apply(T2, "failing_compile", (T0,)), "LEAF IR IR"),
        Step(BARRIER, "DATA IR IR ! compile-failed", "DATA DEAD DEAD ! compile-failed"),
        Step(v.Apply(T3, "add_scalar", (T0,), 3), "DATA IR IR IR", "DATA DEAD DEAD IR"),
        Step(BARRIER, "DATA IR IR IR ! compile-failed", "DATA DEAD DEAD IR ! lost"),
        Step(v.ReadOne(T3), "DATA IR IR DATA", "DATA DEAD DEAD DATA", (4, 5, 6, 7)),
        Step(v.Drop(T2), "DATA IR DATA", "DATA DEAD DATA"),
        Step(BARRIER, "DATA DATA DATA", "DATA DEAD DATA ! lost"),
        Step(v.Drop(T1), "DATA DATA"),
        Step(BARRIER, "DATA DATA"),
    ),
)
OLD_ERROR = Scenario(
    "G04",
    "The error of old work hits new work",
    "H-07",
    (
        Step(create(T0), "LEAF"),
        Step(v.Apply(T1, "failing_execute", (T0,)), "LEAF IR"),
        Step(NO_WAIT, "DATA PEND"),
        Step(v.FailExecution(), "DATA IR", "DATA STUB"),
        Step(v.Apply(T2, "neg", (T0,)), "DATA IR IR", "DATA STUB IR"),
        Step(BARRIER, "DATA IR IR ! execution-failed", "DATA STUB STUB ! execution-failed"),
        Step(v.ReadOne(T2), "DATA IR DATA", "DATA STUB STUB ! no-value", (-1, -2, -3, -4)),
        Step(v.Drop(T1), "DATA DATA", "DATA STUB"),
        Step(BARRIER, "DATA DATA", "DATA STUB"),
        Step(v.ReadOne(T2), "DATA DATA", "DATA STUB ! no-value", (-1, -2, -3, -4)),
    ),
)
ERROR_TWICE = Scenario(
    "G05",
    "An error that was waited for is raised again",
    "H-07",
    (
        Step(create(T0), "LEAF"),
        Step(v.Apply(T1, "failing_execute", (T0,)), "LEAF IR"),
        Step(BARRIER, "DATA IR ! execution-failed", "DATA STUB ! execution-failed"),
        Step(v.ReadOne(T0), "DATA IR", "DATA STUB ! execution-failed", ONE_TO_FOUR),
        Step(v.ReadOne(T0), "DATA IR", "DATA STUB", ONE_TO_FOUR),
    ),
)
PRINT_TWICE = Scenario(
    "G06",
    "Printing twice with user donation",
    "H-06",
    (
        Step(create(T0), "LEAF"),
        Step(v.SetDonorConfig(True), "LEAF"),
        Step(v.SetDonation(T0), "LEAF", value=True),
        Step(v.Apply(T1, "add_scalar", (T0,), 1), "LEAF IR"),
        Step(v.ReadMany((T1,)), "LEAF IR", "GONE IR", ((2, 3, 4, 5),)),
        Step(v.ReadMany((T1,)), "LEAF IR", "GONE IR ! deleted", ((2, 3, 4, 5),)),
        Step(BARRIER, "DATA DATA", "GONE DEAD ! deleted"),
        Step(BARRIER, "DATA DATA", "GONE DEAD ! lost"),
    ),
)
SUBSET_DONATION = Scenario(
    "G07",
    "A sync of a subset donates what the rest needs",
    "H-05",
    (
        Step(create(T0), "LEAF"),
        Step(create(T1), "LEAF LEAF"),
        Step(v.Apply(T2, "add", (T0, T1)), "LEAF LEAF IR"),
        Step(plus_one(T1), "LEAF IR IR"),
        Step(v.Sync((T1,), sync=True, wait=True), "LEAF DATA IR"),
        Step(BARRIER, "DATA DATA DATA", "DATA DATA DEAD ! deleted"),
        Step(v.ReadOne(T2), "DATA DATA DATA", "DATA DATA DEAD ! lost", (2, 4, 6, 8)),
    ),
)
SUBSET_KEPT = Scenario(
    "G07-kept",
    "The same sync without donation: nothing is lost",
    "H-05",
    (
        Step(create(T0), "LEAF"),
        Step(create(T1), "LEAF LEAF"),
        Step(v.Apply(T2, "add", (T0, T1)), "LEAF LEAF IR"),
        Step(plus_one(T1), "LEAF IR IR"),
        Step(v.Sync((T1,), sync=False, wait=True), "LEAF DATA IR"),
        Step(BARRIER, "DATA DATA DATA"),
        Step(v.ReadOne(T2), "DATA DATA DATA", value=(2, 4, 6, 8)),
    ),
)
WARM_UP_KEYS = Scenario(
    "G08",
    "What a warm-up compiles is used by reads, and by barriers only in the sound design",
    "",
    (
        Step(create(T0), "LEAF"),
        Step(v.Apply(T1, "add_scalar", (T0,), 1), "LEAF IR"),
        Step(v.WarmUp((T1,)), "LEAF IR", compiled="miss"),
        Step(v.WarmUp((T1,)), "LEAF IR", compiled="hit"),
        Step(v.ReadMany((T1,)), "LEAF IR", value=((2, 3, 4, 5),), compiled="hit"),
        Step(BARRIER, "DATA DATA", compiled="hit/miss"),
    ),
)
LAZY_HOST = Scenario(
    "G09",
    "A tensor on the host is uploaded by a barrier, not by a warm-up",
    "",
    (
        Step(create(T0, upload=False), "HOST"),
        Step(v.WarmUp((T0,)), "HOST"),
        Step(BARRIER, "DATA"),
        Step(v.ReadMany((T0,)), "DATA", value=(ONE_TO_FOUR,)),
    ),
    "the parts about replicated and sharded uploads are in `sharded`",
)
PARAMETER_ORDER = Scenario(
    "G12",
    "Parameters are numbered in post-order: the last operand first",
    "",
    (
        Step(create(T0), "LEAF"),
        Step(create(T1), "LEAF LEAF"),
        Step(v.Apply(T2, "matmul", (T0, T1)), "LEAF LEAF IR"),
        Step(v.WarmUp((T2,)), "LEAF LEAF IR", parameters="t1 t0"),
        Step(v.Apply(T3, "mul_scalar", (T0,), 2.5), "LEAF LEAF IR IR"),
        Step(v.WarmUp((T2, T3)), "LEAF LEAF IR IR", parameters="t1 t0 2.5"),
    ),
)
EMPTY_LIST = Scenario(
    "G13",
    "A sync of nothing waits for the device",
    "",
    (
        Step(create(T0), "LEAF"),
        Step(plus_one(T0), "IR"),
        Step(NO_WAIT, "PEND"),
        Step(v.Sync(()), "DATA"),
        Step(v.ReadOne(T0), "DATA", value=(2, 3, 4, 5)),
    ),
    "tensors of two devices in one sync are in `devices`",
)

SCENARIOS: tuple[Scenario, ...] = (
    BORROW,
    CLONE_READ_UPDATE,
    CLONE_UPDATE,
    REFUSED_COMPILE,
    OLD_ERROR,
    ERROR_TWICE,
    PRINT_TWICE,
    SUBSET_DONATION,
    SUBSET_KEPT,
    WARM_UP_KEYS,
    LAZY_HOST,
    PARAMETER_ORDER,
    EMPTY_LIST,
)
