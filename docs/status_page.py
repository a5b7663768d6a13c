"""What is known of each claim: a table made of the pages that the commands have written."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from markstep.spec.invariants import CLAIMS_IN_ORDER, GRAPH_CLAIMS, Claim, GraphClaim

REFERENCE = Path(__file__).parent / "reference"
ID = re.compile(r"\b[IG]\d+[a-z]?\b")


@dataclass(frozen=True)
class Explored:
    """What a page about a search says."""

    page: str
    design: str
    actions: str
    """How many program actions its paths have."""
    holds: frozenset[str]
    broken: dict[str, int] = field(default_factory=dict)
    """The length of the shortest program that breaks each."""


def status_page() -> str:
    """The whole page."""
    searches = [explored(path) for path in sorted(REFERENCE.glob("explored-*.md"))]
    pages = ("proof-results.md", "proof-results-modes.md")
    core, modes = (proved((REFERENCE / page).read_text(encoding="utf-8")) for page in pages)
    proofs = core | {id: f"{word} in every mode" for id, word in modes.items() if word == "proved"}
    kills = killers((REFERENCE / "mutants.md").read_text(encoding="utf-8"))
    rows = [row(claim, searches, proofs, kills) for claim in every()]
    head = ("claim", "stated in", "explored under sound", "proved", "mutants", "torch_xla 2.9")
    return (
        "# What is known of each claim\n\n"
        "*Explored*: a search of the design `sound` exercised it, and it held everywhere; the\n"
        "number is that of the program actions on a path, the link leads to the bound. A dash:\n"
        "no search exercises it, and nothing is known from them. *Proved*: for every state with\n"
        "so many rows, reachable or not ([proofs](../explanation/proofs.md)); in every mode: also\n"
        "with SPMD mode, eager mode and random numbers. *Mutants*: so many\n"
        "lies it told some detector ([mutants](mutants.md)). *torch_xla 2.9*: the design\n"
        "`torch_xla_2_9` breaks it by a program of so many actions and failures, and by no\n"
        "shorter one. What each of these does not show is said in\n"
        "[layers](../explanation/layers.md).\n\n"
        + "\n".join(["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *rows])
        + "\n\n"
        + totals(searches, proofs, kills)
        + "\n"
    )


def every() -> list[Claim | GraphClaim]:
    """All claims: of states and steps, then of graphs."""
    return [*CLAIMS_IN_ORDER, *GRAPH_CLAIMS.values()]


def explored(path: Path) -> Explored:
    """Read a page that `markstep explore --write` has written."""
    text = path.read_text(encoding="utf-8")
    design = re.search(r"--design (\S+)", text)
    actions = re.search(r"(\d+) program actions and failures", text)
    held = re.search(r"were exercised: (.*)\.", text)
    if design is None or actions is None or held is None:
        raise SystemExit(f"{path}: not a page of markstep explore --write")
    broken = re.findall(r"^\| \[(I\d+)\]\S+ \| (\d+) \|", text, re.MULTILINE)
    return Explored(
        path.name,
        design[1],
        actions[1],
        frozenset(ID.findall(held[1])),
        {id: int(length) for id, length in broken},
    )


def proved(text: str) -> dict[str, str]:
    """The verdict on each claim that `markstep prove` has looked at."""
    return dict(re.findall(r"^\| (I\d+[a-z]?) \| ([^|]+?) \|", text, re.MULTILINE))


def killers(text: str) -> dict[str, list[str]]:
    """By claim: the mutants that some detector found out by it, as `markstep mutants` tells."""
    table = text.partition("## What kills")[2]
    rows = re.findall(r"^\| (I\d+[a-z]?) \| ([^|]+?) \|", table, re.MULTILINE)
    return {id: mutants.split(", ") for id, mutants in rows}


def row(
    claim: Claim | GraphClaim,
    searches: list[Explored],
    proofs: dict[str, str],
    kills: dict[str, list[str]],
) -> str:
    """The line of one claim."""
    cells = [
        f"[{claim.id}](invariants.md#{claim.id}) `{claim.name}`",
        f"`{module(claim)}`",
        held_in(claim, searches),
        proofs.get(claim.id, "–"),
        str(len(kills.get(claim.id, [])) or "–"),
        broken_in(claim, searches),
    ]
    return f"| {' | '.join(cells)} |"


def module(claim: Claim | GraphClaim) -> str:
    """The module of the law that states it."""
    stated = claim.predicate if isinstance(claim, Claim) else claim.find_violation
    return stated.__module__.removeprefix("markstep.").replace(".", "/") + ".py"


def held_in(claim: Claim | GraphClaim, searches: list[Explored]) -> str:
    """The searches of `sound` that exercised the claim."""
    if isinstance(claim, GraphClaim):
        return "every graph of up to two ops"
    held = [found for found in searches if found.design == "sound" and claim.id in found.holds]
    return ", ".join(f"[{found.actions}]({found.page})" for found in held) or "–"


def broken_in(claim: Claim | GraphClaim, searches: list[Explored]) -> str:
    """The length of the shortest program that breaks it under torch_xla_2_9."""
    lengths = {
        found.broken[claim.id]: found.page
        for found in searches
        if found.design == "torch_xla_2_9" and claim.id in found.broken
    }
    if lengths:
        return f"[{min(lengths)}]({lengths[min(lengths)]})"
    return "broken, by none so short" if claim.broken_by_torch_xla else "–"


def totals(searches: list[Explored], proofs: dict[str, str], kills: dict[str, list[str]]) -> str:
    """How many claims each column has something to say about."""
    claims = every()
    seen = sum(held_in(claim, searches) != "–" for claim in claims)
    shown = sum(proofs.get(claim.id, "").startswith("proved") for claim in claims)
    told = sum(claim.id in kills for claim in claims)
    broken = sum(broken_in(claim, searches) != "–" for claim in claims)
    return (
        f"{len(claims)} claims: {seen} explored, {shown} proved, {told} tell of a mutant, "
        f"{broken} broken by torch_xla."
    )
