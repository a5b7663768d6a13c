"""The executor on 8 virtual devices: stubs that get data, SPMD mode, what a wrong use says."""

from math import prod

import numpy as np
import pytest
from executor_cases import growth, refused
from sharding_cases import (
    DEVICES,
    EVEN,
    GRID,
    LINE,
    UNEVEN,
    buffer_of,
    in_words_of_the_law,
    layout_of,
    marked,
    sent,
    spmd,
)

from markstep.impl import Executor, Mesh
from markstep.spec import pieces as law
from markstep.spec.vocabulary import BufferStatus, ErrorKind


@pytest.fixture(params=["interpret", "xla"])
def ex(request):
    return spmd(request.param)


@pytest.fixture
def real():
    return spmd("xla")


# ---- stubs ----------------------------------------------------------------------------------


def test_a_sharded_stub_is_traced_hashed_dumped_and_compiled_and_runs_once_it_has_data(ex):
    x = ex.mark_sharding(ex.placeholder((5, 3)), GRID, ("data", None))
    y = x * 2
    ex.warm_up([y])
    name, text = ex.graph_hash([y]), ex.dump_graph([y])
    assert "float32[5,3]" in text and ex.counters["OutboundData"] == 0
    before = ex.counters
    error = refused(ErrorKind.UNMATERIALIZED, ex.sync, [y])
    assert "float32[5,3]" in str(error) and ex.counters == before
    assert ex.describe(x).stub or ex.describe(x).data is BufferStatus.NONE
    ex.bind_data(x, UNEVEN)
    assert ex.graph_hash([y]) == name
    hits, misses, *_ = growth(ex, ex.sync, [y], sync=False)
    assert (hits, misses) == (1, 0)
    np.testing.assert_array_equal(y.numpy(), UNEVEN * 2)


@pytest.mark.parametrize("lazy", [False, True])
def test_data_that_are_bound_lazily_are_sent_when_a_program_runs(ex, lazy):
    x = ex.mark_sharding(ex.placeholder((8, 8)), GRID, ("data", "model"))
    y = x + 1
    at_once = sent(ex, ex.bind_data, x, EVEN, lazy=lazy)
    assert (at_once, sent(ex, ex.sync, [y])) == ((0, EVEN.nbytes) if lazy else (EVEN.nbytes, 0))
    np.testing.assert_array_equal(y.numpy(), EVEN + 1)


def test_local_pieces_are_loaded_directly(ex):
    x = ex.mark_sharding(ex.placeholder((5, 3)), LINE, ("all", None))
    placed = in_words_of_the_law(LINE, ("all", None))
    flat = UNEVEN.ravel().tolist()
    parts = [
        np.array([*law.cut(flat, (5, 3), piece)], np.float32).reshape(piece.padded)
        for _, piece in law.pieces((5, 3), placed)
    ]
    assert sent(ex, ex.load_shards, x, parts) == law.bytes_sent((5, 3), placed, 4)
    np.testing.assert_array_equal((x * 2).numpy(), UNEVEN * 2)
    np.testing.assert_array_equal(x.numpy(), UNEVEN)


# ---- SPMD mode ------------------------------------------------------------------------------


def test_the_mode_is_in_the_key_and_numbers_that_were_cached_before_go_on(ex):
    late = Executor(ex._ctx.mode, devices=DEVICES)

    def named():
        x = late.tensor(EVEN, upload=False) * 3.5
        return late.graph_hash([x]), x.numpy().tolist()

    before = named()
    late.use_spmd()
    after = named()
    assert before[0] != after[0] and before[1] == after[1] == (EVEN * 3.5).tolist()


def test_without_annotation_every_device_gets_all(ex):
    x = ex.tensor(EVEN, upload=False)
    assert sent(ex, ex.sync, [x + 1]) == DEVICES * EVEN.nbytes


def test_one_device_is_a_mesh_of_one():
    one = Executor("xla", devices=1)
    one.use_spmd()
    x = marked(one, EVEN, Mesh([0], (1, 1), ("data", "model")), ("data", "model"), lazy=True)
    x += 1
    one.mark_step(wait=True)
    np.testing.assert_array_equal(x.numpy(), EVEN + 1)


def test_random_numbers_do_not_depend_on_how_many_devices_there_are(real):
    alone = Executor("interpret")
    np.testing.assert_array_equal(real.uniform((8, 8)).numpy(), alone.uniform((8, 8)).numpy())


@pytest.mark.parametrize("offset", range(0, 64, 16))
def test_what_was_sent_is_no_memory_of_the_host(real, offset):
    block = np.zeros(1 << 12, np.uint8)
    begin = -block.ctypes.data % 64 + offset
    array = block[begin : begin + 1024].view(np.float32)
    x, y = marked(real, array, LINE, ("all",)), marked(real, array, LINE, (None,))
    array[...] = 7
    assert not x.numpy().any() and not y.numpy().any()


# ---- clearing, and other annotations ----------------------------------------------------------


