"""The recorded side: runs a Python program in its own process, and writes down what it does.

python -m markstep.conformance.recording.launch BLOCKS (SCRIPT | -m MODULE | -c CODE) [ARGUMENT…]
"""

import os
import runpy
import sys
from pathlib import Path
from typing import BinaryIO

from markstep.conformance.recording.lines import Program
from markstep.conformance.recording.notebook import Notebook

NAMES = ("PJRT_DEVICE", "CPU_NUM_DEVICES")
PREFIX = "XLA_"
"""Environment variables that are written down."""


def main(log: Path, program: list[str]) -> int:
    """Record a program; its exit status."""
    from markstep.conformance.recording.dispatch import Dispatch

    home = Path(program[0]).resolve().parent if program[0] not in ("-m", "-c") else Path.cwd()
    with log.open("wb") as file:
        dispatch = Dispatch(lambda: begin(file, tuple(program), home))
        status = 1
        try:
            with dispatch:
                status = run(program, home)
        finally:
            if dispatch.begun is not None:
                dispatch.begun.end(status)
    return status


def begin(file: BinaryIO, program: tuple[str, ...], home: Path) -> Notebook:
    """The program has made its first tensor on the device: torch_xla is there, watch it."""
    import torch
    import torch_xla

    from markstep.conformance.recording.calls import watch_calls
    from markstep.conformance.recording.looking import XlaEyes

    env = {n: t for n, t in sorted(os.environ.items()) if n in NAMES or n.startswith(PREFIX)}
    header = Program("torch_xla", str(torch_xla.__version__), str(torch.__version__), program, env)
    notebook = Notebook(file, header, XlaEyes(), home)
    watch_calls(notebook)
    return notebook


def run(program: list[str], home: Path) -> int:
    """The program as `python` would run it; its exit status."""
    first, *rest = program
    try:
        if first == "-m":
            sys.argv, sys.path[0] = rest, os.getcwd()
            runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        elif first == "-c":
            sys.argv, sys.path[0] = ["-c", *rest[1:]], ""
            exec(compile(rest[0], str(home / "-c"), "exec"), {"__name__": "__main__"})
        else:
            sys.argv, sys.path[0] = program, str(home)
            runpy.run_path(str(Path(first).resolve()), run_name="__main__")
    except SystemExit as leave:
        if isinstance(leave.code, str):
            print(leave.code, file=sys.stderr)
            return 1
        return int(leave.code or 0)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
