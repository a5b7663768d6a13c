"""What the tests of the executor share: small tensors, what a call costs, calls that must raise."""

from markstep.impl import ExecutorError

ROW = [1.0, 2.0, 3.0, 4.0]
COUNTED = ("CachedCompile", "UncachedCompile", "ExecuteComputation", "CreateDataHandles")


def data(ex, values=ROW):
    tensor = ex.tensor(values)
    ex.sync([tensor])
    return tensor


def growth(ex, call, *args, **named):
    """(hits, misses, executions, transfers) of one call."""
    before = ex.counters
    call(*args, **named)
    after = ex.counters
    return tuple(after[name] - before[name] for name in COUNTED)


def refused(kind, call, *args, **named):
    """The error of a call that must raise; without its frames, which would keep tensors alive."""
    try:
        call(*args, **named)
    except ExecutorError as error:
        assert error.kind == kind, error
        return error.with_traceback(None)
    raise AssertionError(f"not refused: {kind}")


def stub(ex):
    return ex.placeholder((4,))
