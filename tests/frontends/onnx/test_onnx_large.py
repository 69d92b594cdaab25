"""Weights in external files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

import dml
from dml.frontends.onnx import prepare


def test_external_weights_of_four_bits(device: dml.Device, tmp_path: Path) -> None:
    """The external file holds two numbers per byte."""
    numbers = np.random.default_rng(0).integers(0, 16, (64, 65))
    tensors = [
        helper.make_tensor("w", onnx.TensorProto.UINT4, numbers.shape, numbers.ravel()),
        numpy_helper.from_array(np.array(0.5, np.float32), "scale"),
    ]
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "scale"], ["weights"]),
        helper.make_node("Mul", ["weights", "x"], ["y"]),
    ]
    entries = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [64, 65]) for name in "xy"]
    graph = helper.make_graph(nodes, "narrow", entries[:1], entries[1:], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    packed = (numbers.ravel()[0::2] | numbers.ravel()[1::2] << 4).astype(np.uint8)
    (tmp_path / "w.data").write_bytes(b"before" + packed.tobytes())
    weights = model.graph.initializer[0]
    weights.ClearField("int32_data")
    weights.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": "w.data", "offset": "6", "length": str(packed.nbytes)}.items():
        weights.external_data.add(key=key, value=value)
    (tmp_path / "narrow.onnx").write_bytes(model.SerializeToString())
    (y,) = prepare(tmp_path / "narrow.onnx", device).run([np.full((64, 65), 2, np.float32)])
    assert y.tolist() == numbers.tolist()
