"""What can be tested of the adapter of torch_xla where torch_xla is not installed.

The real one runs in `.ci/run-real`.
"""

import ast
import sys
from importlib.util import find_spec

import pytest

from markstep.conformance.adapter import AdapterError, described_by, load
from markstep.conformance.process.child import ProcessAdapter
from markstep.conformance.suite.regressions import REGRESSIONS
from markstep.conformance.suite.scenarios import SCENARIOS
from markstep.conformance.torch_xla.debuginfo import read_debug_info
from markstep.conformance.torch_xla.pytorch import as_pytorch
from markstep.spec import vocabulary as v
from markstep.spec.design import TORCH_XLA_2_9
from markstep.spec.schedule import initial_state, perform
from markstep.spec.state import State
from markstep.spec.vocabulary import BufferStatus, DType, ErrorKind, IrKind, TensorName, View

T0, T1 = TensorName(0), TensorName(1)
CREATE = v.CreateFromHost(T0, (1, 2), (2,))
LAYOUT = ((2,), DType.F32)

FORKS = """
import os, signal
from markstep.conformance.adapters.model import ModelAdapter
from markstep.conformance.process.messages import Hello
from markstep.conformance.process.serve import own_output
from markstep.conformance.torch_xla.forks import serve_forks
from markstep.spec.vocabulary import WaitDevice

class Fragile(ModelAdapter):
    def apply(self, action):
        if isinstance(action, WaitDevice):
            os.write(2, b"F0000 client.cc:7] Check failed: buffer != nullptr  gone")
            os.kill(os.getpid(), signal.SIGABRT)
        return super().apply(action)

given = os.fdopen(os.dup(0), "rb", buffering=0)
serve_forks(Fragile, Hello("fragile", "1", frozenset({"views"})), given, own_output())
"""


def test_every_program_gets_a_fork_of_its_own_and_a_crash_ends_only_that() -> None:
    adapter = ProcessAdapter([sys.executable, "-c", FORKS])
    for _ in range(2):
        adapter.reset()
        assert adapter.observe().tensors == {}
        assert adapter.apply(CREATE).error == ErrorKind.NONE
        assert set(adapter.observe().tensors) == {T0}
    seen = adapter.apply(v.WaitDevice())
    assert seen.error == ErrorKind.CRASH
    assert seen.message == "SIGABRT: Check failed: buffer != nullptr  gone"
    assert adapter.observe() == View({})
    assert adapter.apply(CREATE).error == ErrorKind.CRASH
    adapter.reset()
    assert adapter.apply(CREATE).error == ErrorKind.NONE
    adapter.close()


def text(ir: str, data: str, host: str = "None") -> str:
    """A debug text as torch_xla 2.9.0 writes it."""
    return (
        "XLATensor {\nTensorID: 8\nAliasID: 6\nDevice: CPU:0\nXLA Shape: f32[2]\n"
        f"ShardingSpec: None\nIR: {ir}\nXLAData: {data}\nTensor on host: {host}\n}}\n"
    )


LEAF = "[UNKNOWN_SCALAR[]] xla::device_data, xla_shape=f32[2]{0}, dynamic_dims: (), device=CPU:0"
ADD = "[] aten::add, xla_shape=f32[2]{0}, dynamic_dims: ()"
HANDLE = "\n  Data Device: CPU:0\n  Data Shape: f32[2]\n  Data Handle: "


@pytest.mark.parametrize(
    ("ir", "data", "kind", "status", "handle"),
    [
        (LEAF, "None", IrKind.LEAF, BufferStatus.NONE, None),
        (ADD, "None", IrKind.OP, BufferStatus.NONE, None),
        ("[] prim::Constant, value=1", "None", IrKind.CONST, BufferStatus.NONE, None),
        ("None", f"{HANDLE}1399554", IrKind.NONE, BufferStatus.VALUE, "1399554"),
        (LEAF, f"{HANDLE}1399554", IrKind.LEAF, BufferStatus.VALUE, "1399554"),
        ("None", f"{HANDLE}None", IrKind.NONE, BufferStatus.PLACEHOLDER, None),
        ("None", f"{HANDLE}Deleted", IrKind.NONE, BufferStatus.DELETED, None),
    ],
)
def test_debug_texts_are_read(
    ir: str, data: str, kind: IrKind, status: BufferStatus, handle: str | None
) -> None:
    seen = read_debug_info(text(ir, data), LAYOUT)
    assert (seen.record, seen.alias, seen.ir, seen.data) == (8, 6, kind, status)
    assert (seen.handle, seen.host) == (handle, False)
    shown = seen.view({"1399554": 5})
    assert shown.buffer == (5 if handle else None)
    assert seen.lost().ir == IrKind.NONE


def test_host_copies_are_seen() -> None:
    assert read_debug_info(text("None", "None", "with size [2]"), LAYOUT).host


def test_a_text_that_is_no_debug_text_is_refused() -> None:
    with pytest.raises(ValueError, match="no ids"):
        read_debug_info("nothing", LAYOUT)


