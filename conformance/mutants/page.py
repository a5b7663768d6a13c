"""The kill matrix as a page of the manual."""

from collections.abc import Iterator

from markstep.conformance.mutants.catalogue import KINDS, Mutant
from markstep.conformance.mutants.matrix import Matrix, cell, killed

INTRODUCTION = """\
A mutant is a lie: one change of one function of the reference executor or of the law, made while
the module is imported, in a process of its own. Each has to be found out. A cell says which claim
or rule was seen to be broken, for a rule also what differed first, and after how many actions in
lockstep (for logs: steps; for the explorer: states; for the prover: cases). Detectors: `random` is
`markstep run` without the suite, up to the first failure; `scenarios` are the programs of the suite
and of the [bug zoo](zoo.md); `zoo` are the traces of the reports that a lie brings back; `logs` are
recorded logs of torch_xla; `explorer` and `prover` look at the law alone. A dash: the detector
cannot see such a lie.
"""
ROOM_TITLES = {"impl": "Lies of the executor", "spec": "Lies of the law"}


def mutants_page(matrix: Matrix) -> str:
    """The whole page."""
    lines = [
        "# Mutants: how sharp the teeth are\n",
        "<!-- Written by the command below. Do not edit. -->\n",
        f"Written by `{matrix.command} --write FILE`, in {matrix.seconds:.0f} s.\n",
        INTRODUCTION,
        *_summary(matrix),
        *(line for room in ROOM_TITLES for line in _table(matrix, room)),
        *_equivalents(matrix),
        *_killers(matrix),
        "## Kinds\n",
        *(f"- *{kind}*: {says}" for kind, says in KINDS.items()),
        "",
    ]
    return "\n".join(lines)


def _summary(matrix: Matrix) -> Iterator[str]:
    yield "| detector | tried | killed | not killed | median steps | most | seconds |"
    yield "|---|---|---|---|---|---|---|"
    for name in matrix.used():
        s = matrix.summary(name)
        left = ", ".join(s.left) or "none"
        row = (name, s.tried, s.killed, left, s.median_steps, s.most_steps, f"{s.seconds:.0f}")
        yield f"| {' | '.join(map(str, row))} |"
    yield ""


def _table(matrix: Matrix, room: str) -> Iterator[str]:
    mutants = [mutant for mutant in matrix.mutants if mutant.room == room]
    if not mutants:
        return
    columns = matrix.used(room)
    yield f"## {ROOM_TITLES[room]}\n"
    yield f"| id | kind | lie | known as | {' | '.join(columns)} |"
    yield f"|---|---|---|---|{'---|' * len(columns)}"
    for mutant in mutants:
        trials = matrix.of(mutant)
        cells = " | ".join(cell(trials, name) for name in columns)
        yield f"| {mutant.id} | {mutant.kind} | {_lie(mutant)} | {_known(mutant)} | {cells} |"
    yield ""


def _lie(mutant: Mutant) -> str:
    function = f"`{mutant.function}`" if mutant.function else "the module"
    return f"{mutant.says} ({function} in `{mutant.file}`)"


def _known(mutant: Mutant) -> str:
    return ", ".join((*mutant.hazards, *mutant.bugs))


def _equivalents(matrix: Matrix) -> Iterator[str]:
    mutants = [mutant for mutant in matrix.mutants if mutant.equivalent]
    if mutants:
        yield "## Changes that nobody can see\n"
        yield "They have to survive; if one is killed, the argument is wrong.\n"
        yield from (f"- {mutant.id}: {mutant.says}. {mutant.equivalent}" for mutant in mutants)
        yield ""


def _killers(matrix: Matrix) -> Iterator[str]:
    yield "## What kills\n"
    yield "| claim or rule | mutants that it kills |"
    yield "|---|---|"
    by: dict[str, set[str]] = {}
    for trial in filter(killed, matrix.trials.values()):
        by.setdefault(trial.by, set()).add(trial.mutant)
    for id in sorted(by):
        listed = ", ".join(sorted(by[id], key=lambda name: int(name[1:])))
        yield f"| {id} | {listed} |"
    yield ""
