"""What has no meaning is refused where it is written, in one line, and changes nothing."""

import numpy as np
import pytest

from markstep.impl.errors import ExecutorError
from markstep.impl.executor import Executor
from markstep.spec.vocabulary import ErrorKind


@pytest.fixture
def executor():
    return Executor("interpret")


def refused(deed, text):
    with pytest.raises(ExecutorError) as raised:
        deed()
    assert raised.value.kind == ErrorKind.BAD_ARGUMENT
    assert text in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool"])
def test_a_number_that_the_element_type_has_not_is_refused_everywhere(executor, dtype):
    x = executor.tensor(np.array([1, 0]).astype(dtype))
    for deed in (
        lambda: x + 1.5,
        lambda: 1.5 * x,
        lambda: x.__iadd__(1.5),
        lambda: x.__setitem__(0, 1.5),
        lambda: executor.full((2,), 1.5, dtype),
    ):
        refused(deed, f"1.5 is not a value of {dtype}")
    refused(lambda: x.__setitem__(0, 2**40), f"is not a value of {dtype}")
    refused(lambda: x.__setitem__(0, float("nan")), f"nan is not a value of {dtype}")
    assert executor.read(x).tolist() == [1, 0]


def test_a_finite_number_does_not_become_infinite(executor):
    x = executor.tensor([1.0])
    for number in (1e39, 2**200, 2**2000):
        refused(lambda number=number: x * number, "is not a value of float32")
    assert executor.read(x * float("inf")).tolist() == [float("inf")]
    assert executor.read(x * 0.1)[0] == np.float32(0.1)


def test_truth_values_are_no_numbers(executor):
    b = executor.tensor([True, False])
    refused(lambda: b - b, "sub cannot take")
    refused(lambda: -b, "neg cannot take")
    refused(lambda: b + 2, "2 is not a value of bool")
    assert executor.read(b + b).tolist() == [True, False]  # or
    executor.mark_step()


def test_whole_numbers_have_no_negative_powers(executor):
    x = executor.tensor(np.array([3, 1, -1, 0], np.int32))
    refused(lambda: x**-1, "no power of -1")
    assert executor.read(x**2).tolist() == [9, 1, 1, 0]
    odd, even = (executor.tensor(np.full(4, n, np.int32)) for n in (-3, -2))
    assert executor.read(x**odd).tolist() == [0, 1, -1, 0]
    assert executor.read(x**even).tolist() == [0, 1, 1, 0]
    assert executor.read(x**-odd).tolist() == [27, 1, -1, 0]


@pytest.mark.parametrize("shape", [(-2,), (2, -1), "ab", 3, (1.5,)])
def test_what_is_no_shape_is_refused(executor, shape):
    for deed in (
        lambda: executor.placeholder(shape),
        lambda: executor.full(shape, 1),
        lambda: executor.uniform(shape),
        lambda: executor.randint(shape, 5),
    ):
        refused(deed, "is not a shape")


@pytest.mark.parametrize(
    "data",
    ["abc", None, [object()], np.datetime64("2020"), np.zeros(2, "i4,f4"), [[1.0], [1.0, 2.0]]],
)
def test_what_is_no_data_is_refused(executor, data):
    refused(lambda: executor.tensor(data), "")


def test_masked_data_are_refused_and_foreign_byte_order_is_not(executor):
    refused(lambda: executor.tensor(np.ma.array([1.0, 2.0], mask=[0, 1])), "masked")
    assert executor.read(executor.tensor(np.array([1, 2], ">i4"))).tolist() == [1, 2]
    assert executor.read(executor.tensor(np.ma.array([1.0]))).tolist() == [1]


def test_element_types_that_do_not_exist(executor):
    x = executor.tensor([1.0])
    refused(lambda: x.astype("foo"), "no device has elements of type 'foo'")
    refused(lambda: executor.placeholder((2,), "datetime64[s]"), "no device has elements")
    refused(lambda: executor.full((2,), 1, "S3"), "no device has elements")


def test_other_things_that_are_not_what_they_should_be(executor):
    x = executor.tensor([1.0])
    refused(lambda: executor.set_rng_state(5), "a state is what rng_state gave")
    refused(lambda: executor.run_stablehlo(None, [x]), "text or bytes")
    refused(lambda: executor.run_stablehlo(5, [x]), "text or bytes")
    refused(lambda: executor.apply(lambda x: None, x), "it gives no array")


def test_an_executor_does_not_evaluate_inside_what_it_compiles():
    executor = Executor("xla")
    x = executor.tensor([1.0])
    y = executor.apply(lambda x: executor.mark_step() or x + 1, x)
    with pytest.raises(ExecutorError, match="inside a function that it compiles") as raised:
        executor.read(y)
    assert str(raised.value).count("does not compile") == 1
    assert f"tensor {y.id}" in str(raised.value)
    assert executor.read(x).tolist() == [1]


def test_no_warning_of_numpy_reaches_a_user(executor, recwarn):
    half = executor.tensor(np.ones(2, np.float16))
    refused(lambda: half * 1e6, "is not a value of float16")
    refused(lambda: executor.tensor(np.ones(2, np.int32)) + float("nan"), "nan is not a value")
    assert not recwarn.list
