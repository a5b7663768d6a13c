"""Kernels on numpy: each instruction is one operation on a block of states, a byte for each."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from markstep.spec.compiled.kernel import Instruction, Kernel

Bytes: TypeAlias = "np.ndarray[Any, np.dtype[np.uint8]]"
BLOCK = 1 << 15
"""States that go through a kernel together; then everything stays in the cache."""

_NAMES = {
    "and": "bitwise_and",
    "or": "bitwise_or",
    "add": "add",
    "sub": "subtract",
    "bitand": "bitwise_and",
    "bitor": "bitwise_or",
    "bitxor": "bitwise_xor",
    "invert": "invert",
    "eq": "equal",
    "lt": "less",
    "le": "less_equal",
    "shl": "multiply",
    "shr": "right_shift",
}


class _Writer:
    """Writes a kernel as Python text. Every value lies in a row of a table of blocks."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {}
        self.free: list[int] = []
        self.rows = 0
        self.row: dict[object, int] = {}
        self.last: dict[int, int] = {}
        for n, instruction in enumerate(kernel.instructions):
            for arg in instruction.args:
                self.last[arg] = n
        for n in kernel.outputs:
            self.last[n] = len(kernel.instructions)
        self.masks: dict[int, int] = {}
        """Instructions of which there is a row of masks."""

    def take(self) -> int:
        if self.free:
            return self.free.pop()
        self.rows += 1
        return self.rows - 1

    def operand(self, n: int, kind: str) -> str:
        """The text of a value: u number, i signed number, b truth, m mask."""
        instruction = self.kernel.instructions[n]
        if instruction.op == "const":
            value = instruction.value
            name = f"k{kind}{value & 255}"
            types = {"u": np.uint8, "m": np.uint8, "i": np.int8, "b": np.bool_}
            if kind == "i":
                array = np.array(value & 255, np.uint8).view(np.int8)
            elif kind == "m":
                array = np.array(255 if value else 0, np.uint8)
            else:
                array = np.array(value & 255 if kind == "u" else value, types[kind])
            self.constants[name] = array
            return name
        if kind == "m":
            if n not in self.masks:
                row = self.masks[n] = self.take()
                self.lines.append(f"negative({self.operand(n, 'u')}, u{row})")
            return f"u{self.masks[n]}"
        if instruction.op == "byte":
            return f"c{kind}[{instruction.value}]"
        return f"{kind}{self.row[n]}"

    def write(self) -> None:
        for n, instruction in enumerate(self.kernel.instructions):
            if instruction.op in ("const", "byte"):
                continue
            if n in self.last:
                self.instruction(n, instruction)
            for arg in set(instruction.args):
                if self.last.get(arg) == n:
                    self.release(arg)

    def release(self, n: int) -> None:
        if n in self.row:
            self.free.append(self.row.pop(n))
        if n in self.masks:
            self.free.append(self.masks.pop(n))

    def instruction(self, n: int, i: Instruction) -> None:
        kind = "b" if i.truth else "u"
        if i.op == "ite":
            texts = self.choice(i)
        elif i.op == "not":
            texts = [f"logical_not({self.operand(i.args[0], 'b')}, {{b}})"]
        elif i.op in ("shl", "shr"):
            # numpy multiplies bytes much faster than it shifts them to the left.
            by = i.value if i.op == "shr" else 1 << i.value
            self.constants[f"ku{by}"] = np.array(by, np.uint8)
            texts = [f"{_NAMES[i.op]}({self.operand(i.args[0], 'u')}, ku{by}, {{u}})"]
        else:
            of = "b" if i.op in ("and", "or") else "i" if i.op in ("lt", "le") else "u"
            args = ", ".join(self.operand(arg, of) for arg in i.args)
            texts = [f"{_NAMES[i.op]}({args}, {{{kind}}})"]
        row = self.row[n] = self.take()
        self.lines += [text.format(b=f"b{row}", u=f"u{row}") for text in texts]

    def choice(self, i: Instruction) -> list[str]:
        condition, yes, no = i.args
        if i.truth:
            c, a, b = (self.operand(arg, "b") for arg in i.args)
            return [
                f"bitwise_xor({a}, {b}, {{b}})",
                f"bitwise_and({{b}}, {c}, {{b}})",
                f"bitwise_xor({{b}}, {b}, {{b}})",
            ]
        mask = self.operand(condition, "m")
        a, b = self.operand(yes, "u"), self.operand(no, "u")
        other = self.kernel.instructions[no]
        if other.op == "const" and other.value == 0:
            return [f"bitwise_and({a}, {mask}, {{u}})"]
        return [
            f"bitwise_xor({a}, {b}, {{u}})",
            f"bitwise_and({{u}}, {mask}, {{u}})",
            f"bitwise_xor({{u}}, {b}, {{u}})",
        ]


@cache
def compiled(kernel: Kernel) -> Callable[[Bytes], list[Bytes]]:
    """A function from the columns of a block of states, (bytes, states), to the outputs."""
    writer = _Writer(kernel)
    writer.write()
    ends = ", ".join(output_text(writer, n) for n in kernel.outputs)
    body = [*writer.lines, f"return [{ends}]"]
    head = ["def run(cu, table, n):", " cb = cu.view(bool)", " ci = cu.view(int8)"]
    head += [f" {line}" for line in views(body, writer.rows)]
    text = "\n".join([*head, *(f" {line}" for line in body)])
    scope: dict[str, Any] = {name: getattr(np, name) for name in {*_NAMES.values()}}
    scope |= {"negative": np.negative, "logical_not": np.logical_not, "int8": np.int8}
    scope |= writer.constants
    exec(text, scope)
    rows = writer.rows
    run = scope["run"]

    def call(columns: Bytes) -> list[Bytes]:
        return run(columns, table(rows), columns.shape[1])  # type: ignore[no-any-return]

    return call


def views(body: list[str], rows: int) -> Iterator[str]:
    """The rows of the table as what the text uses them for: to make a view takes as long as to
    compute with a short one."""
    used = set(re.findall(r"\b[ubi]\d+\b", "\n".join(body)))
    for i in range(rows):
        yield f"u{i} = table[{i}, :n]"
        if f"b{i}" in used:
            yield f"b{i} = u{i}.view(bool)"
        if f"i{i}" in used:
            yield f"i{i} = u{i}.view(int8)"


_tables: list[Bytes] = []


def table(rows: int) -> Bytes:
    """Room for so many rows of a block; every kernel uses the same."""
    if not _tables or len(_tables[0]) < rows:
        _tables[:] = [np.empty((rows, BLOCK), np.uint8)]
    return _tables[0]


def output_text(writer: _Writer, n: int) -> str:
    """The text of an output: a constant is told as a number."""
    instruction = writer.kernel.instructions[n]
    if instruction.op == "const":
        return str(instruction.value & 255)
    if instruction.op == "byte":
        return f"cu[{instruction.value}]"
    return f"{'b' if instruction.truth else 'u'}{writer.row[n]}"
