"""The executor on 8 virtual devices: what is sent, what lies where, and that lazy ends as eager."""

import jax
import numpy as np
import pytest
from executor_cases import growth, refused
from sharding_cases import (
    DEVICES,
    EVEN,
    GRID,
    LINE,
    TURNED,
    UNEVEN,
    buffer_of,
    in_words_of_the_law,
    layout_of,
    marked,
    sent,
    spmd,
)

from markstep.impl import Executor, Mesh, loading
from markstep.impl.errors import ExecutorError
from markstep.spec import pieces as law
from markstep.spec.vocabulary import ErrorKind


@pytest.fixture(params=["interpret", "xla"])
def ex(request):
    return spmd(request.param)


@pytest.fixture
def real():
    return spmd("xla")


# ---- which piece goes where -----------------------------------------------------------------

CASES = [
    (LINE, ("all", None)),
    (TURNED, (None, "all")),
    (GRID, ("data", None)),
    (GRID, ("model", "data")),
    (GRID, (None, ("model", "data"))),
    (GRID, (None, None)),
]


@pytest.mark.parametrize("array", [EVEN, UNEVEN], ids=["even", "uneven"])
@pytest.mark.parametrize(("mesh", "partition"), CASES, ids=str)
def test_each_device_gets_exactly_the_piece_that_the_arithmetic_of_the_law_says(
    real, mesh, partition, array
):
    x = real.tensor(array, upload=False)
    cost = sent(real, real.mark_sharding, x, mesh, partition)
    placed = in_words_of_the_law(mesh, partition)
    assert cost == law.bytes_sent(array.shape, placed, 4)
    shards = {s.device.id: np.asarray(s.data) for s in buffer_of(x).value.addressable_shards}
    for device, piece in law.pieces(array.shape, placed):
        wanted = np.array([*law.cut(array.ravel().tolist(), array.shape, piece)], np.float32)
        np.testing.assert_array_equal(shards[device], wanted.reshape(piece.padded))
    np.testing.assert_array_equal(x.numpy(), array)


@pytest.mark.parametrize(("mesh", "partition"), CASES[1:5:2], ids=str)
@pytest.mark.parametrize("array", [EVEN, UNEVEN], ids=["even", "uneven"])
def test_programs_compute_the_same_wherever_their_parameters_lie(ex, mesh, partition, array):
    x, plain = marked(ex, array, mesh, partition, lazy=True), ex.tensor(array, upload=False)
    product, total = x @ plain.T, (x + plain).sum()
    y = x * 2
    ex.mark_sharding(y, TURNED, ("all", None))
    ex.mark_step(wait=True)
    np.testing.assert_array_equal(product.numpy(), array @ array.T)
    assert total.item() == 2 * array.sum()
    np.testing.assert_array_equal(y.numpy(), array * 2)


def test_meshes_of_different_orders_of_devices_meet_in_one_program(ex):
    x, y = marked(ex, EVEN, LINE, ("all", None)), marked(ex, EVEN * 2, TURNED, ("all", None))
    z = x + y
    np.testing.assert_array_equal(z.numpy(), EVEN * 3)


def test_two_meshes_that_say_the_same_have_one_layout():
    both = Executor(devices=DEVICES)
    both.use_spmd()
    x = marked(both, EVEN, LINE, ("all", None))
    both.mark_sharding(x, GRID, (("data", "model"), None))
    assert repr(both.sharding_of(x)) == "{devices=[8,1]0,1,2,3,4,5,6,7}"


# ---- what XLA chooses, and hints ------------------------------------------------------------


def test_a_result_lies_where_xla_puts_it(real):
    x = marked(real, EVEN, GRID, ("data", None))
    w = marked(real, EVEN, GRID, (None, "model"))
    y, total = x @ w, x.sum()
    real.sync([y, total])
    assert repr(real.describe(y).layout) == "{devices=[4,2]0,1,2,3,4,5,6,7}"
    assert repr(real.describe(total).layout) == "{replicated}"
    assert real.counters["ExecuteReplicated"] == 1 and real.counters["ExecuteComputation"] == 0


def test_a_hint_on_pending_work_moves_nothing_and_decides_where_the_result_lies(ex):
    x = marked(ex, UNEVEN, GRID, ("data", None), lazy=True)
    y = x + 1
    assert sent(ex, ex.mark_sharding, y, GRID, (None, "model")) == 0
    ex.sync([y])
    assert repr(ex.describe(y).layout) == "{devices=[1,2,4]0,2,4,6,1,3,5,7 last_tile_dim_replicate}"
    np.testing.assert_array_equal(y.numpy(), UNEVEN + 1)


def test_an_update_stays_where_the_annotation_says_and_reuses_the_memory(real):
    for mesh, partition, array in [(TURNED, ("all", None), UNEVEN), (GRID, ("data", None), EVEN)]:
        x = marked(real, array, mesh, partition)
        old = buffer_of(x).value
        places = [shard.data.unsafe_buffer_pointer() for shard in old.addressable_shards]
        x += 1
        real.mark_step(wait=True)
        new = buffer_of(x).value
        assert old.is_deleted() and layout_of(x) is real.sharding_of(x)
        assert [s.data.unsafe_buffer_pointer() for s in new.addressable_shards] == places
        np.testing.assert_array_equal(x.numpy(), array + 1)


# ---- lazy: nothing moves before a program runs ------------------------------------------------


