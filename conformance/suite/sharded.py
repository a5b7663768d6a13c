"""The golden traces that need several devices: SPMD mode, marks, what printing does, two modes.

Those of semantics.md, Appendix D (9, 10, 11, 15), and two more hazards of §6b. They are in the form
of `scenarios`; executors without the capability "sharding" do not run them.
"""

from markstep.conformance.suite.scenarios import (
    BARRIER,
    NO_WAIT,
    ONE_TO_FOUR,
    T0,
    T1,
    T2,
    Scenario,
    Step,
    create,
    plus_one,
)
from markstep.spec import vocabulary as v
from markstep.spec.vocabulary import Sharding

TILED, REVERSED = Sharding.TILED, Sharding.REVERSED
USE_SPMD = Step(v.UseSpmd(), "")
REVERSE = tuple(reversed(ONE_TO_FOUR))

LAZY_HOST = Scenario(
    "G09-spmd",
    "In SPMD mode a tensor stays on the host; a barrier sends it whole to every device",
    "",
    (
        USE_SPMD,
        Step(create(T0), "HOST"),
        Step(v.WarmUp((T0,)), "HOST"),
        Step(BARRIER, "HOST", "DATA"),
        Step(v.ReadMany((T0,)), "HOST", "DATA", (ONE_TO_FOUR,)),
    ),
)
ANNOTATED_HOST = Scenario(
    "G09-traced",
    "Tracing over annotated host data sends it whole, and the annotation is gone",
    "H-14",
    (
        USE_SPMD,
        Step(create(T0), "HOST"),
        Step(v.MarkSharding(T0, TILED), "DATA"),
        Step(v.CopyFromHost(T0, REVERSE), "HOST"),
        Step(v.Apply(T1, "neg", (T0,)), "HOST IR", "LEAF IR"),
        Step(v.ReadSpec(T0), "HOST IR", "LEAF IR", TILED),
    ),
)
MARKED_LATE = Scenario(
    "G10",
    "Marking a tensor as sharded after it was traced",
    "H-14",
    (
        USE_SPMD,
        Step(create(T0), "HOST"),
        Step(v.Apply(T1, "neg", (T0,)), "HOST IR", "LEAF IR"),
        Step(v.MarkSharding(T0, TILED, lazy=True), "HOST IR", "DATA IR"),
        Step(BARRIER, "DATA DATA"),
        Step(v.ReadOne(T0), "DATA DATA", value=ONE_TO_FOUR),
        Step(v.ReadOne(T1), "DATA DATA", value=(-1, -2, -3, -4)),
    ),
)
PRINTING = Scenario(
    "G11",
    "Printing under SPMD truncates",
    "H-16",
    (
        USE_SPMD,
        Step(create(T0), "HOST"),
        Step(v.Apply(T1, "neg", (T0,)), "HOST IR", "LEAF IR"),
        Step(v.ReadMany((T1,)), "DATA IR", "LEAF DATA", ((-1, -2, -3, -4),)),
        Step(v.ReadMany((T1,)), "DATA IR", "LEAF DATA", ((-1, -2, -3, -4),)),
    ),
)
TWO_MODES = Scenario(
    "G15",
    "Switching SPMD on between two runs of a program",
    "H-11",
    (
        Step(v.Fill(T0, (2, 2), 1), "IR"),
        Step(BARRIER, "DATA", compiled="miss"),
        Step(v.Drop(T0), ""),
        USE_SPMD,
        Step(v.Fill(T1, (2, 2), 1), "IR"),
        Step(BARRIER, "DATA", compiled="miss/hit"),
        Step(v.Apply(T2, "neg", (T1,)), "DATA IR"),
        Step(BARRIER, "DATA DATA", "DATA STUB ! crash"),
    ),
)
CONFLICT = Scenario(
    "G16",
    "A mark that is refused has been done by half",
    "H-15",
    (
        USE_SPMD,
        Step(create(T0), "HOST"),
        Step(v.MarkSharding(T0, TILED), "DATA"),
        Step(v.CopyFromHost(T0, REVERSE), "HOST"),
        Step(v.MarkSharding(T0, REVERSED), "HOST ! conflict", "DATA ! conflict"),
    ),
)
DUMP = Scenario(
    "G17",
    "Dumping a graph right after a step that nobody waits for",
    "H-09",
    (
        USE_SPMD,
        Step(create(T0), "HOST"),
        Step(plus_one(T0), "IR"),
        Step(NO_WAIT, "PEND"),
        Step(plus_one(T0), "IR"),
        Step(v.DumpGraph((T0,)), "IR", "IR ! crash"),
    ),
)

SHARDED: tuple[Scenario, ...] = (
    LAZY_HOST,
    ANNOTATED_HOST,
    MARKED_LATE,
    PRINTING,
    TWO_MODES,
    CONFLICT,
    DUMP,
)
