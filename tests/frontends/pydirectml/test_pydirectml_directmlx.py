"""DirectMLX's functions that PyDirectML lacks, compared with NumPy."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import dml
from dml.graph import operations

#: Type checkers do not see the functions that the module creates on import.
pydirectml: Any = importlib.import_module("dml.frontends.pydirectml")

RNG = np.random.default_rng(8)
T = pydirectml.TensorDataType


@pytest.fixture
def run(device, monkeypatch):
    """Return a function that builds a graph and runs it on arrays."""
    monkeypatch.setenv("DML_VULKAN_DEVICE", str(device.vulkan.index))

    def evaluate(make, *arrays):
        own = pydirectml.Device()
        builder = pydirectml.GraphBuilder(own)
        kinds = [getattr(T, array.dtype.name.upper()) for array in arrays]
        inputs = [
            pydirectml.input_tensor(builder, k, pydirectml.TensorDesc(kind, array.shape))
            for k, (kind, array) in enumerate(zip(kinds, arrays, strict=True))
        ]
        outputs = make(*inputs)
        model = builder.build(pydirectml.ExecutionFlags.NONE, outputs)
        bindings = [pydirectml.Binding(tensor, array) for tensor, array in zip(inputs, arrays, strict=True)]
        return [np.array(found) for found in own.compute(model, bindings, outputs)]

    return evaluate


def random(*sizes):
    return RNG.uniform(-1, 1, sizes).astype(np.float32)


def near(found, expected):
    """Compare within the error of sums of a few dozen float32 products of values below 1."""
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_every_graph_operation_has_a_name_here():
    own = {"slice_": "slice", "upsample_2d": "up_sample_2d", "fused": "FusedActivation"}
    for name in operations.NAMES:
        assert any(hasattr(pydirectml, n) for n in (name, f"activation_{name}", own.get(name, name))), name


def test_functions_of_elements(run):
    x, y = random(2, 3, 1), random(3, 4)

    def make(a, b):
        top = pydirectml.top_k(b, 2, 1)
        return [
            pydirectml.exp(a),
            pydirectml.clip(a, min=-0.25, max=0.5),
            pydirectml.activation_elu(a, alpha=2.0),
            pydirectml.activation_softmax(a, axes=[1]),
            pydirectml.maximum(a, b),
            pydirectml.reduce(b, dml.DML_REDUCE_FUNCTION_MIN, [0]),
            *top,
            *pydirectml.split(b, 1, [1, 3]),
        ]

    exp, clipped, elu, softmax, most, least, values, places, first, rest = run(make, x, y)
    wide = x.astype(np.float64)
    near(exp, np.exp(wide))
    near(clipped, np.clip(x, -0.25, 0.5))
    near(elu, np.where(wide > 0, wide, 2 * np.expm1(wide)))
    near(softmax, np.exp(wide) / np.exp(wide).sum(1, keepdims=True))
    near(most, np.maximum(x, y))
    near(least, y.min(0, keepdims=True))
    near(values, -np.sort(-y, 1)[:, :2])
    np.testing.assert_array_equal(places.view(np.uint32), np.argsort(-y, 1)[:, :2])
    near(np.concatenate([first, rest], 1), y)


def test_transposed_convolution_and_pooling(run):
    x, w = random(1, 2, 5, 5), random(2, 1, 2, 2)

    def make(t, f):
        indices = pydirectml.max_pooling(t, [2, 2], [2, 2], output_indices=True, output_sizes=[1, 2, 3, 3])
        return [
            pydirectml.transposed_convolution(t, f, strides=(2, 2)),
            indices.values,
            pydirectml.average_pooling(t, [2, 2], [2, 2], [0, 0], [0, 0], True, output_sizes=[1, 2, 3, 3]),
            pydirectml.average_pooling(t, [1, 1], [2, 2], [0, 0], [0, 0], False, [3, 3]),
            pydirectml.lp_pooling(t, (2, 2), p=1),
        ]

    back, values, means, dilated, sums = run(make, x, w)
    blocks = np.einsum("nchw,ckij->nkhiwj", x.astype(np.float64), w).reshape(1, 1, 10, 10)
    near(back, blocks)
    beyond = np.pad(x, [(0, 0), (0, 0), (0, 1), (0, 1)], constant_values=np.nan).reshape(1, 2, 3, 2, 3, 2)
    near(values, np.nanmax(beyond, (3, 5)))
    near(means, np.nanmean(beyond.astype(np.float64), (3, 5)))
    near(dilated, (x[:, :, :2, :2] + x[:, :, :2, 3:] + x[:, :, 3:, :2] + x[:, :, 3:, 3:]) / 4)
    near(sums, np.lib.stride_tricks.sliding_window_view(np.abs(x), (2, 2), (2, 3)).sum((4, 5)))


def test_lstm(run):
    """In the first step there is no state, so the forget gate has no effect."""
    x, w, r = random(1, 1, 2, 3), random(1, 1, 16, 3), random(1, 1, 16, 4)

    def make(t, f, g):
        made = pydirectml.lstm(t, f, g)
        return [made.sequence, made.single, made.cell_single]

    sequence, single, cell = run(make, x, w, r)
    i, o, _, g = np.split(x[0, 0].astype(np.float64) @ w[0, 0].T, 4, 1)
    expected = np.tanh(g) / (1 + np.exp(-i))
    near(cell[0, 0], expected)
    near(single[0, 0], np.tanh(expected) / (1 + np.exp(-o)))
    np.testing.assert_array_equal(sequence[0, 0], single[0, 0])


def test_products_and_integers(run):
    a, b, whole = random(2, 1, 3, 1, 2, 4), random(3, 2, 5, 4), RNG.integers(-9, 9, (3, 4), np.int32)

    def make(s, t, n):
        return [
            pydirectml.gemm(s, t, trans_b=pydirectml.MatrixTransform.TRANSPOSE),
            pydirectml.padding(n, pydirectml.PaddingMode.CONSTANT, 2**24 + 1, [1, 0], [0, 0]),
            pydirectml.clip(n, -3, 3),
            pydirectml.triangular(n, upper=False),
        ]

    product, padded, clipped, lower = run(make, a, b, whole)
    near(product, a.astype(np.float64) @ b.swapaxes(2, 3))
    np.testing.assert_array_equal(padded.view(np.int32), np.pad(whole, [(1, 0), (0, 0)], constant_values=2**24 + 1))
    np.testing.assert_array_equal(clipped.view(np.int32), np.clip(whole, -3, 3))
    np.testing.assert_array_equal(lower.view(np.int32), np.tril(whole))


@pytest.mark.parametrize("kind", ["INT4", "UINT4", "UINT8"])
def test_quantization_in_blocks(run, kind):
    x, scale = random(2, 8), np.array([[0.2, 0.1], [0.3, 0.4]], np.float32)

    def make(t, s):
        return [pydirectml.dequantize_linear(pydirectml.quantize_linear(t, s, data_type=int(T[kind])), s)]

    (back,) = run(make, x, scale)
    spread = scale.astype(np.float64).repeat(4, 1)
    limits = {"INT4": (-8, 7), "UINT4": (0, 15), "UINT8": (0, 255)}[kind]
    near(back, np.clip(np.round(x / spread), *limits) * spread)


def test_output_sizes_of_another_batch_are_refused(run):
    with pytest.raises(dml.DMLError, match=r"max_pooling: output_sizes must begin with batch and channels \(1, 2\)"):
        run(lambda t: [pydirectml.max_pooling(t, [2, 2], output_sizes=[2, 2, 1, 1]).values], random(1, 2, 3, 3))


def test_filled_tensors_begin_with_the_builder(run):
    def make(t):
        return [t + pydirectml.fill_value_constant(t.tensor.builder, (2, 3), 1.5)]

    x = random(2, 3)
    near(run(make, x)[0], x + 1.5)
