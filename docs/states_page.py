"""The states of a tensor, and what leads from one to another: found by running the law."""

from collections.abc import Iterator
from math import hypot

from markstep.conformance.html.timeline import MEANS
from markstep.conformance.possible import candidates, possible
from markstep.spec.design import SOUND, TORCH_XLA_2_9, Design
from markstep.spec.machine import ACTIONS, AnyAction
from markstep.spec.observe import abstract_state
from markstep.spec.schedule import Observer, initial_state, perform
from markstep.spec.state import State
from markstep.spec.vocabulary import (
    AbstractState,
    AssignInPlace,
    CopyFromHost,
    CopyInto,
    Random,
)
from sync_table import STATES

Ways = dict[tuple[AbstractState, AbstractState], dict[str, None]]
"""(from, to): the actions that lead there."""

PLACES = {
    AbstractState.HOST: (0, 0),
    AbstractState.LEAF: (1, 0),
    AbstractState.DATA: (2, 0),
    AbstractState.LEAF_CLONED: (1, 1),
    AbstractState.IR: (2, 1),
    AbstractState.PENDING: (3, 1),
    AbstractState.GONE: (0, 1),
    AbstractState.DEAD: (2, 2),
    AbstractState.STUB: (3, 2),
}
"""Column and row of each state in the picture."""
X, Y, WIDTH, HEIGHT, MARGIN = 190, 110, 96, 40, 26
"""Pixels."""


OVERWRITES = (CopyFromHost, CopyInto, AssignInPlace, Random)
"""They give a tensor another value, whatever its state is: not drawn."""


def states_page() -> str:
    """The page: the words, then a picture and a table for each design."""
    words = "\n".join(f"| `{state.value}` | {MEANS[state]} |" for state in AbstractState)
    return (
        "# States of a tensor\n\n"
        "What a maintainer would call the state of a tensor: §2.1 of\n"
        "[the system described](../explanation/semantics.md). The rules do not look at\n"
        "these words: they follow from the fields of a record.\n\n"
        f"| state | means |\n|---|---|\n{words}\n\n"
        "The pictures show every step from one state to another that was found in the programs\n"
        "of [What a call makes of a tensor](calls.md), and when every action was done once after\n"
        "each of them. An arrow is one step of the law, also in the middle of a call. Not drawn\n"
        "are the actions that give a tensor another value whatever its state is:\n"
        f"{', '.join(f'`{cls.__name__}`' for cls in OVERWRITES)}.\n"
        "The tables have them, too.\n\n"
        + "\n".join(of_design(design) for design in (SOUND, TORCH_XLA_2_9))
        + "\nThis page does not show new tensors, nor dropped ones.\n"
    )


def of_design(design: Design) -> str:
    """The picture and the table of a design."""
    ways = found(design)
    order = list(AbstractState)
    rows = [
        f"| `{a.value}` | `{b.value}` | {', '.join(ways[a, b])} |"
        for a, b in sorted(ways, key=lambda pair: (order.index(pair[0]), order.index(pair[1])))
    ]
    table = "\n".join(["| from | to | by |", "|---|---|---|", *rows])
    return f"## {design.name}\n\n{picture(ways, design)}\n\n{table}\n"


def found(design: Design) -> Ways:
    """Which steps lead from which state to which."""
    ways: Ways = {}

    def see(before: State, action: AnyAction, after: State) -> None:
        for pair in changes(before, after):
            ways.setdefault(pair, {})[named(type(action))] = None

    for program in STATES.values():
        state = initial_state()
        for taken in program:
            state = perform(state, taken, design, see) or state
        for some in candidates(state, design).values():
            for action in some:
                if possible(state, action, design):
                    after = perform(state, action, design, see)
                    settle(after, design, see)
    return {pair: dict.fromkeys(sorted(ids)) for pair, ids in ways.items()}


def named(cls: type) -> str:
    """An action by its id and name."""
    return f"{ACTIONS[cls].id} `{cls.__name__}`"


