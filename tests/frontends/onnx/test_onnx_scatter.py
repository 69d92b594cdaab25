"""Scatters that reduce, and column-major pooling indices, compared with ONNX's reference and ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models import Array, assert_close, in_onnxruntime, in_reference, node_model

import dml
from dml.frontends.meaning import scatter
from dml.frontends.onnx import prepare

RNG = np.random.default_rng(19)
KINDS = {"add": np.float32, "mul": np.int32, "max": np.int64, "min": np.float16}


def numbers(kind: Any, *shape: int) -> Array:
    made = RNG.integers(-9, 9, shape).astype(kind)
    return made if np.dtype(kind).kind == "i" else made / np.asarray(4, kind)


def agree(device: dml.Device, op: str, inputs: dict[str, Array], **attributes: Any) -> None:
    outputs = {"y": (inputs["x"].ndim, inputs["x"].dtype)}
    model, given = node_model(op, inputs, outputs, domain="", version=18, **attributes)
    assert_close(prepare(model, device).run(given), in_reference(model, given), 1e-6)


@pytest.mark.parametrize("pairs", [2**20, 0], ids=["compared", "sorted"])
@pytest.mark.parametrize("reduction", KINDS)
def test_scatter_elements_reduces(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch, reduction: str, pairs: int
) -> None:
    """Indices repeat, may be negative, and cover a part of the other dimensions."""
    monkeypatch.setattr(scatter, "_PAIRS", pairs)
    kind = KINDS[reduction]
    indices = np.array([[[0, -1], [2, 2]], [[0, 1], [-4, 2]], [[0, -1], [3, 2]]], np.int64)
    inputs = {"x": numbers(kind, 3, 4, 3), "i": indices.transpose(1, 0, 2).copy(), "u": numbers(kind, 2, 3, 2)}
    agree(device, "ScatterElements", inputs, axis=1, reduction=reduction)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("op", ["GatherElements", "ScatterElements"])
def test_indices_may_be_smaller_along_every_axis(device: dml.Device, op: str, axis: int) -> None:
    indices = np.array([[[0, 1, 2]], [[1, 2, 0]]])  # no index repeats along any axis
    inputs = {"x": numbers(np.float32, 3, 4, 4), "i": indices}
    if op == "ScatterElements":
        inputs["u"] = numbers(np.float32, *indices.shape)
    model, given = node_model(op, inputs, {"y": (3, np.float32)}, domain="", version=18, axis=axis)
    assert_close(prepare(model, device, fallback=False).run(given), in_onnxruntime(model, given), 0)


@pytest.mark.parametrize("reduction", KINDS)
def test_scatter_nd_reduces(device: dml.Device, reduction: str) -> None:
    kind = KINDS[reduction]
    indices = np.array([[[0, 1], [2, -1]], [[0, 1], [-1, 3]], [[1, 0], [0, -3]]], np.int64)
    inputs = {"x": numbers(kind, 3, 4, 2), "i": indices, "u": numbers(kind, 3, 2, 2)}
    agree(device, "ScatterND", inputs, reduction=reduction)


def test_an_unknown_reduction_is_named(device: dml.Device) -> None:
    inputs = {"x": numbers(np.float32, 3), "i": np.zeros((1, 1), np.int64), "u": numbers(np.float32, 1)}
    model, given = node_model("ScatterND", inputs, {"y": (1, np.float32)}, domain="", version=18, reduction="mean")
    with pytest.raises(
        dml.DMLError,
        match=r"node ScatterND: attribute 'reduction' must be one of .*, found 'mean'",
    ):
        prepare(model, device, fallback=False).run(given)


@pytest.mark.parametrize("op", ["ScatterElements", "ScatterND"])
def test_one_model_reduces_few_and_many_updates(device: dml.Device, op: str) -> None:
    made = None
    for count in (5, 700, 1200, 6):
        shape = (count, 2) if op == "ScatterElements" else (count, 1)
        inputs = {"x": numbers(np.float32, 800, 2), "i": RNG.integers(-800, 800, shape), "u": RNG.random((count, 2))}
        inputs["u"] = inputs["u"].astype(np.float32)
        model, given = node_model(op, inputs, {"y": (2, np.float32)}, domain="", version=18, reduction="add")
        for entry in model.graph.input[1:]:
            entry.type.tensor_type.shape.dim[0].dim_param = "n"
        made = made or prepare(model, device, fallback=False)
        assert_close(made.run(given), in_onnxruntime(model, given), 1e-6)


@pytest.mark.parametrize("sizes", [(5, 4), (3, 4, 5)])
def test_column_major_indices(device: dml.Device, sizes: tuple[int, ...]) -> None:
    x = RNG.permutation(np.arange(2 * 3 * np.prod(sizes), dtype=np.float32)).reshape(2, 3, *sizes)
    outputs = {"y": (x.ndim, np.float32), "i": (x.ndim, np.int64)}
    attributes = {"kernel_shape": [2] * len(sizes), "strides": [1, 2, 1][: len(sizes)], "storage_order": 1}
    model, given = node_model("MaxPool", {"x": x}, outputs, domain="", **attributes)
    assert_close(prepare(model, device).run(given), in_onnxruntime(model, given), 0)


@pytest.mark.parametrize("mode", ["linear", "circular"])
def test_a_cache_takes_steps_from_an_index_of_each_batch_on(device: dml.Device, mode: str) -> None:
    """One model serves several lengths of cache and update."""
    first, shape = np.array([1, 3]), {"mode": mode, "axis": 2}
    for length, steps in ((8, 1), (9, 2), (10, 4), (11, 1)):
        begin = (first + length - 5) if mode == "circular" else first
        cache, new = (
            np.random.default_rng(n).standard_normal((2, 3, n, 4)).astype(np.float32) for n in (length, steps)
        )
        inputs = {"cache": cache, "new": new, "begin": begin}
        model, given = node_model("TensorScatter", inputs, {"y": (4, np.float32)}, domain="", version=24, **shape)
        (result,) = prepare(model, device, fallback=False).run(given)
        expected = cache.copy()
        for batch, at in enumerate(begin):
            expected[batch, :, (at + np.arange(steps)) % length] = new[batch].swapaxes(0, 1)
        np.testing.assert_array_equal(result, expected)


def test_a_cache_refuses_more_steps_than_it_holds(device: dml.Device) -> None:
    inputs = {"cache": np.zeros((2, 3, 4), np.float32), "new": np.zeros((2, 5, 4), np.float32)}
    model, given = node_model("TensorScatter", inputs, {"y": (3, np.float32)}, domain="", version=24)
    with pytest.raises(dml.DMLError, match=r"TensorScatter.*an update of shape \(2, 5, 4\) does not fit a cache"):
        prepare(model, device).run(given)
