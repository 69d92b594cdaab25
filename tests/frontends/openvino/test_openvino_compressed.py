"""Constants of 4 and 8 bits with scales and zero points, as NNCF and optimum-intel write them."""

from __future__ import annotations

from math import prod
from typing import Any, cast

import numpy as np
import pytest
from ir_peer import both, random

from dml.compiler.target import DeviceClass, Target
from dml.frontends.meaning.blocks import reshaped_blocks
from dml.frontends.openvino.ir import read_network, with_sizes
from dml.frontends.openvino.networks import CompiledNetwork
from dml.planning.planner import Planner

ov = pytest.importorskip("openvino", reason="the openvino package is a test dependency (extra `test`)")
o = pytest.importorskip("openvino.opset13")
RNG = np.random.default_rng(25)
MIB = 1 << 20
TARGETS = {
    "CPU": Target(DeviceClass.CPU, subgroup_size=8, max_storage_buffer_range=128 * MIB, max_storage_buffers=8),
    "GPU": Target(DeviceClass.DISCRETE, subgroup_size=32, max_storage_buffers=8),
}


def held(kind, *sizes, data=None):
    """Return a constant, by default of random numbers."""
    if data is None:
        data = RNG.integers(0, 256, -(-prod(sizes) * (4 if "4" in kind else 8) // 8)).astype(np.uint8)
    return ov.op.Constant(ov.Tensor(data, list(sizes), getattr(ov.Type, kind)), shared_memory=False)


def scales(*sizes, dtype=np.float16):
    return o.constant((RNG.uniform(0.5, 1.5, sizes) / 100).astype(dtype))


def weights(kind, n, k, group, *, turned=False, zero="numbers", dtype="f16"):
    """Return float32 weights {n, k}, or if turned {k, n}, decompressed in groups along k."""
    sizes, each = (n, k // group, group), (n, k // group, 1)
    if turned:
        sizes, each = (k // group, group, n), (k // group, 1, n)
    w = o.convert(held(kind, *sizes), dtype)
    if zero == "numbers":
        w = o.subtract(w, o.convert(held(kind, *each), dtype))
    elif zero == "one":
        w = o.subtract(w, o.convert(held("u8", data=np.full(1, 7, np.uint8)), dtype))
    elif zero == "floats":
        w = o.subtract(w, o.constant(RNG.integers(0, 8, each).astype(np.float32 if dtype == "f32" else np.float16)))
    w = o.multiply(w, scales(*each, dtype=np.float32 if dtype == "f32" else np.float16))
    w = o.reshape(w, np.array([k, n] if turned else [n, k]), False)
    return w if dtype == "f32" else o.convert(w, "f32")


@pytest.mark.parametrize("kind", ["u4", "i4", "u8", "i8"])
@pytest.mark.parametrize(
    "n, k, group, given",
    [
        (64, 96, 32, {}),
        (48, 64, 16, {"turned": True}),
        (64, 64, 64, {"zero": ""}),
        (34, 66, 22, {"zero": "one"}),
        (40, 128, 32, {"zero": "floats", "dtype": "f32"}),
        (64, 48, 3, {"turned": True, "zero": "", "dtype": "f32"}),
    ],
)
def test_products_and_rows(device, tmp_path, kind, n, k, group, given):
    """The same weights serve a product and an embedding, as in a language model."""
    w = weights(kind, n, k, group, **given)
    turned = given.get("turned", False)
    both(device, tmp_path, lambda a: o.matmul(a, w, False, not turned), random(2, 5, k), tolerance=1e-4)
    if not turned:  # the plugin takes turned tables for {n, k}
        both(device, tmp_path, lambda i: o.gather(w, i, np.array(0)), np.array([[3, 0], [n - 1, 3]]))


@pytest.mark.parametrize("kind", ["u8", "i8"])
def test_rows_of_bytes_with_a_scale_each(device, tmp_path, kind):
    w = o.multiply(o.subtract(o.convert(held(kind, 50, 64), "f16"), o.convert(held(kind, 50, 1), "f16")), scales(50, 1))
    table = o.convert(w, "f32")
    both(device, tmp_path, lambda a: o.matmul(a, table, False, True), random(3, 64), tolerance=1e-4)
    both(device, tmp_path, lambda i: o.gather(table, i, np.array(0)), np.array([[49, 0, 7]]))


def test_filters_with_a_scale_per_channel(device, tmp_path):
    w = o.convert(held("i8", 24, 8, 3, 3), "f32")
    w = o.multiply(w, scales(24, 1, 1, 1, dtype=np.float32))
    grouped = o.multiply(o.convert(held("i8", 4, 6, 8, 3, 3), "f32"), scales(4, 6, 1, 1, 1, dtype=np.float32))

    def make(a, b):
        return [
            o.convolution(a, w, [1, 1], [1, 1], [1, 1], [1, 1]),
            o.group_convolution(b, grouped, [1, 1], [0, 0], [0, 0], [1, 1]),
        ]

    both(device, tmp_path, make, random(1, 8, 7, 6), random(1, 32, 5, 5), tolerance=1e-4)


@pytest.mark.parametrize("kind, tolerance", [("f64", 1e-4), ("bf16", 1e-1)])
def test_scales_of_other_types(device, tmp_path, kind, tolerance):
    w = o.multiply(o.convert(held("u8", 40, 64), kind), o.convert(scales(40, 1, dtype=np.float32), kind))
    both(device, tmp_path, lambda a: o.matmul(a, o.convert(w, "f32"), False, True), random(3, 64), tolerance=tolerance)


@pytest.mark.parametrize("wanted", ["f32", "f16", "u8", "i32"])
@pytest.mark.parametrize("kind", ["u4", "i4"])
@pytest.mark.parametrize("sizes", [(3, 7), (64, 33)])
def test_numbers_of_four_bits_reshaped_first(device, tmp_path, kind, wanted, sizes):
    numbers = held(kind, *sizes)
    shape = np.array([1, sizes[1], sizes[0]])

    def make(a):
        w = o.convert(o.reshape(numbers, shape, False), wanted)
        return [o.convert(w, "f32"), o.transpose(w, np.array([0, 2, 1])), a]

    both(device, tmp_path, make, random(1))


def test_operations_that_do_not_stay_compressed(device, tmp_path):
    """Constants do not stay compressed with a fractional zero point, a zero point outside of the numbers' range, two
    scales, or a scale that differs within a group."""
    w = o.convert(held("u4", 40, 64), "f32")
    first = o.multiply(o.subtract(w, np.float32(7.5)), scales(40, 1, dtype=np.float32))
    second = o.multiply(o.multiply(o.subtract(w, np.float32(30)), np.float32(0.25)), scales(1, 64, dtype=np.float32))
    third = o.reshape(o.multiply(w, scales(1, 64, dtype=np.float32)), np.array([64, 40]), False)

    def make(a, b):
        return [o.matmul(a, first, False, True), o.matmul(a, second, False, True), o.matmul(b, third, True, True)]

    both(device, tmp_path, make, random(3, 64), random(40, 3), tolerance=2e-4)


@pytest.mark.parametrize(
    "sizes, counts, wanted, expected",
    [
        ((8, 4, 32), (8, 4, 1), (8, 128), (8, 4)),
        ((4, 32, 8), (4, 1, 8), (128, 8), (4, 8)),
        ((8, 128), (8, 4), (8, 4, 32), (8, 4, 1)),
        ((8, 128), (8, 4), (8, 2, 64), (8, 2, 2)),
        ((8, 128), (8, 1), (1, 8, 1, 128), (1, 8, 1, 1)),
        ((8, 4, 32), (1, 4, 1), (32, 32), None),
        ((6, 4), (6, 1), (4, 6), None),
    ],
)
def test_parameters_of_reshaped_blocks(sizes, counts, wanted, expected):
    assert reshaped_blocks(sizes, counts, wanted) == expected
    if expected is not None:  # each number keeps its parameter
        parameters = np.arange(prod(counts))
        before, after = (
            np.broadcast_to(
                parameters.reshape([part for count in own for part in (count, 1)]),
                [part for size, count in zip(whole, own, strict=True) for part in (count, size // count)],
            ).reshape(-1)
            for whole, own in ((sizes, counts), (wanted, expected))
        )
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("kind", list(TARGETS))
@pytest.mark.parametrize("rows", [1, 128])
def test_256_mib_of_four_bits_take_no_more_than_300(tmp_path, kind, rows):
    n, k, group = 32768, 16384, 128
    numbers = held("u4", n, k // group, group, data=np.zeros(n * k // 2, np.uint8))
    zeros = held("u4", n, k // group, 1, data=np.zeros(n * k // group // 2, np.uint8))
    w = o.subtract(o.convert(numbers, "f16"), o.convert(zeros, "f16"))
    w = o.multiply(w, o.constant(np.ones((n, k // group, 1), np.float16)))
    w = o.convert(o.reshape(w, np.array([n, k]), False), "f32")
    x, index = o.parameter([-1, k], np.float32, name="x"), o.parameter([3], np.int64, name="index")
    results = [o.result(o.matmul(x, w, False, True)), o.result(o.gather(w, index, np.array(0)))]
    ov.save_model(ov.Model(results, [x, index], "m"), tmp_path / "m.xml", compress_to_fp16=False)
    network = with_sizes(read_network(tmp_path / "m.xml"), {"x": (rows, k)})
    compiled = cast(Any, CompiledNetwork(network, cast(Any, Planner(TARGETS[kind]))).compiled)
    needs = compiled.needs()
    assert needs.by_use["weights"] <= 267 * MIB
    assert needs.by_use["weights"] + needs.by_use["intermediates"] <= 300 * MIB


def codes(kind, *sizes):
    """Return a constant of random codes of floats, without NaN and infinity."""
    data = RNG.integers(0, 256, prod(sizes) * (4 if kind == "nf4" else 8) // 8).astype(np.uint8)
    return held(kind, *sizes, data=data if kind == "nf4" else data & 0xB7)


@pytest.mark.parametrize("kind", ["nf4", "f8e4m3", "f8e5m2"])
@pytest.mark.parametrize("in_parts", [True, False])
def test_codes_of_floats(device, tmp_path, monkeypatch, kind, in_parts):
    if in_parts:
        monkeypatch.setattr("dml.compiler.selection.stored_weights._PART_BYTES", 12 * 64 * 5)
    w = o.convert(o.reshape(codes(kind, 32, 64), np.array([32, 64]), False), "f16")
    w = o.convert(o.multiply(w, scales(32, 1)), "f32")
    groups = o.multiply(o.convert(codes(kind, 4, 8, 64), "f32"), scales(4, 1, 64, dtype=np.float32))
    groups = o.reshape(groups, np.array([32, 64]), False)
    both(device, tmp_path, lambda a: o.matmul(a, w, False, True), random(2, 3, 64), tolerance=2e-3)
    both(device, tmp_path, lambda a: o.matmul(a, groups, True, False), random(32, 3), tolerance=2e-3)
    rows = [np.array([[31, 0], [7, 7]]), np.array(3, np.uint8)]
    both(device, tmp_path, lambda i, j: [o.gather(w, i, np.array(0)), o.gather(w, j, np.array(0))], *rows)
    both(device, tmp_path, lambda i: [o.gather(groups, i, np.array(0)), o.gather(w, i, np.array(1))], rows[0])


@pytest.mark.parametrize("kind", ["nf4", "f8e5m2"])
def test_large_codes_of_floats_need_little_working_memory(tmp_path, kind):
    n, k = 4096, 4096
    w = o.multiply(o.convert(codes(kind, n, k), "f32"), scales(n, 1, dtype=np.float32))
    x, index = o.parameter([1, k], np.float32, name="x"), o.parameter([3], np.int64, name="index")
    results = [o.result(o.matmul(x, w, False, True)), o.result(o.gather(w, index, np.array(0)))]
    ov.save_model(ov.Model(results, [x, index], "m"), tmp_path / "m.xml", compress_to_fp16=False)
    network = read_network(tmp_path / "m.xml")
    compiled = cast(Any, CompiledNetwork(network, cast(Any, Planner(TARGETS["CPU"]))).compiled)
    needs = compiled.needs().by_use
    assert needs["weights"] <= 1.1 * n * k * (0.5 if kind == "nf4" else 1)
    assert needs["intermediates"] <= 36 * MIB  # the codes and the values of a part
