"""A program of the law as a plain PyTorch script that shows what torch_xla makes of it.

The script needs nothing but torch and torch_xla. It prints, for every value that the program reads
and for every tensor that lives at its end, what eager execution gives and what torch_xla gives.
Where all of that is right, the program is about something inside: then the script prints what the
debug text shows of each tensor, before and after these reads.
"""

from collections.abc import Iterator, Sequence

from markstep.spec import vocabulary as v
from markstep.spec.design import TORCH_XLA_2_9
from markstep.spec.evaluator import Value
from markstep.spec.machine import names
from markstep.spec.schedule import initial_state, perform
from markstep.spec.state import State
from markstep.spec.vocabulary import Action, DType, ErrorKind, TensorName

HEAD = '''\
"""{title}"""

import os

os.environ.setdefault("PJRT_DEVICE", "CPU")
{environment}
import torch
import torch_xla

X, device = torch_xla._XLAC, torch_xla.device()
results = {{}}


def show(name, read, expected):
    """Print what eager execution gives and what is read."""
    try:
        got = read().flatten().tolist()
        mark = "" if expected is None or got == expected else "   <-- WRONG"
    except Exception as error:
        got = f"{{type(error).__name__}}: {{str(error).splitlines()[0]}}"
        mark = "" if expected is None else "   <-- LOST"
    print(f"{{name}}: eager {{expected}}, torch_xla {{got}}{{mark}}", flush=True)


'''
INSIDE = '''\
FIELDS = ("TensorID", "AliasID", "IR", "Data Handle", "Tensor on host")


def inside(name, tensor):
    """Print what torch_xla's debug text shows of a tensor; one Data Handle is one buffer."""
    try:
        text = X._get_xla_tensor_debug_info(tensor)
    except RuntimeError as error:
        text = f"IR: {str(error).splitlines()[0]}"
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith(FIELDS)]
    print(f"{name}: {', '.join(lines)}", flush=True)


'''
HOST_ONLY = 'os.environ["XLA_TENSOR_UPDATE_SYNC"] = "0"'
INFIX = {"add": "+", "sub": "-", "mul": "*", "matmul": "@"}


def as_pytorch(program: Sequence[Action], title: str = "", host_only: bool = False) -> str:
    """The script of a program."""
    environment = f"{HOST_ONLY}\n" if host_only else ""
    head = HEAD.format(title=title or "A program of markstep.", environment=environment)
    quiet = not _shows(program)
    body = "\n".join(_lines(program, host_only, quiet))
    return f"{head}{INSIDE if quiet else ''}{body}\n"


def _shows(program: Sequence[Action]) -> bool:
    """Whether, by the law, a read of the program or one after it raises or gives a wrong value."""
    state = initial_state()
    for action in program:
        after = perform(state, action, TORCH_XLA_2_9)
        if after is not None and (after.raised != ErrorKind.NONE or _wrong(action, after)):
            return True
        state = after or state
    for name in sorted(state.tensors):
        after = perform(state, v.ReadOne(name), TORCH_XLA_2_9)
        if after is None or after.raised != ErrorKind.NONE or _wrong(v.ReadOne(name), after):
            return True
        state = after
    return False


def _wrong(action: Action, after: State) -> bool:
    """Whether a read gave another value than eager execution does."""
    match action:
        case v.ReadOne():
            pairs = [(action.tensor, after.value)]
        case v.ReadMany() if isinstance(after.value, tuple):
            pairs = list(zip(action.tensors, after.value, strict=True))
        case _:
            return False
    known = [(after.record_of(name), value) for name, value in pairs]
    return any(r.defined and r.truth is not None and r.truth != value for r, value in known)


def _lines(program: Sequence[Action], host_only: bool, quiet: bool) -> Iterator[str]:
    state = initial_state()
    for action in program:
        after = perform(state, action, TORCH_XLA_2_9)
        if after is None:
            yield f"# not possible here: {action}"
            continue
        lines = list(_action(action, state, host_only))
        if after.raised in (ErrorKind.NONE, ErrorKind.CRASH):
            yield from lines
        else:
            yield from _attempt(lines, after.raised)
        if after.device.crashed:
            return
        state = after
    if quiet and state.tensors:
        yield 'print("inside:")'
        yield from _inside(state)
    if state.tensors:
        yield 'print("at the end:")'
    for name in sorted(state.tensors):
        yield f'show("{_t(name)}", lambda: {_t(name)}.cpu(), {_eager(state, name)})'
    if quiet and state.tensors:
        yield 'print("inside, after these reads:")'
        yield from _inside(state)


def _inside(state: State) -> Iterator[str]:
    for name in sorted(state.tensors):
        yield f'inside("{_t(name)}", {_t(name)})'


def _attempt(lines: list[str], raised: ErrorKind) -> Iterator[str]:
    """Lines that raise, as the law foresees."""
    yield "try:"
    yield from (f"    {line}" for line in lines)
    yield "except Exception as error:"
    yield f'    print("raised ({raised.value}):", str(error).splitlines()[0], flush=True)'


def _eager(state: State, name: TensorName) -> str:
    record = state.record_of(name)
    return str(_floats(record.truth, record.dtype) if record.defined else None)


def _floats(value: Value | None, dtype: DType) -> list[v.Number] | None:
    if value is None:
        return None
    return [float(x) if dtype == DType.F32 else int(x) for x in value]


def _t(name: TensorName) -> str:
    return f"t{name}"


def _list(given: Sequence[TensorName]) -> str:
    return f"[{', '.join(map(_t, given))}]"


def _array(value: v.Nested, shape: tuple[int, ...], dtype: DType) -> str:
    return f"torch.tensor({list(value)}, dtype=torch.{dtype.value}).reshape({shape})"


