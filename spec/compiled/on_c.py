"""Kernels in C: each instruction is one operation on the bytes of 32 states.

The text uses the vector types of gcc and clang, which work on every processor. What is compiled
lies in a temporary directory as long as the process lives. Without a compiler: `NoCompiler`.
"""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from markstep.spec.compiled.kernel import Instruction, Kernel
from markstep.spec.compiled.program import CaseCode

LANES = 32
FLAGS = ("-O1", "-march=native", "-shared", "-fPIC", "-w")
SIGNS = {
    "and": "&",
    "or": "|",
    "bitand": "&",
    "bitor": "|",
    "bitxor": "^",
    "add": "+",
    "sub": "-",
}
HEAD = f"""
#include <stdint.h>
#include <stddef.h>
#include <string.h>
#define LANES {LANES}
typedef uint8_t u8 __attribute__((vector_size(LANES)));
typedef int8_t i8 __attribute__((vector_size(LANES)));
typedef uint16_t u16 __attribute__((vector_size(LANES)));
#define K(x) ((u8){{}} + (uint8_t)(x))
#define UP(a, n) ((u8)((u16)(a) << n) & K(255 << n))
#define DOWN(a, n) ((u8)((u16)(a) >> n) & K(255 >> n))
#define EQ(a, b) ((u8)((a) == (b)))
#define LT(a, b) ((u8)((i8)(a) < (i8)(b)))
#define LE(a, b) ((u8)((i8)(a) <= (i8)(b)))
"""
"""Everything on 32 states."""
ONE_HEAD = """
#include <stdint.h>
#include <stddef.h>
#include <string.h>
typedef uint8_t u8;
#define K(x) ((uint8_t)(x))
#define UP(a, n) ((uint8_t)((a) << n))
#define DOWN(a, n) ((uint8_t)((a) >> n))
#define EQ(a, b) ((uint8_t)-((a) == (b)))
#define LT(a, b) ((uint8_t)-((int8_t)(a) < (int8_t)(b)))
#define LE(a, b) ((uint8_t)-((int8_t)(a) <= (int8_t)(b)))
"""
"""Everything on one state."""
BOTH_HEADS = """
#define MASK(truth) (K(0) - (truth))
#define PICK(m, a, b) (((m) & (a)) | (~(m) & (b)))
"""


class NoCompiler(RuntimeError):
    """There is no C compiler on this machine."""


@cache
def compiler() -> str:
    """The C compiler of the system, or the one that CC names."""
    for name in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        if name and (path := shutil.which(name)):
            return path
    raise NoCompiler("no C compiler found: install gcc or clang, or name one in CC")


@cache
def _folder() -> "TemporaryDirectory[str]":
    return TemporaryDirectory(prefix="markstep-")


def library(name: str, text: str) -> Any:
    """Some C text as a loaded library."""
    source = Path(_folder().name) / f"{name}.c"
    target = source.with_suffix(".so")
    source.write_text(text, encoding="utf-8")
    command = [compiler(), *FLAGS, "-o", str(target), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr[:500]}")
    return ctypes.CDLL(str(target))


def function(name: str, kernel: Kernel) -> str:
    """A kernel as a C function from columns of bytes to columns of numbers."""
    lines = [f"static void {name}(const u8 *restrict c, u8 *restrict o) {{"]
    for n, instruction in enumerate(kernel.instructions):
        lines.append(f" const u8 v{n} = {operation(kernel, instruction)};")
    lines += [f" o[{i}] = {number(kernel, n)};" for i, n in enumerate(kernel.outputs)]
    return "\n".join([*lines, "}", ""])


