"""Movement operators that ONNX has with the same meaning give the same bits as ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest
from movement_cases import numbers, run
from test_casts_values import cast_of
from test_fills_values import one_hot_of
from test_gathers_values import elements_of, gather_of, nd_of
from test_paddings_values import pad_of
from test_rearrangements_values import rearrange
from test_scatters_values import scatter_nd_of, scatter_of
from test_slices_values import slice1_of

import dml
from harness import assert_exact
from onnx_peer import onnx_run

X = numbers("FLOAT32", (3, 4, 5))


def onnx_of(operator, inputs, **attributes):
    return onnx_run(operator, {f"x{i}": array for i, array in enumerate(inputs)}, opset=19, **attributes)[0]


def result_of(device, desc, *inputs):
    names = [name for name, _ in desc.inputs()]
    return run(device, desc, dict(zip(names, inputs, strict=True)))["OutputTensor"]


@pytest.mark.parametrize(
    "mode, name", [("CONSTANT", "constant"), ("EDGE", "edge"), ("REFLECTION", "reflect"), ("WRAP", "wrap")]
)
def test_pad(device, mode, name):
    start, end = (1, 3, 0), (2, 0, 4)
    expected = onnx_of("Pad", [X, np.array(start + end), np.array(2.5, np.float32)], mode=name)
    assert_exact(result_of(device, pad_of(X, mode, start, end, 2.5), X), expected)


def test_slice(device):
    starts, ends, steps = np.array([2, 3, 0]), np.array([-9, -9, 5]), np.array([-2, -1, 3])
    expected = onnx_of("Slice", [X, starts, ends, np.array([0, 1, 2]), steps])
    desc = slice1_of(X, (0, 0, 0), (3, 4, 5), (-2, -1, 3))
    assert_exact(result_of(device, desc, X), expected)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_gathers(device, axis):
    rng = np.random.default_rng(axis)
    x, indices = X[None], rng.integers(-X.shape[axis], X.shape[axis], (1, 1, 2, 3))
    expected = onnx_of("Gather", [X, indices[0, 0]], axis=axis)
    desc = gather_of(x, indices, expected.shape, axis + 1, 2)
    assert_exact(result_of(device, desc, x, indices), expected)
    sizes = tuple(6 if d == axis else size for d, size in enumerate(X.shape))
    indices = rng.integers(-X.shape[axis], X.shape[axis], sizes)
    expected = onnx_of("GatherElements", [X, indices], axis=axis)
    assert_exact(result_of(device, elements_of(X, indices, axis), X, indices), expected)


@pytest.mark.parametrize("batches", [0, 1])
def test_gather_nd(device, batches):
    indices = np.random.default_rng(batches).integers(-3, 3, (3, 7, 2))
    expected = onnx_of("GatherND", [X, indices], batch_dims=batches)
    sizes = (1,) * (3 - expected.ndim) + expected.shape
    desc = nd_of(X, indices, sizes, 3, 3, batches)
    assert_exact(result_of(device, desc, X, indices), expected.reshape(sizes))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_scatter(device, axis):
    """Updates do not collide: ONNX leaves that result undefined."""
    rng = np.random.default_rng(axis)
    indices = np.argsort(rng.random(X.shape), axis)
    updates = numbers("FLOAT32", X.shape, 1)
    expected = onnx_of("ScatterElements", [X, indices, updates], axis=axis)
    assert_exact(result_of(device, scatter_of(X, indices, updates, axis), X, indices, updates), expected)


def test_scatter_nd(device):
    indices = np.array([[[0, 1], [2, -1], [1, 0]]])
    updates = numbers("FLOAT32", (1, 3, 5), 1)
    expected = onnx_of("ScatterND", [X, indices, updates])
    assert_exact(result_of(device, scatter_nd_of(X, indices, updates, 3, 3), X, indices, updates), expected)


def test_one_hot(device):
    indices, values = np.array([[3, -1, 9]]), np.array([0.5, 2.0], np.float32)
    expected = onnx_of("OneHot", [indices[0], np.array(4), values], axis=-1)
    desc = one_hot_of(indices.reshape(3, 1), values[None], (3, 4), 1)
    assert_exact(result_of(device, desc, indices.reshape(3, 1), values[None]), expected)


@pytest.mark.parametrize("order, mode", [("DEPTH_COLUMN_ROW", "DCR"), ("COLUMN_ROW_DEPTH", "CRD")])
def test_depth_to_space(device, order, mode):
    x = numbers("FLOAT32", (2, 12, 3, 2))
    expected = onnx_of("DepthToSpace", [x], blocksize=2, mode=mode)
    desc = rearrange(dml.DML_DEPTH_TO_SPACE1_OPERATOR_DESC, x, expected.shape, 2, order)
    assert_exact(result_of(device, desc, x), expected)


@pytest.mark.parametrize(
    "source, to, number",
    [("FLOAT32", "INT8", 3), ("FLOAT64", "FLOAT16", 10), ("INT64", "FLOAT32", 1), ("INT32", "UINT8", 2),
     ("FLOAT16", "INT64", 7), ("UINT64", "FLOAT64", 11)],
)  # fmt: skip
def test_cast(device, source, to, number):
    x = numbers(source, (4, 9))
    assert_exact(result_of(device, cast_of(x, to), x), onnx_of("Cast", [x], to=number))
