"""The reduction: every record has a row that says what it means, and nothing else is taken."""

from pathlib import Path
from typing import Any, get_args

import pytest
from logfiles import LOGS, changed, header, lines_of, named, write

from markstep.conformance.logs.arguments import UnknownRecord
from markstep.conformance.logs.errortexts import ERROR_TEXTS, kind_of_error
from markstep.conformance.logs.monitor import monitor_log
from markstep.conformance.logs.rawlog import (
    LogError,
    NotModelledError,
    UnknownRecordError,
    read_log,
)
from markstep.conformance.logs.rawrecord import Ok, Raised, RawStep
from markstep.conformance.logs.recorded import IDLE_COUNTERS, MODELLED_COUNTERS, UNMODELLED_COUNTERS
from markstep.conformance.logs.reduction import REDUCTION, reduce_step
from markstep.conformance.logs.strictjson import FieldError
from markstep.conformance.verdict import Verdict
from markstep.spec.design import TORCH_XLA_2_9
from markstep.spec.vocabulary import (
    Action,
    Apply,
    CreateFromHost,
    ErrorKind,
    GraphHash,
    RunCached,
    Sync,
    WarmUp,
)

HEADER = read_log(LOGS[0]).header


def reduced(action: str, given: int = 2, **args: object) -> tuple[Action, ...]:
    """The actions of a step after two tensors were made."""
    return reduce_step(RawStep(2, 0, action, args, Ok(None)), HEADER, given)


@pytest.mark.parametrize("record", list(REDUCTION))
def test_a_row_says_what_has_happened_and_what_is_hidden(record: str) -> None:
    row = REDUCTION[record]
    assert row.boundary.endswith(".") and row.hidden.endswith(".")
    assert set(row.makes) <= set(get_args(Action))


def test_every_record_of_the_logs_has_a_row_and_every_row_a_record() -> None:
    recorded = {step.action for path in LOGS for step in read_log(path).steps}
    assert recorded == set(REDUCTION)


def test_a_row_makes_the_actions_that_it_names() -> None:
    for path in LOGS:
        given = 0
        log = read_log(path)
        for step in log.steps:
            actions = reduce_step(step, log.header, given)
            names = [int(name[1:]) for name in step.tensors]
            given = max([given, *names, *(getattr(a, "out", 0) for a in actions)])
            made = [type(action) for action in actions]
            assert made == [kind for kind in REDUCTION[step.action].makes if kind in made]


def test_arguments_become_fields() -> None:
    assert reduced("mul_scalar", a="t2", s=2.5, out="t3") == (Apply(3, "mul_scalar", (2,), 2.5),)
    assert reduced("sync_multi", tensors=["t1", "t1"], wait=False, sync_xla_data=True) == (
        Sync((1, 1), sync=True, wait=False),
    )


def test_host_data_stays_on_the_host_where_the_environment_says_so() -> None:
    args: dict[str, object] = {"value": [1], "dtype": "float32", "shape": [1], "out": "t1"}
    step = RawStep(2, 0, "from_host", args, Ok(None))
    logs = {path.parent.name: read_log(path).header for path in LOGS}
    for profile, uploads in (("core", True), ("core_hostonly", False)):
        (made,) = reduce_step(step, logs[profile], 0)
        assert isinstance(made, CreateFromHost)
        assert made.upload is uploads


def test_a_run_by_key_is_several_actions_and_its_results_get_the_next_names() -> None:
    assert reduced("run_cached", tensors=["t2", "t1"], warm=True) == (
        GraphHash((2, 1)),
        WarmUp((2, 1)),
        RunCached((2, 1), (3, 4)),
    )
    assert reduced("run_cached", tensors=["t2"], warm=False) == (
        GraphHash((2,)),
        RunCached((2,), (3,)),
    )


@pytest.mark.parametrize(
    ("action", "args", "expected"),
    [
        ("drop", {}, "field args has no field 't'"),
        ("drop", {"t": "t1", "u": 1}, "field args has unknown field 'u'"),
        ("drop", {"t": 1}, "field args.t is a number, not a text"),
        ("drop", {"t": "x1"}, "field args.t is 'x1', not a tensor name such as t1"),
        ("drop", {"t": "t01"}, "field args.t is 't01'; names begin with t1"),
        ("drop", {"t": "t" + "9" * 30}, "field args.t is"),
        ("neg", {"a": "t1", "out": "t9"}, "neg makes t9 where t3 is the next name"),
        ("mark_step", {"wait": 1}, "field args.wait is a number, not a boolean"),
        ("mark_step", {"wait": True, "device": "xla:1"}, "field args has unknown field 'device'"),
        ("add_scalar", {"a": "t1", "s": True, "out": "t3"}, "field args.s is a boolean"),
    ],
)
def test_an_unexpected_argument_is_an_error(
    action: str, args: dict[str, object], expected: str
) -> None:
    with pytest.raises(FieldError) as caught:
        reduced(action, **args)
    assert str(caught.value).startswith(expected)


