"""A network shaped like MobileNetV2: random weights, 224 x 224, batch 1, normalizations folded into convolutions."""

from __future__ import annotations

import numpy as np
from cases import Case, model, random
from ncnn_networks import ncnn_network
from networks.building import Network
from networks.mobilenetv2 import add_to, layers

from dml.graph import operations as op
from dml.graph.builder import Builder, Tensor


def mobilenet_case() -> Case:
    stack = layers(np.random.default_rng(0))
    inputs = {"x": random(1, 3, 224, 224)}
    dense, dense_bias = random(1000, 1280, scale=1280**-0.5), random(1000, scale=0.1)

    net = Network()
    flat = net.node("Flatten", net.node("GlobalAveragePool", add_to(net, stack)))
    net.node("Gemm", flat, net.constant(dense), net.constant(dense_bias), transB=1)
    net.nodes_made[-1].output[0] = "y"

    def ours(g: Builder, t: dict[str, Tensor]) -> dict[str, Tensor]:
        x = block = t["x"]
        for layer in stack:
            pad = (layer.weights.shape[2] // 2,) * 2
            block = x if layer.starts_block else block
            x = op.convolution(
                x, layer.weights, layer.bias, strides=(layer.stride,) * 2, start_padding=pad, end_padding=pad,
                groups=layer.groups,
            )  # fmt: skip
            x = op.clip(x, min=0.0, max=6.0) if layer.clipped else x
            x = x + block if layer.adds_block else x
        x = op.average_pooling(x, x.sizes[2:]).view((1, 1280))
        return {"y": op.gemm(x, dense, dense_bias.reshape(1, 1000), transpose_b=True)}

    flops = 0.0
    size = 224
    for layer in stack:
        size = -(-size // layer.stride)
        flops += 2.0 * layer.weights.size * size * size
    made = model(net.nodes_made, inputs, ["y"], net.constants)
    return Case("MobileNetV2 224", inputs, made, ours, flops, network=ncnn_network(made))
