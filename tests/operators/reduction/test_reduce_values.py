"""REDUCE: its ten functions that return values, over types, axes, layouts and lengths. Exact for integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import dml
import harness
from dml.conformance.references.reduction import reduce as reference
from harness import LAYOUTS, Array, assert_exact, assert_ulp, like, tensor

FLOAT_FUNCTIONS = ("AVERAGE", "L1", "L2", "LOG_SUM", "LOG_SUM_EXP", "MAX", "MIN", "MULTIPLY", "SUM", "SUM_SQUARE")
WHY = "a tree of float32 sums: half an ulp a level of terms of one sign, a few of the function at its end"


def describe(function: str, x: dml.DML_BUFFER_TENSOR_DESC, axes: Sequence[int], layout: str = "packed") -> Any:
    sizes = [1 if d in axes else size for d, size in enumerate(x.Sizes)]
    kind = dml.DML_REDUCE_FUNCTION[f"DML_REDUCE_FUNCTION_{function}"]
    output = tensor(x.DataType, sizes, layout)
    return dml.DML_REDUCE_OPERATOR_DESC(Function=kind, InputTensor=x, OutputTensor=output, Axes=axes)


def values(rng: np.random.Generator, function: str, dtype: str, sizes: Sequence[int]) -> Array:
    """Return terms of one sign, so that a tolerance in ulp of the result is meaningful; products near 1."""
    low, high = {"MULTIPLY": (0.9, 1.1), "LOG_SUM_EXP": (-30, 30)}.get(function, (0.1, 4.0))
    return harness.random(rng, dtype, sizes, low, high)


@pytest.mark.parametrize("function", FLOAT_FUNCTIONS)
@pytest.mark.parametrize("dtype, axes", [("FLOAT32", (3,)), ("FLOAT16", (1, 2)), ("FLOAT32", (0, 1, 2, 3))])
def test_functions(device: dml.Device, function: str, dtype: str, axes: tuple[int, ...]) -> None:
    x = values(np.random.default_rng(1), function, dtype, (2, 3, 4, 36))
    found = harness.run(device, describe(function, like(x), axes), {"InputTensor": x})["OutputTensor"]
    assert_ulp(found, reference(function, x, axes), 1 if dtype == "FLOAT16" else 12, WHY)


@pytest.mark.parametrize("rank", range(1, 9))
def test_dimension_counts(device: dml.Device, rank: int) -> None:
    x = values(np.random.default_rng(rank), "SUM", "FLOAT32", (3, 2, 4, 2, 1, 3, 2, 5)[-rank:])
    axes = tuple(range(0, rank, 2))
    found = harness.run(device, describe("SUM", like(x), axes), {"InputTensor": x})["OutputTensor"]
    assert_ulp(found, reference("SUM", x, axes), 8, WHY)


@pytest.mark.parametrize("layout", [*LAYOUTS, "nhwc", "broadcast"])
@pytest.mark.parametrize("axes", [(1,), (0, 3), (2, 3), ()])
def test_layouts(device: dml.Device, layout: str, axes: tuple[int, ...]) -> None:
    x = values(np.random.default_rng(2), "SUM", "FLOAT32", (2, 8, 3, 8))
    if layout == "broadcast":
        x[:] = x[0]
    output = "padded" if layout in ("padded", "broadcast") else layout
    found = harness.run(device, describe("SUM", like(x, layout), axes, output), {"InputTensor": x})["OutputTensor"]
    assert_ulp(found, reference("SUM", x, axes), 8, WHY)


@pytest.mark.parametrize(
    "sizes, layout, axes",
    [((2, 1), "reversed", (0, 1)), ((3, 1, 4), "broadcast", (0, 1)), ((1, 2, 1), "reversed", (1, 2))],
)
@pytest.mark.parametrize("function", FLOAT_FUNCTIONS)
def test_sizes_of_one_among_the_axes(
    device: dml.Device, function: str, sizes: tuple[int, ...], layout: str, axes: tuple[int, ...]
) -> None:
    """LOG_SUM_EXP reads a second operand in its last step, where strides along dimensions of size 1 must not matter."""
    x = values(np.random.default_rng(9), function, "FLOAT32", sizes)
    if layout == "broadcast":
        x[:] = x[0]
    found = harness.run(device, describe(function, like(x, layout), axes), {"InputTensor": x})["OutputTensor"]
    assert_ulp(found, reference(function, x, axes), 12, WHY)


WIDE_INTEGERS = ["INT32", "UINT32", "INT64", "UINT64"]
INTEGERS = [(f, t) for f in ("MIN", "MAX") for t in ("INT8", "UINT8", "INT16", "UINT16", *WIDE_INTEGERS)]
INTEGERS += [(f, t) for f in ("SUM", "MULTIPLY", "L1", "SUM_SQUARE") for t in WIDE_INTEGERS]


@pytest.mark.parametrize("function, dtype", INTEGERS)
def test_integers(device: dml.Device, function: str, dtype: str) -> None:
    """Integers cover the whole range of the type: sums and products wrap."""
    kind = dml.numpy_dtype(harness.data_type(dtype))
    limits = np.iinfo(kind)
    x = np.random.default_rng(3).integers(limits.min, limits.max, (3, 32, 5), dtype=kind, endpoint=True)
    for axes in ((1,), (0, 2)):
        found = harness.run(device, describe(function, like(x), axes), {"InputTensor": x})["OutputTensor"]
        assert_exact(found, reference(function, x, axes))


SHAPES = [
    ((70000,), (0,)),
    ((3, 9001), (1,)),
    ((9001, 8), (0,)),
    ((2, 5000, 12), (1,)),
    ((4, 16384), (1,)),
    ((300, 7), (1,)),
]


@pytest.mark.parametrize("sizes, axes", SHAPES)
def test_lengths(each_kind: dml.Device, sizes: tuple[int, ...], axes: tuple[int, ...]) -> None:
    """Lengths for one dispatch and for several, with the kernels for CPU drivers and for GPUs."""
    x = values(np.random.default_rng(4), "SUM", "FLOAT32", sizes)
    found = harness.run(each_kind, describe("SUM", like(x), axes), {"InputTensor": x})["OutputTensor"]
    assert_ulp(found, reference("SUM", x, axes), 16, WHY)
    count = np.random.default_rng(5).integers(-(2**31), 2**31, sizes, dtype=np.int64)
    found = harness.run(each_kind, describe("SUM", like(count), axes), {"InputTensor": count})["OutputTensor"]
    assert_exact(found, reference("SUM", count, axes))


def test_cancellation(device: dml.Device) -> None:
    """A long sum of mixed signs stays within the error of pairwise summation, far below that of a running total."""
    x = np.random.default_rng(6).standard_normal(1 << 20).astype(np.float32)
    found = harness.run(device, describe("SUM", like(x), (0,)), {"InputTensor": x})["OutputTensor"]
    bound = 64 * 2.0**-24 * np.abs(x.astype(np.float64)).sum()
    assert abs(float(found[0]) - x.astype(np.float64).sum()) < bound
    ones = np.full(1 << 25, 1, np.float32)
    found = harness.run(device, describe("AVERAGE", like(ones), (0,)), {"InputTensor": ones})["OutputTensor"]
    assert found[0] == 1, "a running float32 total would stop at 2^24"


#: Elements whose squares overflow or underflow float32, alone and with others; the kernel's ranges meet at 2^40 and
#: 2^-40.
MAGNITUDES = {
    "huge": (1e30, 1e37),
    "tiny": (1e-37, 1e-30),
    "huge and medium": (2.0**39, 2.0**41),
    "medium and tiny": (2.0**-41, 2.0**-39),
    "barely huge": (2.0**39.99, 2.0**40.01),
    "all": (1e-37, 1e37),
}


@pytest.mark.parametrize("name", MAGNITUDES)
@pytest.mark.parametrize("shape, axes", [((3, 200), (1,)), ((200, 8), (0,)), ((70000,), (0,))])
def test_l2_of_squares_out_of_range(
    device: dml.Device, name: str, shape: tuple[int, ...], axes: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(8)
    low, high = np.log2(MAGNITUDES[name])
    x = (np.exp2(rng.uniform(low, high, shape)) * rng.choice([-1, 1], shape)).astype(np.float32)
    x.flat[0] = 0
    found = harness.run(device, describe("L2", like(x), axes), {"InputTensor": x})["OutputTensor"]
    assert_ulp(found, reference("L2", x, axes), 12, WHY)


def test_l2_of_special_values_with_huge_and_tiny_ones(device: dml.Device) -> None:
    nan, inf = np.nan, np.inf
    x = np.array([[1e30, nan], [1e-30, nan], [1, nan], [inf, nan], [-inf, 1e-30], [1e30, inf], [0, -0.0], [3e38, 3e38]],
                 np.float32)  # fmt: skip
    found = harness.run(device, describe("L2", like(x), (1,)), {"InputTensor": x})["OutputTensor"]
    assert_exact(found, np.array([[nan], [nan], [nan], [nan], [inf], [inf], [0], [inf]], np.float32))


def test_special_values(device: dml.Device) -> None:
    nan, inf = np.nan, np.inf
    x = np.array([[1, nan, 2, -5], [inf, 1, 2, 3], [-inf, -inf, -inf, -inf], [inf, -inf, 0, 0], [100, 100, 100, -inf],
                  [3e38, 3e38, 0, 0]], np.float32)  # fmt: skip
    for function in ("MAX", "MIN", "SUM", "LOG_SUM_EXP"):
        found = harness.run(device, describe(function, like(x), (1,)), {"InputTensor": x})["OutputTensor"]
        assert_ulp(found, reference(function, x, (1,)), 2, "few terms, then one logarithm")


PAGE = np.array([[1, 2, 3], [3, 0, 4], [2, 4, 2]], np.float32)


@pytest.mark.parametrize("axes, expected", [((0,), [[6, 6, 9]]), ((1,), [[6], [7], [8]]), ((0, 1), [[21]])])
def test_page_examples(device: dml.Device, axes: tuple[int, ...], expected: list[list[float]]) -> None:
    found = harness.run(device, describe("SUM", like(PAGE), axes), {"InputTensor": PAGE})["OutputTensor"]
    assert_exact(found, np.array(expected, np.float32))