def operation(kernel: Kernel, i: Instruction) -> str:
    """The C text of an instruction."""
    if i.op == "const":
        return f"K({(255 if i.value else 0) if i.truth else i.value & 255})"
    if i.op == "byte":
        return f"MASK(c[{i.value}])" if i.truth else f"c[{i.value}]"
    if i.op == "ite":
        arms = [f"v{n}" if i.truth else number(kernel, n) for n in i.args[1:]]
        return f"PICK(v{i.args[0]}, {arms[0]}, {arms[1]})"
    if i.op == "not":
        return f"~v{i.args[0]}"
    if i.op in ("and", "or"):
        return f"v{i.args[0]} {SIGNS[i.op]} v{i.args[1]}"
    args = [number(kernel, n) for n in i.args]
    if i.op in ("shl", "shr"):
        return f"{'UP' if i.op == 'shl' else 'DOWN'}({args[0]}, {i.value})"
    if i.op == "invert":
        return f"~{args[0]}"
    if i.op == "eq":
        return f"EQ({args[0]}, {args[1]})"
    if i.op in ("lt", "le"):
        return f"{i.op.upper()}({args[0]}, {args[1]})"
    return f"{args[0]} {SIGNS[i.op]} {args[1]}"


def number(kernel: Kernel, n: int) -> str:
    """A value as a number: of a truth, 0 or 1."""
    return f"(v{n} & K(1))" if kernel.instructions[n].truth else f"v{n}"


FORMS = """
static int any(const u8 *m) {
  const uint64_t *w = (const uint64_t *)m;
  uint64_t all = 0;
  for (int i = 0; i < LANES / 8; i++) all |= w[i];
  return all != 0;
}
static void columns(const uint8_t *rows, size_t n, u8 *c) {
  for (size_t lane = 0; lane < n; lane++)
    for (int i = 0; i < SIZE; i++) ((uint8_t *)&c[i])[lane] = rows[lane * SIZE + i];
}
static void row(const u8 *c, int lane, uint8_t *to) {
  for (int i = 0; i < SIZE; i++) to[i] = ((const uint8_t *)&c[i])[lane];
}
static int before(const uint8_t *a, const uint8_t *b) {
  const uint64_t *x = (const uint64_t *)a, *y = (const uint64_t *)b;
  for (int i = 0; i < SIZE / 8; i++) if (x[i] != y[i]) return x[i] < y[i];
  return 0;
}
"""
"""Between rows of packed states and columns of their bytes."""
PILE = """
typedef struct {
  uint8_t *rows, *ways, *wanted;
  uint32_t *origins, *moves, *sights;
  size_t count, sighted;
} pile;
typedef struct { size_t start, lanes; uint32_t move; const u8 *fields, *guard, *ways, *seen; } made;
typedef int (*emitter)(const made *, const uint8_t *, pile *);
"""

EMIT = """
static void sight(const made *m, size_t lane, pile *to) {
  for (int k = 0; k < SEEN; k++) {
    uint8_t bits = ((const uint8_t *)&m->seen[k])[lane] & to->wanted[k];
    to->wanted[k] &= ~bits;
    for (int bit = 0; bit < 8; bit++) if (bits >> bit & 1) {
      to->sights[2 * to->sighted] = 8 * k + bit;
      to->sights[2 * to->sighted++ + 1] = m->start + lane;
    }
  }
}
static int emit(void (*form)(const u8 *, u8 *), const made *m, const uint8_t *passing, pile *to) {
  u8 p[SIZE + 3];
  form(m->fields, p);
  u8 inside = *m->guard & ~MASK(p[SIZE + 1]), tie = MASK(p[SIZE]) & inside, shown = K(0);
  int left_out = 0, tied = any(&tie);
  u8 turned[TURNS ? TURNS : 1][SIZE];
  if (tied) for (int t = 0; t < TURNS; t++) turns[t](p, turned[t]);
  for (int k = 0; k < SEEN; k++) shown |= m->seen[k] & K(to->wanted[k]);
  int shows = any(&shown);
  for (size_t lane = 0; lane < m->lanes; lane++) {
    if (!((const uint8_t *)m->guard)[lane]) continue;
    int crowded = ((uint8_t *)&p[SIZE + 2])[lane] && !passing[((uint8_t *)&p[0])[lane]];
    if (!((uint8_t *)&inside)[lane] || crowded) { left_out = 1; continue; }
    _Alignas(8) uint8_t best[SIZE], other[SIZE];
    row(p, lane, best);
    if (tied && ((uint8_t *)&tie)[lane])
      for (int t = 0; t < TURNS; t++) {
        row(turned[t], lane, other);
        if (before(other, best)) memcpy(best, other, SIZE);
      }
    memcpy(to->rows + to->count * SIZE, best, SIZE);
    if (shows) sight(m, lane, to);
    to->origins[to->count] = m->start + lane;
    to->ways[to->count] = ((const uint8_t *)m->ways)[lane];
    to->moves[to->count++] = m->move;
  }
  return left_out;
}
"""
"""The canonical form of what a move leads to, for the lanes that it can be made in."""


