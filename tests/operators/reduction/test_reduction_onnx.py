"""Reductions that ONNX has with the same meaning, compared with ONNX Runtime's CPU provider."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dml
import harness
from harness import Array, assert_exact, like, tensor

onnxruntime = pytest.importorskip("onnxruntime")
onnx = pytest.importorskip("onnx")

UP, DOWN = dml.DML_AXIS_DIRECTION_INCREASING, dml.DML_AXIS_DIRECTION_DECREASING


def peer(kind: str, inputs: list[Array], outputs: int = 1, **attributes: Any) -> list[Array]:
    """Run one node in ONNX Runtime."""
    names = [f"x{i}" for i in range(len(inputs))]
    results = [f"y{i}" for i in range(outputs)]
    types = [onnx.helper.np_dtype_to_tensor_dtype(array.dtype) for array in inputs]
    node = onnx.helper.make_node(kind, names, results, **attributes)
    graph = onnx.helper.make_graph(
        [node],
        kind,
        [onnx.helper.make_tensor_value_info(n, t, a.shape) for n, t, a in zip(names, types, inputs, strict=True)],
        [onnx.helper.make_empty_tensor_value_info(name) for name in results],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found: list[Array] = session.run(None, dict(zip(names, inputs, strict=True)))
    return found


def values(sizes: tuple[int, ...] = (5, 12, 7), low: float = 0.5, high: float = 1.5) -> Array:
    return harness.random(np.random.default_rng(1), "FLOAT32", sizes, low, high)


REDUCTIONS = {
    "SUM": "ReduceSum",
    "AVERAGE": "ReduceMean",
    "MAX": "ReduceMax",
    "MIN": "ReduceMin",
    "MULTIPLY": "ReduceProd",
    "L1": "ReduceL1",
    "L2": "ReduceL2",
    "LOG_SUM": "ReduceLogSum",
    "LOG_SUM_EXP": "ReduceLogSumExp",
    "SUM_SQUARE": "ReduceSumSquare",
}


@pytest.mark.parametrize("function", REDUCTIONS)
def test_reductions(device: dml.Device, function: str) -> None:
    x, axes = values(), (0, 2)
    desc = dml.DML_REDUCE_OPERATOR_DESC(
        Function=dml.DML_REDUCE_FUNCTION[f"DML_REDUCE_FUNCTION_{function}"],
        InputTensor=like(x),
        OutputTensor=tensor("FLOAT32", (1, 12, 1)),
        Axes=axes,
    )
    (expected,) = peer(REDUCTIONS[function], [x, np.array(axes, np.int64)], keepdims=1)
    found = harness.run(device, desc, {"InputTensor": x})["OutputTensor"]
    np.testing.assert_allclose(found, expected, rtol=4e-6, err_msg="both sum in float32, in orders of their own")


@pytest.mark.parametrize("largest, kind", [(True, "ArgMax"), (False, "ArgMin")])
@pytest.mark.parametrize("direction", [UP, DOWN])
def test_arguments(device: dml.Device, largest: bool, kind: str, direction: Any) -> None:
    x = np.round(values(low=-3, high=3))
    operator = dml.DML_ARGMAX_OPERATOR_DESC if largest else dml.DML_ARGMIN_OPERATOR_DESC
    desc = operator(InputTensor=like(x), OutputTensor=tensor("INT64", (5, 1, 7)), Axes=(1,), AxisDirection=direction)
    (expected,) = peer(kind, [x], axis=1, select_last_index=int(direction == DOWN))
    assert_exact(harness.run(device, desc, {"InputTensor": x})["OutputTensor"], expected)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("direction", [UP, DOWN])
def test_cumulative_sums(device: dml.Device, exclusive: bool, direction: Any) -> None:
    x = harness.random(np.random.default_rng(2), "INT64", (4, 9, 3), -100, 100)
    desc = dml.DML_CUMULATIVE_SUMMATION_OPERATOR_DESC(
        InputTensor=like(x), OutputTensor=like(x), Axis=1, AxisDirection=direction, HasExclusiveSum=exclusive
    )
    axis = np.array(1, np.int64)
    (expected,) = peer("CumSum", [x, axis], exclusive=int(exclusive), reverse=int(direction == DOWN))
    assert_exact(harness.run(device, desc, {"InputTensor": x})["OutputTensor"], expected)


@pytest.mark.parametrize("direction", [UP, DOWN])
@pytest.mark.parametrize("k", [1, 5, 12])
def test_top_k(device: dml.Device, direction: Any, k: int) -> None:
    x = np.round(values(low=-3, high=3))
    desc = dml.DML_TOP_K1_OPERATOR_DESC(
        InputTensor=like(x),
        OutputValueTensor=tensor("FLOAT32", (5, k, 7)),
        OutputIndexTensor=tensor("UINT64", (5, k, 7)),
        Axis=1,
        K=k,
        AxisDirection=direction,
    )
    best, places = peer("TopK", [x, np.array([k], np.int64)], 2, axis=1, largest=int(direction == DOWN), sorted=1)
    found = harness.run(device, desc, {"InputTensor": x})
    assert_exact(found["OutputValueTensor"], best)
    assert_exact(found["OutputIndexTensor"], places.astype(np.uint64))


def test_nonzero(device: dml.Device) -> None:
    x = np.round(values(low=-1, high=1))
    desc = dml.DML_NONZERO_COORDINATES_OPERATOR_DESC(
        InputTensor=like(x),
        OutputCountTensor=tensor("UINT32", (1, 1, 1)),
        OutputCoordinatesTensor=tensor("UINT32", (1, x.size, 3)),
    )
    (expected,) = peer("NonZero", [x])
    found = harness.run(device, desc, {"InputTensor": x})
    count = int(found["OutputCountTensor"].item())
    assert_exact(found["OutputCoordinatesTensor"][0, :count], expected.T.astype(np.uint32))


SOFTMAXES = {
    "Softmax": dml.DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC,
    "LogSoftmax": dml.DML_ACTIVATION_LOG_SOFTMAX1_OPERATOR_DESC,
    "Hardmax": dml.DML_ACTIVATION_HARDMAX1_OPERATOR_DESC,
}


@pytest.mark.parametrize("kind", SOFTMAXES)
@pytest.mark.parametrize("axis", range(3))
def test_softmaxes(device: dml.Device, kind: str, axis: int) -> None:
    x = values(low=-6, high=6)
    desc = SOFTMAXES[kind](InputTensor=like(x), OutputTensor=like(x), Axes=(axis,))
    (expected,) = peer(kind, [x], axis=axis)
    found = harness.run(device, desc, {"InputTensor": x})["OutputTensor"]
    np.testing.assert_allclose(found, expected, rtol=4e-6, atol=2e-6 if kind == "LogSoftmax" else 0)