def _action(action: Action, state: State, host_only: bool) -> Iterator[str]:
    """The lines of one action that makes, changes or drops tensors."""
    match action:
        case v.CreateFromHost():
            array = _array(action.value, action.shape, action.dtype)
            yield f"{_t(action.out)} = {array}.to(device)"
            if host_only and action.upload:
                yield f"X._get_xla_tensors_text([{_t(action.out)}])  # sends it to the device"
        case v.CreatePlaceholder():
            kind = {DType.F32: "f32", DType.S32: "s32"}[action.dtype]
            what = f'{{"type": "{kind}", "sizes": {list(action.shape)}}}'
            yield f"{_t(action.out)} = X._xla_create_placeholder_tensor({what})"
        case v.Fill():
            what = f"{action.shape}, {action.scalar}, dtype=torch.{action.dtype.value}"
            yield f"{_t(action.out)} = torch.full({what}, device=device)"
        case v.Random():
            yield f"{_t(action.target)}.random_(0, {action.bound})"
        case v.Apply():
            yield f"{_t(action.out)} = {_expression(action, state)}"
        case v.AssignInPlace():
            yield _in_place(action)
        case v.Clone():
            yield f"{_t(action.out)} = {_t(action.source)}.clone()"
        case v.Detach():
            yield f"{_t(action.out)} = {_t(action.source)}.detach()"
        case v.ViewOf():
            yield f"{_t(action.out)} = {_t(action.source)}{_shown(action)}"
        case v.CopyInto():
            yield f"{_t(action.target)}.copy_({_t(action.source)})"
        case v.CopyFromHost():
            record = state.record_of(action.target)
            yield f"{_t(action.target)}.copy_({_array(action.value, record.shape, record.dtype)})"
        case v.Drop():
            yield f"del {_t(action.tensor)}"
        case _:
            yield from _call(action, state)


def _expression(action: v.Apply, state: State) -> str:
    a = _t(action.inputs[0])
    record = state.record_of(action.inputs[0])
    kind = f"torch.{record.dtype.value}"
    match action.op.removesuffix("_scalar"):
        case "neg":
            return f"-{a}"
        case "failing_compile":
            made = f'[{a}], "no_such_target", [{list(record.shape)}], [{kind}], False, "", 1, {{}}'
            return f"X._xla_custom_call({made})[0]"
        case "failing_execute":
            return f"torch.zeros(2**42, dtype={kind}, device=device) + {a}.sum(dtype={kind})"
        case op:
            b = _t(action.inputs[1]) if action.scalar is None else action.scalar
            return f"{a} {INFIX[op]} {b}"


def _shown(action: v.ViewOf) -> str:
    if action.op == "slice":
        dim, begin, end = action.sizes
        return f"[{':, ' * dim}{begin}:{end}]"
    return f".{action.op}({'0, 1' if action.op == 'transpose' else action.sizes})"


def _in_place(action: v.AssignInPlace) -> str:
    operand = _t(action.others[0]) if action.others else action.scalar
    given = "" if operand is None else operand
    return f"{_t(action.target)}.{action.op.removesuffix('_scalar')}_({given})"


def _call(action: Action, state: State) -> Iterator[str]:
    """The lines of one action that may compile, run or read."""
    match action:
        case v.Sync():
            yield f"X._xla_sync_multi({_list(action.tensors)}, [], {action.wait}, {action.sync})"
        case v.SyncLive():
            yield f'X._xla_sync_live_tensors("xla:0", [], {action.wait})'
        case v.StepBarrier():
            yield f"torch_xla.sync(wait={action.wait})"
        case v.WarmUp():
            yield f"X._xla_warm_up_cache({_list(action.tensors)}, [])"
        case v.ReadOne():
            t = _t(action.tensor)
            yield f'show("{t}", lambda: {t}.cpu(), {_eager(state, action.tensor)})'
        case v.ReadMany():
            keys = tuple(map(_t, action.tensors))
            yield f"results.update(zip({keys}, X._xla_get_cpu_tensors({_list(action.tensors)})))"
            for name in dict.fromkeys(action.tensors):
                t = _t(name)
                yield f'show("{t}", lambda: results["{t}"], {_eager(state, name)})'
        case v.GraphHash():
            yield f"print(X._get_graph_hash({_list(action.tensors)}).hex())"
        case v.RunCached():
            yield f"key = X._get_graph_hash({_list(action.tensors)})"
            yield f"_, leaves = X._get_tensors_xla_device_data_node({_list(action.tensors)})"
            yield "outs = X._run_cached_graph(key, leaves)"
            for i, name in enumerate(names(action)[1]):
                yield f"if len(outs) > {i}:\n    {_t(name)} = outs[{i}]"
        case _:
            yield from _switch(action)


def _switch(action: Action) -> Iterator[str]:
    match action:
        case v.SetSeed():
            yield f'X._xla_set_rng_seed({action.seed}, "xla:0")'
        case v.GetSeed():
            yield 'print(X._xla_get_rng_seed("xla:0"))'
        case v.ClearPending():
            yield 'X._clear_pending_irs("xla:0")'
        case v.SetDonation():
            yield f"X._set_buffer_donation({_t(action.tensor)}, {action.flag})"
        case v.SetDonorConfig():
            yield f"X._xla_set_enable_alias_with_buffer_donor_config({action.flag})"
        case v.WaitDevice():
            yield "X._xla_wait_device_ops([])"
        case v.DumpGraph():
            yield f"X._get_xla_tensors_hlo({_list(action.tensors)})"
        case v.AllowExecution():
            yield f"X._set_allow_execution({action.flag})"
        case v.WriteToResult():
            t = _t(action.tensor)
            yield f'if "{t}" in results:\n    results["{t}"].add_(1)'
        case _:
            yield f"# torch_xla has no call for {action}"