def sizes(size: int, seen: int) -> str:
    """Bytes of a state, and of what is watched."""
    return f"#define SIZE {size}\n#define SEEN {seen}\n"


def forms_text(size: int, seen: int, forms: dict[int, Kernel], turns: Sequence[Kernel]) -> str:
    """A function that renames and emits for each number of rows to spare."""
    parts = [HEAD, BOTH_HEADS, sizes(size, seen), f"#define TURNS {len(turns)}", FORMS, PILE]
    parts += [function(f"turn{i}", kernel) for i, kernel in enumerate(turns)]
    names = ", ".join(f"turn{i}" for i in range(len(turns))) or "0"
    parts += [f"static void (*const turns[])(const u8 *, u8 *) = {{{names}}};", EMIT]
    for spare, kernel in forms.items():
        parts.append(function(f"form{spare}", kernel))
        parts.append(
            f"int emit{spare}(const made *m, const uint8_t *passing, pile *to) {{\n"
            f" return emit(form{spare}, m, passing, to);\n}}\n"
        )
    return "\n".join(parts)


def case_text(size: int, seen: int, code: CaseCode) -> str:
    """All moves from the states of a case: what they lead to goes to the pile of their cost."""
    different = list(dict.fromkeys(code.steps))
    parts = [HEAD, BOTH_HEADS, sizes(size, seen), FORMS, PILE, function("count_ways", code.ways)]
    parts += [function(f"step{i}", kernel) for i, kernel in enumerate(different)]
    widest, moves = max(len(kernel.outputs) for kernel in code.steps), len(code.steps)
    parts.append(
        "int expand(const uint8_t *rows, size_t n, const uint8_t *passing, const uint8_t *left,"
        " const emitter *emits, pile *piles) {\n"
        f" int left_out = 0;\n u8 c[SIZE], g[{moves}], f[{widest}], m;\n"
        " for (size_t start = 0; start < n; start += LANES) {\n"
        "  size_t lanes = n - start < LANES ? n - start : LANES;\n"
        "  columns(rows + start * SIZE, lanes, c);\n  count_ways(c, g);\n"
        "  for (size_t lane = lanes; lane < LANES; lane++)\n"
        f"   for (int i = 0; i < {moves}; i++) ((uint8_t *)&g[i])[lane] = 0;\n"
        f"  made made = {{start, lanes, 0, f, &m, 0, 0}};"
    )
    for n, (step, move) in enumerate(zip(code.steps, code.moves, strict=True)):
        last = len(step.outputs) - 1
        parts.append(
            f"  if (any(&g[{n}])) {{ if (left[{n}]) left_out = 1; else {{\n"
            f"   step{different.index(step)}(c, f);\n"
            f"   m = ~EQ(g[{n}], K(0)) & MASK(f[{last}]); left_out |= any(&m);\n"
            f"   m = ~EQ(g[{n}], K(0)) & ~MASK(f[{last}]);\n"
            f"   made.move = {n}; made.ways = &g[{n}]; made.seen = f + {last - seen};\n"
            f"   left_out |= emits[{move.spare}](&made, passing, &piles[{move.cost}]);\n"
            "  } }"
        )
    return "\n".join([*parts, " }", " return left_out;", "}", ""])
