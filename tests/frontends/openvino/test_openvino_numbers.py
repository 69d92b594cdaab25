"""Sizes that layers compute are known while a model is compiled and control ranges, slices and pads."""

from __future__ import annotations

import numpy as np
import pytest
from ir_peer import both, random

o = pytest.importorskip("openvino.opset13")


def test_arithmetic_of_sizes(device, tmp_path):
    def make(x):
        sizes = o.shape_of(x)  # 6, 8, 3
        rows, columns, channels = (o.squeeze(part, 0) for part in o.split(sizes, 0, 3).outputs())
        half = o.divide(o.add(rows, np.int64(1)), np.int64(2))
        down = o.divide(o.negative(rows), np.int64(4))  # -2, rounded down as in Python
        most = o.select(o.greater(rows, columns), rows, o.maximum(columns, channels))
        count = o.reduce_prod(sizes, np.int64([0]), keep_dims=False)
        return [
            o.range(np.int64(0), half, np.int64(1), "i64"),
            o.slice(x, np.int64([0, 1]), o.broadcast(half, np.int64([2])), np.int64([1, 1])),
            o.range(down, most, o.floor_mod(columns, np.int64(5)), "i64"),
            o.range(np.int64(0), o.mod(count, np.int64(100)), np.int64(7), "i64"),
            o.slice(x, np.int64([0]), o.unsqueeze(half, 0), np.int64([1]), np.int64([0])),
        ]

    both(device, tmp_path, make, random(6, 8, 3))


def test_repeats_along_a_computed_axis(device, tmp_path):
    def make(x):
        rows = o.gather(o.shape_of(x), np.int64(0), np.int64(0))
        hot = o.one_hot(o.subtract(rows, np.int64(1)), np.int64(3), np.int64(4), np.int64(1), -1)
        return [o.tile(x, hot), o.tile(x, o.reshape(o.one_hot(o.unsqueeze(rows, 0), 2, 3, 1, 0), [2], False))]

    both(device, tmp_path, make, random(2, 3))


def test_padding_of_sizes_that_were_divided(device, tmp_path):
    def make(x):
        sizes = o.shape_of(x)
        first, last = o.variadic_split(o.divide(sizes, np.int64(2)), 0, [1, 1]).outputs()
        turned = o.transpose(o.reshape(o.concat([first, last, last, first], 0), [2, 2], False), [1, 0])
        begins, ends = o.split(o.reshape(turned, [4], False), 0, 2).outputs()
        return o.pad(x, begins, o.scatter_update(ends, np.int64([0]), np.int64([1]), np.int64(0)), "constant")

    both(device, tmp_path, make, random(4, 6))


def test_sizes_that_are_scattered(device, tmp_path):
    """As conversions of ONNX's CenterCropPad and of assignments to parts of a shape write them."""

    def make(x):
        sizes = o.shape_of(x)  # 4, 6
        cropped = o.scatter_elements_update(sizes, np.int64([-1]), np.int64([3]), np.int64(0))
        start = o.divide(o.subtract(sizes, cropped), np.int64(2))
        more = o.scatter_nd_update(sizes, np.int64([[0]]), np.int64([5]))
        added = o.scatter_elements_update(sizes, np.int64([0]), np.int64([1]), np.int64(0), "sum")
        return [
            o.slice(x, start, o.add(start, cropped), np.int64([1, 1])),
            o.broadcast(o.gather(x, np.int64([0]), np.int64(0)), more),
            o.convert(added, "f32"),
        ]

    both(device, tmp_path, make, random(4, 6))
