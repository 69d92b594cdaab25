"""CUMULATIVE_SUMMATION and CUMULATIVE_PRODUCT: directions, exclusive forms, types, layouts, any length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dml
import harness
from harness import LAYOUTS, Array, assert_exact, assert_ulp, like, tensor

UP, DOWN = dml.DML_AXIS_DIRECTION_INCREASING, dml.DML_AXIS_DIRECTION_DECREASING
WHY = "terms of one sign: half an ulp an addition in blocks, and compensated running totals"


def describe(
    product: bool,
    x: dml.DML_BUFFER_TENSOR_DESC,
    axis: int,
    direction: Any = UP,
    exclusive: bool = False,
    layout: str = "packed",
) -> Any:
    output = tensor(x.DataType, x.Sizes, layout)
    if product:
        return dml.DML_CUMULATIVE_PRODUCT_OPERATOR_DESC(
            InputTensor=x, OutputTensor=output, Axis=axis, AxisDirection=direction, HasExclusiveProduct=exclusive
        )
    return dml.DML_CUMULATIVE_SUMMATION_OPERATOR_DESC(
        InputTensor=x, OutputTensor=output, Axis=axis, AxisDirection=direction, HasExclusiveSum=exclusive
    )


def reference(product: bool, x: Array, axis: int, direction: Any = UP, exclusive: bool = False) -> Array:
    kind = x.dtype if x.dtype.kind in "iu" else np.dtype(np.float64)
    x = np.moveaxis(x, axis, -1).astype(kind)
    x = x[..., ::-1] if direction == DOWN else x
    if exclusive:
        x = np.concatenate([np.full((*x.shape[:-1], 1), int(product), kind), x[..., :-1]], -1)
    with np.errstate(over="ignore"):
        y = (np.cumprod if product else np.cumsum)(x, -1, dtype=kind)
    return np.moveaxis(y[..., ::-1] if direction == DOWN else y, -1, axis)


@pytest.mark.parametrize("product", [False, True])
@pytest.mark.parametrize("direction", [UP, DOWN])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16", "INT32", "UINT32", "INT64", "UINT64"])
def test_types(device: dml.Device, product: bool, direction: Any, exclusive: bool, dtype: str) -> None:
    low, high = (0.8, 1.2) if dtype.startswith("FLOAT") else (-(2**31), 2**31 - 1)
    x = harness.random(np.random.default_rng(1), dtype, (3, 9, 4), low, high)
    if dtype.endswith("64"):
        x *= np.asarray(0x123456789, x.dtype)
    for axis in (1, 2):
        desc = describe(product, like(x), axis, direction, exclusive)
        found = harness.run(device, desc, {"InputTensor": x})["OutputTensor"]
        expected = reference(product, x, axis, direction, exclusive)
        if dtype.startswith("FLOAT"):
            assert_ulp(found, expected, 8 if dtype == "FLOAT32" else 1, WHY)
        else:
            assert_exact(found, expected)


@pytest.mark.parametrize("layout", [*LAYOUTS, "broadcast"])
@pytest.mark.parametrize("axis", range(4))
def test_layouts(device: dml.Device, layout: str, axis: int) -> None:
    x = harness.random(np.random.default_rng(2), "FLOAT32", (3, 5, 2, 6), 0.1, 2)
    if layout == "broadcast":
        x[:] = x[0]
    output = "reversed" if layout == "broadcast" else layout
    desc = describe(False, like(x, layout), axis, DOWN, False, output)
    assert_ulp(harness.run(device, desc, {"InputTensor": x})["OutputTensor"], reference(False, x, axis, DOWN), 4, WHY)


@pytest.mark.parametrize("rank", [1, 2, 6, 8])
def test_dimension_counts(device: dml.Device, rank: int) -> None:
    x = harness.random(np.random.default_rng(3), "INT32", (2, 1, 3, 2, 1, 2, 3, 4)[-rank:])
    found = harness.run(device, describe(False, like(x), rank // 2), {"InputTensor": x})["OutputTensor"]
    assert_exact(found, reference(False, x, rank // 2))


@pytest.mark.parametrize("sizes, axis", [((100000,), 0), ((3, 5000), 1), ((700, 40), 0), ((2, 300, 9), 1)])
@pytest.mark.parametrize("exclusive, direction", [(False, UP), (True, DOWN)])
def test_lengths(each_kind: dml.Device, sizes: tuple[int, ...], axis: int, exclusive: bool, direction: Any) -> None:
    x = harness.random(np.random.default_rng(4), "FLOAT32", sizes, 0.1, 2)
    found = harness.run(each_kind, describe(False, like(x), axis, direction, exclusive), {"InputTensor": x})
    assert_ulp(found["OutputTensor"], reference(False, x, axis, direction, exclusive), 8, WHY)
    whole = np.random.default_rng(5).integers(-(2**62), 2**62, sizes, np.int64)
    found = harness.run(each_kind, describe(False, like(whole), axis, direction, exclusive), {"InputTensor": whole})
    assert_exact(found["OutputTensor"], reference(False, whole, axis, direction, exclusive))


@pytest.mark.parametrize("sizes, axis", [((20000,), 0), ((64, 130), 0)])
def test_in_place(each_kind: dml.Device, sizes: tuple[int, ...], axis: int) -> None:
    """The output may be bound to the input's buffer: elements are read before they are overwritten."""
    x = harness.random(np.random.default_rng(6), "INT32", sizes, -1000, 1000)
    buffer = each_kind.create_buffer(x)
    harness.run_on(each_kind, describe(False, like(x), axis), [buffer], [buffer])
    assert_exact(buffer.read(np.int32).reshape(sizes), reference(False, x, axis))


