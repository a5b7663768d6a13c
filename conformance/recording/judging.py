"""What `markstep monitor` says of the recording of a user's program."""

import time
from pathlib import Path

from markstep.conformance.logs.logrun import LogVerdict
from markstep.conformance.logs.rawlog import LogError
from markstep.conformance.recording.hazards import Hazard, hazards
from markstep.conformance.recording.lines import read_recording
from markstep.conformance.report.model import Failure
from markstep.spec.design import Design


def judge_recording(path: Path, design: Design) -> LogVerdict:
    """Read a recording and say what it shows. A malformed one is an error in the verdict."""
    verdict, begin = LogVerdict(path, design, recording=True), time.perf_counter()
    try:
        recording = read_recording(path)
        verdict.system = f"{recording.header.system} {recording.header.system_version}"
        verdict.steps = verdict.accepted = len(recording.lines)
        verdict.hazards = hazards(recording)
    except LogError as error:
        verdict.error = error
    verdict.seconds = time.perf_counter() - begin
    return verdict


def lost_value(log: LogVerdict, hazard: Hazard) -> Failure:
    """The failure of a program that lost a value."""
    return Failure(
        id=str(log.path),
        name=hazard.kind,
        statement="Lazy execution loses no value.",
        program=(),
        step=-1,
        expected="a tensor that had a value keeps it",
        observed=hazard.text,
        design=log.design.name,
    )
