"""WebNN's operations compared with NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
from webnn_graphs import compute

import dml
from dml.frontends.webnn import MLGraphBuilder as Builder
from dml.frontends.webnn import MLOperandDescriptor

RNG = np.random.default_rng(3)


def floats(*shape, low=-3.0, high=3.0, kind=np.float32):
    return RNG.uniform(low, high, shape).astype(kind)


def close(found, expected, limit=2e-6):
    """Compare within a limit relative to the result: float32 functions are accurate to a few ulp."""
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    if found.dtype == np.float16:
        limit = 2e-3
    np.testing.assert_allclose(found.astype(np.float64), expected, rtol=limit, atol=limit)


UNARY = {
    "abs": np.abs,
    "ceil": np.ceil,
    "cos": np.cos,
    "erf": scipy.special.erf,
    "exp": np.exp,
    "floor": np.floor,
    "identity": lambda x: x,
    "neg": np.negative,
    "reciprocal": lambda x: 1 / x,
    "round_even": np.round,
    "sin": np.sin,
    "sign": np.sign,
    "tan": np.tan,
    "gelu": lambda x: 0.5 * x * (1 + scipy.special.erf(x / np.sqrt(2))),
    "hard_swish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": scipy.special.expit,
    "softplus": lambda x: np.logaddexp(0, x),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "tanh": np.tanh,
}


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_functions_of_one_operand(device, name, kind):
    x = floats(2, 3, 5, low=-1.4, high=1.4, kind=kind)
    close(compute(device, getattr(Builder, name), x), UNARY[name](x.astype(np.float64)), 1e-5)


@pytest.mark.parametrize(("name", "function"), [("log", np.log), ("sqrt", np.sqrt)])
def test_functions_of_positive_numbers(device, name, function):
    x = floats(7, low=0.01, high=9)
    close(compute(device, getattr(Builder, name), x), function(x.astype(np.float64)))


BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum, "min": np.minimum}
LOGICAL = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater": np.greater,
    "greater_or_equal": np.greater_equal,
    "lesser": np.less,
    "lesser_or_equal": np.less_equal,
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("shapes", [((2, 3), (3,)), ((), (4,)), ((3, 1), (1, 2))])
def test_functions_of_two_operands_broadcast(device, name, shapes):
    a, b = (floats(*shape, low=0.5) for shape in shapes)
    close(compute(device, getattr(Builder, name), a, b), BINARY[name](a.astype(np.float64), b))


@pytest.mark.parametrize("kind", [np.int32, np.uint8, np.int64, np.uint64])
def test_integers_are_exact(device, kind):
    a, b = np.array([1, 7, 100], kind), np.array([3, 2, 50], kind)
    for name in ("add", "mul", "max", "min"):
        np.testing.assert_array_equal(compute(device, getattr(Builder, name), a, b), BINARY[name](a, b))


def test_pow(device):
    a, b = floats(3, 4, low=0.1), floats(4)
    close(compute(device, Builder.pow, a, b), np.power(a.astype(np.float64), b), 1e-5)


@pytest.mark.parametrize("name", LOGICAL)
def test_comparisons(device, name):
    a, b = RNG.integers(-2, 2, (4, 5), np.int32, endpoint=True), np.array([-1, 0, 1, 0, 2], np.int32)
    np.testing.assert_array_equal(compute(device, getattr(Builder, name), a, b), LOGICAL[name](a, b).astype(np.uint8))


def test_logic(device):
    a, b = np.array([0, 0, 1, 7], np.uint8), np.array([0, 2, 0, 1], np.uint8)
    for name, function in (("and", np.logical_and), ("or", np.logical_or), ("xor", np.logical_xor)):
        np.testing.assert_array_equal(compute(device, getattr(Builder, f"logical_{name}"), a, b), function(a, b))
    np.testing.assert_array_equal(compute(device, Builder.logical_not, a), [1, 1, 0, 0])


def test_values_that_are_no_numbers(device):
    x = np.array([1, np.nan, np.inf, -np.inf], np.float32)
    np.testing.assert_array_equal(compute(device, Builder.is_nan, x), [0, 1, 0, 0])
    np.testing.assert_array_equal(compute(device, Builder.is_infinite, x), [0, 0, 1, 1])


def test_where(device):
    condition, a, b = np.array([[1], [0]], np.uint8), floats(3), floats(2, 3)
    np.testing.assert_array_equal(compute(device, Builder.where, condition, a, b), np.where(condition, a, b))


def test_cast(device):
    x = np.array([-1.5, 0, 2.9, 100], np.float32)
    np.testing.assert_array_equal(compute(device, Builder.cast, x, data_type="int32"), x.astype(np.int32))
    assert compute(device, Builder.cast, x, data_type="float16").dtype == np.float16


def test_clamp_keeps_integers_that_floats_cannot_hold(device):
    x = np.array([-(2**62), 5, 2**62 + 1], np.int64)
    found = compute(device, Builder.clamp, x, min_value=-(2**61) - 1)
    np.testing.assert_array_equal(found, np.maximum(x, -(2**61) - 1))
    close(compute(device, Builder.clamp, floats(2, 2) * 0 + 9, max_value=2.5), np.full((2, 2), 2.5))


def test_activations_with_parameters(device):
    x = floats(3, 4)
    wide = x.astype(np.float64)
    close(compute(device, Builder.elu, x, alpha=0.5), np.where(x > 0, wide, 0.5 * np.expm1(wide)))
    close(compute(device, Builder.hard_sigmoid, x, alpha=0.3, beta=0.4), np.clip(0.3 * wide + 0.4, 0, 1))
    close(compute(device, Builder.leaky_relu, x, alpha=0.2), np.where(x > 0, wide, 0.2 * wide))
    close(compute(device, Builder.linear, x, alpha=2, beta=-1), 2 * wide - 1)
    slope = floats(2, 3, 1)
    close(compute(device, Builder.prelu, x, slope), np.where(x > 0, wide, slope.astype(np.float64) * wide))
    exp = np.exp(wide)
    close(compute(device, Builder.softmax, x, axis=0), exp / exp.sum(0))


@pytest.mark.parametrize("shape", [(3, 4, 5), (2, 1, 3, 1, 2)])
@pytest.mark.parametrize("keep", [False, True])
def test_reductions(device, shape, keep):
    x = floats(*shape, low=0.3)
    wide = x.astype(np.float64)
    axes = (0, 2)
    expected = {
        "l1": np.abs(wide).sum(axes, keepdims=keep),
        "l2": np.sqrt((wide**2).sum(axes, keepdims=keep)),
        "log_sum": np.log(wide.sum(axes, keepdims=keep)),
        "log_sum_exp": np.log(np.exp(wide).sum(axes, keepdims=keep)),
        "max": wide.max(axes, keepdims=keep),
        "mean": wide.mean(axes, keepdims=keep),
        "min": wide.min(axes, keepdims=keep),
        "product": wide.prod(axes, keepdims=keep),
        "sum": wide.sum(axes, keepdims=keep),
        "sum_square": (wide**2).sum(axes, keepdims=keep),
    }
    for name, value in expected.items():
        close(compute(device, getattr(Builder, f"reduce_{name}"), x, axes=axes, keep_dimensions=keep), value, 1e-5)


def test_reductions_over_no_axes_and_of_scalars(device):
    x = floats(2, 3)
    close(compute(device, Builder.reduce_sum_square, x, axes=[]), x.astype(np.float64) ** 2)
    close(compute(device, Builder.reduce_l1, np.array(-2, np.float32)), 2.0)
    close(compute(device, Builder.reduce_sum, x), x.sum(dtype=np.float64))


def test_places_of_extremes(device):
    x = np.array([[3, 1, 1], [2, 2, 0]], np.float32)
    np.testing.assert_array_equal(compute(device, Builder.arg_max, x, axis=1), [0, 0])
    found = compute(device, Builder.arg_min, x, axis=1, keep_dimensions=True, output_data_type="int64")
    np.testing.assert_array_equal(found, [[1], [2]])
    assert found.dtype == np.int64


def test_running_sums(device):
    x = np.arange(1, 7, dtype=np.int32).reshape(2, 3)
    np.testing.assert_array_equal(compute(device, Builder.cumulative_sum, x, axis=1), np.cumsum(x, 1))
    found = compute(device, Builder.cumulative_sum, x, axis=1, exclusive=True, reversed=True)
    np.testing.assert_array_equal(found, [[5, 3, 0], [11, 6, 0]])


def test_products_of_matrices(device):
    a, b, c = floats(4, 3), floats(5, 4), floats(5)
    wide = 0.5 * (a.T.astype(np.float64) @ b.T) + 2 * c
    found = compute(device, Builder.gemm, a, b, c=c, alpha=0.5, beta=2.0, a_transpose=True, b_transpose=True)
    close(found, wide, 1e-5)
    a, b = floats(2, 1, 3, 4, 5), floats(3, 1, 5, 2)
    close(compute(device, Builder.matmul, a, b), a.astype(np.float64) @ b, 1e-5)


def test_operations_that_move_elements(device):
    x = RNG.integers(-99, 99, (3, 4, 5), np.int32)
    same = np.testing.assert_array_equal
    same(compute(device, lambda b, *each: b.concat(list(each), 1), x, x[:, :2]), np.concatenate([x, x[:, :2]], 1))
    same(compute(device, Builder.expand, x[:1], new_shape=(2, 3, 4, 5)), np.broadcast_to(x[:1], (2, 3, 4, 5)))
    same(compute(device, Builder.reshape, x, new_shape=(2, 30)), x.reshape(2, 30))
    same(compute(device, Builder.reverse, x, axes=[0, 2]), x[::-1, :, ::-1])
    same(compute(device, Builder.reverse, x), x[::-1, ::-1, ::-1])
    same(compute(device, Builder.slice, x, starts=[1, 0, 2], sizes=[2, 4, 3], strides=[1, 3, 2]), x[1:, ::3, 2::2])
    same(compute(device, Builder.tile, x, repetitions=[1, 2, 3]), np.tile(x, (1, 2, 3)))
    same(compute(device, Builder.transpose, x, permutation=[2, 0, 1]), x.transpose(2, 0, 1))
    same(compute(device, Builder.transpose, x), x.T)
    first, second = compute(device, Builder.split, x, splits=[1, 3], axis=1)
    same(first, x[:, :1])
    same(second, x[:, 1:])
    assert len(compute(device, Builder.split, x, splits=5, axis=2)) == 5


@pytest.mark.parametrize("mode", ["constant", "edge", "reflection"])
def test_padding(device, mode):
    x = floats(3, 4)
    numpy_mode = {"reflection": "reflect"}.get(mode, mode)
    more = {"constant_values": 1.5} if mode == "constant" else {}
    found = compute(device, Builder.pad, x, beginning_padding=[1, 2], ending_padding=[0, 3], mode=mode, value=1.5)
    np.testing.assert_array_equal(found, np.pad(x, ((1, 0), (2, 3)), numpy_mode, **more))


@pytest.mark.parametrize("diagonal", [-9, -1, 0, 2, 9])
@pytest.mark.parametrize("upper", [True, False])
def test_triangles(device, diagonal, upper):
    x = floats(2, 1, 2, 3, 4)
    found = compute(device, Builder.triangular, x, upper=upper, diagonal=diagonal)
    np.testing.assert_array_equal(found, (np.triu if upper else np.tril)(x, diagonal))


@pytest.mark.parametrize("kind", [np.int32, np.uint32, np.int64])
def test_gathering(device, kind):
    x = floats(4, 3, 2)
    at = np.array([[0, 3], [2, 1]], kind)
    np.testing.assert_array_equal(compute(device, Builder.gather, x, at), x[at])
    np.testing.assert_array_equal(compute(device, Builder.gather, x, np.array(1, kind), axis=2), x[:, :, 1])
    places = RNG.integers(0, 3, (4, 5, 2)).astype(kind)
    found = compute(device, Builder.gather_elements, x, places, axis=1)
    np.testing.assert_array_equal(found, np.take_along_axis(x, places.astype(np.int64), 1))
    np.testing.assert_array_equal(compute(device, Builder.gather_nd, x, at % 3), x[tuple(at.T % 3)])


def test_scattering(device):
    x, new = floats(4, 3), floats(2, 3)
    places = np.array([[0, 3, 1], [2, -4, 3]], np.int32)
    expected = x.copy()
    np.put_along_axis(expected, places % 4, new, 0)
    np.testing.assert_array_equal(compute(device, Builder.scatter_elements, x, places, new), expected)
    expected = x.copy()
    expected[[1, 3]] = new
    np.testing.assert_array_equal(
        compute(device, Builder.scatter_nd, x, np.array([[1], [-1]], np.int32), new), expected
    )


@pytest.mark.parametrize("kind", ["int8", "uint8", "int4", "uint4"])
@pytest.mark.parametrize("blocks", [(2, 1, 6), (1, 1, 1), (4, 3, 3)])
def test_quantization_in_blocks(device, kind, blocks):
    x = floats(4, 3, 6)
    scale = floats(*blocks, low=0.3, high=0.9)
    low, high = {"int8": (-128, 127), "uint8": (0, 255), "int4": (-8, 7), "uint4": (0, 15)}[kind]
    zero = RNG.integers(max(low, -3), 3, blocks)
    wide = [np.repeat(np.repeat(np.repeat(part, 4 // blocks[0], 0), 3 // blocks[1], 1), 6 // blocks[2], 2)
            for part in (scale.astype(np.float64), zero)]  # fmt: skip
    quantized = np.clip(np.round(x / wide[0]) + wide[1], low, high)

    def there(builder, x, scale):
        return builder.quantize_linear(x, scale, _zero_points(builder, kind, zero))

    found = compute(device, there, x, scale)
    assert found.dtype.name == kind
    # In float32, a quotient very close to one half may round to either side
    assert np.abs(found.astype(np.int64) - quantized).max() <= 1
    assert (found.astype(np.int64) == quantized).mean() > 0.98

    def back(builder, scale):
        stored = _zero_points(builder, kind, found.astype(np.int64))
        return builder.dequantize_linear(stored, scale, _zero_points(builder, kind, zero))

    close(compute(device, back, scale), (found.astype(np.float64) - wide[1]) * wide[0])


def _zero_points(builder, kind, values):
    array = values.astype(dml.numpy_dtype(dml.DML_TENSOR_DATA_TYPE[f"DML_TENSOR_DATA_TYPE_{kind.upper()}"]))
    return builder.constant(MLOperandDescriptor(kind, values.shape), array)
