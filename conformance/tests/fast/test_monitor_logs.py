"""The recorded logs: the law explains all of them, and they show what they were chosen for."""

from collections.abc import Iterator

import pytest
from logfiles import LOGS, name_of

from markstep.conformance.logs.errortexts import CRASHES, ERROR_TEXTS
from markstep.conformance.logs.monitor import MonitorReport, monitor_log, monitor_logs
from markstep.conformance.logs.rawlog import read_log
from markstep.conformance.logs.rawrecord import Crashed, Ok, Raised, RawStep, RawTensor, RawVoid
from markstep.conformance.verdict import Verdict
from markstep.spec.design import SOUND, TORCH_XLA_2_9
from markstep.spec.invariants import CLAIMS
from markstep.spec.vocabulary import ErrorKind


@pytest.fixture(scope="module")
def under_sound() -> MonitorReport:
    return monitor_logs(LOGS, SOUND)


def steps() -> Iterator[RawStep]:
    for path in LOGS:
        yield from read_log(path).steps


@pytest.mark.parametrize("path", LOGS, ids=name_of)
def test_the_law_explains_every_step(path: object) -> None:
    verdict = monitor_log(str(path), TORCH_XLA_2_9)
    assert verdict.error is None
    assert verdict.unexplained is None, list(map(str, verdict.unexplained.differences))
    assert verdict.verdict == Verdict.CONFORMS
    assert verdict.accepted == verdict.steps > 0


def test_the_logs_show_every_error_every_crash_and_wrong_values() -> None:
    ends = [step.outcome for step in steps()]
    texts = [end.message for end in ends if isinstance(end, Raised)]
    missing = {row.kind for row in ERROR_TEXTS if not any(t.startswith(row.prefix) for t in texts)}
    # no recorded program forbids executions, or writes a graph over a donated buffer
    assert missing == {ErrorKind.REFUSED, ErrorKind.DELETED}
    assert {end.signal for end in ends if isinstance(end, Crashed)} == set(CRASHES)
    wrong = [s.action for s in steps() if isinstance(s.outcome, Ok) and s.outcome.expected]
    assert set(wrong) == {"read", "read_many"}


def test_the_logs_show_every_visible_state() -> None:
    shown = [tensor for step in steps() for tensor in step.tensors.values()]
    assert any(isinstance(tensor, RawVoid) for tensor in shown)
    tensors = [tensor for tensor in shown if isinstance(tensor, RawTensor)]
    plain = {t.data.state for t in tensors if t.data and t.data.kind == "plain"}
    assert plain == {"value", "placeholder", "deleted"}
    assert len({t.data.sharding for t in tensors if t.data and t.data.sharding}) >= 5
    assert {t.dtype for t in tensors} == {"f32", "s32"}
    assert any(t.host for t in tensors)
    assert {step.action for step in steps() if step.transient} >= {"mark_step", "placeholder"}


def test_the_recorded_system_breaks_claims_and_all_are_known_to_be_broken_by_it(
    under_sound: MonitorReport,
) -> None:
    known = {id for id, claim in CLAIMS.items() if claim.broken_by_torch_xla}
    assert set(under_sound.breaks) <= known
    assert len(under_sound.breaks) >= 20
    assert under_sound.verdict == Verdict.VIOLATES


def test_every_claim_is_exercised_by_the_logs(under_sound: MonitorReport) -> None:
    witnessed = {
        id
        for log in under_sound.logs
        if log.watch is not None
        for id, count in log.watch.counts.items()
        if count.witnessed
    }
    # I107 is of designs in which records carry errors (D08); no recorded mark is lazy or of a stub,
    # and no placeholder is dumped
    not_recorded = {"I23", "I85", "I86", "I120", "I121", "I125", "I126", "I129"}
    assert set(CLAIMS) - witnessed <= {"I107", *not_recorded}


def test_under_another_design_the_logs_are_explained_all_the_same(
    under_sound: MonitorReport,
) -> None:
    for log in under_sound.logs:
        assert log.explained_by == TORCH_XLA_2_9
        assert log.accepted == log.steps
