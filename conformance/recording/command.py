"""`markstep record -- python train.py`: run a program and write down what it does."""

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from markstep.conformance.cli.usage import UsageError
from markstep.conformance.recording.lines import write_recording

MODULE = "markstep.conformance.recording.launch"
TAKEN = "python script.py, python -m module or python -c code"


@dataclass(frozen=True, slots=True)
class Recorded:
    """How the recording of a program ended."""

    steps: int
    status: int
    """Exit status of the program; negative: the signal that killed it."""


def split_command(words: list[str]) -> tuple[str, list[str]]:
    """(interpreter, the program and its arguments). Raises UsageError."""
    if not words:
        raise UsageError("record", "no program is given", f"write -- and {TAKEN}")
    interpreter, *program = words
    if not Path(interpreter).name.startswith("python"):
        what = f"{interpreter!r} is no Python interpreter"
        raise UsageError("record", what, f"write {TAKEN}")
    flags = [word for word in program[:1] if word.startswith("-") and word not in ("-m", "-c")]
    if flags or not program or (program[0] in ("-m", "-c") and len(program) < 2):
        what = f"{' '.join(words)[:60]!r} is not a program with arguments"
        raise UsageError("record", what, f"write {TAKEN}")
    if program[0] not in ("-m", "-c") and not Path(program[0]).is_file():
        raise UsageError(f"record {program[0]}", "no such file", "check the path")
    return interpreter, program


def record(words: list[str], to: Path) -> Recorded:
    """Run a program in a process of its own, and write its recording. Raises UsageError."""
    interpreter, program = split_command(words)
    if interpreter in ("python", "python3"):
        interpreter = sys.executable
    with tempfile.NamedTemporaryFile(suffix=".blocks") as blocks:
        command = [interpreter, "-m", MODULE, blocks.name, *program]
        try:
            status = subprocess.run(command, check=False).returncode
        except OSError as error:
            raise UsageError(f"record {interpreter}", str(error.strerror), "check it") from None
        with Path(blocks.name).open("rb") as given:
            steps = write_recording(given, to)
    return Recorded(steps, status)
