"""Executors in processes of their own: what they may say, and what becomes of bad ones."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from markstep.conformance.adapter import AdapterError, load
from markstep.conformance.check import check
from markstep.conformance.lockstep.session import run_program
from markstep.conformance.process.child import ProcessAdapter
from markstep.conformance.process.messages import (
    Hello,
    MessageError,
    decode_apply,
    decode_hello,
    decode_observation,
    decode_view,
    encode_apply,
    encode_hello,
    encode_observation,
    encode_view,
    from_line,
    to_line,
)
from markstep.conformance.verdict import Verdict
from markstep.spec import vocabulary as v
from markstep.spec.design import SOUND
from markstep.spec.vocabulary import (
    BufferStatus,
    CreateFromHost,
    DType,
    ErrorKind,
    IrKind,
    Observation,
    ReadOne,
    TensorName,
    TensorView,
    View,
)

ROOT = Path(__file__).parents[3]
SCHEMA = json.loads((ROOT / "docs/reference/protocol.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

T0, T1 = TensorName(0), TensorName(1)
CREATE = CreateFromHost(T0, (1, 2), (2,))
ACTIONS: list[v.Action] = [
    CREATE,
    CreateFromHost(T0, (2**70,), (1,)),
    v.CreatePlaceholder(T0, (2, 2), DType.S32),
    v.Apply(T1, "add_scalar", (T0,), 2.5),
    v.AssignInPlace(T0, "add", (T1,)),
    v.Clone(T1, T0),
    v.CopyInto(T1, T0),
    v.CopyFromHost(T0, (1, 2), False),
    v.Detach(T1, T0),
    v.Drop(T0),
    v.Sync((T0, T1), False, True),
    v.SyncLive(),
    v.StepBarrier(True),
    v.WarmUp((T0,)),
    ReadOne(T0),
    v.ReadMany((T0, T0)),
    v.GraphHash(()),
    v.RunCached((T0,), (T1,)),
    v.ClearPending(),
    v.SetDonation(T0, False),
    v.SetDonorConfig(),
    v.WaitDevice(),
    v.DumpGraph((T0,)),
    v.AllowExecution(False),
    v.EvictCache(),
    v.WriteToResult(T0),
    v.CompleteExecution(3),
    v.FailExecution(True),
    v.Fill(T0, (2, 2), 2.5),
    v.Random(T0, 9),
    v.SetSeed(2**64 - 1),
    v.GetSeed(),
    v.UseSpmd(),
    v.MarkSharding(T0, v.Sharding.GRID_TRANSPOSED, lazy=True),
    v.ClearSharding(T0),
    v.ReadSpec(T0),
    v.BindData(T0, (1, 2)),
    v.LoadShards(T0, (1, 2)),
    v.SetEager(False),
    v.ViewOf(T1, T0, "slice", (0, 1, 2)),
    v.Look(T0),
]
TENSOR = TensorView(7, 3, IrKind.LEAF, BufferStatus.VALUE, 2, False, (2, 2), DType.F32)


def round_trip(kind: str, body: Any) -> Any:
    """The body on the other side of the pipe; the schema must agree with every line."""
    line = to_line(kind, body)
    VALIDATOR.validate(json.loads(line))
    assert from_line(line)[0] == kind
    return from_line(line)[1]


def test_every_action_crosses_the_pipe_unchanged() -> None:
    assert {type(action) for action in ACTIONS} == set(get_args(v.Action))
    for action in ACTIONS:
        assert decode_apply(round_trip("apply", encode_apply(action))) == action


@pytest.mark.parametrize(
    "observation",
    [
        Observation(),
        Observation(value=(1, 2.5)),
        Observation(value=((1, 2), (3,))),
        Observation(value="4f"),
        Observation(value=True),
        Observation(ErrorKind.CRASH, message="SIGSEGV"),
    ],
)
def test_observations_cross_the_pipe_unchanged(observation: Observation) -> None:
    seen = decode_observation(round_trip("observation", encode_observation(observation)))
    assert (seen, seen.message) == (observation, observation.message)


def test_views_and_introductions_cross_the_pipe_unchanged() -> None:
    view = View({T0: TENSOR, TensorName(12): TENSOR}, {"MarkStep": 1})
    assert decode_view(round_trip("view", encode_view(view))) == view
    hello = Hello("mine", "1.0", frozenset({"views"}), "torch_xla_2_9")
    assert decode_hello(round_trip("hello", encode_hello(hello))) == hello


@pytest.mark.parametrize(
    ("decode", "body", "what"),
    [
        (decode_observation, {"error": "sad"}, "observation.error is 'sad'; known: none, lost"),
        (decode_observation, {"value": [[[1]]]}, "nested deeper"),
        (decode_observation, {"value": {"a": 1}}, "observation.value is an object"),
        (decode_observation, {"vlaue": 1}, "unknown key 'vlaue'"),
        (decode_observation, [], "observation is an array, not an object"),
        (decode_observation, {"message": "x" * 20_000}, "longer than"),
        (decode_view, {"tensors": {"t0": {}}}, "the key 't0'"),
        (decode_view, {"tensors": {"0": {}}}, "has no 'record'"),
        (decode_view, {"counters": {"MarkStep": 1.5}}, "is a number, not an integer"),
        (decode_view, {"counters": {"MarkStep": True}}, "is a truth, not an integer"),
        (decode_hello, {"protocol": 2, "name": "", "version": "", "capabilities": []}, "speaks 1"),
        (decode_hello, {"name": "x"}, "has no 'protocol'"),
        (decode_apply, {"action": "Explode"}, "unknown action 'Explode'"),
        (decode_apply, {"action": "ReadOne"}, "field 'tensor' is missing"),
    ],
)
def test_what_is_not_as_described_is_named(decode: Any, body: Any, what: str) -> None:
    with pytest.raises(MessageError) as told:
        decode(body)
    assert what in str(told.value)
    assert "\n" not in str(told.value)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@given(JUNK)
def test_no_body_does_more_than_raise(body: Any) -> None:
    for decode in (decode_hello, decode_observation, decode_view, decode_apply):
        try:
            decode(body)
        except MessageError as error:
            assert "\n" not in str(error)


@given(st.binary(max_size=60))
def test_no_line_does_more_than_raise(line: bytes) -> None:
    try:
        from_line(line)
    except MessageError as error:
        assert "\n" not in str(error)


# ---- children --------------------------------------------------------------------------------

HELLO = to_line("hello", encode_hello(Hello("child", "1", frozenset({"views"})))).decode().strip()
CHILD = f"""
import json, os, signal, sys, time
print('''{HELLO}''', flush=True)
for line in sys.stdin:
    if "reset" in line: print('{{"done": {{}}}}', flush=True)
    elif "bye" in line: break
    elif "observe" in line: print('{{"view": {{}}}}', flush=True)
    else:
