"""The convolutions of MobileNetV2, with folded normalizations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from networks.building import Network

#: Expansion, channels, repeats and first stride of each group of blocks.
GROUPS = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


@dataclass
class Layer:
    """A convolution of a block. clipped: whether its result is clipped to 0 .. 6. adds_block: whether it adds the input
    of its block."""

    weights: np.ndarray
    bias: np.ndarray
    stride: int
    groups: int
    clipped: bool
    starts_block: bool = False
    adds_block: bool = False


def layers(random: np.random.Generator) -> list[Layer]:
    def conv(c_in: int, c_out: int, k: int, stride: int = 1, groups: int = 1, clipped: bool = True) -> Layer:
        fan = c_in // groups * k * k
        weights = random.standard_normal((c_out, c_in // groups, k, k)) * (2 / fan) ** 0.5
        bias = random.standard_normal(c_out) * 0.1
        return Layer(weights.astype(np.float32), bias.astype(np.float32), stride, groups, clipped)

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


def add_to(net: Network, stack: list[Layer]) -> str:
    """Add the convolutions after the input "x"; return the name of the last result."""
    zero, six = net.constant(0), net.constant(6)
    value = block = "x"
    for layer in stack:
        block = value if layer.starts_block else block
        value = net.node(
            "Conv", value, net.constant(layer.weights), net.constant(layer.bias),
            pads=[layer.weights.shape[2] // 2] * 4, strides=[layer.stride] * 2, group=layer.groups,
        )  # fmt: skip
        value = net.node("Clip", value, zero, six) if layer.clipped else value
        value = net.node("Add", value, block) if layer.adds_block else value
    return value
