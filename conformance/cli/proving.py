"""`markstep prove`: the table of verdicts, and the counterexamples to induction in words."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from rich.table import Table

from markstep.conformance.changes import describe, diff_states
from markstep.conformance.cli.files import check_writable, write_atomically
from markstep.conformance.cli.progress import Progress
from markstep.conformance.cli.usage import UsageError, pick, reader_may_leave
from markstep.conformance.exit_codes import ExitCode
from markstep.conformance.report.console import console, print_table
from markstep.spec.design import Design
from markstep.spec.invariants import CLAIMS, PAYLOAD, by_number
from markstep.spec.invariants import SPMD as ABOUT_SPMD
from markstep.spec.proofs.facts import FACTS, Fact
from markstep.spec.proofs.obligations import Gap
from markstep.spec.proofs.prove import (
    RETURNED,
    Method,
    Outcome,
    Proof,
    Replay,
    in_words,
    prove,
    replay,
)
from markstep.spec.proofs.reach import reached
from markstep.spec.proofs.states import OPENED, RANDOM
from markstep.spec.search.alphabet import Bound
from markstep.spec.sorts import EAGER, SPMD, Sort, sorts
from markstep.spec.state import NONE, State

LARGEST = 4
"""More rows than this are beyond any patience."""


def prove_verb(
    design: Design,
    ids: Sequence[str],
    sizes: tuple[int, int],
    modes: tuple[str, ...] = (),
    by: str = "z3",
    write: Path | None = None,
) -> ExitCode:
    """Look for proofs and print what was found. ``sizes``: records and buffer records."""
    pick("--by", by, list(Method), "method")
    method = Method(by)
    check_arguments(ids, sizes, modes, method)
    check_writable("--write", write)
    with Progress("cases") as progress:
        proof = prove(design, ids, *sizes, progress=progress, method=method, modes=modes)
    facts = {} if ids or modes or method != Method.Z3 else {fact: fact.against() for fact in FACTS}
    with reader_may_leave():
        show(proof, print)
        print_table(table(proof, facts), console())
        print("\n".join(summary(proof)))
    if write is not None:
        write_atomically(write, page(proof, facts))
    shown = {proof.outcomes[id] for id in proof.asked} <= {Outcome.PROVED, Outcome.GIVEN}
    fine = shown and not any(facts.values())
    return ExitCode.CONFORMS if fine else ExitCode.INCONCLUSIVE


def check_arguments(
    ids: Sequence[str], sizes: tuple[int, int], modes: Sequence[str], method: Method
) -> None:
    """Fail before the work. Raises UsageError."""
    for mode in modes:
        pick("--mode", mode, OPENED)
    for id in ids:
        pick("prove", id, CLAIMS, "claim")
        if id in (*PAYLOAD, *RETURNED):
            raise UsageError("prove", f"{id} is about the payload", "see `markstep explore`")
        if id in ABOUT_SPMD and SPMD not in modes:
            raise UsageError("prove", f"{id} is about SPMD mode, which is off", "add --mode spmd")
    for name, value in zip(("records", "buffers"), sizes, strict=True):
        if not 1 <= value <= LARGEST:
            raise UsageError(f"--{name}", f"{value} is not between 1 and {LARGEST}")
    if method == Method.ENUMERATION and not ids:
        raise UsageError("--by", "enumeration takes long", "name the invariants: prove I29 …")


Facts: TypeAlias = Mapping[Fact, str | None]
"""Facts about single functions, each with what speaks against it."""


def verdicts(proof: Proof, facts: Facts) -> Iterator[tuple[str, str, str]]:
    """(id or name, verdict, sentence) of every claim that was asked for, and of every fact."""
    for id in sorted(proof.asked, key=by_number):
        yield id, proof.outcomes[id].value, CLAIMS[id].statement
    for fact, against in facts.items():
        yield fact.name, "proved" if against is None else "refuted", fact.statement


def table(proof: Proof, facts: Facts) -> Table:
    """A verdict for each claim and each fact."""
    found = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("id", "verdict", "claim"):
        found.add_column(name, header_style="bold", no_wrap=name != "claim", overflow="fold")
    for line in verdicts(proof, facts):
        found.add_row(*line)
    for fact, against in facts.items():
        if against is not None:
            found.add_row("", "", f"{fact.name}: {against}")
    return found


def page(proof: Proof, facts: Facts) -> str:
    """The same as a page of the manual."""
    total = proof.total
    lines = [f"| {id} | {verdict} | {said} |" for id, verdict, said in verdicts(proof, facts)]
    return "\n".join(
        [
            "# Results of proofs",
            "",
            f"Written by `markstep prove --records {proof.records} --buffers {proof.buffers} "
            f"{''.join(f'--mode {mode} ' for mode in proof.modes)}--write FILE`; what the verdicts",
            "mean, and what they do not, is said in [Proofs](../explanation/proofs.md).",
            "",
            f"Design `{proof.design.name}`, at most {proof.records} records and {proof.buffers} "
            f"buffer records{in_modes(proof)}: {total.paths} paths; {total.discarded} more",
            "need more rows than that and were not followed.",
            "",
            "| id | verdict | claim |",
            "|---|---|---|",
            *lines,
            "",
        ]
    )


def in_modes(proof: Proof) -> str:
    """In which modes the process may be."""
    words = {SPMD: "SPMD mode", EAGER: "eager mode", RANDOM: "random numbers"}
    told = ", ".join(words[mode] for mode in proof.modes)
    return f", with and without {told}" if told else ""


def work(proof: Proof) -> str:
    """How much was done."""
    total = proof.total
    if proof.method == Method.ENUMERATION:
        return f"{total.paths} runs of rules for {total.questions} questions that they decide"
    return f"{total.paths} paths, {total.questions} questions to z3"


def summary(proof: Proof) -> Iterator[str]:
    """What it took, and what the verdicts mean."""
    total = proof.total
    yield ""
    yield (
        f"design {proof.design.name}, at most {proof.records} records and {proof.buffers} buffer "
        f"records{in_modes(proof)}: {work(proof)}, {proof.rounds} rounds, {proof.seconds:.0f} s"
    )
    if total.discarded:
        yield f"{total.discarded} paths need more rows than that and were not followed"
    if not proof.closed:
        yield "the search was cut short: nothing is proved"


def show(proof: Proof, out: Callable[[str], None]) -> None:
    """Every counterexample, replayed by the plain rule."""
    gaps = {id: proof.gaps[id] for id in sorted(proof.gaps, key=by_number)}
    seen = [replay(gap, proof.design) for gap in gaps.values()]
    bound = Bound(proof.records, proof.buffers)
    met = reached([found.before for found in seen], proof.design, bound)
    for i, (id, gap) in enumerate(gaps.items()):
        for line in gap_in_words(id, gap, seen[i], i in met):
            out(line)


def gap_in_words(id: str, gap: Gap, seen: Replay, met: bool) -> Iterator[str]:
    """A counterexample to induction: the state, the step, and what it changed."""
    where = "reached by the explorer" if met else "not known to be reachable"
    yield f"{id}: a counterexample to induction, from a state {where}"
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
            marks += f", annotated {record.spec.name}" if record.spec else ""
            yield f"record {r}: {describe(state, record)}, id {record.id}{marks}"
    for b, buffer in enumerate(state.buffers):
        recipe = f", recipe {buffer.recipe.name}" if buffer.recipe else ""
        owner = f", owner {buffer.owner}" if buffer.owner else ""
        right = "" if buffer.right else ", not right"
        lies = f", {buffer.sharding.name}" if buffer.sharding else ""
        source = ", with a source" if buffer.source else ""
        yield f"buffer {b}: {buffer.status.name}{lies}{source}{owner}{recipe}{right}"
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
