"""Layers on tensors without elements, and reductions of narrow integers, compared with OpenVINO's CPU plugin."""

from __future__ import annotations

import numpy as np
import pytest
from ir_peer import both, random

from dml.frontends.openvino import read_model

ov = pytest.importorskip("openvino", reason="the openvino package is a test dependency (extra `test`)")
o = pytest.importorskip("openvino.opset13")
REDUCTIONS = ("sum", "prod", "l1", "l2", "max", "min", "mean")
ONES = o.constant(np.ones(3, np.float32))


@pytest.mark.parametrize("kind", [np.float32, np.int32])
def test_reductions_of_nothing(device, tmp_path, kind):
    def make(a):
        return [getattr(o, f"reduce_{name}")(a, np.array([1]), keep) for name in REDUCTIONS for keep in (False, True)]

    both(device, tmp_path, make, np.zeros((2, 0, 3), kind))


def test_reductions_along_no_axes(device, tmp_path):
    """They keep the elements; the plugin refuses them."""
    x = o.parameter([2, 3], np.float32, name="x")
    axes = o.constant(np.zeros(0, np.int64))
    results = [getattr(o, f"reduce_{name}")(x, axes, False).output(0) for name in ("sum", "prod", "max", "min", "mean")]
    ov.save_model(ov.Model(results, [x], "m"), tmp_path / "m.xml", compress_to_fp16=False)
    given = random(2, 3)
    for found in read_model(tmp_path / "m.xml").compile(device)({"x": given}).values():
        np.testing.assert_array_equal(found, given)


def test_logical_reductions_of_nothing(device, tmp_path):
    def make(a):
        return [o.reduce_logical_and(a, np.array([1]), False), o.reduce_logical_or(a, np.array([1]), True)]

    both(device, tmp_path, make, np.zeros((2, 0, 3), np.bool_))


EMPTY = {
    "product": (lambda a, b: o.matmul(a, b, False, False), (2, 0), (0, 3)),
    "product without rows": (lambda a, b: o.matmul(a, b, False, False), (0, 2), (2, 3)),
    "einsum": (lambda a, b: o.einsum([a, b], "ij,jk->ik"), (2, 0), (0, 3)),
    "sum": (o.add, (2, 0, 3), (1, 1)),
    "choice": (lambda a: o.select(o.greater(a, np.float32(0)), a, a), (2, 0)),
    "join": (lambda a, b: o.concat([a, b], 1), (2, 0, 3), (2, 4, 3)),
    "padding": (lambda a: o.pad(a, [0, 1, 0], [0, 2, 0], "constant", np.float32(3)), (2, 0, 3)),
    "parts": (lambda a: o.variadic_split(a, 1, [0, 3]).outputs(), (2, 3)),
    "slice": (lambda a: o.slice(a, [1], [1], [1], [0]), (2, 3)),
    "softmax": (lambda a: o.softmax(a, 1), (2, 0, 3)),
    "sums": (lambda a: o.cum_sum(a, np.array(1)), (2, 0, 3)),
    "broadcast": (lambda a: o.broadcast(a, np.array([2, 0, 3])), (1, 3)),
    "shape": (o.shape_of, (2, 0, 3)),
    "places": (lambda a: [o.non_zero(a, kind) for kind in ("i64", "i32")], (2, 0, 3)),
    "normalization": (lambda a: o.batch_norm_inference(a, ONES, ONES, ONES, ONES, 1e-5), (0, 3, 2)),
    "convolution": (
        lambda a: o.convolution(a, o.constant(random(3, 2, 1, 1)), [1, 1], [0, 0], [0, 0], [1, 1]),
        (0, 2, 4, 4),
    ),
    "resampling": (
        lambda a: o.interpolate(a, np.array([2, 2]), "nearest", "sizes", axes=np.array([2, 3])),
        (0, 2, 4, 4),
    ),
}


@pytest.mark.parametrize("name", EMPTY)
def test_layers_without_elements(device, tmp_path, name):
    make, *shapes = EMPTY[name]
    both(device, tmp_path, make, *(random(*shape) for shape in shapes))


def test_updates_of_nothing(device, tmp_path):
    def make(a, rows, tuples, updates):
        return [
            o.scatter_elements_update(a, rows, updates, np.array(0), "none"),
            o.scatter_nd_update(a, tuples, updates),
        ]

    indices = np.zeros((0, 3), np.int64), np.zeros((0, 1), np.int64)
    both(device, tmp_path, make, random(2, 3), *indices, random(0, 3))


def test_rows_that_are_none(device, tmp_path):
    """The plugin divides by zero: gathers of no rows, and the largest of none."""
    x, index = o.parameter([2, 3], np.float32, name="x"), o.parameter([-1], np.int64, name="index")
    results = [o.gather(x, index, np.array(0)).output(0), *o.topk(x, np.array(0), 1, "max", "value").outputs()]
    ov.save_model(ov.Model([o.result(result) for result in results], [x, index], "m"), tmp_path / "m.xml")
    found = read_model(tmp_path / "m.xml").compile(device)({"x": random(2, 3), "index": np.zeros(0, np.int64)})
    assert [array.shape for array in found.values()] == [(0, 3), (2, 0), (2, 0)]


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_sums_and_products_of_bytes(device, tmp_path, kind):
    """Beyond the type's range, the results are its limits. (The plugin does not limit products of UINT8 and
    ReduceL2.)"""
    low = np.iinfo(kind).min
    x = np.array([[100, 100, 100], [low, 2, 0], [7, 9, 1]], kind)

    def make(a):
        return [o.reduce_sum(a, np.array([1]), False), o.reduce_l1(a, np.array([0]), True)]

    both(device, tmp_path, make, x)
    both(device, tmp_path, lambda a: o.reduce_prod(a, np.array([1]), False), x if low else x[1:])