def programs() -> list[tuple[v.Action, ...]]:
    return [scenario.program for scenario in SCENARIOS] + list(REGRESSIONS.values())


@pytest.mark.parametrize("host_only", [False, True])
def test_every_program_of_the_suite_is_a_script(host_only: bool) -> None:
    for program in programs():
        code = as_pytorch(program, "A title", host_only)
        ast.parse(code)
        assert "import markstep" not in code
        assert ("XLA_TENSOR_UPDATE_SYNC" in code) == host_only


def test_a_script_says_what_eager_execution_gives() -> None:
    program = (CREATE, v.Clone(T1, T0), v.AssignInPlace(T0, "add", (T1,)), v.ReadOne(T0))
    lines = as_pytorch(program).splitlines()
    assert lines[-13:] == [
        "t0 = torch.tensor([1, 2], dtype=torch.float32).reshape((2,)).to(device)",
        "t1 = t0.clone()",
        "t0.add_(t1)",
        'show("t0", lambda: t0.cpu(), [2.0, 4.0])',
        'print("inside:")',
        'inside("t0", t0)',
        'inside("t1", t1)',
        'print("at the end:")',
        'show("t0", lambda: t0.cpu(), [2.0, 4.0])',
        'show("t1", lambda: t1.cpu(), [1.0, 2.0])',
        'print("inside, after these reads:")',
        'inside("t0", t0)',
        'inside("t1", t1)',
    ]


def test_a_script_looks_inside_only_where_no_read_shows_anything() -> None:
    borrowed = (CREATE, v.Clone(T1, T0), v.ReadOne(T1))
    assert "def inside" in as_pytorch(borrowed), "I13: nothing is wrong yet"
    lost = (*borrowed, v.AssignInPlace(T0, "neg"), v.StepBarrier())
    assert "inside" not in as_pytorch(lost), "the clone cannot be read"


@pytest.mark.skipif(find_spec("torch_xla") is not None, reason="torch_xla is installed")
def test_without_torch_xla_the_adapter_says_what_to_install() -> None:
    with pytest.raises(AdapterError, match=r"pip install 'markstep\[torch-xla\]'"):
        load("torch_xla")()


def test_an_adapter_may_not_claim_a_design_that_nobody_knows() -> None:
    class Mine:
        described_by = "nobody"

    with pytest.raises(AdapterError, match="described_by is 'nobody'; known designs: sound"):
        described_by(Mine())  # type: ignore[arg-type]


# ---- seen on torch_xla 2.9.0 in lockstep, where the law once said something else -----------------

T2 = TensorName(2)
GONE_AND_STUB = (
    CREATE,
    v.Clone(T1, T0),
    v.Apply(T2, "neg", (T0,)),
    v.ClearPending(),
    v.AssignInPlace(T0, "add_scalar", (), 1),
    v.StepBarrier(wait=True),
)
FAILED = (CREATE, v.Apply(T1, "failing_execute", (T0,)), v.Sync((T1,)))


@pytest.mark.parametrize(
    ("program", "error"),
    [
        ((*GONE_AND_STUB, v.ReadMany((T1, T2))), ErrorKind.CRASH),
        ((*GONE_AND_STUB, v.ReadMany((T2, T1))), ErrorKind.CRASH),
        ((*GONE_AND_STUB, v.ReadMany((T1, T0))), ErrorKind.DELETED),
        ((*FAILED, v.RunCached((T1,), (T2,))), ErrorKind.UNKNOWN_GRAPH),
        (
            (*FAILED, v.AssignInPlace(T1, "add_scalar", (), 1), v.RunCached((T1,), (T2,))),
            ErrorKind.EXECUTION_FAILED,
        ),
    ],
)
def test_the_law_says_how_torch_xla_ends_these(
    program: tuple[v.Action, ...], error: ErrorKind
) -> None:
    assert law_after(program).raised == error


def law_after(program: tuple[v.Action, ...]) -> State:
    state = initial_state()
    for action in program:
        after = perform(state, action, TORCH_XLA_2_9)
        assert after is not None
        state = after
    return state


def test_host_data_that_are_copied_at_once_begin_a_chain_of_updates() -> None:
    program = (CREATE, v.AssignInPlace(T0, "neg"), v.CopyFromHost(T0, (3, 4)))
    record = law_after(program).record_of(T0)
    assert record.alias_id == record.id
    record = law_after((*program[:2], v.CopyFromHost(T0, (3, 4), upload=False))).record_of(T0)
    assert record.alias_id != record.id


def test_the_key_of_no_tensors_is_not_that_of_a_graph_without_outputs() -> None:
    keys = {law_after((CREATE, v.GraphHash(some))).value for some in ((), (T0,))}
    assert len(keys) == 2


def test_the_donors_of_a_refused_compilation_are_counted() -> None:
    program = (CREATE, v.AssignInPlace(T0, "neg"), v.AllowExecution(False), v.Sync((T0,)))
    state = law_after(program)
    assert state.raised == ErrorKind.REFUSED
    assert state.payload.totals()["InputOutputAliasCount.sum"] == 1
