"""The pages of the manual as programs: what they tell the reader to type is typed, and what they
show is compared. An ellipsis, …, stands for anything; on a line of its own, for any lines.

Blocks of a page run in order in one folder:

    console                 `$ command`, and what it prints
    python title="x.py"     a file
    diff title="x.py"       a change of that file: lines with - are replaced by those with +
    python                  statements; names are kept from block to block
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markstep.conformance.cli import app

BLOCK = re.compile(r'(?ms)^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$')
OUTPUT = "# prints: "
"""Behind a block of statements: what it prints."""


@dataclass(frozen=True)
class Block:
    """A block of code of a page."""

    kind: str
    title: str
    text: str


def blocks(page: Path) -> list[Block]:
    """All blocks of a page, in order."""
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [Block(kind, title, text) for kind, title, text in found]


def play(page: Path, folder: Path, environment: dict[str, str]) -> int:
    """Do what a page says; how many commands and blocks were tried."""
    names: dict[str, Any] = {}
    shell = {**os.environ, **environment, "PATH": f"{shim(folder)}:{os.environ['PATH']}"}
    tried = 0
    for block in blocks(page):
        if block.title:
            change(folder / block.title, block)
        elif block.kind == "python":
            statements(block.text, names)
        elif block.kind == "console":
            for command, shown in commands(block.text):
                compare(command, shown, typed(command, folder, shell))
        else:
            continue
        tried += 1
    return tried


def typed(command: str, folder: Path, shell: dict[str, str]) -> str:
    """What a command prints. One of markstep's own is called here, which saves starting anew."""
    if command.startswith("markstep ") and not set("|&;<>$`") & set(command):
        return called(shlex.split(command)[1:], folder)
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=shell,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    return done.stdout


def called(arguments: list[str], folder: Path) -> str:
    """What the command line prints; modules of the folder are forgotten afterwards."""
    out, path, modules = io.StringIO(), sys.path.copy(), set(sys.modules)
    both = contextlib.redirect_stdout(out), contextlib.redirect_stderr(out)
    with contextlib.chdir(folder), both[0], both[1], contextlib.suppress(SystemExit):
        app.main(arguments)
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        file = getattr(sys.modules[name], "__file__", None) or ""
        if Path(file).is_relative_to(folder):
            del sys.modules[name]
    return out.getvalue()


def shim(folder: Path) -> Path:
    """A folder with the commands of this interpreter."""
    bin = folder / ".bin"
    bin.mkdir()
    for name, module in (("markstep", "-m markstep.conformance"), ("pytest", "-m pytest")):
        path = bin / name
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n')
        path.chmod(0o755)
    return bin


def change(path: Path, block: Block) -> None:
    """Write a file, or change it."""
    if block.kind != "diff":
        path.write_text(block.text, encoding="utf-8")
        return
    lines = block.text.splitlines(keepends=True)
    old, new = ("".join(line[1:] for line in lines if line[0] in (m, " ")) for m in "-+")
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{path.name} has no or several of\n{old}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of a session, with the lines that each prints."""
    for part in re.split(r"(?m)^\$ ", text)[1:]:
        command, *shown = part.splitlines()
        while command.endswith("\\"):
            command = f"{command[:-1]}{shown.pop(0).strip()}"
        yield command, shown


def statements(text: str, names: dict[str, Any]) -> None:
    """Run statements; comments say what they print."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(text, "manual", "exec"), names)
    shown = [line.removeprefix(OUTPUT) for line in text.splitlines() if line.startswith(OUTPUT)]
    compare(text, shown, out.getvalue())


def compare(what: str, shown: list[str], printed: str) -> None:
    """What a page shows against what was printed; a page may show nothing."""
    here = [line.rstrip() for line in printed.strip("\n").splitlines()]
    assert not shown or fits(shown, here), "\n".join([what, "shown:", *shown, "printed:", *here])


def fits(shown: list[str], here: list[str]) -> bool:
    """Whether lines are as shown."""
    if not shown:
        return not here
    if shown[0] == "…":
        return any(fits(shown[1:], here[i:]) for i in range(len(here) + 1))
    pattern = ".*".join(map(re.escape, shown[0].rstrip().split("…")))
    return bool(here and re.fullmatch(pattern, here[0])) and fits(shown[1:], here[1:])
