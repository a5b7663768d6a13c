"""What a person computes with lazy tensors is what numpy computes, compiled or interpreted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markstep.impl import Executor, ExecutorError
from markstep.spec.vocabulary import ErrorKind

A = np.arange(6, dtype=np.float32).reshape(2, 3) + 1
B = np.array([[2, 1, 2], [4, 2, 1]], np.float32)

EXPRESSIONS = {
    "arithmetic": lambda a, b: (a + b) * (a - b) / b,
    "scalars": lambda a, b: 1 - (2 * a + 0.5) / 4 + (3 / b) ** 2,
    "negative": lambda a, b: -a + (-1) * b,
    "matmul": lambda a, b: a @ b.T,
    "broadcast row": lambda a, b: a * b[0] + a[:, :1],
    "broadcast up": lambda a, b: a[0] + b,
    "0-d": lambda a, b: a + b.sum() - a.max() * b.min(),
    "reductions": lambda a, b: a.sum(0) + b.mean(0),
    "several axes": lambda a, b: (a * b).sum((0, 1)),
    "keepdims": lambda a, b: a - a.mean(1, keepdims=True),
    "reshape": lambda a, b: a.reshape(3, 2) @ b.reshape((2, -1)),
    "transpose": lambda a, b: a.transpose(1, 0) + b.T.transpose().T,
    "slices": lambda a, b: a[:, ::-1][..., 1:] + b[1, None, 0:2],
    "dtype": lambda a, b: a.astype("int32") * b.astype(np.int32),
    "numpy operand": lambda a, b: B + a - B * 2,
}


@pytest.fixture(scope="module", params=["interpret", "xla"])
def ex(request):
    return Executor(request.param)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expression(ex, name):
    expression = EXPRESSIONS[name]
    a, b = ex.tensor(A), ex.tensor(B)
    lazy, eager = expression(a, b), expression(A, B)
    assert (lazy.shape, lazy.dtype) == (eager.shape, eager.dtype)
    np.testing.assert_allclose(lazy.numpy(), eager, rtol=1e-6)


def test_in_place_forms(ex):
    x, a, b = ex.tensor(A), A.copy(), B
    same = x
    x += ex.tensor(b)
    x -= 1
    x *= b
    x /= 2
    x.add_(1).mul_(3).neg_()
    x[0, 1:] = 7
    x[1] = ex.tensor(b[0])
    expected = -(((a + b - 1) * b / 2 + 1) * 3)
    expected[0, 1:], expected[1] = 7, b[0]
    assert x is same
    np.testing.assert_allclose(np.asarray(x), expected, rtol=1e-6)


COMPARISONS = {
    "equal": lambda a, b: a == b,
    "unequal row": lambda a, b: a != b[0],
    "less": lambda a, b: a < b,
    "number": lambda a, b: a <= 2,
    "reverse number": lambda a, b: 2 > a,  # noqa: SIM300
    "numpy operand": lambda a, b: B >= a,  # noqa: SIM300
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_are_element_by_element(ex, name):
    compare = COMPARISONS[name]
    lazy, eager = compare(ex.tensor(A), ex.tensor(B)), compare(A, B)
    assert lazy.dtype == bool
    np.testing.assert_array_equal(lazy.numpy(), eager)


def test_a_tensor_as_a_key_is_the_object_itself(ex):
    x, y = ex.tensor(A), ex.tensor(A)
    assert len({x, y, x.detach()}) == 3
    assert {x: 1}[x] == 1
    assert not bool(x == None) and x != "x"  # noqa: E711


def test_comparisons_are_refused_where_the_element_types_differ(ex):
    whole = ex.tensor([1, 2])
    for other in (ex.tensor([1.0, 2.0]), 0.5, np.array([1.0, 2.0])):
        with pytest.raises(ExecutorError) as error:
            _ = whole == other
        assert error.value.kind == ErrorKind.BAD_ARGUMENT


SCALED = {
    "a tensor": lambda ex: ex.tensor(B),
    "a row": lambda ex: ex.tensor(B[0]),
    "an array": lambda ex: B,
    "a number": lambda ex: 3,
}


@pytest.mark.parametrize("operand", SCALED)
def test_updates_scaled_by_alpha(ex, operand):
    x, other = ex.tensor(A), SCALED[operand](ex)
    x.add_(other, alpha=0.5).sub_(other, alpha=-2).sub_(other)
    expected = A + (0.5 + 2 - 1) * np.asarray(other)
    np.testing.assert_allclose(x.numpy(), expected, rtol=1e-6)


def test_an_update_scaled_by_alpha_is_one_operation():
    ex = Executor("xla")
    x, gradient = ex.tensor(A), ex.tensor(B)
    ex.sync([x, gradient])
    programs = set()
    for rate in (0.5, 0.25):
        x.sub_(gradient, alpha=rate)
        programs.add(ex.graph_hash([x]))
        assert ex.dump_graph([x]).count("sub") == 1
        ex.mark_step()
    assert len(programs) == 1, "the rate is a parameter of the program"
    assert ex.counters["InputOutputAliasCount.sum"] == 1
    np.testing.assert_array_equal(x.numpy(), A - B * 0.75)


def test_alpha_is_a_number_of_the_element_type(ex):
    x, same = ex.tensor([1, 2]), ex.tensor([3, 4])
    before = ex.dump_graph([x])
    for other in (same, 1, np.array([1, 2])):
        for alpha in (0.5, "1", same):
            with pytest.raises(ExecutorError) as error:
                x.add_(other, alpha=alpha)
            assert error.value.kind == ErrorKind.BAD_ARGUMENT
    assert ex.dump_graph([x]) == before
    assert x.add_(same, alpha=2).numpy().tolist() == [7, 10]


def test_python_protocols(ex):
    x = ex.tensor([3.0, 4.0])
    assert [float(item) for item in x] == [3.0, 4.0]
    assert (len(x), x.ndim, int(x[0]), bool(x[0] - 3)) == (2, 1, 3, False)
    assert "float32[2]" in repr(x)


def split(x, *, scale):
    return {"parts": [x * scale, x.sum()], "same": x}


def test_a_jax_function_with_nested_results_is_one_operation(ex):
    x = ex.tensor(A)
    result = ex.apply(split, x, scale=2)
    text = ex.dump_graph([result["parts"][0], result["parts"][1], result["same"]])
    assert text.count("split") == 1
    np.testing.assert_array_equal(result["parts"][0].numpy(), A * 2)
    assert result["parts"][1].numpy() == A.sum()
    np.testing.assert_array_equal(result["same"].numpy(), A)


def test_gradients_come_from_jax(ex):
    def loss(w, x):
        return jnp.sum((x @ w) ** 2)

    w, x = ex.tensor(B.T.copy()), ex.tensor(A)
    value, slope = ex.apply(jax.value_and_grad(loss), w, x)
    w -= slope * 0.5
    ex.mark_step(wait=True)
    expected, gradient = jax.value_and_grad(loss)(B.T, A)
    np.testing.assert_allclose(value.numpy(), expected, rtol=1e-5)
    np.testing.assert_allclose(w.numpy(), B.T - gradient * 0.5, rtol=1e-5)


def test_a_function_that_does_not_take_the_shapes_is_refused_when_traced(ex):
    with pytest.raises(ExecutorError) as caught:
        ex.apply(jnp.matmul, ex.tensor(A), ex.tensor(B))
    assert caught.value.kind == ErrorKind.BAD_ARGUMENT
    assert "float32[2,3]" in str(caught.value)


def test_warm_up_with_a_placeholder_serves_the_real_thing(ex):
    shape_only, real = ex.placeholder((2, 3)), ex.tensor(A)
    ex.warm_up([shape_only * 2 + 1])
    misses = ex.counters["UncachedCompile"]
    ex.read(real * 2 + 1)
    assert ex.counters["UncachedCompile"] == misses


# ---- equal keys, equal programs -------------------------------------------------------------

PROGRAMS = st.lists(
    st.tuples(
        st.sampled_from(["add", "sub", "mul", "neg", "add_scalar"]), *[st.integers(0, 9)] * 2
    ),
    min_size=1,
    max_size=6,
)


def build(ex, program, values):
    """The tensors of a program over two inputs; each step picks its operands among the earlier."""
    tensors = [ex.tensor([v, v + 1.0]) for v in values]
    for name, left, right in program:
        a, b = tensors[left % len(tensors)], tensors[right % len(tensors)]
        if name == "neg":
            tensors.append(-a)
        elif name == "add_scalar":
            tensors.append(a + right)
        else:
            tensors.append(ex.call(name, a, b))
    return tensors


def evaluate(program, values):
    arrays = [np.array([v, v + 1.0], np.float32) for v in values]
    for name, left, right in program:
        a, b = arrays[left % len(arrays)], arrays[right % len(arrays)]
        operations = {"add": a + b, "sub": a - b, "mul": a * b, "neg": -a, "add_scalar": a + right}
        arrays.append(operations[name].astype(np.float32))
    return arrays


@settings(max_examples=300, deadline=None)
@given(
    st.lists(PROGRAMS, min_size=1, max_size=4), st.lists(st.integers(-3, 3), min_size=2, max_size=2)
)
def test_a_program_found_by_its_key_computes_the_right_values(programs, values):
    ex = Executor("interpret")
    for round_ in range(2):
        inputs = [v + round_ for v in values]
        for program in programs:
            tensors = build(ex, program, inputs)
            ex.sync(tensors[2:], sync=bool(round_))
            for lazy, eager in zip(tensors, evaluate(program, inputs), strict=True):
                np.testing.assert_array_equal(ex.read(lazy), eager)
    assert ex.counters["UncachedCompile"] <= len(programs)


@settings(max_examples=200, deadline=None)
@given(PROGRAMS, PROGRAMS)
def test_keys_are_equal_only_for_programs_that_read_alike(one, other):
    ex = Executor("interpret")
    first, second = (build(ex, program, [1, 5])[-1:] for program in (one, other))
    same_text = _shape_of(ex, first) == _shape_of(ex, second)
    assert (ex.graph_hash(first) == ex.graph_hash(second)) == same_text


def _shape_of(ex, tensors):
    """The graph as text, without the names of tensors: another way to say what the key says."""
    return ex.dump_graph(tensors).rpartition("return")[0]


def test_host_data_of_64_bits_become_what_jax_makes_of_them(ex):
    wide = np.array([0.1, -np.inf, np.nan])
    assert wide.dtype == np.float64
    np.testing.assert_array_equal(ex.tensor(wide).numpy(), np.asarray(jnp.array(wide)))
    total = ex.tensor(wide.astype(np.float32)) + wide
    assert total.dtype == np.float32
    for beyond in (np.array([1e300]), np.array([2**40])):
        with pytest.raises(ExecutorError) as error:
            ex.tensor(beyond)
        assert error.value.kind == ErrorKind.BAD_ARGUMENT
