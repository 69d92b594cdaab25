"""The benchmark's cases: each as an ONNX model (for IREE and ONNX Runtime), as a dml graph and as ncnn layers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from ncnn_networks import NcnnNetwork
from onnx import TensorProto, helper, numpy_helper

import dml
from dml.graph import operations as op
from dml.graph.builder import Builder, Tensor

Array = np.ndarray


@dataclass
class Case:
    """One workload.

    inputs: name -> array. model: the ONNX model. ours: builds the graph's outputs from the input tensors.
    flops: floating-point operations, for cases where a rate is more useful than a time. ncnn: one layer that maps
    blob "x" to blob "y" of the same size, so that layers chain. network: the whole ncnn network, with one output "y".
    """

    name: str
    inputs: dict[str, Array]
    model: onnx.ModelProto
    ours: Callable[[Builder, dict[str, Tensor]], dict[str, Tensor]]
    flops: float = 0
    ncnn: Ncnn | None = None
    network: NcnnNetwork | None = None


@dataclass
class Ncnn:
    """A chain of equal ncnn layers. layer(i, x, y): one layer's param line; weights: one layer's bytes in the .bin
    file."""

    shape: tuple[int, ...]
    layer: Callable[[int, str, str], str]
    weights: bytes = b""
    second: Array | None = None


_RNG = np.random.default_rng(0)


def random(*shape: int, scale: float = 1.0) -> Array:
    return (_RNG.standard_normal(shape) * scale).astype(np.float32)


def model(nodes: list[Any], inputs: dict[str, Array], outputs: list[str], constants: dict[str, Array]) -> Any:
    """Return an ONNX model with inferred output shapes."""
    graph = helper.make_graph(
        nodes,
        "case",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape) for name, array in inputs.items()],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(a, n) for n, a in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    inferred = onnx.shape_inference.infer_shapes(made)
    shapes = {value.name: value for value in inferred.graph.output}
    for output in made.graph.output:
        if not shapes[output.name].type.tensor_type.HasField("shape"):
            output.type.tensor_type.elem_type = TensorProto.FLOAT
        else:
            output.CopyFrom(shapes[output.name])
    return made


def add() -> Case:
    n = 4 << 20
    inputs = {"a": random(n), "b": random(n)}
    layer = Ncnn(
        (n // 4096, 4096), lambda i, x, y: f"BinaryOp add{i} 2 1 {x} b {y} 0=0", second=random(n // 4096, 4096)
    )
    return Case(
        "add 4Mi",
        inputs,
        model([helper.make_node("Add", ["a", "b"], ["y"])], inputs, ["y"], {}),
        lambda g, t: {"y": t["a"] + t["b"]},
        ncnn=layer,
    )


def gemm(n: int) -> Case:
    inputs = {"a": random(n, n), "b": random(n, n)}
    layer = Ncnn(
        (n, n),
        # parameters: constantB = 1, N, K, and output_elempack; B's data is in the weights
        lambda i, x, y: f"Gemm gemm{i} 1 1 {x} {y} 5=1 8={n} 9={n} 10=-1",
        weights=b"\0\0\0\0" + random(n, n, scale=n**-0.5).tobytes(),
    )
    return Case(
        f"GEMM {n}",
        inputs,
        model([helper.make_node("MatMul", ["a", "b"], ["y"])], inputs, ["y"], {}),
        lambda g, t: {"y": op.gemm(t["a"], t["b"])},
        flops=2.0 * n**3,
        ncnn=layer,
    )


def gru(sequence: int = 64, batch: int = 8, width: int = 256, hidden: int = 256) -> Case:
    inputs = {"x": random(sequence, batch, width)}
    constants = {
        "W": random(1, 3 * hidden, width, scale=1 / 16),
        "R": random(1, 3 * hidden, hidden, scale=1 / 16),
        "B": random(1, 6 * hidden),
    }
    node = helper.make_node("GRU", ["x", "W", "R", "B"], ["y", "last"], hidden_size=hidden, linear_before_reset=1)

    def ours(g: Builder, t: dict[str, Tensor]) -> dict[str, Tensor]:
        y, last = op.gru(
            t["x"].view((1, sequence, batch, width)),
            constants["W"][None],
            constants["R"][None],
            constants["B"][None, None],
        )
        return {"y": y, "last": last}

    flops = 2.0 * sequence * batch * 3 * hidden * (width + hidden)
    return Case("GRU 64x8x256", inputs, model([node], inputs, ["y", "last"], constants), ours, flops)


def lstm(sequence: int = 64, batch: int = 8, width: int = 256, hidden: int = 256) -> Case:
    inputs = {"x": random(sequence, batch, width)}
    constants = {
        "W": random(1, 4 * hidden, width, scale=1 / 16),
        "R": random(1, 4 * hidden, hidden, scale=1 / 16),
        "B": random(1, 8 * hidden),
    }
    node = helper.make_node("LSTM", ["x", "W", "R", "B"], ["y", "last"], hidden_size=hidden)

    def ours(g: Builder, t: dict[str, Tensor]) -> dict[str, Tensor]:
        float32 = dml.DML_TENSOR_DATA_TYPE_FLOAT32
        made = g.node(
            dml.DML_LSTM_OPERATOR_DESC,
            {
                "OutputSequenceTensor": dml.DML_BUFFER_TENSOR_DESC(float32, (sequence, 1, batch, hidden)),
                "OutputSingleTensor": dml.DML_BUFFER_TENSOR_DESC(float32, (1, 1, batch, hidden)),
            },
            InputTensor=t["x"].view((1, sequence, batch, width)),
            WeightTensor=g.constant(constants["W"][None]),
            RecurrenceTensor=g.constant(constants["R"][None]),
            BiasTensor=g.constant(constants["B"][None, None]),
            ActivationDescs=[
                dml.DML_ACTIVATION_SIGMOID_OPERATOR_DESC(),
                dml.DML_ACTIVATION_TANH_OPERATOR_DESC(),
                dml.DML_ACTIVATION_TANH_OPERATOR_DESC(),
            ],
            Direction=dml.DML_RECURRENT_NETWORK_DIRECTION_FORWARD,
            ClipThreshold=0.0,
            UseClipThreshold=False,
            CoupleInputForget=False,
        )
        return {"y": made["OutputSequenceTensor"], "last": made["OutputSingleTensor"]}

    flops = 2.0 * sequence * batch * 4 * hidden * (width + hidden)
    return Case("LSTM 64x8x256", inputs, model([node], inputs, ["y", "last"], constants), ours, flops)


def reverse() -> Case:
    time, batch, width = 64, 32, 256
    lengths = _RNG.integers(0, time + 1, batch)
    inputs = {"x": random(time, batch, width)}
    node = helper.make_node("ReverseSequence", ["x", "n"], ["y"], time_axis=0, batch_axis=1)

    def ours(g: Builder, t: dict[str, Tensor]) -> dict[str, Tensor]:
        n = g.constant(np.broadcast_to(lengths.astype(np.uint32)[None, :, None], (1, batch, width)))
        made = g.one(dml.DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC, (time, batch, width),
                     InputTensor=t["x"], SequenceLengthsTensor=n, Axis=0)  # fmt: skip
        return {"y": made}

    return Case("REVERSE_SUBSEQUENCES", inputs, model([node], inputs, ["y"], {"n": lengths.astype(np.int64)}), ours)


def convolution() -> Case:
    inputs = {"x": random(1, 64, 56, 56)}
    weights, bias = random(64, 64, 3, 3, scale=1 / 24), random(64)
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], pads=[1, 1, 1, 1])
    layer = Ncnn(
        (64, 56, 56),
        lambda i, x, y: f"Convolution conv{i} 1 1 {x} {y} 0=64 1=3 4=1 5=1 6={weights.size}",
        weights=b"\0\0\0\0" + weights.tobytes() + bias.tobytes(),
    )
    return Case(
        "convolution 3x3 64",
        inputs,
        model([node], inputs, ["y"], {"w": weights, "b": bias}),
        lambda g, t: {"y": op.convolution(t["x"], weights, bias, start_padding=(1, 1), end_padding=(1, 1))},
        flops=2.0 * 64 * 64 * 9 * 56 * 56,
        ncnn=layer,
    )


def softmax() -> Case:
    inputs = {"x": random(1024, 1024)}
    return Case(
        "softmax 1024x1024",
        inputs,
        model([helper.make_node("Softmax", ["x"], ["y"], axis=-1)], inputs, ["y"], {}),
        lambda g, t: {"y": op.softmax(t["x"], axes=[1])},
        ncnn=Ncnn((1024, 1024), lambda i, x, y: f"Softmax softmax{i} 1 1 {x} {y} 0=1 1=1"),
    )


def reduce_sum() -> Case:
    inputs = {"x": random(4096, 1024)}
    node = helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=1)
    return Case(
        "reduce-sum 4096x1024",
        inputs,
        model([node], inputs, ["y"], {"axes": np.array([1], np.int64)}),
        lambda g, t: {"y": op.reduce(t["x"], dml.DML_REDUCE_FUNCTION_SUM, [1])},
    )


def group_normalization() -> Case:
    inputs = {"x": random(4, 64, 64, 64)}
    scale, bias = random(64), random(64)
    nodes = [
        helper.make_node("Reshape", ["x", "grouped"], ["r"]),
        helper.make_node("InstanceNormalization", ["r", "one", "zero"], ["n"]),
        helper.make_node("Reshape", ["n", "whole"], ["m"]),
        helper.make_node("Mul", ["m", "scale"], ["s"]),
        helper.make_node("Add", ["s", "bias"], ["y"]),
    ]
    constants = {
        "grouped": np.array([4, 8, -1], np.int64),
        "whole": np.array([4, 64, 64, 64], np.int64),
        "one": np.ones(8, np.float32),
        "zero": np.zeros(8, np.float32),
        "scale": scale.reshape(64, 1, 1),
        "bias": bias.reshape(64, 1, 1),
    }

    def ours(g: Builder, t: dict[str, Tensor]) -> dict[str, Tensor]:
        sizes = (4, 8, 8, 4096)
        strides = (0, 8, 1, 0)
        s, b = (g.constant(a).view(sizes, strides) for a in (scale, bias))
        y = op.mean_variance_normalization(t["x"].view(sizes), [2, 3], s, b)
        return {"y": y.view((4, 64, 64, 64))}

    # ncnn has no batch dimension: four images become four times the channels and groups.
    layer = Ncnn(
        (256, 64, 64),
        lambda i, x, y: f"GroupNorm norm{i} 1 1 {x} {y} 0=32 1=256 2=1e-5 3=1",
        weights=np.tile(scale, 4).tobytes() + np.tile(bias, 4).tobytes(),
    )
    return Case("group norm 4x64x64x64", inputs, model(nodes, inputs, ["y"], constants), ours, ncnn=layer)


def layer_normalization() -> Case:
    inputs = {"x": random(512, 1024)}
    scale, bias = random(1024), random(1024)
    node = helper.make_node("LayerNormalization", ["x", "scale", "bias"], ["y"])

    def ours(g: Builder, t: dict[str, Tensor]) -> dict[str, Tensor]:
        s, b = (g.constant(a).view((1, 1, 512, 1024), (0, 0, 0, 1)) for a in (scale, bias))
        return {"y": op.mean_variance_normalization(t["x"].view((1, 1, 512, 1024)), [3], s, b)}

    layer = Ncnn(
        (512, 1024),
        lambda i, x, y: f"LayerNorm norm{i} 1 1 {x} {y} 0=1024 1=1e-5 2=1",
        weights=scale.tobytes() + bias.tobytes(),
    )
    made = model([node], inputs, ["y"], {"scale": scale, "bias": bias})
    return Case("layer norm 512x1024", inputs, made, ours, ncnn=layer)


def attention() -> Case:
    batch, heads, sequence, size = 1, 8, 256, 64
    shape = (batch, sequence, heads * size)
    inputs = {name: random(*shape) for name in "qkv"}
    split = np.array([batch, sequence, heads, size], np.int64)
    nodes = []
    for name, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        nodes.append(helper.make_node("Reshape", [name, "split"], [f"{name}r"]))
        nodes.append(helper.make_node("Transpose", [f"{name}r"], [f"{name}t"], perm=order))
    nodes += [
        helper.make_node("MatMul", ["qt", "kt"], ["scores"]),
        helper.make_node("Mul", ["scores", "scale"], ["scaled"]),
        helper.make_node("Softmax", ["scaled"], ["weights"], axis=-1),
        helper.make_node("MatMul", ["weights", "vt"], ["o"]),
        helper.make_node("Transpose", ["o"], ["ot"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["ot", "whole"], ["y"]),
    ]
    constants = {"split": split, "whole": np.array(shape, np.int64), "scale": np.float32(size**-0.5)}
    return Case(
        "attention 8x256x64",
        inputs,
        model(nodes, inputs, ["y"], constants),
        lambda g, t: {"y": op.multihead_attention(t["q"], t["k"], t["v"], heads)},
        flops=4.0 * batch * heads * sequence * sequence * size,
    )


def mobilenet() -> Case:
    from mobilenet import mobilenet_case

    made = mobilenet_case()
    assert isinstance(made, Case)
    return made


CASES: dict[str, Callable[[], Case]] = {
    "add": add,
    "gemm512": lambda: gemm(512),
    "gemm1024": lambda: gemm(1024),
    "gru": gru,
    "reverse": reverse,
    "convolution": convolution,
    "softmax": softmax,
    "reduce": reduce_sum,
    "groupnorm": group_normalization,
    "layernorm": layer_normalization,
    "lstm": lstm,
    "attention": attention,
    "mobilenet": mobilenet,
}
