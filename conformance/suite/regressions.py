"""Short programs on which the law and the reference executor once differed.

Found by generated programs, shrunk, and kept: each runs in lockstep in every test run.
"""

from markstep.spec import vocabulary as v
from markstep.spec.vocabulary import Action, TensorName

T0, T1, T2, T3 = map(TensorName, range(4))


def _data(name: TensorName, upload: bool = True) -> Action:
    return v.CreateFromHost(name, (1, 2, 3, 4), (2, 2), upload=upload)


def _plus(name: TensorName, number: int = 1) -> Action:
    return v.AssignInPlace(name, "add_scalar", (), number)


NO_WAIT, BARRIER = v.StepBarrier(wait=False), v.StepBarrier(wait=True)

REGRESSIONS: dict[str, tuple[Action, ...]] = {
    "a tensor that was dropped after a failure is not computed any more": (
        _data(T0),
        v.Apply(T1, "neg", (T0,)),
        v.Apply(T2, "failing_execute", (T0,)),
        NO_WAIT,
        v.ReadOne(T1),
        v.Drop(T2),
        v.Drop(T1),
        _plus(T0),
        NO_WAIT,
        v.CompleteExecution(),
    ),
    "a tensor is copied into itself": (
        _data(T0),
        v.AssignInPlace(T0, "sub", (T0,)),
        BARRIER,
        v.CopyInto(T0, T0),
        v.ReadOne(T0),
    ),
    "a read of several meets the failure of one of them while it waits": (
        _data(T0),
        v.Apply(T1, "mul_scalar", (T0,), -1),
        v.Apply(T2, "failing_execute", (T0,)),
        v.Sync((T2,), wait=False),
        v.ReadMany((T2, T2, T1)),
        v.ReadMany((T1,)),
    ),
    "a barrier meets the failure of a member while it waits": (
        _data(T0),
        v.Apply(T1, "failing_execute", (T0,)),
        v.Sync((T1,), wait=False),
        v.Apply(T2, "add_scalar", (T0,), 3),
        BARRIER,
        v.Drop(T1),
        BARRIER,
    ),
    "leaves over one buffer are one parameter, whatever made them": (
        _data(T0),
        v.Clone(T1, T0),
        v.ClearPending(),
        _plus(T0),
        BARRIER,
        v.Clone(T2, T0),
        v.ReadOne(T2),
        _plus(T0),
        BARRIER,
    ),
    "an update that does not fit touches nothing": (
        v.CreateFromHost(T0, (4,), ()),
        v.CreateFromHost(T1, (1, 2, 3, 4), (4,)),
        BARRIER,
        v.AssignInPlace(T0, "mul", (T1,)),
        v.ReadOne(T0),
    ),
    "a tensor that carries a failure tells of it at once, without waiting": (
        _data(T0),
        v.Apply(T1, "failing_execute", (T0,)),
        _plus(T0),
        v.Sync((T1, T0), wait=False),
        v.Apply(T2, "neg", (T1,)),
        v.WaitDevice(),
        _data(T3),
        _plus(T3),
        v.Sync((T0, T1), wait=False),
        v.FailExecution(),
        v.Sync((T3,), wait=False),
        v.ReadOne(T0),
    ),
    "adding a scalar is adding": (
        v.CreateFromHost(T0, (3,), ()),
        v.Apply(T1, "add_scalar", (T0,), 3),
        BARRIER,
        v.Apply(T2, "add", (T1, T0)),
        BARRIER,
    ),
    "a warm-up that is not allowed to compile counts as a miss": (
        _data(T0),
        _plus(T0),
        v.AllowExecution(False),
        v.WarmUp((T0,), sync=True),
        v.AllowExecution(True),
        BARRIER,
    ),
    "what two graphs share they still share when a failure gives results back": (
        _data(T0),
        _plus(T0),
        v.Apply(T1, "neg", (T0,)),
        v.AssignInPlace(T0, "add", (T1,)),
        v.GraphHash((T0, T1)),
        BARRIER,
        _plus(T0),
        NO_WAIT,
        v.CopyInto(T1, T0),
        v.AssignInPlace(T1, "neg"),
        v.AssignInPlace(T0, "add", (T1,)),
        v.FailExecution(),
        v.GraphHash((T0, T1)),
    ),
    "a key is the same after everything that it was made of was forgotten": (
        _data(T0),
        _plus(T0),
        v.Apply(T1, "neg", (T0,)),
        v.AssignInPlace(T0, "add", (T1,)),
        v.GraphHash((T0, T1)),
        v.Sync((T0,)),
        v.EvictCache(),
        _plus(T0),
        v.CopyInto(T1, T0),
        v.AssignInPlace(T1, "neg"),
        v.AssignInPlace(T0, "add", (T1,)),
        v.GraphHash((T0, T1)),
    ),
}
