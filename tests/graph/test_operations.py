"""The functions of dml.graph.operations compared with NumPy: output sizes, broadcasting, DirectMLX's defaults."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from expressions import evaluate

import dml
from dml.graph import operations as op
from dml.graph.builder import Builder, Tensor
from harness import can_bind

Array = npt.NDArray[Any]
_erf = np.vectorize(math.erf)


def softmax(x: Array, axis: int = -1) -> Array:
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


#: NumPy's function and the attributes, by operation. Arguments are in (0.05, 0.95), or mapped by ``OF``.
UNARY: dict[str, tuple[Callable[[Array], Array], dict[str, Any]]] = {
    "identity": (lambda x: x, {}),
    "absolute": (np.abs, {}),
    "acos": (np.arccos, {}),
    "acosh": (lambda x: np.arccosh(x + 1), {"scale_bias": dml.DML_SCALE_BIAS(1.0, 1.0)}),
    "asin": (np.arcsin, {}),
    "asinh": (np.arcsinh, {}),
    "atan": (np.arctan, {}),
    "atanh": (np.arctanh, {}),
    "ceil": (np.ceil, {}),
    "clip": (lambda x: np.clip(x, 0.2, 0.6), {"min": 0.2, "max": 0.6}),
    "constant_pow": (lambda x: x**1.5, {"exponent": 1.5}),
    "cos": (np.cos, {}),
    "cosh": (np.cosh, {}),
    "erf": (_erf, {}),
    "exp": (np.exp, {}),
    "floor": (np.floor, {}),
    "is_infinity": (np.isinf, {}),
    "is_nan": (np.isnan, {}),
    "log": (np.log, {}),
    "negate": (np.negative, {}),
    "recip": (np.reciprocal, {}),
    "round_": (np.round, {}),
    "sign": (np.sign, {}),
    "sin": (np.sin, {}),
    "sinh": (np.sinh, {}),
    "sqrt": (np.sqrt, {}),
    "tan": (np.tan, {}),
    "threshold": (lambda x: np.maximum(x, 0.4), {"min": 0.4}),
    "celu": (lambda x: np.where(x > 0, x, np.expm1(x)), {}),
    "elu": (lambda x: np.where(x > 0, x, np.expm1(x)), {}),
    "gelu": (lambda x: x / 2 * (1 + _erf(x / np.sqrt(2))), {}),
    "hard_sigmoid": (lambda x: np.clip(0.2 * x + 0.5, 0, 1), {}),
    "hard_swish": (lambda x: x * np.clip(x / 6 + 0.5, 0, 1), {"alpha": 1 / 6, "beta": 0.5}),
    "hardmax": (lambda x: x == x.max(-1, keepdims=True), {}),
    "leaky_relu": (lambda x: np.where(x > 0, x, 0.01 * x), {}),
    "linear": (lambda x: 2 * x + 3, {"alpha": 2.0, "beta": 3.0}),
    "log_softmax": (lambda x: np.log(softmax(x)), {}),
    "parametric_softplus": (lambda x: 2 * np.log1p(np.exp(3 * x)), {"alpha": 2.0, "beta": 3.0}),
    "relu": (lambda x: np.maximum(x, 0), {}),
    "scaled_elu": (lambda x: 1.050701 * np.where(x > 0, x, 1.6732632 * np.expm1(x)), {}),
    "scaled_tanh": (lambda x: np.tanh(x / 2), {}),
    "shrink": (lambda x: np.where(np.abs(x) > 0.5, x, 0), {}),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), {}),
    "softmax": (softmax, {}),
    "softplus": (lambda x: np.log1p(np.exp(x)), {}),
    "softsign": (lambda x: x / (1 + np.abs(x)), {}),
    "swish": (lambda x: x / (1 + np.exp(-1.5 * x)), {"sigmoid_input_scale": 1.5}),
    "tanh": (np.tanh, {}),
    "thresholded_relu": (lambda x: np.where(x > 1, x, 0), {}),
}
#: Functions tested on all numbers; the others are tested on positive numbers only.
SIGNED = {
    "identity", "absolute", "asinh", "atan", "ceil", "cos", "cosh", "erf", "exp", "floor", "is_infinity", "is_nan",
    "negate", "round_", "sign", "sin", "sinh", "celu", "elu", "gelu", "hard_sigmoid", "hard_swish", "hardmax",
    "leaky_relu", "linear", "log_softmax", "parametric_softplus", "relu", "scaled_elu", "scaled_tanh", "shrink",
    "sigmoid", "softmax", "softplus", "softsign", "swish", "tanh", "thresholded_relu",
}  # fmt: skip

BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "atan_yx": np.arctan2,
    "difference_square": lambda a, b: (a - b) ** 2,
    "divide": np.divide,
    "equals": np.equal,
    "greater_than": np.greater,
    "greater_than_or_equal": np.greater_equal,
    "less_than": np.less,
    "less_than_or_equal": np.less_equal,
    "maximum": np.maximum,
    "mean": lambda a, b: (a + b) / 2,
    "minimum": np.minimum,
    "modulus_floor": np.mod,
    "modulus_truncate": np.fmod,
    "multiply": np.multiply,
    "subtract": np.subtract,
}
BITS: dict[str, Callable[[Array, Array], Array]] = {
    "bit_and": np.bitwise_and,
    "bit_or": np.bitwise_or,
    "bit_shift_left": lambda a, b: a << (b % 32),
    "bit_shift_right": lambda a, b: a >> (b % 32),
    "bit_xor": np.bitwise_xor,
    "logical_and": lambda a, b: (a != 0) & (b != 0),
    "logical_or": lambda a, b: (a != 0) | (b != 0),
    "logical_xor": lambda a, b: (a != 0) ^ (b != 0),
}


def near(found: Array, expected: Any) -> None:
    """Compare within the error of values around 1 after a few roundings; tan and products have the largest errors."""
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.astype(np.float64), expected.astype(np.float64), rtol=2e-6, atol=2e-6)


def test_functions_of_one_tensor(device: Any) -> None:
    rng = np.random.default_rng(0)
    inside = rng.uniform(0.05, 0.95, (2, 3, 7)).astype(np.float32)
    signed = rng.uniform(-3, 3, (2, 3, 7)).astype(np.float32)

    def make(a: Tensor, b: Tensor) -> dict[str, Tensor]:
        return {name: getattr(op, name)(b if name in SIGNED else a, **given) for name, (_, given) in UNARY.items()}

    for name, found in evaluate(device, {"inside": inside, "signed": signed}, make).items():
        x = (signed if name in SIGNED else inside).astype(np.float64)
        assert found.dtype == (np.uint8 if name in ("is_nan", "is_infinity") else np.float32), name
        near(found, UNARY[name][0](x))


def test_functions_of_two_tensors_broadcast(device: Any) -> None:
    rng = np.random.default_rng(1)
    a = rng.uniform(-3, 3, (2, 1, 7)).astype(np.float32)
    b = np.concatenate([a[0, :, :], rng.uniform(0.5, 3, (2, 7)).astype(np.float32)])

    def make(x: Tensor, y: Tensor) -> dict[str, Tensor]:
        return {name: getattr(op, name)(x, y) for name in BINARY}

    for name, found in evaluate(device, {"a": a, "b": b}, make).items():
        near(found, BINARY[name](a.astype(np.float64), b.astype(np.float64)))


def test_functions_of_bits(device: Any) -> None:
    rng = np.random.default_rng(2)
    a = rng.integers(0, 2**32, (3, 5), np.uint32)
    b = rng.integers(0, 32, 5).astype(np.uint32)
    a[0], b[1] = 0, 0

    def make(x: Tensor, y: Tensor) -> dict[str, Tensor]:
        one = {"bit_count": op.bit_count(x), "bit_not": op.bit_not(x), "logical_not": op.logical_not(x)}
        return {name: getattr(op, name)(x, y) for name in BITS} | one

    expected = {name: function(a, b) for name, function in BITS.items()}
    expected["bit_count"] = np.vectorize(lambda v: int(v).bit_count())(a)
    expected["bit_not"], expected["logical_not"] = ~a, a == 0
    for name, found in evaluate(device, {"a": a, "b": b}, make).items():
        np.testing.assert_array_equal(found, expected[name].astype(found.dtype), name)


def test_choice_power_and_cast(device: Any) -> None:
    rng = np.random.default_rng(3)
    x, e = rng.uniform(0.2, 4, (3, 1, 4)).astype(np.float32), rng.uniform(-2, 2, (5, 4)).astype(np.float32)

    def make(x: Tensor, e: Tensor) -> dict[str, Tensor]:
        return {
            "number": op.pow_(x, 2),
            "tensor": op.pow_(x, e),
            "if": op.if_(op.less_than(e, 0.0), x, e),
            "cast": op.cast(e, dml.DML_TENSOR_DATA_TYPE_INT32),
        }

    found = evaluate(device, {"x": x, "e": e}, make)
    wide = x.astype(np.float64)
    near(found["number"], wide**2)
    np.testing.assert_allclose(found["tensor"], wide ** e.astype(np.float64), rtol=1e-6)
    np.testing.assert_array_equal(found["if"], np.where(e < 0, x, e))
    np.testing.assert_array_equal(found["cast"], e.astype(np.int32))


def test_elements_moved(device: Any) -> None:
    rng = np.random.default_rng(4)
    x = rng.standard_normal((2, 8, 4, 6)).astype(np.float32)
    chosen = np.array([[3, 0], [1, 1]], np.int32)

    def make(x: Tensor) -> dict[str, Tensor]:
        parts = op.split(x, 1, (3, 5))
        values, places = op.top_k(x, 3, -1)
        smallest, _ = op.top_k(x, 2, 1, dml.DML_AXIS_DIRECTION_INCREASING)
        return {
            "join": op.join([parts[1], parts[0]], 1),
            "slice": op.slice_(x, (0, 2, 0, 1), (2, 5, 4, 4), (1, 2, 1, -3)),
            "padding": op.padding(x, (0, 0, 1, 2), (0, 0, 3, 0), value=7.0),
            "edge": op.padding(x, (0, 0, 1, 2), (0, 0, 3, 0), dml.DML_PADDING_MODE_EDGE),
            "tile": op.tile(x, (1, 2, 1, 3)),
            "gather": op.gather(x, chosen, 2),
            "space_to_depth": op.space_to_depth(x, 2),
            "depth_to_space": op.depth_to_space(x, 2),
            "upsample": op.upsample_2d(x, 3, 2),
            "values": values,
            "places": places,
            "smallest": smallest,
        }

    found = evaluate(device, {"x": x}, make)
    blocks = x.reshape(2, 8, 2, 2, 3, 2).transpose(0, 3, 5, 1, 2, 4).reshape(2, 32, 2, 3)
    pixels = x.reshape(2, 2, 2, 2, 4, 6).transpose(0, 3, 4, 1, 5, 2).reshape(2, 2, 8, 12)
    order = np.argsort(-x, -1, kind="stable")[..., :3]
    expected = {
        "join": np.concatenate([x[:, 3:], x[:, :3]], 1),
        "slice": x[:, 2:7:2, :, 4:0:-3],
        "padding": np.pad(x, [(0, 0), (0, 0), (1, 3), (2, 0)], constant_values=7),
        "edge": np.pad(x, [(0, 0), (0, 0), (1, 3), (2, 0)], "edge"),
        "tile": np.tile(x, (1, 2, 1, 3)),
        "gather": np.take(x, chosen, 2),
        "space_to_depth": blocks,
        "depth_to_space": pixels,
        "upsample": x.repeat(2, 2).repeat(3, 3),
        "values": np.take_along_axis(x, order, -1),
        "places": order.astype(np.uint32),
        "smallest": np.sort(x, 1)[:, :2],
    }
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, name)


def test_gathers_and_scatters(device: Any) -> None:
    rng = np.random.default_rng(8)
    x = rng.standard_normal((3, 4, 5)).astype(np.float32)
    along = rng.integers(0, 4, (3, 2, 5)).astype(np.int32)
    rows = np.array([[2, 1], [0, 3]], np.int32)
    places = np.stack([rng.permutation(4)[:2] for _ in range(15)]).reshape(3, 5, 2).swapaxes(1, 2).astype(np.int32)
    updates, parts = rng.standard_normal((3, 2, 5)).astype(np.float32), rng.standard_normal((2, 5)).astype(np.float32)
    lengths = np.array([1, 3, 4], np.uint32).reshape(3, 1, 1).repeat(5, 2)

    def make(t: Tensor) -> dict[str, Tensor]:
        return {
            "gather_elements": op.gather_elements(t, along, -2),
            "gather_nd": op.gather_nd(t, rows),
            "gather_nd of batches": op.gather_nd(t, np.array([[1], [0], [3]], np.int32), 1),
            "scatter_elements": op.scatter_elements(t, places, updates, 1),
            "scatter_nd": op.scatter_nd(t, rows, parts),
            "reverse": op.reverse_subsequences(t, lengths, 1),
            "one_hot": op.one_hot(op.cast(op.clip(t, min=0, max=3), dml.DML_TENSOR_DATA_TYPE_INT32).view((60, 1)), 4),
        }

    found = evaluate(device, {"x": x}, make)
    scattered, replaced, turned = x.copy(), x.copy(), x.copy()
    np.put_along_axis(scattered, places, updates, 1)
    replaced[rows[:, 0], rows[:, 1]] = parts
    for i, length in enumerate((1, 3, 4)):
        turned[i, :length] = x[i, :length][::-1]
    expected = {
        "gather_elements": np.take_along_axis(x, along, 1),
        "gather_nd": x[rows[:, 0], rows[:, 1]],
        "gather_nd of batches": x[np.arange(3), [1, 0, 3]],
        "scatter_elements": scattered,
        "scatter_nd": replaced,
        "reverse": turned,
        "one_hot": np.eye(4, dtype=np.float32)[np.clip(x, 0, 3).astype(int).reshape(60)],
    }
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, name)


def test_running_sums_and_slopes(device: Any) -> None:
    x = np.random.default_rng(9).uniform(-2, 2, (3, 4)).astype(np.float32)
    slope = np.array([0.5, 0.1, 2, 0], np.float32)

    def make(t: Tensor) -> dict[str, Tensor]:
        return {
            "sum": op.cumulative_sum(t, -1),
            "sum from the end": op.cumulative_sum(t, 0, dml.DML_AXIS_DIRECTION_DECREASING),
            "product": op.cumulative_product(t, 1, exclusive=True),
            "relu": op.parameterized_relu(t, slope),
        }

    found = evaluate(device, {"x": x}, make)
    wide = x.astype(np.float64)
    near(found["sum"], wide.cumsum(1))
    near(found["sum from the end"], wide[::-1].cumsum(0)[::-1])
    near(found["product"], np.concatenate([np.ones((3, 1)), wide.cumprod(1)[:, :-1]], 1))
    near(found["relu"], np.where(wide > 0, wide, wide * slope))


def test_linear_quantization(device: Any) -> None:
    x = np.linspace(-1, 3, 24, dtype=np.float32).reshape(4, 6)
    scale = np.array([0.25, 0.5, 0.125, 1, 2, 0.0625], np.float32)

    def make(t: Tensor) -> dict[str, Tensor]:
        bytes_ = op.quantize_linear(t, scale, 10)
        signed = op.quantize_linear(t, 0.25, data_type=dml.DML_TENSOR_DATA_TYPE_INT8)
        return {"bytes": bytes_, "signed": signed, "back": op.dequantize_linear(bytes_, scale, 10)}

    found = evaluate(device, {"x": x}, make)
    expected = np.clip(np.round(x / scale) + 10, 0, 255)
    np.testing.assert_array_equal(found["bytes"], expected.astype(np.uint8))
    np.testing.assert_array_equal(found["signed"], np.round(x / 0.25).astype(np.int8))
    np.testing.assert_array_equal(found["back"], ((expected - 10) * scale).astype(np.float32))


@pytest.mark.parametrize(("kind", "lowest", "zero"), [("UINT8", 0, 7), ("INT8", -128, None)])
def test_quantized_values_between_operators(device: Any, kind: str, lowest: int, zero: int | None) -> None:
    """Fused, they are rounded and clamped as if they were stored."""
    x = np.random.default_rng(5).normal(0, 9, (6, 32)).astype(np.float32)
    x[0, :4] = 1e6, -1e6, 0.025, -0.025
    scale = np.float32(0.05)
    graph = Builder(device)
    t = graph.input("x", x.shape)
    stored = op.quantize_linear(op.relu(t) - 3, scale, zero, dml.DML_TENSOR_DATA_TYPE[f"DML_TENSOR_DATA_TYPE_{kind}"])
    compiled = graph.compile({"y": op.if_(op.less_than(t, 4.0), op.dequantize_linear(stored, scale, zero), t)})
    codes = np.clip(np.rint((np.maximum(x, 0) - 3) / scale) + (zero or 0), lowest, lowest + 255)
    expected = np.where(x < 4, ((codes - (zero or 0)) * scale).astype(np.float32), x)
    (found,) = compiled.dispatch({"x": x}).values()
    np.testing.assert_array_equal(found, expected)
    if can_bind(device, 7):
        assert len(compiled.program.dispatches) == 1


def test_resample_is_linear_between_centres(device: Any) -> None:
    x = np.arange(4, dtype=np.float32).reshape(1, 1, 1, 4)
    found = evaluate(device, {"x": x}, lambda t: {"y": op.resample(t, (1, 1, 1, 8))})["y"]
    near(found, np.clip(np.arange(8) / 2 - 0.25, 0, 3).reshape(1, 1, 1, 8))


def test_reductions(device: Any) -> None:
    x = np.random.default_rng(5).standard_normal((3, 4, 5)).astype(np.float32)
    found = evaluate(
        device,
        {"x": x},
        lambda t: {
            "sum": op.reduce(t, dml.DML_REDUCE_FUNCTION_SUM),
            "mean": op.reduce(t, dml.DML_REDUCE_FUNCTION_AVERAGE, [-1, 0]),
            "argmax": op.reduce(t, dml.DML_REDUCE_FUNCTION_ARGMAX, [1]),
        },
    )
    wide = x.astype(np.float64)
    near(found["sum"], wide.sum(keepdims=True))
    near(found["mean"], wide.mean((0, 2), keepdims=True))
    np.testing.assert_array_equal(found["argmax"], wide.argmax(1)[:, None].astype(np.uint32))


def test_windows_and_normalizations(device: Any) -> None:
    rng = np.random.default_rng(6)
    x = rng.standard_normal((2, 4, 6, 7)).astype(np.float32)
    scale, bias = rng.uniform(0.5, 2, 4).astype(np.float32), rng.standard_normal(4).astype(np.float32)
    along = rng.uniform(0.5, 2, 7).astype(np.float32)

    def make(t: Tensor) -> dict[str, Tensor]:
        padded = {"strides": (2, 2), "start_padding": (1, 0), "end_padding": (1, 1)}
        return {
            "max": op.max_pooling(t, (2, 2), **padded),
            "average": op.average_pooling(t, (2, 2), include_padding=True, **padded),
            "batch": op.batch_normalization(t, bias, scale, scale, bias),
            "rows": op.mean_variance_normalization(t, (-1,), along, 1.0),
            "plain": op.mean_variance_normalization(t, (2, 3), normalize_variance=False),
            "local": op.local_response_normalization(t, local_size=3, alpha=0.5),
        }

    found = evaluate(device, {"x": x}, make)
    wide = x.astype(np.float64)

    def windows(value: float) -> Array:
        padded = np.pad(wide, [(0, 0), (0, 0), (1, 1), (0, 1)], constant_values=value)
        return np.lib.stride_tricks.sliding_window_view(padded, (2, 2), (2, 3))[:, :, ::2, ::2]

    channels = (1, 4, 1, 1)
    s, b = scale.astype(np.float64).reshape(channels), bias.astype(np.float64).reshape(channels)
    mean, variance = wide.mean(-1, keepdims=True), wide.var(-1, keepdims=True)
    squares = np.pad(wide**2, [(0, 0), (1, 1), (0, 0), (0, 0)])
    near(found["max"], windows(-np.inf).max((4, 5)))
    near(found["average"], windows(0).mean((4, 5)))
    np.testing.assert_allclose(found["batch"], s * (wide - b) / np.sqrt(s + 1e-5) + b, rtol=4e-6, atol=4e-6)
    np.testing.assert_allclose(
        found["rows"], (wide - mean) / np.sqrt(variance + 1e-5) * along + 1, rtol=4e-6, atol=4e-6
    )
    near(found["plain"], wide - wide.mean((2, 3), keepdims=True))
    around = squares[:, :-2] + squares[:, 1:-1] + squares[:, 2:]
    near(found["local"], wide / (1 + 0.5 / 3 * around) ** 0.75)


def test_attention(device: Any) -> None:
    q, k, v = np.random.default_rng(7).standard_normal((3, 2, 5, 8)).astype(np.float32)
    found = evaluate(device, {"q": q, "k": k, "v": v}, lambda q, k, v: {"y": op.multihead_attention(q, k, v, 2)})["y"]

    def heads(x: Array) -> Array:
        return x.astype(np.float64).reshape(2, 5, 2, 4).swapaxes(1, 2)

    scores = softmax(heads(q) @ heads(k).swapaxes(2, 3) / 2)
    near(found, (scores @ heads(v)).swapaxes(1, 2).reshape(2, 5, 8))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda t: op.join([], 0), "join: needs at least one tensor"),
        (lambda t: op.padding(t, (1,), (1, 1)), "^padding: every argument needs .* found 2, 1, 2"),
        (lambda t: op.relu(t, alpha=1.0), "ACTIVATION_RELU: has no parameter alpha"),
        (lambda t: op.elu(t, Alpha=1.0), "elu: has no parameter Alpha; did you mean alpha"),
        (lambda t: op.mean_variance_normalization(t, (1,), scale=np.ones(7, np.float32)), "do not broadcast to"),
        (lambda t: op.depth_to_space(t, 2), "depth_to_space: takes tensors of 4 dimensions"),
        (lambda t: op.space_to_depth(t.view((1, 1, 3, 4)), 0), "SPACE_TO_DEPTH1.OutputTensor.Sizes"),
        (lambda t: op.upsample_2d(t, 2, 2), "upsample_2d: takes tensors of 4 dimensions"),
        (lambda t: op.gru(t, np.ones((3, 4), np.float32), np.ones((3, 4), np.float32)), "gru: takes tensors of 4"),
        (lambda t: op.multihead_attention(t, t, t, 3), "multihead_attention: takes tensors of 3 dimensions"),
        (lambda t: op.convolution(t, np.ones((1, 3), np.float32)), "CONVOLUTION.InputTensor.DimensionCount"),
        (lambda t: op.max_pooling(t, (2,)), "^max_pooling: every argument needs .* found 0, 1"),
        (lambda t: op.gather(t, np.ones(3, np.float32), 0), "GATHER.IndicesTensor.DataType"),
        (lambda t: op.softmax(t, axes=(5,)), "SOFTMAX1: axis 5 is not a dimension of a tensor of rank 2"),
        (lambda t: op.split(t, 0, (1, 1)), "SPLIT.OutputTensors: must add up to the size of InputTensor"),
        (lambda t: op.top_k(t, 9, 1), "TOP_K1.K: must be from 1 to 4"),
        (lambda t: op.tile(t, (2,)), "^tile: every argument needs .* found 2, 1"),
        (lambda t: op.slice_(t, (0,), (1,), (1, 1)), "^slice_: every argument needs .* found 1, 2"),
        (lambda t: op.convolution(t, t, strides=(1, 1)), "^convolution: every argument needs .* found 0, 0, 2"),
        (lambda t: op.slice_(t, (0, 0), (4, 4)), "SLICE1.InputWindowSizes: .* must end within dimension 0"),
    ],
)
def test_what_does_not_fit_is_refused(device: Any, wrong: Callable[[Tensor], Any], message: str) -> None:
    with pytest.raises(dml.DMLError, match=message):
        wrong(Builder(device).input("x", (3, 4)))


@pytest.mark.parametrize("axis", [4, -5])
def test_a_wrong_axis_is_refused_by_the_function_that_was_given_it(device: Any, axis: int) -> None:
    graph = Builder(device)
    x, indices, lengths = (graph.input(name, (1, 2, 3, 4)) for name in ("x", "i", "n"))
    calls = {
        "reduce": lambda: op.reduce(x, dml.DML_REDUCE_FUNCTION_SUM, [axis]),
        "join": lambda: op.join([x, x], axis),
        "split": lambda: op.split(x, axis, [1, 1]),
        "top_k": lambda: op.top_k(x, 1, axis),
        "gather": lambda: op.gather(x, indices, axis),
        "gather_elements": lambda: op.gather_elements(x, indices, axis),
        "scatter_elements": lambda: op.scatter_elements(x, indices, x, axis),
        "one_hot": lambda: op.one_hot(indices, 4, axis=axis),
        "reverse_subsequences": lambda: op.reverse_subsequences(x, lengths, axis),
        "cumulative_summation": lambda: op.cumulative_sum(x, axis),
        "mean_variance_normalization": lambda: op.mean_variance_normalization(x, axes=[axis]),
    }
    for name, call in calls.items():
        with pytest.raises(dml.DMLError, match=f"^{name}: axis {axis} is not a dimension of a tensor of rank 4"):
            call()


def test_sums_with_an_activation(device: dml.Device) -> None:
    a, b = np.array([[1, -5], [3, 0.5]], np.float32), np.array([[-2, 1]], np.float32)
    relu = dml.DML_ACTIVATION_RELU_OPERATOR_DESC()
    (found,) = evaluate(device, {"a": a, "b": b}, lambda a, b: {"y": op.add(a, b, relu)}).values()
    np.testing.assert_array_equal(found, np.maximum(a + b, 0))


@pytest.mark.parametrize("zero", [None, np.int8(-3)])
def test_blocks_are_quantized_to_the_type_of_their_zero_points(device: dml.Device, zero: Any) -> None:
    """Without zero points the result is UINT8."""
    x, scale = np.arange(8, dtype=np.float32).reshape(1, 8), np.array([[0.5, 2]], np.float32)
    inputs = {"x": x, "scale": scale} | ({} if zero is None else {"zero": np.full((1, 2), zero)})
    kind = dml.DML_QUANTIZATION_TYPE_SCALE if zero is None else dml.DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT
    (found,) = evaluate(device, inputs, lambda x, *given: {"y": op.quantize(x, given, kind)}).values()
    expected = np.rint(x / scale.repeat(4, 1)) + (zero or 0)
    assert found.dtype == (np.uint8 if zero is None else np.int8)
    np.testing.assert_array_equal(found, expected)


def test_gradients_of_regions(device: dml.Device) -> None:
    """Compared with differences of the forward operation's results."""
    rng = np.random.default_rng(1)
    x, gradient = rng.random((1, 2, 7, 8), np.float32), rng.random((1, 2, 2, 3), np.float32)
    region, step = np.array([[1.1, 0.8, 5.3, 5.9]], np.float32), 1e-2
    index = {"i": np.zeros(1, np.uint32)}

    def loss(region: Array) -> float:
        inputs = {"x": x, "r": region, **index}
        (y,) = evaluate(device, inputs, lambda x, r, i: {"y": op.roi_align(x, r, i, 2, 3)}).values()
        return float((y.astype(np.float64) * gradient).sum())

    def backward(g: Tensor, x: Tensor, r: Tensor, i: Tensor) -> dict[str, Tensor]:
        image, regions = op.roi_align_grad(g, r, i, batch_size=1, image_height=7, image_width=8, x=x)
        assert regions is not None
        return {"image": image, "regions": regions}

    found = evaluate(device, {"g": gradient, "x": x, "r": region, **index}, backward)
    assert found["image"].shape == x.shape
    for place in range(4):
        moved = step * (np.arange(4) == place).astype(np.float32)
        difference = (loss(region + moved) - loss(region - moved)) / (2 * step)
        np.testing.assert_allclose(found["regions"][0, place], difference, rtol=2e-2, atol=2e-2)
