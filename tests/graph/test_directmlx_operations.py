"""DirectMLX's functions with windows, recurrences, blocks and other data types, compared with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from expressions import evaluate

import dml
from dml.graph import operations as op
from dml.graph.builder import Builder, Tensor

Array = npt.NDArray[Any]
RNG = np.random.default_rng(11)


def random(*sizes: int) -> Array:
    return RNG.uniform(-1, 1, sizes).astype(np.float32)


def near(found: Array, expected: Any) -> None:
    """Compare within the error of sums of a few dozen float32 products of values below 1."""
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def transposed(x: Array, w: Array, groups: int, stride: int, dilation: int) -> Array:
    """Return a transposed convolution without padding: each input element, times the filter, is added to the output."""
    batch, channels, height, width = x.shape
    reach = (w.shape[2] - 1) * dilation + 1
    rows, columns = ((size - 1) * stride + reach for size in (height, width))
    y = np.zeros((batch, w.shape[1] * groups, rows, columns))
    inside, outside = channels // groups, w.shape[1]
    for g in range(groups):
        for i in range(height):
            for j in range(width):
                patch = np.einsum("nc,ckij->nkij", x[:, g * inside :, i, j][:, :inside], w[g * inside :][:inside])
                rows_, columns_ = (slice(at * stride, at * stride + reach, dilation) for at in (i, j))
                y[:, g * outside : (g + 1) * outside, rows_, columns_] += patch
    return y


def test_transposed_convolution(device: Any) -> None:
    x, w, bias = random(2, 4, 3, 5), random(4, 3, 3, 3), random(6)
    given: dict[str, Any] = {"strides": (2, 2), "dilations": (2, 2), "groups": 2}
    around: dict[str, Any] = {"start_padding": (1, 1), "end_padding": (1, 1)}

    def make(t: Tensor) -> dict[str, Tensor]:
        return {
            "plain": op.transposed_convolution(t, w, bias, **given),
            "padded": op.transposed_convolution(t, w, start_padding=(1, 2), end_padding=(2, 0), **given),
            "more": op.transposed_convolution(t, w, output_padding=(1, 0), **given),
            "sizes": op.transposed_convolution(t, w, **around, output_sizes=(8, 11), **given),
        }

    found = evaluate(device, {"x": x}, make)
    whole = transposed(x.astype(np.float64), w.astype(np.float64), 2, 2, 2)
    assert whole.shape[2:] == (9, 13)
    near(found["plain"], whole + bias[:, None, None])
    near(found["padded"], whole[:, :, 1:-2, 2:])
    near(found["more"], np.pad(whole, [(0, 0), (0, 0), (0, 1), (0, 0)]))
    near(found["sizes"], np.pad(whole, [(0, 0), (0, 0), (0, 1), (0, 0)])[:, :, 1:-1, 1:-1])


def windows(x: Array, taps: int, stride: int, dilation: int = 1) -> Array:
    reach = (taps - 1) * dilation + 1
    seen = np.lib.stride_tricks.sliding_window_view(x, (reach, reach), (2, 3))
    return seen[:, :, ::stride, ::stride, ::dilation, ::dilation]


def test_pooling_with_dilations_and_sizes_rounded_up(device: Any) -> None:
    x = random(1, 2, 7, 9)
    pads: dict[str, Any] = {"strides": (3, 3), "start_padding": (1, 1), "end_padding": (1, 1)}

    def make(t: Tensor) -> dict[str, Tensor]:
        values, places = op.max_pooling_with_indices(t, (2, 2), strides=(2, 2), ceil_mode=True)
        return {
            "values": values,
            "places": places,
            "dilated mean": op.average_pooling(t, (2, 2), dilations=(3, 2)),
            "norm": op.lp_pooling(t, (3, 3), p=3),
            "dilated norm": op.lp_pooling(t, (3, 3), dilations=(2, 2), strides=(2, 2)),
            "mean": op.average_pooling(t, (3, 3), ceil_mode=True, **pads),
            "mean with padding": op.average_pooling(t, (3, 3), ceil_mode=True, include_padding=True, **pads),
            "sizes": op.max_pooling(t, (2, 2), strides=(3, 3), output_sizes=(3, 3)),
        }

    found = evaluate(device, {"x": x}, make)
    wide = x.astype(np.float64)

    def beyond(rows: int, columns: int, value: float, start: int = 0) -> Array:
        return np.pad(wide, [(0, 0), (0, 0), (start, rows), (start, columns)], constant_values=value)

    pairs = windows(beyond(1, 1, -np.inf), 2, 2)
    near(found["values"], pairs.max((4, 5)))
    at = found["places"].reshape(-1).astype(int)
    near(x.reshape(-1)[at].reshape(found["values"].shape), found["values"])
    dilated = np.lib.stride_tricks.sliding_window_view(wide, (4, 3), (2, 3))[..., ::3, ::2]
    near(found["dilated mean"], dilated.mean((4, 5)))
    near(found["norm"], (np.abs(windows(wide, 3, 1)) ** 3).sum((4, 5)) ** (1 / 3))
    near(found["dilated norm"], np.sqrt((windows(wide, 3, 2, 2) ** 2).sum((4, 5))))
    # 9 x 11 padded: 3 x 4 windows; those of the last column extend one element beyond the padding
    near(found["mean"], np.nanmean(windows(beyond(1, 2, np.nan, 1), 3, 3), (4, 5)))
    zeros = np.pad(beyond(1, 1, 0.0, 1), [(0, 0), (0, 0), (0, 0), (0, 1)], constant_values=np.nan)
    near(found["mean with padding"], np.nanmean(windows(zeros, 3, 3), (4, 5)))
    near(found["sizes"], windows(beyond(1, 0, -np.inf), 2, 3).max((4, 5)))


def logistic(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def test_lstm_and_rnn(device: Any) -> None:
    steps, batch, inputs, hidden = 4, 2, 3, 5
    x, h, c = random(1, steps, batch, inputs), random(1, 1, batch, hidden), random(1, 1, batch, hidden)
    w, r, b = random(1, 1, 4 * hidden, inputs), random(1, 1, 4 * hidden, hidden), random(1, 1, 1, 8 * hidden)
    wr, rr, br = random(1, 1, hidden, inputs), random(1, 1, hidden, hidden), random(1, 1, 1, 2 * hidden)

    def make(t: Tensor) -> dict[str, Tensor]:
        sequence, last, cell = op.lstm(t, w, r, b, h, c, clip_threshold=0.5)
        states, state = op.rnn(t, wr, rr, br, h)
        return {"sequence": sequence, "last": last, "cell": cell, "states": states, "state": state}

    found = evaluate(device, {"x": x}, make)
    wide = [array.astype(np.float64) for array in (x[0], h[0, 0], c[0, 0], w[0, 0], r[0, 0], b[0, 0, 0])]
    xs, state, cell, weights, recurrence, bias = wide
    sequence = []
    for step in xs:
        gates = step @ weights.T + state @ recurrence.T + bias[: 4 * hidden] + bias[4 * hidden :]
        i, o, f, g = np.split(np.clip(gates, -0.5, 0.5), 4, 1)
        cell = logistic(f) * cell + logistic(i) * np.tanh(g)
        state = logistic(o) * np.tanh(cell)
        sequence.append(state)
    near(found["cell"][0, 0], cell)
    near(found["last"][0, 0], state)
    near(found["sequence"][:, 0], np.stack(sequence))
    state, states = wide[1], []
    for step in xs:
        state = np.tanh(step @ wr[0, 0].T + state @ rr[0, 0].T + br[0, 0, 0, :hidden] + br[0, 0, 0, hidden:])
        states.append(state)
    near(found["states"][:, 0], np.stack(states))
    near(found["state"][0, 0], state)


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int32, np.int64])
def test_clip_and_padding_of_integers(device: Any, kind: Any) -> None:
    limits = np.iinfo(kind)
    x = RNG.integers(limits.min, limits.max, (3, 4), kind, endpoint=True)
    least, most = limits.min // 2 + 1, limits.max - 1  # limits with more digits than float32 has

    def make(t: Tensor) -> dict[str, Tensor]:
        return {"clip": op.clip(t, least, most), "padding": op.padding(t, (1, 0), (0, 2), value=most)}

    found = evaluate(device, {"x": x}, make)
    np.testing.assert_array_equal(found["clip"], np.clip(x, least, most))
    np.testing.assert_array_equal(found["padding"], np.pad(x, [(1, 0), (0, 2)], constant_values=most))


def test_triangular(device: Any) -> None:
    x = RNG.integers(1, 9, (2, 1, 2, 4, 5), np.int32)
    cases = [(upper, diagonal) for upper in (True, False) for diagonal in (-9, -3, -1, 0, 2, 9)]

    def make(t: Tensor) -> dict[str, Tensor]:
        return {f"{u} {d}": op.triangular(t, upper=u, diagonal=d) for u, d in cases}

    found = evaluate(device, {"x": x}, make)
    for upper, diagonal in cases:
        expected = (np.triu if upper else np.tril)(x, diagonal)
        np.testing.assert_array_equal(found[f"{upper} {diagonal}"], expected, f"{upper} {diagonal}")


def test_products_broadcast_above_four_dimensions(device: Any) -> None:
    a, b, c = random(2, 1, 3, 1, 4, 5), random(2, 1, 2, 5, 6), random(3, 2, 1, 6)

    def make(s: Tensor, t: Tensor) -> dict[str, Tensor]:
        return {"y": op.gemm(s, t, c), "z": op.gemm(t, s, transpose_a=True, transpose_b=True)}

    found = evaluate(device, {"a": a, "b": b}, make)
    near(found["y"], a.astype(np.float64) @ b.astype(np.float64) + c)
    near(found["z"], (a.astype(np.float64) @ b.astype(np.float64)).swapaxes(-1, -2))


@pytest.mark.parametrize("kind", ["INT8", "UINT8", "INT4", "UINT4"])
def test_quantization_in_blocks(device: Any, kind: str) -> None:
    """Quantizing and dequantizing rounds each element of a 2 x 4 block to the nearest step."""
    data_type = getattr(dml, f"DML_TENSOR_DATA_TYPE_{kind}")
    signed, bits = kind.startswith("I"), int(kind[-1])
    low = -(2 ** (bits - 1)) if signed else 0
    high = low + 2**bits - 1
    x = RNG.uniform(-2, 2, (4, 8)).astype(np.float32)
    scale = RNG.uniform(0.1, 0.4, (2, 2)).astype(np.float32)
    zero = np.array([[1, 2], [3, 4]])

    def make(t: Tensor, scales: Tensor) -> dict[str, Tensor]:
        zeros = t.builder.constant(zero, data_type)
        small = op.quantize_linear(t, scales, zeros)
        assert small.data_type == data_type
        plain = op.quantize_linear(t, scales, data_type=data_type)
        return {"back": op.dequantize_linear(small, scales, zeros), "plain": op.dequantize_linear(plain, scales)}

    found = evaluate(device, {"x": x, "scale": scale}, make)
    spread = np.kron(scale.astype(np.float64), np.ones((2, 4)))
    zeros = np.kron(zero, np.ones((2, 4)))
    near(found["back"], (np.clip(np.round(x / spread) + zeros, low, high) - zeros) * spread)
    near(found["plain"], np.clip(np.round(x / spread), low, high) * spread)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            lambda t: op.transposed_convolution(t, np.ones((1, 1, 2, 2)), strides=(2, 1), output_sizes=(9, 9)),
            r"output_sizes must be between \(8, 5\) and \(9, 5\), found \(9, 9\)",
        ),
        (lambda t: op.max_pooling(t, (2, 2), output_sizes=(5, 1)), "output sizes"),
        (lambda t: op.max_pooling(t, (2, 2), output_sizes=(1, 1)), "output sizes"),
        (lambda t: op.lp_pooling(t, (2, 2), p=0), "P"),
        (lambda t: op.triangular(t.view((16,))), "takes matrices"),
        (lambda t: op.gemm(t, np.ones(4, np.float32)), "at least two dimensions"),
        (lambda t: op.padding(op.cast(t, "UINT8"), (0,) * 4, (1,) * 4, value=256), "range of .*UINT8"),
        (lambda t: op.clip(op.cast(t, "INT8"), 0.5, 2), "clip: min: must be an integer"),
        (lambda t: op.clip(op.cast(t, "INT32"), 0, float("inf")), "clip: max: must be an integer"),
        (lambda t: op.leaky_relu(t, Alpha=0.1), "leaky_relu: has no parameter Alpha; did you mean alpha"),
        (lambda t: op.lstm(t.view((4, 4)), t, t), "lstm: takes tensors of 4 dimensions"),
        (lambda t: op.quantize_linear(t, np.ones((1, 1, 3, 1), np.float32)), "divide"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_by_name(device: Any, wrong: Callable[[Tensor], Any], message: str) -> None:
    with pytest.raises(dml.DMLError, match=message):
        wrong(Builder(device).input("x", (1, 1, 4, 4)))
