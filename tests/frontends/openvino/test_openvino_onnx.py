"""IR converted from ONNX models by OpenVINO, compared with OpenVINO's CPU plugin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from ir_peer import Array, agree
from onnx import helper, numpy_helper

import dml
from example_module import example

ov = pytest.importorskip("openvino", reason="the openvino package is a test dependency (extra `test`)")


class Net:
    """Collects nodes and random weights of a model."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(7)
        self.nodes: list[Any] = []
        self.held: list[Any] = []

    def constant(self, array: Any) -> str:
        self.held.append(numpy_helper.from_array(np.asarray(array), f"c{len(self.held)}"))
        return str(self.held[-1].name)

    def weights(self, *shape: int) -> Array:
        return (self.rng.standard_normal(shape) / np.prod(shape[1:]) ** 0.5).astype(np.float32)

    def __call__(self, op: str, *inputs: Any, output: str = "", **attributes: Any) -> str:
        names = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        made = output or f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, names, [made], **attributes))
        return made

    def model(self, x: Array) -> Any:
        entries = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, x.shape), onnx.ValueInfoProto(name="y")]
        graph = helper.make_graph(self.nodes, "net", entries[:1], entries[1:], self.held)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return onnx.shape_inference.infer_shapes(model)


def residual() -> tuple[Any, dict[str, Array]]:
    """Return a network with batch normalization, a residual, squeeze and excitation, a resize, pooling, a
    classifier."""
    net, x = Net(), np.random.default_rng(1).standard_normal((1, 3, 16, 16)).astype(np.float32)

    def block(value: str, channels: int, into: int, stride: int, groups: int = 1) -> str:
        made = net("Conv", value, net.weights(into, channels // groups, 3, 3), strides=[stride] * 2, pads=[1] * 4,
                   group=groups)  # fmt: skip
        ones = np.ones(into, np.float32)
        return net("BatchNormalization", made, ones, 0.1 * ones, 0.2 * ones, 1.5 * ones)

    first = net("Relu", block("x", 3, 16, 2))
    second = net("HardSwish", block(first, 16, 16, 1, 16))
    squeezed = net("Sigmoid", net("Conv", net("GlobalAveragePool", second), net.weights(16, 16, 1, 1)))
    third = net("Add", first, net("Mul", second, squeezed))
    up = net("Resize", third, "", np.array([1, 1, 2, 2], np.float32), mode="linear")
    pooled = net("MaxPool", net("Clip", up, np.float32(0), np.float32(6)), kernel_shape=[3, 3], strides=[2, 2],
                 pads=[1] * 4)  # fmt: skip
    flat = net("Flatten", net("GlobalAveragePool", pooled))
    net("Softmax", net("Gemm", flat, net.weights(10, 16), np.zeros(10, np.float32), transB=1), output="y")
    return net.model(x), {"x": x}


def encoder() -> tuple[Any, dict[str, Array]]:
    """Return an encoder: attention of two heads, layer normalization, GELU by Erf."""
    net, x = Net(), np.random.default_rng(2).standard_normal((2, 5, 16)).astype(np.float32)

    def heads(value: str) -> str:
        split = net("Reshape", net("MatMul", value, net.weights(16, 16)), np.array([2, 5, 2, 8]))
        return net("Transpose", split, perm=[0, 2, 1, 3])

    def norm(value: str) -> str:
        return net("LayerNormalization", value, np.ones(16, np.float32), np.full(16, 0.1, np.float32))

    query, key, value = (heads(norm("x")) for _ in range(3))
    scores = net("MatMul", query, net("Transpose", key, perm=[0, 1, 3, 2]))
    mixed = net("MatMul", net("Softmax", net("Div", scores, np.float32(8**0.5))), value)
    joined = net("Reshape", net("Transpose", mixed, perm=[0, 2, 1, 3]), np.array([2, 5, 16]))
    after = net("Add", "x", net("MatMul", joined, net.weights(16, 16)))
    wide = net("MatMul", norm(after), net.weights(16, 32))
    erf = net("Add", net("Erf", net("Div", wide, np.float32(2**0.5))), np.float32(1))
    gelu = net("Mul", net("Mul", wide, erf), np.float32(0.5))
    net("Add", after, net("MatMul", gelu, net.weights(32, 16)), output="y")
    return net.model(x), {"x": x}


def gru(tmp_path: Path) -> tuple[Any, dict[str, Array]]:
    x = np.random.default_rng(3).standard_normal((6, 2, 8)).astype(np.float32)
    return onnx.load(example("onnx_gru").make(tmp_path / "gru.onnx")), {"x": x}


def gpt2() -> tuple[Any, dict[str, Array]]:
    """Return a GPT-2 step: one new position after a past of four."""
    module, rng = example("decoding"), np.random.default_rng(4)
    past = (1, module.HEADS, 4, module.SIZE)
    feeds = {f"past{index}": rng.standard_normal(past).astype(np.float32) for index in range(2 * module.LAYERS)}
    return onnx.load_from_string(module.gpt2()), {"ids": np.array([[3, 141, 59]]), **feeds}


def last_of_the_largest() -> tuple[Any, dict[str, Array]]:
    """Return ArgMax with select_last_index, for which the converter reverses the elements."""
    net, x = Net(), np.random.default_rng(5).integers(0, 4, (3, 9, 4)).astype(np.float32)
    picked = net("ArgMax", "x", axis=1, select_last_index=1)
    net("Cast", picked, output="y", to=onnx.TensorProto.FLOAT)
    return net.model(x), {"x": x}


MODELS = {"residual": residual, "encoder": encoder, "gpt2": gpt2, "argmax": last_of_the_largest}


@pytest.mark.parametrize("name", [*MODELS, "gru"])
def test_converted_models(device: dml.Device, tmp_path: Path, name: str) -> None:
    model, feeds = gru(tmp_path) if name == "gru" else MODELS[name]()
    onnx.save(model, tmp_path / "model.onnx")
    converted = ov.convert_model(str(tmp_path / "model.onnx"))
    if any(port.partial_shape.is_dynamic for port in converted.inputs):
        converted.reshape({port: list(feeds[port.get_any_name()].shape) for port in converted.inputs})
    ov.save_model(converted, str(tmp_path / "model.xml"), compress_to_fp16=False)
    inputs = {one.get_friendly_name(): feeds[one.get_friendly_name()] for one in converted.get_parameters()}
    # Values around 1 after about ten float32 layers that sum in another order
    agree(device, tmp_path / "model.xml", inputs, 2e-4)


@pytest.mark.parametrize("name", [*MODELS, "gru"])
def test_converted_models_of_open_sizes(device: dml.Device, tmp_path: Path, name: str) -> None:
    """No input size is known before the run; the model computes shapes from the actual sizes."""
    model, feeds = gru(tmp_path) if name == "gru" else MODELS[name]()
    onnx.save(model, tmp_path / "model.onnx")
    converted = ov.convert_model(str(tmp_path / "model.onnx"))
    converted.reshape({port: ov.PartialShape.dynamic(len(port.partial_shape)) for port in converted.inputs})
    ov.save_model(converted, str(tmp_path / "model.xml"), compress_to_fp16=False)
    inputs = {one.get_friendly_name(): feeds[one.get_friendly_name()] for one in converted.get_parameters()}
    assert any(port.partial_shape.is_dynamic for port in converted.inputs)
    agree(device, tmp_path / "model.xml", inputs, 2e-4)
