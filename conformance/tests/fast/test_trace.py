"""Trace files: what is written is read back, and nothing else is read."""

import json
import types
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markstep.conformance.programs.generate import decode
from markstep.spec import trace as trace_module
from markstep.spec.machine import ACTIONS
from markstep.spec.named_designs import DESIGNS
from markstep.spec.rules.sync import Collect, Compile, Lookup
from markstep.spec.trace import Trace, TraceError, dumps, loads, read_trace
from markstep.spec.vocabulary import (
    Apply,
    ClearPending,
    CompleteExecution,
    CreateFromHost,
    Drop,
    DType,
    GraphHash,
    ReadMany,
    ReadOne,
    Sharding,
    StepBarrier,
    Sync,
    TensorName,
)

A, B, C = map(TensorName, range(3))
PROGRAM = (
    CreateFromHost(A, (1, 2.5), (2,)),
    CreateFromHost(B, (1, 2), (2,), DType.S32, upload=False),
    Apply(C, "add_scalar", (A,), 2**60),
    Sync((C,), wait=False),
    CompleteExecution(),
    GraphHash((C,)),
    ReadMany((A, C)),
    Drop(TensorName(7)),  # refused: there is no such tensor
)


# ---- what is written is read back -----------------------------------------------------------


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Every value of the type of a field."""
    hint = getattr(hint, "__supertype__", hint)
    if get_origin(hint) is tuple:
        return st.lists(values(get_args(hint)[0]), max_size=3).map(tuple)
    if get_origin(hint) in (types.UnionType, Union):
        return st.one_of(*map(values, get_args(hint)))
    return {
        int: st.integers(-(2**70), 2**70),
        float: st.floats(allow_nan=False, allow_infinity=False),
        bool: st.booleans(),
        str: st.text(max_size=8),
        type(None): st.none(),
        Sharding: st.sampled_from(Sharding),
        DType: st.sampled_from(DType),
    }[hint]


def actions() -> st.SearchStrategy[Any]:
    """Any action, whether it makes sense or not."""
    return st.one_of(
        st.builds(cls, **{f.name: value_of(f.name, cls) for f in fields(cls)}) for cls in ACTIONS
    )


def value_of(field: str, cls: type) -> st.SearchStrategy[Any]:
    """Any value of a field of an action; sizes are not negative."""
    if field == "shape":
        return st.lists(st.integers(0, 2**70), max_size=3).map(tuple)
    return values(get_type_hints(cls)[field])


@given(
    st.builds(
        Trace,
        actions=st.lists(actions(), max_size=6).map(tuple),
        design=st.sampled_from(sorted(DESIGNS)),
        adapter=st.none() | st.text(max_size=5),
        seed=st.none() | st.integers(0, 2**80),
        profile=st.none() | st.text(max_size=5),
        ids=st.lists(st.text(max_size=5), max_size=3).map(tuple),
        spec_version=st.text(max_size=5),
        states=st.just(()),
    )
)
@settings(deadline=None, max_examples=60)
def test_any_trace_is_read_back_as_it_was_written(trace: Trace) -> None:
    text = dumps(replace(trace, actions=()))
    block = json.loads(text)
    block["markstep"]["actions"] = [trace_module.encode_action(a) for a in trace.actions]
    block["states"] = []
    assert loads(json.dumps(block)) == trace


@given(st.binary(max_size=120), st.sampled_from(sorted(DESIGNS)))
@settings(deadline=None, max_examples=40)
def test_a_program_is_read_back_with_its_states(data: bytes, design: str) -> None:
    trace = Trace(tuple(decode(data, DESIGNS[design])), design, seed=3, ids=("I01",))
    text = dumps(trace)
    again = loads(text)
    assert again == trace.with_states()
    assert dumps(again) == text


def test_small_steps_are_part_of_a_program_that_has_them() -> None:
    program = (
        CreateFromHost(A, (1,), (1,), upload=False),
        StepBarrier(),
        Collect(),
        Lookup(True, foreign=True),
        Compile(fails=True),
    )
    trace = loads(dumps(Trace(program)))
    assert trace.actions == program
    assert trace.by_small_steps
    enabled = [state["outcome"]["enabled"] for state in trace.states[1:]]
    assert enabled == [True, True, True, False, False]


def test_states_show_the_program_as_the_law_sees_it() -> None:
    states = Trace(PROGRAM).with_states().states
    shown = [dict(state["tensors"]["#map"]).get(C, {}).get("state") for state in states]
    assert shown == [None, None, None, "IR", "PEND", "DATA", "DATA", "DATA", "DATA"]
    assert states[7]["outcome"]["arrays"][0] == [1, "2.5"]
    assert states[8]["outcome"]["enabled"] is False
    assert {"#bigint": str(2**60 + 1)} in dict(states[3]["tensors"]["#map"])[C]["meaning"]


def test_itf_py_reads_what_we_write() -> None:
    itf_py = pytest.importorskip("itf_py")
    text = dumps(Trace(PROGRAM, ids=("I87",)))
    trace = itf_py.trace_from_json(json.loads(text))
    assert len(trace.states) == len(PROGRAM) + 1
    last = trace.states[-1]
    assert last.meta == {"index": len(PROGRAM)}
    assert last.values["tensors"][C].state == "DATA"
    assert last.values["buffers"][0].recipe_deps == frozenset()
    assert last.values["tensors"][C].meaning[0] == 2**60 + 1
    assert type(trace.states[4].values["action"]).__name__ == "Sync"


# ---- nothing else is read -------------------------------------------------------------------


def broken(change: Any) -> str:
    """The text of a good trace after a change of its JSON."""
    top = json.loads(dumps(Trace((CreateFromHost(A, (1,), (1,)), ReadOne(A), ClearPending()))))
    change(top)
    return json.dumps(top)


def action(top: Any) -> Any:
    return top["markstep"]["actions"][0]


BAD = {
    "unknown action": (
        lambda top: action(top).update(action="__import__"),
        "$.markstep.actions[0].action: unknown action '__import__'",
    ),
    "action of another class of the law": (
        lambda top: action(top).update(action="Record"),
        "unknown action 'Record'",
    ),
    "no action": (
        lambda top: action(top).pop("action"),
        "$.markstep.actions[0]: an object with the key 'action' is expected",
    ),
    "unknown field": (
        lambda top: action(top).update(colour="red"),
        "unknown field 'colour'; CreateFromHost has out, value, shape, dtype, upload",
    ),
    "missing field": (
        lambda top: action(top).pop("shape"),
        "$.markstep.actions[0]: field 'shape' is missing",
    ),
    "wrong type": (
        lambda top: action(top).update(upload=1),
        "$.markstep.actions[0].upload: a boolean is expected, not an integer",
    ),
    "boolean for an integer": (
        lambda top: action(top).update(out=True),
        "actions[0].out: an integer is expected, not a boolean",
    ),
    "fraction for an integer": (
        lambda top: action(top).update(out=1.5),
        "actions[0].out: an integer is expected, not a fraction",
    ),
    "string in an array": (
        lambda top: action(top).update(value=["1"]),
        "actions[0].value[0]: an integer is expected, not a string",
    ),
    "negative size": (
        lambda top: action(top).update(value=[1], shape=[1, -1]),
        "actions[0].shape[1]: -1 is no size",
    ),
    "unknown dtype": (
        lambda top: action(top).update(dtype="float64"),
        "actions[0].dtype: one of float32, int32, int64 is expected",
    ),
    "bigint that is not one": (
        lambda top: action(top).update(out={"#bigint": "1e9"}),
        'actions[0].out: "#bigint" must be 1 to 400 decimal digits',
    ),
    "newer format": (
        lambda top: top["markstep"].update(format=99),
        "$.markstep.format: format 99 is newer than 1",
    ),
    "no format": (lambda top: top["markstep"].pop("format"), "$.markstep.format: must be"),
    "unknown design": (
        lambda top: top["markstep"].update(design="fast"),
        "$.markstep.design: unknown design 'fast'; known designs: sound, ",
    ),
    "unknown key of the block": (
        lambda top: top["markstep"].update(extra=1),
        "$.markstep: unknown field 'extra'",
    ),
    "unknown key at the top": (lambda top: top.update(more=1), "$: unknown key 'more'"),
    "no block": (lambda top: top.pop("markstep"), "$: the key 'markstep' is missing"),
    "block of another type": (lambda top: top.update(markstep=[]), "$.markstep.format: must be"),
    "no states": (lambda top: top.pop("states"), "$.states: must be a list of 4 states"),
    "too few states": (lambda top: top["states"].pop(), "$.states: must be a list of 4 states"),
    "other variables": (lambda top: top.update(vars=["x"]), "$.vars: must be"),
    "wrong index": (
        lambda top: top["states"][2].update({"#meta": {"index": 7}}),
        '$.states[2]["#meta"]: must be {"index": 2}',
    ),
    "missing variable": (
        lambda top: top["states"][1].pop("device"),
        "$.states[1]: variable 'device' is missing",
    ),
    "value that is not ITF": (
        lambda top: top["states"][1].update(device={"#set": {}}),
        "$.states[1].device: '#set' must hold a list",
    ),
    "null": (
        lambda top: top["states"][1].update(device=None),
        "$.states[1].device: null is not an ITF value",
    ),
    "map without pairs": (
        lambda top: top["states"][1].update(tensors={"#map": [[1]]}),
        '$.states[1].tensors: "#map" must hold pairs',
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_not_as_described_is_refused_with_its_place(case: str) -> None:
    change, expected = BAD[case]
    with pytest.raises(TraceError) as error:
        loads(broken(change), "x.itf.json")
    text = str(error.value)
    assert text.startswith("x.itf.json: $")
    assert expected in text
    assert "\n" not in text
    assert "; " in text, "says what to do"


TEXTS = {
    "empty": ("", "line 1 column 1: not JSON"),
    "truncated": (broken(lambda top: None)[:-40], "not JSON"),
    "nested": ("[" * 100_000, "nested too deep"),
    "deep value": (
        broken(lambda top: top["states"][1].update(device=json.loads("[" * 60 + "]" * 60))),
        "nested more than 40 deep",
    ),
    "endless number": (
        broken(lambda top: None).replace('"out": 0', f'"out": 1{"0" * 9000}', 1),
        "integer string conversion",
    ),
    "not a number": (broken(lambda top: None).replace("[1]", "[NaN]"), "NaN is not a number"),
    "infinite": (broken(lambda top: None).replace("[1]", "[1e999]"), "too large"),
    "twice": ('{"a": 1, "a": 2}', "key 'a' is given twice"),
    "list": ("[]", "$: an object is expected, not a list"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_a_text_that_is_no_trace_is_refused(case: str) -> None:
    text, expected = TEXTS[case]
    with pytest.raises(TraceError, match=r"^x\.itf\.json: ") as error:
        loads(text, "x.itf.json")
    assert expected in str(error.value)
    assert "\n" not in str(error.value)


PLACES = st.lists(st.integers(0, 30), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["#map", "#set", "action", "x"]), inner, max_size=2)
    ),
    max_leaves=6,
)


@given(PLACES, JSON)
@settings(deadline=None, max_examples=150)
def test_a_file_with_anything_anywhere_gives_a_trace_or_a_trace_error(
    place: list[int], value: object
) -> None:
    def put(top: Any) -> None:
        parent, key, at = None, None, top
        for number in place:
            keys = list(at) if isinstance(at, dict) else list(range(len(at)))
            if not keys:
                break
            parent, key = at, keys[number % len(keys)]
            at = at[key]
            if not isinstance(at, dict | list):
                break
        if parent is not None:
            parent[key] = value

    try:
        assert isinstance(loads(broken(put)), Trace)
    except TraceError as error:
        assert "\n" not in str(error)


def test_files_that_cannot_be_read_are_named(tmp_path: Path, monkeypatch: Any) -> None:
    binary = tmp_path / "binary.itf.json"
    binary.write_bytes(b"{\xff}")
    with pytest.raises(TraceError, match=r"binary\.itf\.json: byte 1: not UTF-8"):
        read_trace(binary)
    with pytest.raises(TraceError, match=r"none\.itf\.json: No such file"):
        read_trace(tmp_path / "none.itf.json")
    with pytest.raises(TraceError, match="is no regular file"):
        read_trace(tmp_path)
    monkeypatch.setattr(trace_module, "MAX_BYTES", 3)
    large = tmp_path / "large.itf.json"
    large.write_text("[1, 2]")
    with pytest.raises(TraceError, match="larger than"):
        read_trace(large)
