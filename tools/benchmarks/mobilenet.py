"""A MobileNetV2-shaped network (random weights, 224 x 224, batch 1, normalizations folded into the convolutions)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from cases import Case, Network, model, random
from onnx import helper

from dml.graph import operations as op
from dml.graph.builder import Builder, Tensor

#: Expansion, channels, repeats and first stride of each group of blocks.
GROUPS = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


@dataclass
class Layer:
    """A convolution: kernel, stride, groups, whether clipped to 0 .. 6, and whether the input ``back`` is added."""

    weights: np.ndarray
    bias: np.ndarray
    stride: int
    groups: int
    clipped: bool
    starts_block: bool = False
    adds_block: bool = False


def layers() -> list[Layer]:
    def conv(c_in: int, c_out: int, k: int, stride: int = 1, groups: int = 1, clipped: bool = True) -> Layer:
        fan = c_in // groups * k * k
        weights = random(c_out, c_in // groups, k, k, scale=(2 / fan) ** 0.5)
        return Layer(weights, random(c_out, scale=0.1), stride, groups, clipped)

    made = [conv(3, 32, 3, 2)]
    channels = 32
    for expansion, width, repeats, first in GROUPS:
        for repeat in range(repeats):
            stride, wide = first if repeat == 0 else 1, channels * expansion
            block = [conv(channels, wide, 1)] if expansion > 1 else []
            block += [conv(wide, wide, 3, stride, wide), conv(wide, width, 1, clipped=False)]
            block[0].starts_block = True
            block[-1].adds_block = stride == 1 and channels == width
            made += block
            channels = width
    return [*made, conv(channels, 1280, 1)]


def mobilenet_case() -> Case:
    stack = layers()
    inputs = {"x": random(1, 3, 224, 224)}
    dense, dense_bias = random(1000, 1280, scale=1280**-0.5), random(1000, scale=0.1)

    nodes, constants, at, block = [], {"six": np.float32(6), "zero": np.float32(0)}, "x", "x"
    for i, layer in enumerate(stack):
        pad = layer.weights.shape[2] // 2
        constants |= {f"w{i}": layer.weights, f"b{i}": layer.bias}
        block = at if layer.starts_block else block
        nodes.append(
            helper.make_node(
                "Conv",
                [at, f"w{i}", f"b{i}"],
                [f"c{i}"],
                pads=[pad] * 4,
                strides=[layer.stride] * 2,
                group=layer.groups,
            )
        )
        at = f"c{i}"
        if layer.clipped:
            nodes.append(helper.make_node("Clip", [at, "zero", "six"], [f"r{i}"]))
            at = f"r{i}"
        if layer.adds_block:
            nodes.append(helper.make_node("Add", [at, block], [f"a{i}"]))
            at = f"a{i}"
    constants |= {"dense": dense, "dense_bias": dense_bias}
    nodes += [
        helper.make_node("GlobalAveragePool", [at], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("Gemm", ["flat", "dense", "dense_bias"], ["y"], transB=1),
    ]

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
        model(nodes, inputs, ["y"], constants),
        ours,
        flops,
        network=_ncnn(stack, dense, dense_bias),
    )


def _ncnn(stack: list[Layer], dense: np.ndarray, dense_bias: np.ndarray) -> Network:
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
    return Network(lines, blobs + 2, bytes(data), "x0", "y")