def test_an_unknown_action_is_an_error() -> None:
    with pytest.raises(UnknownRecord, match="unknown action 'sing'"):
        reduced("sing")


def test_the_kind_of_an_error_is_told_by_type_and_beginning() -> None:
    for row in ERROR_TEXTS:
        assert kind_of_error(Raised(row.type, f"{row.prefix} more")) == row.kind
    with pytest.raises(UnknownRecord, match="unknown error text RuntimeError: 'Something else'"):
        kind_of_error(Raised("RuntimeError", "Something else"))
    with pytest.raises(UnknownRecord, match="unknown error text KeyError"):
        kind_of_error(Raised("KeyError", ERROR_TEXTS[0].prefix))


def test_every_error_kind_but_those_of_other_designs_has_a_text() -> None:
    without_text = {
        ErrorKind.NONE,
        ErrorKind.CRASH,
        ErrorKind.UNMATERIALIZED,
        ErrorKind.PENDING_INPUT,
    }
    assert {row.kind for row in ERROR_TEXTS} == set(ErrorKind) - without_text


def test_the_lists_of_counters_are_disjoint_and_every_recorded_one_is_compared() -> None:
    lists = (*MODELLED_COUNTERS, *IDLE_COUNTERS, *UNMODELLED_COUNTERS)
    assert len(set(lists)) == len(lists)
    recorded = {name for path in LOGS for step in read_log(path).steps for name in step.counters}
    assert recorded == set(MODELLED_COUNTERS)


# ---- what a log is refused for ----------------------------------------------------------------


def refused(tmp_path: Path, lines: list[Any]) -> LogError:
    verdict = monitor_log(write(tmp_path / "log.jsonl.gz", lines), TORCH_XLA_2_9)
    assert verdict.error is not None
    unsupported = isinstance(verdict.error, NotModelledError)
    assert verdict.verdict == (Verdict.UNSUPPORTED if unsupported else Verdict.ERROR)
    assert "\n" not in str(verdict.error)
    return verdict.error


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"functionalization": False, "eager": True},
            "header field eager without function",
        ),
        ({"devices_used": 3}, "header field devices_used = 3 is not modelled yet"),
        ({"env": {"XLA_USE_BF16": "1"}}, "header field env: 'XLA_USE_BF16=1' is not modelled yet"),
        ({"system": "other"}, "the system 'other 2.9.0' is not modelled yet; modelled: torch_xla"),
        ({"system_version": "2.8.0"}, "the system 'torch_xla 2.8.0' is not modelled yet"),
    ],
)
def test_a_header_outside_the_core_is_unsupported(
    changes: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    error = refused(tmp_path, [header(**changes)])
    assert isinstance(error, NotModelledError)
    assert (error.line, error.what[: len(expected)]) == (1, expected)


def test_what_no_row_covers_is_an_error_at_its_line(tmp_path: Path) -> None:
    lines = lines_of(named("core/p0020"))
    for field, value, expected in (
        ("action", "sing", "unknown action 'sing'"),
        ("counters", {"Songs": 1}, "unknown counter 'Songs'"),
        ("outcome", {"error": {"type": "RuntimeError", "message": "No"}}, "unknown error text"),
        ("tensors", {"t1": {"void": "Why"}}, "unknown reason for a void tensor: 'Why'"),
        ("outcome", {"crash": "SIGABRT", "message": "Why"}, "unknown crash SIGABRT: 'Why'"),
    ):
        wrong = changed(lines, 4, **{field: value})
        if "crash" in value:
            wrong = [*wrong[:4], {k: wrong[4][k] for k in ("step", "action", "args", "outcome")}]
        error = refused(tmp_path, wrong)
        assert isinstance(error, UnknownRecordError)
        assert (error.line, error.what.startswith(expected)) == (5, True), error


def test_a_step_about_a_tensor_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    error = refused(
        tmp_path, changed(lines_of(named("core/p0020")), 3, action="drop", args={"t": "t9"})
    )
    assert error.line == 4
    assert "a tensor that it names does not exist" in error.what


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (0.1, "float32", "t1 means a value that float32 does not hold"),
        (2**25 + 1, "float32", "t1 means a value that float32 does not hold"),
        (2**31, "int32", "t1 means a value that int32 does not hold"),
        (1, "float64", "the dtype 'float64' is not modelled"),
    ],
)
def test_values_that_are_not_exact_are_not_modelled(
    value: float, dtype: str, expected: str, tmp_path: Path
) -> None:
    args = {"value": [value] * 4, "dtype": dtype, "shape": [4], "out": "t1"}
    lines = changed(lines_of(named("core/p0020")), 1, action="from_host", args=args)
    error = refused(tmp_path, lines)
    assert isinstance(error, NotModelledError)
    assert error.what.startswith(expected)
