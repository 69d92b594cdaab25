"""A MobileNetV2-shaped network (random weights, 224 x 224, batch 1, normalizations folded into the convolutions)."""

from __future__ import annotations

import cases
import numpy as np
from cases import Case, model, random
from networks.building import Network
from networks.mobilenetv2 import Layer, add_to, layers

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
            x = op.clip(x, Min=0.0, Max=6.0) if layer.clipped else x
            x = x + block if layer.adds_block else x
        x = op.average_pooling(x, x.sizes[2:]).view((1, 1280))
        return {"y": op.gemm(x, dense, dense_bias.reshape(1, 1000), transpose_b=True)}

    flops = 0.0
    size = 224
    for layer in stack:
        size = -(-size // layer.stride)
        flops += 2.0 * layer.weights.size * size * size
    return Case(
        "MobileNetV2 224",
        inputs,
        model(net.nodes_made, inputs, ["y"], net.constants),
        ours,
        flops,
        network=_ncnn(stack, dense, dense_bias),
    )


def _ncnn(stack: list[Layer], dense: np.ndarray, dense_bias: np.ndarray) -> cases.Network:
    lines, data = ["Input x 0 1 x0"], bytearray()
    blobs, at, block = 1, "x0", ""
    for i, layer in enumerate(stack):
        if layer.starts_block:
            residual = next(other.adds_block for other in stack[i:] if not other.clipped)
            block = ""
            if residual:
                lines.append(f"Split s{i} 1 2 {at} s{i}a s{i}b")
                at, block = f"s{i}a", f"s{i}b"
                blobs += 2
        out, _, k, _ = layer.weights.shape
        kind = "ConvolutionDepthWise" if layer.groups > 1 else "Convolution"
        line = f"{kind} c{i} 1 1 {at} c{i} 0={out} 1={k} 3={layer.stride} 4={k // 2} 5=1 6={layer.weights.size}"
        line += f" 7={layer.groups}" if layer.groups > 1 else ""
        line += " 9=3 -23310=2,0.0,6.0" if layer.clipped else ""
        lines.append(line)
        data += b"\0\0\0\0" + layer.weights.tobytes() + layer.bias.tobytes()
        at = f"c{i}"
        blobs += 1
        if layer.adds_block:
            lines.append(f"BinaryOp a{i} 2 1 {at} {block} a{i} 0=0")
            at = f"a{i}"
            blobs += 1
    lines += [f"Pooling pool 1 1 {at} pool 0=1 4=1", f"InnerProduct fc 1 1 pool y 0=1000 1=1 2={dense.size}"]
    data += b"\0\0\0\0" + dense.tobytes() + dense_bias.tobytes()
    return cases.Network(lines, blobs + 2, bytes(data), "x0", "y")
