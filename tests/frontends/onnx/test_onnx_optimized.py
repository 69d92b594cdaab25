"""Operators that onnxruntime's optimizer and quantizer write into models, compared with onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from models import Array, assert_close, in_onnxruntime, model_of, node_model
from onnx import helper

import dml
from dml.frontends.onnx import prepare

RNG = np.random.default_rng(11)
FLOAT = np.float32


def floats(*shape: int) -> Array:
    return RNG.uniform(-1, 1, shape).astype(FLOAT)


def quantized(dtype: Any, *shape: int) -> Array:
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max, shape, endpoint=True).astype(dtype)


def agree(device: dml.Device, op: str, inputs: Any, output: Any, tolerance: float, **attributes: Any) -> None:
    rank, dtype = output
    model, given = node_model(op, inputs, {"y": (rank, dtype)}, **attributes)
    found = prepare(model, device, fallback=False).run(given)
    assert_close(found, in_onnxruntime(model, given), tolerance)


ACTIVATIONS: list[tuple[str, list[float]]] = [
    ("", []), ("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.3]), ("Clip", [-0.2, 0.4]),
    ("HardSigmoid", [0.3, 0.4]), ("HardSwish", []),
]  # fmt: skip


@pytest.mark.parametrize("activation, numbers", ACTIVATIONS)
@pytest.mark.parametrize("added", [False, True])
def test_convolution_with_a_sum_and_an_activation(
    device: dml.Device, activation: str, numbers: list[float], added: bool
) -> None:
    inputs = {"x": floats(1, 2, 5, 5), "w": floats(3, 2, 3, 3), "b": floats(3), "z": floats(1, 3, 5, 5)}
    if not added:
        del inputs["z"]
    more: dict[str, Any] = {"activation": activation} if activation else {}
    if numbers:
        more["activation_params"] = numbers
    agree(device, "FusedConv", inputs, (4, FLOAT), 1e-5, pads=[1] * 4, **more)


@pytest.mark.parametrize("activation, more", [("Relu", {}), ("LeakyRelu", {"activation_alpha": 0.3}), ("Tanh", {})])
def test_gemm_with_an_activation(device: dml.Device, activation: str, more: dict[str, float]) -> None:
    inputs = {"a": floats(4, 3), "b": floats(4, 5), "c": floats(5)}
    agree(device, "FusedGemm", inputs, (2, FLOAT), 1e-5, transA=1, alpha=0.5, activation=activation, **more)


@pytest.mark.parametrize("kinds", [(np.uint8, np.int8), (np.uint8, np.uint8), (np.int8, np.int8)])
@pytest.mark.parametrize("columns", [1, 5])
@pytest.mark.parametrize("to", ["floats", "bytes"])
def test_quantized_gemm(device: dml.Device, kinds: tuple[Any, Any], columns: int, to: str) -> None:
    """Quantized results may differ by a step: ties may round either way.

    b has 7 bits: without VNNI, onnxruntime's sums of two products of bytes saturate at 16 bits.
    """
    a, b = kinds
    one = [np.array(value, dtype) for value, dtype in ((7, a), (0.02, FLOAT))]
    inputs: dict[str, Array] = {
        "a": quantized(a, 4, 3), "as": one[1], "az": one[0],
        "b": quantized(b, 5, 4) // b(2), "bs": RNG.uniform(0.01, 0.02, columns).astype(FLOAT),
        "bz": np.full(columns, 3, b), "c": RNG.integers(-500, 500, (1, 5)).astype(np.int32),
    }  # fmt: skip
    if columns == 1:
        inputs["bs"], inputs["bz"] = inputs["bs"].reshape(()), inputs["bz"].reshape(())
    if to == "bytes":
        inputs |= {"ys": np.array(0.05, FLOAT), "yz": np.array(9, a)}
    output = (2, a if to == "bytes" else FLOAT)
    agree(device, "QGemm", inputs, output, 1 if to == "bytes" else 1e-5, transA=1, transB=1, alpha=1.0)


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_lstm_with_quantized_weights(device: dml.Device, kind: Any, columns: bool, direction: str) -> None:
    """Compared with an LSTM of dequantized weights, and loosely with onnxruntime, which also quantizes states.

    Weights have 7 bits: see ``test_quantized_gemm``.
    """
    count, steps, batch, size, hidden = (2 if direction == "bidirectional" else 1), 4, 2, 3, 5
    shape = (count, 4 * hidden) if columns else (count,)
    zero = np.zeros(shape, kind) + kind(0 if kind is np.int8 else 65)
    x = floats(steps, batch, size)
    lstm = {"x": x, "b": floats(count, 8 * hidden)}
    packed = {}
    for name, rows in (("w", size), ("r", hidden)):
        values = quantized(kind, count, rows, 4 * hidden) // kind(2)
        scale = RNG.uniform(0.008, 0.012, shape).astype(FLOAT)
        packed[name], packed[f"{name}s"], packed[f"{name}z"] = values, scale, zero
        along = (count, 1, -1)
        lstm[name] = ((values.astype(FLOAT) - zero.reshape(along)) * scale.reshape(along)).swapaxes(1, 2)
    inputs = {"x": x, "w": packed["w"], "r": packed["r"], "b": lstm["b"], "lengths": None, "h": None, "c": None,
              "p": None, "ws": packed["ws"], "wz": packed["wz"], "rs": packed["rs"], "rz": packed["rz"]}  # fmt: skip
    outputs = {"y": (4, FLOAT), "y_h": (3, FLOAT), "y_c": (3, FLOAT)}
    initializers = ("w", "r", "b", "ws", "wz", "rs", "rz")
    model, given = node_model("DynamicQuantizeLSTM", inputs, outputs, constants=initializers, hidden_size=hidden,
                              direction=direction)  # fmt: skip
    found = prepare(model, device, fallback=False).run(given)
    plain = model_of([helper.make_node("LSTM", ["x", "w", "r", "b"], ["y", "y_h", "y_c"], hidden_size=hidden,
                                       direction=direction)], lstm, ["y", "y_h", "y_c"], 17)  # fmt: skip
    assert_close(found, in_onnxruntime(plain, lstm), 1e-5)
    assert_close(found, in_onnxruntime(model, given), 0.05)  # x and the state have 8 bits there


def test_a_model_that_onnxruntime_optimized(device: dml.Device, tmp_path: Path) -> None:
    """A model file saved by onnxruntime with a fused convolution and a fused product."""
    x = floats(1, 3, 6, 6)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 4),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Flatten", ["r"], ["f"]),
        helper.make_node("Gemm", ["f", "d", "e"], ["g"]),
        helper.make_node("LeakyRelu", ["g"], ["y"], alpha=0.2),
    ]
    initializers = {"w": floats(4, 3, 3, 3), "d": floats(144, 5), "e": floats(5)}
    model = model_of(nodes, {"x": x}, ["y"], 17, initializers=initializers, ranks={"y": 2})
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    made = onnx.load(options.optimized_model_filepath)
    assert {"FusedConv", "FusedGemm"} <= {node.op_type for node in made.graph.node}
    found = prepare(options.optimized_model_filepath, device, fallback=False).run([x])
    assert_close(found, in_onnxruntime(model, {"x": x}), 1e-4)
