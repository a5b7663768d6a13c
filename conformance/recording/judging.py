"""What `markstep monitor` says of the recording of a user's program."""

import time
from pathlib import Path

from markstep.conformance.logs.logrun import LogVerdict
from markstep.conformance.logs.rawlog import LogError
from markstep.conformance.logs.scope import RECORDED
from markstep.conformance.recording.hazards import Hazard, hazards
from markstep.conformance.recording.lines import Recording, read_recording
from markstep.conformance.recording.outline import outline
from markstep.conformance.report.model import Failure
from markstep.spec.design import Design

UNEXPLAINED = "not as the law says"
STATEMENTS = {
    "lost value": "Lazy execution loses no value.",
    UNEXPLAINED: "The law predicts what each tensor of a program holds behind an evaluation.",
}
MOST = 5
"""Differences of one line that are told."""


def judge_recording(path: Path, design: Design) -> LogVerdict:
    """Read a recording and say what it shows. A malformed one is an error in the verdict.

    The law is that of the recorded system; ``design`` says what the log is held to otherwise.
    """
    verdict, begin = LogVerdict(path, design, recording=True), time.perf_counter()
    try:
        recording = read_recording(path)
        verdict.system = f"{recording.header.system} {recording.header.system_version}"
        verdict.steps = verdict.accepted = len(recording.lines)
        verdict.hazards = [*explained(recording, verdict), *hazards(recording)]
    except LogError as error:
        verdict.error = error
    verdict.seconds = time.perf_counter() - begin
    return verdict


def explained(recording: Recording, verdict: LogVerdict) -> list[Hazard]:
    """What the law of the recorded system does not explain of the outline of a program."""
    header = recording.header
    version = ".".join(header.system_version.split(".")[:2])
    law = RECORDED.get((header.system, version))
    if law is None:
        verdict.followed = f"no design describes {header.system} {header.system_version}"
        return []
    followed = outline(recording, law)
    verdict.out_of_time = bool(followed.end)
    what = f"the law explains {followed.compared} looks at tensors"
    verdict.followed = what + (f"; then {followed.end}" if followed.end else "")
    return [Hazard(UNEXPLAINED, text, violates=True) for text in followed.found[:MOST]]


def grave_hazard(log: LogVerdict, hazard: Hazard) -> Failure:
    """The failure of a program that lost a value, or did what the law does not explain."""
    return Failure(
        id=str(log.path),
        name=hazard.kind,
        statement=STATEMENTS[hazard.kind],
        program=(),
        step=-1,
        expected="a tensor that had a value keeps it, and the law knows what each tensor holds",
        observed=hazard.text,
        design=log.design.name,
    )