def settle(state: State | None, design: Design, see: Observer) -> None:
    """Let what was begun end, well and badly."""
    if state is None or not state.execution.running:
        return
    for cls, some in candidates(state, design).items():
        for action in some if ACTIONS[cls].id in ("A30", "A31") else ():
            if possible(state, action, design):
                perform(state, action, design, see)


def changes(before: State, after: State) -> Iterator[tuple[AbstractState, AbstractState]]:
    """The tensors that are in another state afterwards."""
    for name, row in before.tensors.items():
        if name in after.tensors:
            old = abstract_state(before, before.records[row])
            new = abstract_state(after, after.record_of(name))
            if old != new:
                yield old, new


def picture(ways: Ways, design: Design) -> str:
    """The states as boxes, the steps as arrows. It follows the colours of the page."""
    reachable = {state for pair in ways for state in pair}
    boxes = [box(state) for state in AbstractState if state in reachable]
    drawn = {pair for pair, ids in ways.items() if not set(ids) <= set(map(named, OVERWRITES))}
    arrows = [arrow(a, b, (b, a) in drawn) for a, b in sorted(drawn)]
    width, height = 3 * X + WIDTH + 8, 2 * Y + HEIGHT + 2 * MARGIN
    return (
        f'<svg viewBox="-4 {-MARGIN} {width} {height}" width="{width}" height="{height}" '
        'role="img" '
        f'aria-label="States of a tensor under {design.name}; the table below names the steps" '
        'style="max-width:100%;height:auto" fill="none" stroke="currentColor" stroke-width="1.3">'
        f'<defs><marker id="tip-{design.name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="currentColor" stroke="none"/>'
        f"</marker></defs>{''.join(arrows)}{''.join(boxes)}</svg>"
    ).replace("url(#tip)", f"url(#tip-{design.name})")


def box(state: AbstractState) -> str:
    """A state."""
    x, y = (PLACES[state][0] * X, PLACES[state][1] * Y)
    text = f'x="{x + WIDTH // 2}" y="{y + 25}" text-anchor="middle" fill="currentColor"'
    return (
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="6"/>'
        f'<text {text} stroke="none" font-family="monospace" font-size="15">{state.value}</text>'
    )


def arrow(a: AbstractState, b: AbstractState, both: bool) -> str:
    """A step; two ways between the same states run beside each other."""
    (x1, y1), (x2, y2) = middle(a), middle(b)
    length = hypot(x2 - x1, y2 - y1)
    dx, dy = (x2 - x1) / length, (y2 - y1) / length
    off = 7 if both else 0
    x1, y1, x2, y2 = x1 - dy * off, y1 + dx * off, x2 - dy * off, y2 + dx * off
    bend = bent(a, b)
    start, end = border(dx, dy), length - border(dx, dy)
    p, q = (x1 + dx * start, y1 + dy * start), (x1 + dx * end, y1 + dy * end)
    c = ((p[0] + q[0]) / 2 - dy * bend, (p[1] + q[1]) / 2 + dx * bend)
    curve = f"M{p[0]:.0f} {p[1]:.0f}Q{c[0]:.0f} {c[1]:.0f} {q[0]:.0f} {q[1]:.0f}"
    return f'<path d="{curve}" marker-end="url(#tip)" opacity=".75"/>'


def middle(state: AbstractState) -> tuple[float, float]:
    """The middle of a box."""
    return PLACES[state][0] * X + WIDTH / 2, PLACES[state][1] * Y + HEIGHT / 2


def border(dx: float, dy: float) -> float:
    """How far the border of a box is from its middle, in a direction."""
    return min(WIDTH / 2 / max(abs(dx), 1e-9), HEIGHT / 2 / max(abs(dy), 1e-9)) + 2


def bent(a: AbstractState, b: AbstractState) -> float:
    """How much an arrow is bent: it must not run through a box."""
    (x1, y1), (x2, y2) = PLACES[a], PLACES[b]
    far = max(abs(x1 - x2), abs(y1 - y2)) > 1
    return 72 if far and (x1 == x2 or y1 == y2 or abs(x1 - x2) == abs(y1 - y2)) else 0
