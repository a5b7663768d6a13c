"""The executor's syncs: what is evaluated, under which key, what is refused."""

from executor_cases import ROW, data, growth, refused, stub

from markstep.impl import Executor
from markstep.spec.vocabulary import BufferStatus, ErrorKind, IrKind

# ---- S5: collect, execute, install ----------------------------------------------------------


def test_a_sync_evaluates_exactly_what_it_is_given(ex):
    x = data(ex)
    y, z = x + 2, x + 3
    assert growth(ex, ex.sync, [y, y, x]) == (0, 1, 1, 1)
    assert ex.describe(y).data == BufferStatus.VALUE
    assert ex.describe(z).ir == IrKind.OP


def test_a_forced_sync_uploads_host_data_and_keeps_the_copy(ex):
    x = ex.tensor(ROW, upload=False)
    assert growth(ex, ex.sync, [x]) == (0, 0, 0, 1)
    assert ex.describe(x).host
    assert ex.describe(x).owner is None
    assert ex.counters["SyncTensorsToData"] == 1


def test_without_force_host_data_stay_where_they_are(ex):
    x = ex.tensor(ROW, upload=False)
    ex.read_many([x])
    ex.warm_up([x])
    ex.graph_hash([x])
    assert ex.describe(x).data == BufferStatus.NONE


def test_an_execution_that_nobody_waits_for_leaves_placeholders(ex):
    y = data(ex) + 1
    ex.sync([y], wait=False)
    assert ex.running
    seen = ex.describe(y)
    assert (seen.ir, seen.data, seen.stub) == (IrKind.NONE, BufferStatus.PLACEHOLDER, False)
    assert ex.complete()
    assert not ex.running
    assert ex.describe(y).data == BufferStatus.VALUE


def test_a_placeholder_of_a_running_execution_can_be_traced_and_is_waited_for(ex):
    y = data(ex) + 1
    ex.sync([y], wait=False)
    z = y + 1
    assert ex.running
    ex.sync([z], wait=False)
    assert ex.describe(y).data == BufferStatus.VALUE, "the second program needs the first"
    assert ex.running
    assert ex.read(z).tolist() == [3.0, 4.0, 5.0, 6.0]


def test_at_most_one_execution_runs(ex):
    x = data(ex)
    y, z = x + 1, x + 2
    ex.sync([y], wait=False)
    ex.sync([z], wait=False)
    assert ex.describe(y).data == BufferStatus.VALUE
    assert ex.describe(z).data == BufferStatus.PLACEHOLDER


def test_a_sync_of_nothing_waits_for_the_device(ex):
    y = data(ex) + 1
    ex.sync([y], wait=False)
    ex.sync([], wait=False)
    assert not ex.running


def test_warm_up_and_hash_never_wait(ex):
    y = data(ex) + 1
    ex.sync([y], wait=False)
    z = y + 1
    ex.graph_hash([z])
    ex.warm_up([z])
    ex.warm_up([])
    assert ex.running


def test_mark_step_counts_only_if_its_sync_succeeded(ex):
    kept = data(ex) + 1
    ex.mark_step()
    ex.allow_execution(False)
    kept += 1
    refused(ErrorKind.REFUSED, ex.mark_step)
    assert ex.counters["MarkStep"] == 1


# ---- key and cache --------------------------------------------------------------------------


def test_the_same_graph_over_other_buffers_is_a_hit(ex):
    def program():
        x, y = data(ex), data(ex)
        return (x + y) * x * 2.5

    first, second = program(), program()
    assert ex.graph_hash([first]) == ex.graph_hash([second])
    assert growth(ex, ex.sync, [first])[:2] == (0, 1)
    assert growth(ex, ex.sync, [second])[:2] == (1, 0)


def test_sharing_is_part_of_the_key(ex):
    x, y = data(ex), data(ex)
    shared = x + y
    keys = [
        ex.graph_hash([shared * shared]),
        ex.graph_hash([(x + y) * (x + y)]),
        ex.graph_hash([(x + y) * (y + x)]),
        ex.graph_hash([(x + x) * (x + x)]),
        ex.graph_hash([shared, shared * shared]),
        ex.graph_hash([shared * shared, shared]),
    ]
    assert len(set(keys)) == len(keys)


def test_leaves_are_merged_by_buffer(ex):
    x = ex.tensor(ROW)
    early = x + 1
    ex.sync([x])  # x has a handle now, and will get another leaf
    assert ex.graph_hash([early * x]) == ex.graph_hash([(x + 1) * x])


def test_attributes_and_dtypes_are_part_of_the_key(ex):
    x, i = data(ex, [[1.0, 2.0], [3.0, 4.0]]), data(ex, [[1, 2], [3, 4]])
    keys = {ex.graph_hash([t]) for t in (x.sum(0), x.sum(1), i.sum(0), x.mean(0), x[0], x[:, 0])}
    assert len(keys) == 6