def test_lines_beyond_the_loops_of_a_driver(device: dml.Device) -> None:
    """Many lines, each with more elements than the iterations that Mesa's CPU driver allows an invocation."""
    x = np.ones((300, 70001), np.int32)
    found = harness.run(device, describe(False, like(x), 1), {"InputTensor": x})["OutputTensor"]
    assert np.array_equal(found[7], np.arange(1, 70002))
    assert np.array_equal(found[:, -1], np.full(300, 70001))


def test_special_values(device: dml.Device) -> None:
    inf, nan = np.inf, np.nan
    x = np.array([[1, inf, 2, 3], [1, nan, 2, 3], [1, -inf, inf, 3], [3e38, 3e38, -3e38, -3e38]], np.float32)
    found = harness.run(device, describe(False, like(x), 1), {"InputTensor": x})["OutputTensor"]
    with np.errstate(all="ignore"):
        assert_exact(found, np.cumsum(x, 1, dtype=np.float32))


PAGE = np.array([[[[2, 1, 3, 5], [3, 8, 7, 3], [9, 6, 2, 4]]]], np.float32)
EXAMPLES = [
    (False, 3, UP, False, [[2, 3, 6, 11], [3, 11, 18, 21], [9, 15, 17, 21]]),
    (False, 3, UP, True, [[0, 2, 3, 6], [0, 3, 11, 18], [0, 9, 15, 17]]),
    (False, 3, DOWN, False, [[11, 9, 8, 5], [21, 18, 10, 3], [21, 12, 6, 4]]),
    (False, 2, UP, False, [[2, 1, 3, 5], [5, 9, 10, 8], [14, 15, 12, 12]]),
    (True, 3, UP, False, [[2, 2, 6, 30], [3, 24, 168, 504], [9, 54, 108, 432]]),
    (True, 3, UP, True, [[1, 2, 2, 6], [1, 3, 24, 168], [1, 9, 54, 108]]),
    (True, 3, DOWN, False, [[30, 15, 15, 5], [504, 168, 21, 3], [432, 48, 8, 4]]),
    (True, 2, UP, False, [[2, 1, 3, 5], [6, 8, 21, 15], [54, 48, 42, 60]]),
]


@pytest.mark.parametrize("product, axis, direction, exclusive, expected", EXAMPLES)
def test_page_examples(
    device: dml.Device, product: bool, axis: int, direction: Any, exclusive: bool, expected: list[list[float]]
) -> None:
    desc = describe(product, like(PAGE), axis, direction, exclusive)
    assert_exact(harness.run(device, desc, {"InputTensor": PAGE})["OutputTensor"], np.array([[expected]], np.float32))
