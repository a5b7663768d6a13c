"""`markstep prove`: the table of verdicts, and the counterexamples to induction in words."""

from collections.abc import Callable, Iterator, Sequence

from rich.table import Table

from markstep.conformance.changes import describe, diff_states
from markstep.conformance.cli.progress import Progress
from markstep.conformance.cli.usage import UsageError, pick, reader_may_leave
from markstep.conformance.exit_codes import ExitCode
from markstep.conformance.report.console import console, print_table
from markstep.spec.design import Design
from markstep.spec.invariants import CLAIMS, by_number
from markstep.spec.proofs.obligations import PAYLOAD, Gap
from markstep.spec.proofs.prove import Outcome, Proof, in_words, prove, replay
from markstep.spec.state import NONE, Sort, State, sorts

LARGEST = 4
"""More rows than this are beyond any patience."""


def prove_verb(design: Design, ids: Sequence[str], records: int, buffers: int) -> ExitCode:
    """Look for proofs and print what was found."""
    for id in ids:
        pick("prove", id, CLAIMS)
        if id in PAYLOAD:
            raise UsageError("prove", f"{id} is about the payload", "see `markstep explore`")
    for name, value in (("records", records), ("buffers", buffers)):
        if not 1 <= value <= LARGEST:
            raise UsageError(f"--{name}", f"{value} is not between 1 and {LARGEST}")
    with Progress("cases") as progress:
        proof = prove(design, ids, records, buffers, progress=progress)
    with reader_may_leave():
        show(proof, print)
        print_table(table(proof), console())
        print("\n".join(summary(proof)))
    all_proved = set(proof.outcomes.values()) == {Outcome.PROVED}
    return ExitCode.CONFORMS if all_proved else ExitCode.INCONCLUSIVE


def table(proof: Proof) -> Table:
    """A verdict for each claim."""
    found = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("id", "verdict", "claim"):
        found.add_column(name, header_style="bold", no_wrap=name != "claim", overflow="fold")
    for id, outcome in sorted(proof.outcomes.items(), key=lambda item: by_number(item[0])):
        found.add_row(id, outcome.value, CLAIMS[id].statement)
    return found


def summary(proof: Proof) -> Iterator[str]:
    """What it took, and what the verdicts mean."""
    total = proof.total
    yield ""
    yield (
        f"design {proof.design.name}, at most {proof.records} records and {proof.buffers} buffer "
        f"records: {total.paths} paths, {total.questions} questions to z3, {proof.rounds} rounds, "
        f"{proof.seconds:.0f} s"
    )
    if total.discarded:
        yield f"{total.discarded} paths need more rows than that and were not followed"
    if not proof.closed:
        yield "the search was cut short: nothing is proved"


def show(proof: Proof, out: Callable[[str], None]) -> None:
    """Every counterexample, replayed by the plain rule."""
    for id, gap in sorted(proof.gaps.items()):
        for line in gap_in_words(id, gap, proof.design):
            out(line)


def gap_in_words(id: str, gap: Gap, design: Design) -> Iterator[str]:
    """A counterexample to induction: the state, the step, and what it changed."""
    seen = replay(gap, design)
    yield f"{id}: a counterexample to induction, from a state not known to be reachable"
    if id in CLAIMS:
        yield f"  {CLAIMS[id].statement}"
    yield f"  before ({', '.join(in_words(gap.case))}):"
    yield from (f"    {line}" for line in state_in_words(seen.before))
    yield f"  step: {seen.action}"
    yield from (f"    {line}" for line in diff_states(seen.before, seen.after))
    yield ""


def state_in_words(state: State) -> Iterator[str]:
    """The records, the buffer records, and what is not as in a fresh process."""
    for r, record in enumerate(state.records):
        if record.live:
            marks = " cloned" if record.is_cloned else ""
            yield f"record {r}: {describe(state, record)}, id {record.id}{marks}"
    for b, buffer in enumerate(state.buffers):
        recipe = f", recipe {buffer.recipe.name}" if buffer.recipe else ""
        owner = f", owner {buffer.owner}" if buffer.owner else ""
        right = "" if buffer.right else ", not right"
        yield f"buffer {b}: {buffer.status.name}{owner}{recipe}{right}"
    for name in ("execution", "device", "call"):
        part, fresh = getattr(state, name), type(getattr(state, name))()
        changed = [
            f"{key} {getattr(part, key)!s}"
            for key, sort in sorts(type(part)).items()
            if getattr(part, key) != getattr(fresh, key)
            and (sort != Sort.BUFFER or getattr(part, key) != NONE)
        ]
        if changed:
            yield f"{name}: {', '.join(changed)}"