def test_static_arguments_that_compare_equal_are_told_apart(ex):
    x = data(ex)

    def scale(array, by):
        return array * by if isinstance(by, float) else array + by

    zeros = [ex.apply(scale, x, by=by) for by in (0, 0.0, -0.0, False)]
    assert len({ex.graph_hash([zero]) for zero in zeros}) == 4
    one, exact = ex.apply(scale, x, by=1), ex.apply(scale, x, by=1.0)
    assert ex.graph_hash([one]) != ex.graph_hash([exact])
    assert ex.read(one).tolist() == [2.0, 3.0, 4.0, 5.0]
    assert ex.read(exact).tolist() == ROW


def test_the_cache_forgets_the_least_recently_used(ex):
    small = Executor("interpret", cache_size=2)
    x = data(small)
    add, sub, mul = (lambda: x + x), (lambda: x - x), (lambda: x * x)
    for make in (add, sub, add, mul):
        small.sync([make()])
    assert growth(small, small.sync, [add()])[:2] == (1, 0)
    assert growth(small, small.sync, [sub()])[:2] == (0, 1)
    small.clear_cache()
    assert growth(small, small.sync, [add()])[:2] == (0, 1)


def test_the_mode_can_be_chosen_program_by_program():
    ex = Executor("interpret", manual=True)
    asked = []
    ex.compile_mode_for = lambda key: asked.append(key) or "xla"
    x = data(ex)
    y = x + x
    x += 1
    ex.sync([x, y])
    ex.sync([x + x])
    assert len(asked) == 2
    assert ex.read(x).tolist() == [2.0, 3.0, 4.0, 5.0]


def test_results_are_buffers_of_their_own_whichever_way_programs_run():
    ex = Executor("interpret", manual=True)
    modes = ["xla"]
    ex.compile_mode_for = lambda key: modes[-1]
    x = data(ex) + 1
    ex.sync([x])
    modes.append("interpret")
    y, z = x.clone(), x * 3
    w = z.clone()
    x += 1
    ex.sync([x, y, z, w])
    w *= 2
    ex.sync([w])
    values = [ex.read(t).tolist()[0] for t in (x, y, z, w)]
    assert values == [3.0, 2.0, 6.0, 12.0]


# ---- refusals -------------------------------------------------------------------------------


def everything(ex, tensors):
    return [ex.describe(t) for t in tensors], ex.counters, ex.running


def test_a_graph_that_can_never_run_is_refused_and_changes_nothing(ex):
    host, leaf, hole = ex.tensor(ROW, upload=False), ex.tensor(ROW), stub(ex)
    work = leaf + hole
    tensors = [host, leaf, hole, work]
    before = everything(ex, tensors)
    for call in (ex.sync, ex.run_cached, ex.read_many):
        refused(ErrorKind.UNMATERIALIZED, call, [host, leaf, work])
    refused(ErrorKind.NO_VALUE, ex.read_many, [host, leaf, hole])
    refused(ErrorKind.UNMATERIALIZED, ex.sync_live)
    refused(ErrorKind.UNMATERIALIZED, ex.read, work)
    assert everything(ex, tensors) == before
    ex.warm_up([work])
    ex.graph_hash([work])


def test_a_forbidden_execution_is_refused_and_changes_nothing(ex):
    host, leaf = ex.tensor(ROW, upload=False), ex.tensor(ROW)
    work = leaf + 1
    ex.allow_execution(False)
    tensors = [host, leaf, work]
    before = everything(ex, tensors)
    for call in (ex.sync, ex.run_cached, ex.read_many):
        refused(ErrorKind.REFUSED, call, tensors)
    assert everything(ex, tensors) == before
    refused(ErrorKind.REFUSED, ex.warm_up, tensors)
    assert ex.describe(work) == before[0][2]
    assert ex.counters["CreateCompileHandles"] == 0
    ex.sync([host, leaf])
    ex.allow_execution()
    ex.warm_up([work])
    ex.allow_execution(False)
    ex.warm_up([work])  # nothing to compile, nothing to refuse
    refused(ErrorKind.REFUSED, ex.sync, [work])


# ---- S9: run by hash ------------------------------------------------------------------------


def test_a_run_by_hash_gives_new_tensors_and_leaves_the_old_ones_pending(ex):
    x = data(ex)
    y, z = x + 2, x.clone()
    (a, b) = ex.run_cached([y, x, z, y])
    assert ex.running
    assert ex.describe(y).ir == IrKind.OP and ex.describe(z).is_cloned
    assert ex.read(a).tolist() == [3.0, 4.0, 5.0, 6.0]
    assert ex.read(b).tolist() == ROW
    assert ex.counters["ExecuteComputation"] == 0


def test_a_run_by_hash_compiles_only_once_and_shares_programs_with_warm_up(ex):
    y = data(ex) + 2
    ex.warm_up([y])
    assert growth(ex, ex.run_cached, [y]) == (0, 0, 0, 0)
    ex.wait_device()
    ex.clear_cache()
    assert growth(ex, ex.run_cached, [y])[:2] == (0, 1)


def test_a_run_by_hash_without_pending_work_is_a_barrier(ex):
    x = data(ex)
    y = x + 2
    ex.sync([y], wait=False)
    assert ex.run_cached([x]) == []
    assert not ex.running
