"""The generated step as a Promela model, for a comparison with Spin.

Spin gets the same expressions as the engines of `markstep.spec.compiled`, as C on one state at a
time, in the form that suits it best: one process, one d_step for each move, a state vector of the
packed bytes alone, and nothing stored in the middle of a call where nothing else can happen. The
search, the set of states and the hashing are Spin's own.
"""

from markstep.spec.compiled.kernel import Kernel
from markstep.spec.compiled.layout import initial
from markstep.spec.compiled.on_c import BOTH_HEADS, ONE_HEAD, function
from markstep.spec.compiled.program import CaseCode, Program


def model(moves: int, size: int) -> str:
    """The Promela text: so many moves over a state of so many bytes."""
    options = [
        f"  :: d_step {{ c_expr {{ CAN_{n} }}; c_code {{ fire(now.s, {n}); }} }}"
        for n in range(moves)
    ]
    first = "  c_code { memcpy(now.s, FIRST, SIZE); };"
    lines = ['c_decl { \\#include "step.h" }', f"byte s[{size}];", "init {", first, "  do"]
    return "\n".join([*lines, *options, "  od", "}", ""])


def step_text(program: Program) -> tuple[str, int]:
    """The C text of all moves of the cases that a search has met, and how many moves a case has."""
    layout = program.layout
    first = ", ".join(map(str, initial(layout)))
    parts = [
        ONE_HEAD,
        BOTH_HEADS,
        f"#define SIZE {layout.size}",
        f"#define TURNS {len(program.turns)}",
    ]
    parts.append(f"static const u8 FIRST[SIZE] = {{{first}}};")
    forms = {move.spare for code in program.made.values() for move in code.moves}
    parts += [function(f"form{spare}", program.canonical(spare)) for spare in sorted(forms)]
    parts += [function(f"turn{i}", turn) for i, turn in enumerate(program.turns)]
    numbers: dict[Kernel, int] = {}
    cases: list[str] = []
    for code in program.made.values():
        for step in code.steps:
            if step not in numbers:
                numbers[step] = len(numbers)
                parts.append(function(f"step{numbers[step]}", step))
        case = len(cases)
        parts.append(function(f"guards{case}", code.ways))
        cases.append(take_text(case, code, numbers))
    most = max(len(code.moves) for code in program.made.values())
    widest = max(len(step.outputs) for step in numbers)
    parts.append(f"#define MOST {most}\n#define WIDEST {widest}")
    parts += [settle_text(len(program.turns)), *cases, dispatch_text(program)]
    return "\n".join(parts), most


def settle_text(turns: int) -> str:
    """The least of the orders of records that tie."""
    tries = [
        f"  turn{i}(best, other); if (memcmp(other, best, SIZE) < 0) memcpy(least, other, SIZE);"
        for i in range(turns)
    ]
    if turns > 1:
        tries = [line.replace("other, best, SIZE) <", "other, least, SIZE) <") for line in tries]
    body = "\n".join(tries)
    return (
        "static void settle(u8 *best, int tie) {\n if (!tie) return;\n"
        " u8 other[SIZE], least[SIZE]; memcpy(least, best, SIZE);\n"
        f"{body}\n memcpy(best, least, SIZE);\n}}\n"
    )


def take_text(case: int, code: CaseCode, numbers: dict[Kernel, int]) -> str:
    """A function that makes a move of a case: 0 if that leads out of the bound."""
    lines = [f"static int take{case}(const u8 *s, int n, u8 *to, int *full) {{"]
    lines += [" u8 f[WIDEST], p[SIZE + 3];", " switch (n) {"]
    for n, (step, move) in enumerate(zip(code.steps, code.moves, strict=True)):
        last = len(step.outputs) - 1
        lines.append(
            f"  case {n}: step{numbers[step]}(s, f); if (f[{last}]) return 0;"
            f" form{move.spare}(f, p); break;"
        )
    lines += [" }", " settle(p, p[SIZE]); *full = p[SIZE + 2]; memcpy(to, p, SIZE);"]
    return "\n".join([*lines, " return !p[SIZE + 1];", "}", ""])


def dispatch_text(program: Program) -> str:
    """By the first byte: which moves there are, and making one up to the next state to store."""
    by_control = controls(program)
    passing = [n for n in by_control if program.passing(n) is True]
    told = {n: program.passing(n) for n in by_control}
    asked = {n: kernel for n, kernel in told.items() if isinstance(kernel, Kernel)}
    guards = [
        f"  case {n}: guards{case}(s, g); return {moves};"
        for n, (case, moves) in by_control.items()
    ]
    takes = [
        f"  case {n}: return take{case}(s, n, to, full);" for n, (case, _) in by_control.items()
    ]
    tests = " || ".join(
        [*(f"s[0] == {n}" for n in passing), *(f"s[0] == {n} && passes{n}(s)" for n in asked)]
    )
    extra = [function(f"pass{n}", kernel) for n, kernel in asked.items()]
    extra += [
        f"static int passes{n}(const u8 *s) {{ u8 o; pass{n}(s, &o); return o; }}" for n in asked
    ]
    return "\n".join(
        [
            *extra,
            "static int guards(const u8 *s, u8 *g) {\n switch (s[0]) {",
            *guards,
            "  default: return 0;\n }\n}",
            "static int take(const u8 *s, int n, u8 *to, int *full) {\n switch (s[0]) {",
            *takes,
            "  default: return 0;\n }\n}",
            f"static int passing(const u8 *s) {{ return {tests or 0}; }}",
            LOOP,
        ]
    )


LOOP = """
static u8 last[SIZE], can_now[MOST];
static int known = 0, count = 0;
static int can(const u8 *s, int n) {
  if (!known || memcmp(s, last, SIZE)) {
    memcpy(last, s, SIZE); known = 1;
    count = guards(s, can_now);
  }
  return n < count && can_now[n];
}
static void fire(u8 *s, int n) {
  u8 now[SIZE], next[SIZE], g[MOST];
  int full, inside = take(s, n, now, &full);
  while (inside && passing(now)) {
    int moves = guards(now, g), m = 0;
    while (m < moves && !g[m]) m++;
    if (m == moves) return;
    inside = take(now, m, next, &full);
    memcpy(now, next, SIZE);
  }
  if (inside && !full) memcpy(s, now, SIZE);
}
"""
"""A move out of the bound leads back to where it was made: that adds no state."""


def controls(program: Program) -> dict[int, tuple[int, int]]:
    """By first byte: (number of the case, how many moves it has)."""
    order = {case: i for i, case in enumerate(program.made)}
    found = {}
    for control in range(256):
        try:
            case = program.case_of(control)
        except ValueError:
            continue
        if case in order:
            found[control] = (order[case], len(program.made[case].moves))
    return found


def texts(program: Program) -> dict[str, str]:
    """The files of the model by name."""
    step, moves = step_text(program)
    step += "".join(f"#define CAN_{n} can(now.s, {n})\n" for n in range(moves))
    return {"step.h": step, "model.pml": model(moves, program.layout.size)}
