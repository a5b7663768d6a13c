"""The page of the reduction: what the records of a raw log mean."""

from tables import flat, listed, table

from markstep.conformance.logs.errortexts import ERROR_TEXTS
from markstep.conformance.logs.recorded import IDLE_COUNTERS, MODELLED_COUNTERS, UNMODELLED_COUNTERS
from markstep.conformance.logs.reduction import REDUCTION, Row
from markstep.spec.machine import ACTIONS


def reduction_page() -> str:
    """The page of the reduction: what the records of a raw log mean."""
    return (
        "# Reduction\n\n"
        "What the steps of a [raw log](raw-log-format.md) mean: the table of\n"
        "`markstep.conformance.logs.reduction`. A record without a row, an argument that a row\n"
        "does not take, an error text without a kind and an unknown counter are errors; nothing\n"
        "is skipped. Every step also lets the execution that it started end: a log is settled.\n\n"
        "## Actions\n\n"
        + table(
            ("in the log", "actions of the law", "what has happened", "not observed"),
            [describe_record(row) for row in REDUCTION.values()],
        )
        + "\nIf one of several actions raises, those before it have happened.\n\n"
        "## Errors\n\nType and beginning of the text tell the kind:\n\n"
        + table(
            ("type", "text begins with", "kind", "thrown by"),
            [(f"`{e.type}`", f"`{e.prefix}`", f"`{e.kind}`", e.cpp) for e in ERROR_TEXTS],
        )
        + f"\n## Counters\n\nCompared: {listed(MODELLED_COUNTERS)}.\n\n"
        f"Must not move: {listed(IDLE_COUNTERS)}.\n\n"
        f"Not compared: {listed(UNMODELLED_COUNTERS) or 'none'}.\n"
    )


def describe_record(row: Row) -> tuple[str, str, str, str]:
    """Name, actions, boundary and what is hidden there, of one row of the reduction."""
    made = ", ".join(f"[{kind.__name__}](actions.md#{ACTIONS[kind].id})" for kind in row.makes)
    return f"`{row.record}`", made, flat(row.boundary), flat(row.hidden)