"""


def child(body: str, answer_s: float = 20.0) -> ProcessAdapter:
    """A child that does something when it is asked to apply an action."""
    return ProcessAdapter([sys.executable, "-c", f"{CHILD}        {body}"], answer_s)


def test_a_child_that_is_killed_by_a_signal_has_crashed() -> None:
    adapter = child("print('last words', file=sys.stderr, flush=True); os.kill(os.getpid(), 11)")
    adapter.reset()
    seen = adapter.apply(CREATE)
    assert seen.error == ErrorKind.CRASH
    assert seen.message == "killed by SIGSEGV: last words"
    assert adapter.observe() == View({})
    assert adapter.apply(CREATE).error == ErrorKind.CRASH
    adapter.reset()
    assert adapter.apply(CREATE).error == ErrorKind.CRASH
    adapter.close()


def test_a_crash_that_the_law_does_not_foresee_is_a_finding() -> None:
    adapter = child("os.abort()")
    result = run_program((CREATE,), adapter, SOUND)
    adapter.close()
    assert result.verdict == Verdict.VIOLATES
    assert result.divergence is not None
    assert "killed by SIGABRT" in result.divergence.observed


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("sys.exit(3)", "ended with exit status 3"),
        ("raise ValueError('no such thing')", "exit status 1: ValueError: no such thing"),
        (
            "print('hi', flush=True)",
            'line 1 column 1 (char 0): "hi"',
        ),
        ("print('{}', flush=True)", "not an object with one key"),
        ('print(\'{"a": 1, "a": 2}\', flush=True)', "given twice"),
        ("print('{\"view\": {}}', flush=True)", "answers 'apply' with 'view'"),
        ('print(\'{"fault": {"message": "no memory"}}\', flush=True)', "says: no memory"),
        ("print('{\"observation\": ', end='', flush=True); sys.exit(0)", "in the middle of a line"),
        ('print(\'{"observation": {"value": NaN}}\', flush=True)', "NaN is not a number"),
        ("print('[' * 100_000, flush=True)", "not a JSON line"),
        ("sys.stdout.write('x' * (17 << 20)); sys.stdout.flush()", "a line is longer than 16 MiB"),
    ],
)
def test_a_child_that_breaks_the_protocol_is_an_error(body: str, what: str) -> None:
    adapter = child(body)
    adapter.reset()
    with pytest.raises(AdapterError) as told:
        adapter.apply(CREATE)
    assert what in str(told.value)
    assert "\n" not in str(told.value)
    adapter.reset()  # a new child
    adapter.close()


def test_a_silent_child_is_killed() -> None:
    adapter = child("time.sleep(600)", answer_s=0.5)
    adapter.reset()
    with pytest.raises(AdapterError, match=r"no answer within 0\.5 s"):
        adapter.apply(CREATE)
    adapter.close()


def test_a_child_that_does_not_go_is_killed() -> None:
    stubborn = f"print('''{HELLO}''', flush=True)\nimport time\nwhile True: time.sleep(1)"
    adapter = ProcessAdapter([sys.executable, "-c", stubborn])
    adapter.close()
    adapter.close()


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("exec:", "needs a command"),
        ("exec:no-such-command-anywhere", "cannot start 'no-such-command-anywhere': No such file"),
        ("exec:'", "cannot read the command"),
        ("exec:false", "false: ended with exit status 1"),
        ("exec:echo hi", "echo: not a JSON line"),
        ("exec:echo '{\"done\": {}}'", "the first message is 'done', not 'hello'"),
    ],
)
def test_a_command_that_is_no_executor_is_named(name: str, what: str) -> None:
    factory = load(name)
    with pytest.raises(AdapterError) as told:
        factory()
    assert what in str(told.value)


# ---- whole executors -------------------------------------------------------------------------


def test_the_example_in_python_conforms() -> None:
    report = check(f"exec:{sys.executable} {ROOT / 'docs/examples/executor.py'}", profile="tiny")
    assert report.verdict == Verdict.CONFORMS
    assert report.steps >= 300


def test_the_example_in_cpp_conforms(tmp_path: Path) -> None:
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler on this machine")
    program = tmp_path / "executor"
    source = ROOT / "docs/examples/executor.cpp"
    options = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([compiler, *options, "-o", str(program), str(source)], check=True)
    report = check(f"exec:{program}", profile="tiny")
    assert report.verdict == Verdict.CONFORMS


SERVED = """
from markstep.conformance.adapters.model import ModelAdapter
from markstep.conformance.process.serve import serve

class Loud(ModelAdapter):
    def apply(self, action):
        print("this is no message")
        return super().apply(action)

serve(Loud())
"""


def test_a_served_adapter_is_the_adapter_and_may_print() -> None:
    report = check(lambda: ProcessAdapter([sys.executable, "-c", SERVED]), profile="tiny")
    assert report.verdict == Verdict.CONFORMS
    assert report.steps >= 300