def test_clearing_leaves_the_data_and_lets_another_annotation_in(ex):
    x = marked(ex, EVEN, GRID, ("data", None))
    error = refused(ErrorKind.CONFLICT, ex.mark_sharding, x, GRID, (None, "data"))
    assert "clear that first" in str(error)
    assert sent(ex, ex.clear_sharding, x) == 0 and ex.sharding_of(x) is None
    assert repr(layout_of(x)).startswith("{devices=[4,1,2]")
    ex.mark_sharding(x, GRID, (None, "data"))
    np.testing.assert_array_equal((x + 1).numpy(), EVEN + 1)


def test_the_same_annotation_again_costs_nothing(ex):
    x = marked(ex, EVEN, GRID, ("data", None))
    before, seen = ex.counters, ex.describe(x)
    ex.mark_sharding(x, GRID, ("data", None))
    assert ex.counters == before | {"XlaMarkSharding": 2} and ex.describe(x) == seen


def test_a_replicated_tensor_may_be_cut(ex):
    x = marked(ex, EVEN, GRID, (None, None))
    assert sent(ex, ex.mark_sharding, x, GRID, ("data", "model")) == 0
    assert sent(ex, ex.mark_step, wait=True) == 0
    assert repr(layout_of(x)) == "{devices=[4,2]0,1,2,3,4,5,6,7}"
    np.testing.assert_array_equal(x.numpy(), EVEN)


# ---- wrong uses -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mesh", "partition", "text"),
    [
        (Mesh(range(4), (4,), ("all",)), ("all", None), "each of the 8 devices"),
        (GRID, ("data",), "no entry for each of 2 axes"),
        (GRID, ("data", "rows"), "has the axes data, model, and no 'rows'"),
        (GRID, ("data", 2), "and no 2"),
        (GRID, ("data", "data"), "uses an axis of the mesh twice"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(ex, mesh, partition, text):
    x = ex.tensor(EVEN, upload=False)
    before, seen = ex.counters, ex.describe(x)
    error = refused(ErrorKind.BAD_ARGUMENT, ex.mark_sharding, x, mesh, partition)
    assert text in str(error) and "\n" not in str(error)
    assert ex.counters == before | {"XlaMarkSharding": 1} and ex.describe(x) == seen


@pytest.mark.parametrize(
    ("devices", "shape", "names", "text"),
    [
        (range(8), (3, 2), None, "does not hold 8 devices"),
        ((0, 0), (2,), None, "each device once"),
        (range(8), (4, 2), ("data",), "has 2 axes"),
        (range(8), (4, 2), ("data", "data"), "has 2 axes"),
    ],
)
def test_a_mesh_that_is_none_is_refused(devices, shape, names, text):
    error = refused(ErrorKind.BAD_ARGUMENT, Mesh, devices, shape, names)
    assert text in str(error)


def test_marking_without_spmd_is_refused():
    alone = Executor("interpret", devices=DEVICES)
    x = alone.tensor(EVEN, upload=False)
    error = refused(ErrorKind.BAD_ARGUMENT, alone.mark_sharding, x, GRID, ("data", None))
    assert "use_spmd()" in str(error) and alone.sharding_of(x) is None


def test_spmd_mode_is_refused_while_there_are_tensors():
    late = Executor("interpret", devices=DEVICES)
    x = late.tensor(EVEN, upload=False)
    error = refused(ErrorKind.REFUSED, late.use_spmd)
    assert "use_spmd() comes first: tensor 1" in str(error) and not x.record.handle


def test_more_devices_than_there_are_are_refused():
    many = Executor("interpret", devices=999)
    error = refused(ErrorKind.BAD_ARGUMENT, many.use_spmd)
    assert "JAX has 8" in str(error) and "xla_force_host_platform_device_count=999" in str(error)


@pytest.mark.parametrize(
    "array", [np.zeros((3, 5), np.float32), np.zeros((5, 3), np.int32)], ids=["shape", "dtype"]
)
def test_data_of_another_shape_or_dtype_are_refused(ex, array):
    x = ex.mark_sharding(ex.placeholder((5, 3)), GRID, ("data", None))
    before = ex.counters
    refused(ErrorKind.BAD_ARGUMENT, ex.bind_data, x, array)
    refused(ErrorKind.BAD_ARGUMENT, ex.load_shards, x, [array] * DEVICES)
    assert before == ex.counters and buffer_of(x).is_stub


def test_only_a_stub_is_given_data(ex):
    x = ex.tensor(EVEN, upload=False)
    refused(ErrorKind.BAD_ARGUMENT, ex.bind_data, x, EVEN)
    refused(ErrorKind.BAD_ARGUMENT, ex.load_shards, x, [EVEN] * DEVICES)


def test_pieces_of_nothing_and_scalars_can_be_marked(ex):
    empty = marked(ex, np.zeros((0, 4), np.float32), GRID, ("data", None))
    number = marked(ex, np.float32(3), GRID, ())
    assert prod((empty + 1).numpy().shape) == 0 and (number + 1).item() == 4
