"""Results of long searches as pages of the manual: they are written by the command they name."""

from markstep.conformance.show import show, show_program
from markstep.spec import SPEC_VERSION
from markstep.spec.invariants import CLAIMS, CLAIMS_IN_ORDER
from markstep.spec.machine import AnyAction, rule_of
from markstep.spec.search.alphabet import Bound, cost
from markstep.spec.search.checkpoint import law
from markstep.spec.search.conditions import Conditions
from markstep.spec.search.optional import OPTIONAL_FAMILIES
from markstep.spec.search.outcomes import WORDS
from markstep.spec.search.refine import Difference
from markstep.spec.search.search import Exploration
from markstep.spec.state import Phase

FEW_RECORDS = 2


def within(bound: Bound) -> str:
    """A bound in words."""
    parts = [f"{bound.records} live records", f"{bound.buffers} buffer records"]
    if bound.actions is not None:
        parts.append(f"{bound.actions} program actions and failures")
    if bound.syncs is not None:
        parts.append(f"{bound.syncs} calls")
    return f"at most {', '.join(parts)}; actions of the families {', '.join(bound.families)}"


def written_by(command: str, seconds: float) -> str:
    """The first lines of a page."""
    return (
        f"<!-- Written by the command below. Do not edit. -->\n\n"
        f"Written by `{command}`, in {seconds:.0f} s. The law: version {SPEC_VERSION},\n"
        f"text {law()[:12]}.\n"
    )


def conditions_page(found: Conditions, bound: Bound, seconds: float, command: str) -> str:
    """Under which conditions one design behaves as another."""
    x, y = found.x.name, found.y.name
    lines = [
        f"# When {x} behaves as {y}\n",
        written_by(command, seconds),
        f"Every program within the bound was run under both designs, whatever the cache answers,\n"
        "whatever fails, whenever executions end. What is compared is what a user sees: errors,\n"
        "whether what is read is right, and the answer to a donation mark.\n\n"
        f"The bound: {within(bound)}.\n",
        f"## Conditions\n\n`{x}` behaves as `{y}` for programs that never do any of:\n",
        *(f"- {', '.join(f'`{word}`' for word in sorted(never))}" for never in found.sufficient),
        "\nEach line is a condition of its own; none of its words can be left out, and there is\n"
        "no other minimal one. The words:\n",
        *(f"- `{word}`: {WORDS[word]}" for word in words_of(found)),
        "\n## Why each word is needed\n\nShortest programs that differ:\n",
        *map(difference, found.differences),
    ]
    return "\n".join(lines)


def words_of(found: Conditions) -> list[str]:
    """The words that the conditions use."""
    return sorted({word for never in found.sufficient for word in never})


def difference(found: Difference) -> str:
    """A program on which the designs differ."""
    program = [action for action in found.program if tells(action)]
    facts = [word for word in sorted(found.words) if word[0].islower()]
    happens = f", where this happens: {', '.join(facts)}" if facts else ""
    possible = " or ".join(seen.told for seen in found.possible)
    return (
        f"- {', '.join(f'`{word}`' for word in sorted(found.words))}: the last action shows "
        f"*{found.seen.told}*, not *{possible}*{happens}\n\n"
        f"```\n{show_program(program)}\n```\n"
    )


def explored_page(found: Exploration, command: str) -> str:
    """How far a search went, and what it found."""
    reach = "every state within the bound" if found.exhausted else "the search was cut short"
    lines = [
        f"# How far {found.design.name} is explored{besides(found.bound)}\n",
        written_by(command, found.seconds),
        f"The bound: {within(found.bound)}.\n",
        f"{found.states} states, {found.transitions} small steps, paths of up to {found.depth} "
        f"program actions and\nfailures: {reach}.\n",
        "| length of the shortest program | states |\n|---|---|",
        *(f"| {length} | {count} |" for length, count in enumerate(found.levels)),
        f"\n{verdicts(found)}\n",
    ]
    if found.counterexamples:
        rows = map(shortest, sorted(found.counterexamples.items()))
        head = "| claim | broken by a program of | hazards | shortest program |\n|---|---|---|---|"
        lines += ["## Shortest counterexamples\n", head, *rows, ""]
    return "\n".join(lines)


def besides(bound: Bound) -> str:
    """What is unusual in a bound, for the title of a page."""
    unusual = [name for name in bound.families if name in OPTIONAL_FAMILIES]
    if bound.records > FEW_RECORDS:
        unusual.append(f"{bound.records} records")
    return f": {', '.join(unusual)}" if unusual else ""


def verdicts(found: Exploration) -> str:
    """Which claims hold, are broken, were never exercised."""
    holds = [c.id for c in CLAIMS_IN_ORDER if c.id not in found.counterexamples]
    seen = [id for id in holds if id in found.witnessed]
    unseen = [id for id in holds if id not in found.witnessed]
    said = [f"{len(seen)} claims hold in all of them and were exercised: {', '.join(seen)}."]
    if found.counterexamples:
        said.append(f"{len(found.counterexamples)} claims are broken (below).")
    if unseen:
        said.append(f"Never exercised: {', '.join(unseen)}.")
    return "\n\n".join(said)


def tells(action: AnyAction) -> bool:
    """Whether a step has to be named: actions, and what the cache or the compiler does wrong."""
    wrong = any(getattr(action, fact, False) for fact in ("fails", "foreign", "misfits"))
    return wrong or rule_of(type(action)).phase == Phase.IDLE


def shortest(broken: tuple[str, tuple[AnyAction, ...]]) -> str:
    """A line of the table of counterexamples."""
    id, path = broken
    program = "; ".join(show(a) for a in path if tells(a))
    hazards = ", ".join(CLAIMS[id].hazards) or "none of §6b"
    link = f"[{id}](invariants.md#{id})"
    return f"| {link} | {sum(map(cost, path))} | {hazards} | `{program}` |"
