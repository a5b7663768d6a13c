"""`markstep record` as a report."""

import signal
from importlib.util import find_spec
from pathlib import Path

from markstep.conformance.cli.ending import finish
from markstep.conformance.cli.files import check_directory
from markstep.conformance.cli.outputs import Outputs
from markstep.conformance.cli.usage import UsageError, complain
from markstep.conformance.exit_codes import ExitCode
from markstep.conformance.logs.monitor import monitor
from markstep.conformance.recording.command import record, split_command
from markstep.spec.design import TORCH_XLA_2_9

SUFFIXES = (".jsonl", ".jsonl.gz")


def record_verb(words: list[str], log: Path, outputs: Outputs) -> ExitCode:
    """Record a program, then look at the recording as `markstep monitor` does."""
    if not log.name.endswith(SUFFIXES):
        advice = f"give a name that ends in {' or '.join(SUFFIXES)}"
        raise UsageError(f"--log {log}", "is not the name of a log", advice)
    split_command(words)
    if any(find_spec(name) is None for name in ("torch", "torch_xla")):
        advice = "pip install 'markstep[torch-xla]'"
        raise UsageError("record", "torch and torch_xla are not installed", advice)
    outputs.check(("--log", log))
    check_directory("--log", log.parent)
    log.parent.mkdir(parents=True, exist_ok=True)
    recorded = record(words, log)
    if recorded.steps == 0:
        log.unlink()
        complain(f"record: the program ended{_how(recorded.status)} and made no tensor on XLA")
        return ExitCode.VACUOUS if recorded.status == 0 else ExitCode.ERROR
    report = monitor([log], TORCH_XLA_2_9)
    report.again = f"markstep monitor {log}"
    code = finish(report, outputs)
    if recorded.status == 0:
        return code
    complain(f"record: the program ended{_how(recorded.status)}; {log} has what it did until then")
    return ExitCode.ERROR


def _how(status: int) -> str:
    if status < 0:
        return f", killed by {signal.Signals(-status).name},"
    return f" with exit status {status}" if status else ""
