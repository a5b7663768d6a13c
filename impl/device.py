"""The device: at most one execution at a time, run by a worker, by a waiter or by hand.

Whoever runs it, an execution ends in ``settle``, which makes its effects visible and frees the
device; nothing that a program raises can keep the device locked.

Source: torch_xla::DeviceLocker, XLAGraphExecutor::ScheduleSyncTensorsGraph; semantics.md §1.7,
§1.9, §3 (46, 54).
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from markstep.impl.aval import Array
from markstep.impl.context import Context
from markstep.impl.errors import Failure, bad_argument, names
from markstep.impl.execution import Execution, InjectedFailure
from markstep.impl.node import delete
from markstep.impl.recovery import give_back


def start(ctx: Context, execution: Execution) -> None:
    """Give the device to ``execution``. The lock is held and nothing is running."""
    assert ctx.running is None
    ctx.executions += 1
    execution.number = ctx.executions
    execution.timer = _timer(ctx)
    execution.sure_to_fail = ctx.inject.take_execution()
    ctx.running = execution
    ctx.last_program = execution.program
    if not (ctx.manual or execution.waited):
        execution.claimed = True
        _hand_over(ctx, execution)


def _timer(ctx: Context) -> str:
    """The timer of an execution that starts now."""
    if ctx.spmd:
        return "ExecuteReplicatedTime"
    return "EagerOpExecuteTime" if ctx.eager else "ExecuteTime"


def _hand_over(ctx: Context, execution: Execution) -> None:
    if ctx.pool is None:
        ctx.pool = ThreadPoolExecutor(1, thread_name_prefix="markstep-device")
    try:
        ctx.pool.submit(_run_to_end, ctx, execution)
    except RuntimeError:
        # the interpreter is shutting down and takes no work for threads any more
        _run_to_end(ctx, execution)


def finish(ctx: Context, execution: Execution) -> None:
    """Run an execution that its caller waits for, on this thread and without the lock.

    Raises EXECUTION_FAILED if it failed; no record carries that error then.
    """
    if _claim(ctx, execution):
        _run_to_end(ctx, execution)
    with ctx.lock:
        while not execution.settled:
            _settle_or_wait(ctx, execution)
    if execution.failure is not None:
        raise execution.failure.error()


def wait_idle(ctx: Context) -> bool:
    """Wait until nothing runs (the lock is held, and let go while waiting).

    Never raises an error of what was running. Returns whether there was anything to wait for.
    """
    waited = False
    while ctx.running is not None:
        waited = True
        if ctx.manual and _claim(ctx, ctx.running):
            _run_to_end(ctx, ctx.running)
        else:
            _settle_or_wait(ctx, ctx.running)
    return waited


def _settle_or_wait(ctx: Context, execution: Execution) -> None:
    """An execution that has ended, but whose effects nobody could make visible, is settled now."""
    if execution.end is None:
        ctx.idle.wait()
    else:
        _settle(ctx, execution, *execution.end)


def complete(ctx: Context) -> bool:
    """Run the execution that was left pending; whether it ended well. By hand only."""
    execution = _left_pending(ctx)
    _run_to_end(ctx, execution)
    return execution.failure is None


def fail(ctx: Context) -> None:
    """End the execution that was left pending with an error, without running it."""
    execution = _left_pending(ctx)
    execution.sure_to_fail = True
    _run_to_end(ctx, execution)


def _left_pending(ctx: Context) -> Execution:
    execution = ctx.running
    if execution is None or not _claim(ctx, execution):
        raise bad_argument("no execution is pending")
    return execution


def _claim(ctx: Context, execution: Execution) -> bool:
    """Whether this thread is the one that runs it."""
    with ctx.lock:
        mine = not execution.claimed
        execution.claimed = True
    return mine


def _run_to_end(ctx: Context, execution: Execution) -> None:
    try:
        with ctx.metrics.timed(execution.timer):
            results = execution.run(ctx.place)
    except BaseException as cause:
        _settle_surely(ctx, execution, (), cause)
        # an interrupt is not a failure of the program: whoever pressed the key is told as usual
        if not isinstance(cause, Exception):
            raise
    else:
        _settle_surely(ctx, execution, results, None)


def _settle_surely(
    ctx: Context, execution: Execution, results: Sequence[Array], cause: BaseException | None
) -> None:
    """Settle, and once more from the beginning if an interrupt or a lack of memory comes between:
    a result that is not installed would be lost. If that fails too, whoever waits next does it."""
    execution.end = results, cause
    try:
        _settle(ctx, execution, results, cause)
    except BaseException:
        try:
            _settle(ctx, execution, results, cause)
        finally:
            with ctx.lock:
                ctx.idle.notify_all()
        raise


def _settle(
    ctx: Context, execution: Execution, results: Sequence[Array], cause: BaseException | None
) -> None:
    """Make the end of an execution visible and free the device, unless somebody has."""
    with ctx.lock:
        if execution.settled:
            return
        if cause is None:
            _commit(ctx, execution, results)
        else:
            execution.failure = _failure(ctx, execution, cause)
            give_back(ctx.live_records(), execution)
        execution.settled = True
        execution.end = ctx.running = None
        ctx.idle.notify_all()


def _commit(ctx: Context, execution: Execution, results: Sequence[Array]) -> None:
    """Fill the placeholders; only now are the donors really gone."""
    execution.results = results
    for placeholder, value in zip(execution.placeholders, results, strict=False):
        placeholder.value = value
        placeholder.recipe = None
    delete(execution.donors)
    step = ctx.counters["MarkStep"]
    gone = f"was donated to execution {execution.number} in step {step}"
    for donor in execution.donors:
        donor.gone = gone
    execution.arguments.clear()
    if execution.program.layouts:
        ctx.count("ExecuteReplicated", execution.counted)
    else:
        ctx.count("ExecuteComputation", execution.counted)
        ctx.count("CreateDataHandles", len(results))


def _failure(ctx: Context, execution: Execution, cause: BaseException) -> Failure:
    ctx.failures += 1
    of = names(execution.outputs)
    kind = "made to fail" if isinstance(cause, InjectedFailure) else type(cause).__name__
    text = f"execution {execution.number}, of {of}, failed ({kind}): {_first_line(cause)}"
    _forget_frames(cause)
    return Failure(ctx.failures, text, cause)


def _forget_frames(cause: BaseException | None) -> None:
    """Drop the tracebacks of an exception that is kept: their frames hold records, and a tensor
    that nobody has any more must not be computed."""
    while cause is not None:
        cause.__traceback__ = None
        cause = cause.__cause__ or cause.__context__


def _first_line(cause: BaseException) -> str:
    return (str(cause).splitlines() or [""])[0]