def test_lazily_marked_data_are_sent_once_as_pieces_by_the_first_execution(ex):
    x = ex.tensor(UNEVEN, upload=False)
    calls = (
        lambda: ex.mark_sharding(x, GRID, ("data", None), lazy=True),
        lambda: ex.warm_up([x * 2]),
        lambda: ex.graph_hash([x * 2]),
        lambda: ex.dump_graph([x * 2]),
        lambda: x.numpy(),
        lambda: ex.mark_step(wait=True),
    )
    assert [sent(ex, call) for call in calls] == [0] * len(calls)
    y = x * 2
    assert sent(ex, ex.sync, [y]) == law.bytes_sent(
        (5, 3), in_words_of_the_law(GRID, ("data", None)), 4
    )
    assert growth(ex, ex.sync, [x * 2])[1] == 0
    assert sent(ex, ex.sync, [x * 3]) == 0
    np.testing.assert_array_equal(y.numpy(), UNEVEN * 2)


def test_what_was_compiled_before_the_load_is_what_runs_after_it(ex):
    x = marked(ex, EVEN, GRID, ("data", None), lazy=True)
    y = x * 2
    ex.warm_up([y])
    hits, misses, *_ = growth(ex, ex.sync, [y], sync=False)
    assert (hits, misses) == (1, 0)


@pytest.mark.parametrize("array", [EVEN, UNEVEN], ids=["even", "uneven"])
def test_lazy_and_eager_are_the_same_afterwards(real, array):
    def played(lazy):
        x = marked(real, array, GRID, ("data", None), lazy=lazy)
        y = x * 2
        first = real.graph_hash([y])
        real.sync([y])
        later = [real.graph_hash([tensor + 1]) for tensor in (x, y)]
        spec = real.sharding_of(x)
        return (
            first,
            later,
            spec,
            layout_of(x),
            layout_of(y),
            x.numpy().tolist(),
            y.numpy().tolist(),
        )

    assert played(True) == played(False)


def test_marking_after_tracing_still_sends_once_and_as_pieces(ex):
    x = ex.tensor(EVEN, upload=False)
    y = x * 2
    ex.mark_sharding(x, GRID, ("data", "model"), lazy=True)
    assert sent(ex, ex.sync, [y]) == EVEN.nbytes
    np.testing.assert_array_equal(y.numpy(), EVEN * 2)


def test_consumers_share_one_upload_and_the_host_copy_is_let_go(ex):
    x = marked(ex, EVEN, GRID, ("data", "model"), lazy=True)
    x_again = x.clone()
    y, z = x + 1, x_again + 2
    assert sent(ex, ex.mark_step, wait=True) == EVEN.nbytes
    assert buffer_of(x).source is None and x.record.host is None
    np.testing.assert_array_equal(y.numpy() + z.numpy(), EVEN * 2 + 3)


def test_each_host_version_is_sent_once(ex):
    x = marked(ex, EVEN, GRID, ("data", "model"), lazy=True)
    costs = [sent(ex, ex.sync, [x * 2])]
    x.copy_(EVEN + 1, upload=False)
    costs += [sent(ex, ex.sync, [x * 2]), sent(ex, ex.sync, [x * 2])]
    assert costs == [EVEN.nbytes, EVEN.nbytes, 0]
    assert repr(layout_of(x)) == "{devices=[4,2]0,1,2,3,4,5,6,7}"


def test_an_execution_that_fails_has_not_lost_lazily_marked_data(ex):
    x = marked(ex, EVEN, GRID, ("data", None), lazy=True)
    x += 1
    ex.inject.execution = 1
    refused(ErrorKind.EXECUTION_FAILED, ex.mark_step, wait=True)
    np.testing.assert_array_equal(x.numpy(), EVEN + 1)


def test_a_graph_is_written_with_its_shardings_before_any_byte_moves(real):
    stub = real.mark_sharding(real.placeholder(EVEN.shape), LINE, ("all", None))
    lazy = marked(real, UNEVEN, LINE, ("all", None), lazy=True)
    pending = real.mark_sharding(stub + stub, TURNED, (None, "all"))

    def written():
        text = real.stablehlo([pending, lazy + lazy])
        cut = '{sdy.sharding = #sdy.sharding<@mesh, [{"all"}, {}]>}'
        assert f"tensor<8x8xf32> {cut}" in text
        assert '[{}, {"all"}]> : tensor<8x8xf32>' in text, "the hint"
        assert f"tensor<8x3xf32> {cut}" in text, "5 rows on 8 devices are filled up"
        assert "sharding={devices=[8,1]<=[8]}" in real.stablehlo([pending], "hlo")
        assert real.stablehlo([pending], "bytecode").startswith(b"ML\xefR")

    assert sent(real, written) == 0


def test_a_device_that_is_gone_is_named_and_nothing_is_lost(real, monkeypatch):
    upload_to = loading.upload_to

    def gone(part, device):
        if device.id == 3:
            raise jax.errors.JaxRuntimeError("UNAVAILABLE: no such device")
        return upload_to(part, device)

    monkeypatch.setattr(loading, "upload_to", gone)
    data = real.tensor(EVEN, upload=False)
    with pytest.raises(ExecutorError, match="device 3 of the mesh takes no data: UNAVAILABLE"):
        real.mark_sharding(data, LINE, ("all", None))
    assert real.sharding_of(data) is None
    real.mark_sharding(data, LINE, ("all", None), lazy=True)
    total = data + data
    with pytest.raises(ExecutorError, match="device 3"):
        real.sync([total])
    monkeypatch.undo()
    assert np.array_equal(total.numpy(), EVEN + EVEN)
    with pytest.raises(ExecutorError, match="has to use each of the 8 devices"):
        real.mark_sharding(real.tensor(EVEN, upload=False), Mesh(range(7), (7,)), (0, None))
