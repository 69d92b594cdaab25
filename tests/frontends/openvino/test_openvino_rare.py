"""Rare attributes and forms of layers, compared with OpenVINO's CPU plugin."""

from __future__ import annotations

import numpy as np
import pytest
from ir_peer import both, random

o = pytest.importorskip("openvino.opset13", reason="the openvino package is a test dependency (extra `test`)")
o2, o14, o16 = (pytest.importorskip(f"openvino.opset{n}") for n in (2, 14, 16))

X = random(2, 3)
IMAGE = random(1, 3, 8, 9)
GRID = random(3, 4, 5)
BITS = np.arange(-5000, 5000, dtype=np.int32).reshape(100, 100)


def slices(begin, end, steps, new, shrink, ellipsis):
    numbers = (o.constant(list(given)) for given in (begin, end, steps))
    return lambda a: o.strided_slice(a, *numbers, [0, 0, 0], [0, 0, 0], new, shrink, ellipsis)


def pooled(rounding, pad):
    shape = ([1, 0], [1, 1], [3, 3], rounding, pad)
    return lambda a: [
        o14.max_pool(a, [3, 2], [1, 2], *shape).output(0),
        o14.avg_pool(a, [3, 2], [1, 1], [1, 1], [3, 3], True, rounding, pad),
    ]


#: Name -> function from a parameter to results, and the parameter.
CASES = {
    "identity": (lambda a: o16.identity(a), X),
    "explicit-broadcast": (lambda a: o.broadcast(a, o.constant([4, 2, 5, 3]), o.constant([1, 3]), "EXPLICIT"), X),
    "no-infinity": (lambda a: o.is_inf(a, {"detect_negative": False, "detect_positive": False}), X),
    "constant-power": (lambda a: [o.power(a, np.float32(2)), o.power(o.abs(a), np.float32(0.5))], X),
    "slope-of-each-channel": (lambda a: o.prelu(a, o.constant(random(4))), GRID),
    "rolled-by-scalars": (lambda a: [o.roll(a, o.constant(k), o.constant(1)) for k in (-1, 0)], GRID),
    "as-many-cells": (lambda a: o.adaptive_avg_pool(a, o.constant([8, 4])), IMAGE),
    "eyes": (lambda a: [o.eye(o.constant(3), o.constant(4), o.constant(-1), "i32", o.constant([2])), o.relu(a)], X),
    "new-axis": (slices((0, 0, 1), (3, 0, 3), (1, 1, 1), [0, 1, 0], [0, 0, 0], [0, 0, 0]), GRID),
    "ellipsis": (slices((0, 0, -1), (0, 0, 3), (1, 1, 1), [0, 1, 0], [0, 0, 1], [1, 0, 0]), GRID),
    "constant-to-boolean": (lambda a: [o.convert(o.constant(BITS), "boolean"), o.relu(a)], X),
    "one-hot-of-a-constant": (
        lambda a: o.add(o.one_hot(o.constant([[0, 3], [-1, 9]]), o.constant(3), np.float32(2), np.float32(-1), 1),
                        o.reduce_sum(a, o.constant([0, 1]), keep_dims=False)), X,
    ),
    "constant-broadcast": (
        lambda a: o.add(a, o.broadcast(np.float32([1, 2]), o.constant([2, 3]), o.constant([0]), "EXPLICIT")), X,
    ),
    "valid-convolution": (
        lambda a: o.convolution(a, o.constant(random(2, 3, 3, 3)), [2, 2], [1, 1], [1, 1], [1, 1], "valid"), IMAGE,
    ),
    **{
        f"moments-{variance}-{channels}": (
            lambda a, variance=variance, channels=channels: o2.mvn(a, channels, variance, 1e-3), IMAGE
        )
        for variance in (True, False)
        for channels in (True, False)
    },
    "epsilon-outside": (lambda a: o.mvn(a, o.constant([-1]), True, 0.1, "OUTSIDE_SQRT"), GRID),
    **{
        f"pooled-{rounding}-{pad}": (pooled(rounding, pad), IMAGE)
        for rounding in ("floor", "ceil_torch")
        for pad in ("explicit", "valid", "same_lower")
    },
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rare_forms(device, tmp_path, name):
    make, x = CASES[name]
    both(device, tmp_path, make, x)
