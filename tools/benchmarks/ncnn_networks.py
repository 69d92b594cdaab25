"""Translate ONNX models of convolutions to ncnn networks: param lines, and the weights of the .bin file."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper


@dataclass
class NcnnNetwork:
    """A whole ncnn network: its param lines, number of blobs, weights, and its input and output blobs."""

    lines: list[str] = field(default_factory=list)
    blobs: int = 0
    weights: bytes = b""
    input: str = ""
    output: str = ""


class UnknownNodeError(Exception):
    """The model has a node that this module cannot translate."""


def load(network: NcnnNetwork, device: int) -> Any:
    """Load a network on a Vulkan device in single precision. Raises ImportError if ncnn is not installed."""
    import ncnn

    net = ncnn.Net()
    net.opt.use_vulkan_compute = True
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.set_vulkan_device(device)
    with tempfile.TemporaryDirectory() as folder:
        head = ["7767517", f"{len(network.lines)} {network.blobs}"]
        Path(folder, "p").write_text("\n".join([*head, *network.lines, ""]))
        Path(folder, "b").write_bytes(network.weights)
        if net.load_param(f"{folder}/p") or net.load_model(f"{folder}/b"):
            raise RuntimeError("ncnn refuses the network")
    return net


def evaluate(net: Any, inputs: Mapping[str, np.ndarray], output: str) -> np.ndarray:
    """Run the network once and return the output. Raises RuntimeError if ncnn fails."""
    import ncnn

    extractor = net.create_extractor()
    for name, array in inputs.items():
        extractor.input(name, ncnn.Mat(array).clone())
    code, result = extractor.extract(output)
    if code:
        raise RuntimeError(f"ncnn fails: {code}")
    return np.array(result)


def ncnn_network(model: onnx.ModelProto) -> NcnnNetwork:
    """Translate a model with one image and one output. Raises UnknownNodeError."""
    return _Translation(model).network


class _Translation:
    def __init__(self, model: onnx.ModelProto) -> None:
        graph = model.graph
        self.constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
        self.readers = Counter(name for node in graph.node for name in node.input)
        self.activations = {node.input[0]: node for node in graph.node if node.op_type in ("Relu", "Clip")}
        #: Unread copies of each blob with several readers: ncnn lets each blob be read once.
        self.copies: dict[str, list[str]] = {}
        #: ONNX value -> the blob that holds it.
        self.blobs: dict[str, str] = {}
        self.network = NcnnNetwork(input=graph.input[0].name, output=graph.output[0].name)
        self.data = bytearray()
        self.layer("Input", graph.input[0].name, [], "")
        for node in graph.node:
            self.node(node)
        self.network.weights = bytes(self.data)
        self.network.output = self.blobs[graph.output[0].name]

    def layer(self, kind: str, value: str, inputs: list[str], parameters: str) -> None:
        """Add the layer that computes a value, and a Split layer if the value has several readers."""
        inputs = [self.copies[name].pop() if name in self.copies else name for name in inputs]
        head = f"{kind} {value} {len(inputs)} 1"
        self.network.lines.append(" ".join([head, *inputs, value, *([parameters] if parameters else [])]))
        self.network.blobs += 1
        self.blobs[value] = value
        count = self.readers[value]
        if count > 1:
            self.copies[value] = [f"{value}_{copy}" for copy in range(count)]
            self.network.lines.append(f"Split {value}_split 1 {count} {value} {' '.join(self.copies[value])}")
            self.network.blobs += count

    def node(self, node: onnx.NodeProto) -> None:
        translate = getattr(self, f"_{node.op_type}", None)
        if translate is None:
            raise UnknownNodeError(f"{node.op_type} has no ncnn translation")
        translate(node, {a.name: helper.get_attribute_value(a) for a in node.attribute})

    def activation(self, node: onnx.NodeProto) -> tuple[str, str]:
        """Return the output's name and ncnn's parameters of an activation that can be fused into the layer; without
        one, the node's own output and an empty string."""
        reader = self.activations.get(node.output[0])
        if reader is None or self.readers[node.output[0]] > 1:
            return node.output[0], ""
        if reader.op_type == "Relu":
            return reader.output[0], " 9=1"
        low, high = (float(self.constants[name]) for name in reader.input[1:3])
        return reader.output[0], f" 9=3 -23310=2,{low},{high}"

    def made(self, node: onnx.NodeProto, kind: str, parameters: str = "", count: int = 1) -> None:
        self.layer(kind, node.output[0], [self.blobs[name] for name in node.input[:count]], parameters)

    def weighted(self, *names: str) -> None:
        """Append a tag, float32 weights, and a bias."""
        weights, bias = (self.constants[name] for name in names)
        self.data += b"\0\0\0\0" + weights.tobytes() + bias.tobytes()

    def _Conv(self, node: onnx.NodeProto, given: dict[str, Any]) -> None:
        weights = self.constants[node.input[1]]
        out, _, k, _ = weights.shape
        groups = given.get("group", 1)
        parameters = f"0={out} 1={k} 3={given['strides'][0]} 4={given['pads'][0]} 5=1 6={weights.size}"
        value, activation = self.activation(node)
        kind = "ConvolutionDepthWise" if groups > 1 else "Convolution"
        self.layer(kind, value, [self.blobs[node.input[0]]], f"{parameters} 7={groups}{activation}")
        self.weighted(*node.input[1:3])

    def _Gemm(self, node: onnx.NodeProto, given: dict[str, Any]) -> None:
        weights = self.constants[node.input[1]]
        assert given.get("transB") == 1
        self.made(node, "InnerProduct", f"0={weights.shape[0]} 1=1 2={weights.size}")
        self.weighted(*node.input[1:3])

    def _Relu(self, node: onnx.NodeProto, given: dict[str, Any]) -> None:
        if node.output[0] not in self.blobs:
            self.made(node, "ReLU")

    def _Clip(self, node: onnx.NodeProto, given: dict[str, Any]) -> None:
        if node.output[0] not in self.blobs:
            low, high = (float(self.constants[name]) for name in node.input[1:3])
            self.made(node, "Clip", f"0={low} 1={high}")

    def _MaxPool(self, node: onnx.NodeProto, given: dict[str, Any]) -> None:
        floor = 0 if given.get("ceil_mode") else 1
        k, stride, pad = given["kernel_shape"][0], given["strides"][0], given.get("pads", [0])[0]
        self.made(node, "Pooling", f"0=0 1={k} 2={stride} 3={pad} 5={floor}")

    def _GlobalAveragePool(self, node: onnx.NodeProto, given: dict[str, Any]) -> None:
        self.made(node, "Pooling", "0=1 4=1")

    def _Add(self, node: onnx.NodeProto, given: dict[str, Any]) -> None:
        self.made(node, "BinaryOp", "0=0", 2)

    def _Concat(self, node: onnx.NodeProto, given: dict[str, Any]) -> None:
        self.made(node, "Concat", "0=0", len(node.input))

    def _Flatten(self, node: onnx.NodeProto, given: dict[str, Any]) -> None:
        """Do nothing: ncnn's global pooling already returns a vector."""
        self.blobs[node.output[0]] = self.blobs[node.input[0]]
