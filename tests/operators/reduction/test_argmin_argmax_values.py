"""ARGMIN, ARGMAX and their forms in REDUCE: exact indices, ties by direction; NaN wins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import dml
import harness
from dml.conformance.references.reduction import arg
from harness import LAYOUTS, assert_exact, like, tensor

UP, DOWN = dml.DML_AXIS_DIRECTION_INCREASING, dml.DML_AXIS_DIRECTION_DECREASING
OPERATORS = {True: dml.DML_ARGMAX_OPERATOR_DESC, False: dml.DML_ARGMIN_OPERATOR_DESC}


def describe(
    largest: bool, x: dml.DML_BUFFER_TENSOR_DESC, axes: Sequence[int], direction: Any = UP, dtype: str = "UINT32"
) -> Any:
    sizes = [1 if d in axes else size for d, size in enumerate(x.Sizes)]
    output = tensor(dtype, sizes)
    return OPERATORS[largest](InputTensor=x, OutputTensor=output, Axes=axes, AxisDirection=direction)


TYPES = ["FLOAT32", "FLOAT16", "INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32", "UINT16", "UINT8"]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("largest, direction", [(True, UP), (True, DOWN), (False, UP), (False, DOWN)])
def test_types_and_ties(device: dml.Device, dtype: str, largest: bool, direction: Any) -> None:
    kind = dml.numpy_dtype(harness.data_type(dtype))
    x = harness.random(np.random.default_rng(1), dtype, (4, 6, 64), -3, 3)
    x = np.round(x.astype(np.float32)).astype(kind)  # many ties
    if dtype.endswith("64"):
        x *= np.asarray(1 << 40, kind)  # the elements differ only in their high words
    for axes in ((2,), (0, 2)):
        found = harness.run(device, describe(largest, like(x), axes, direction), {"InputTensor": x})["OutputTensor"]
        assert_exact(found, arg(largest, x, axes, direction == DOWN).astype(np.uint32))


@pytest.mark.parametrize("dtype", ["UINT32", "INT32", "UINT64", "INT64"])
def test_index_types(device: dml.Device, dtype: str) -> None:
    x = harness.random(np.random.default_rng(2), "FLOAT32", (3, 40))
    found = harness.run(device, describe(True, like(x), (1,), UP, dtype), {"InputTensor": x})["OutputTensor"]
    assert_exact(found, arg(True, x, (1,)).astype(dml.numpy_dtype(harness.data_type(dtype))))


@pytest.mark.parametrize("layout", [*LAYOUTS, "broadcast"])
@pytest.mark.parametrize("axes", [(1,), (2, 0), (0, 1, 2)])
def test_layouts(device: dml.Device, layout: str, axes: tuple[int, ...]) -> None:
    """Indices follow the order of the tensor's dimensions, regardless of the order of the axes or of memory."""
    x = harness.random(np.random.default_rng(3), "FLOAT32", (4, 3, 8))
    if layout == "broadcast":
        x[:] = x[0]
    found = harness.run(device, describe(False, like(x, layout), axes), {"InputTensor": x})["OutputTensor"]
    assert_exact(found, arg(False, x, axes).astype(np.uint32))


@pytest.mark.parametrize("sizes, axes", [((50000,), (0,)), ((6, 5000), (1,)), ((5000, 12), (0,)), ((3, 1 << 15), (1,))])
@pytest.mark.parametrize("dtype", ["FLOAT32", "INT64"])
def test_lengths(each_kind: dml.Device, sizes: tuple[int, ...], axes: tuple[int, ...], dtype: str) -> None:
    x = harness.random(np.random.default_rng(4), dtype, sizes, -1000, 1000)
    for direction in (UP, DOWN):
        desc = describe(True, like(x), axes, direction)
        found = harness.run(each_kind, desc, {"InputTensor": x})["OutputTensor"]
        assert_exact(found, arg(True, x, axes, direction == DOWN).astype(np.uint32))


def test_special_values(device: dml.Device) -> None:
    nan, inf = np.nan, np.inf
    x = np.array([[0, -0.0, 0, -0.0], [1, nan, inf, nan], [-inf, 2, nan, inf], [inf, inf, -inf, -inf]], np.float32)
    for largest, direction in ((True, UP), (True, DOWN), (False, UP), (False, DOWN)):
        found = harness.run(device, describe(largest, like(x), (1,), direction), {"InputTensor": x})["OutputTensor"]
        assert_exact(found, arg(largest, x, (1,), direction == DOWN).astype(np.uint32))


PAGE = np.array([[1, 2, 3], [3, 0, 4], [2, 5, 2]], np.float32)
EXAMPLES = [
    (False, (0,), [[0, 1, 2]]),
    (False, (1,), [[0], [1], [0]]),
    (False, (0, 1), [[4]]),
    (True, (0,), [[1, 2, 1]]),
    (True, (1,), [[2], [2], [1]]),
    (True, (0, 1), [[7]]),
]


@pytest.mark.parametrize("largest, axes, expected", EXAMPLES)
def test_page_examples(device: dml.Device, largest: bool, axes: tuple[int, ...], expected: list[list[int]]) -> None:
    found = harness.run(device, describe(largest, like(PAGE), axes), {"InputTensor": PAGE})["OutputTensor"]
    assert_exact(found, np.array(expected, np.uint32))


def test_page_ties(device: dml.Device) -> None:
    for largest, x in ((False, [1, 2, 3, 2, 1]), (True, [3, 2, 1, 2, 3])):
        array = np.array(x, np.float32)
        for direction, expected in ((UP, 0), (DOWN, 4)):
            found = harness.run(device, describe(largest, like(array), (0,), direction), {"InputTensor": array})
            assert found["OutputTensor"].tolist() == [expected]


@pytest.mark.parametrize("function", ["ARGMIN", "ARGMAX"])
def test_in_reduce(device: dml.Device, function: str) -> None:
    x = harness.random(np.random.default_rng(5), "INT16", (3, 5, 7), -2, 2)
    desc = dml.DML_REDUCE_OPERATOR_DESC(
        Function=dml.DML_REDUCE_FUNCTION[f"DML_REDUCE_FUNCTION_{function}"],
        InputTensor=like(x),
        OutputTensor=tensor("INT32", (3, 1, 1)),
        Axes=(1, 2),
    )
    found = harness.run(device, desc, {"InputTensor": x})["OutputTensor"]
    assert_exact(found, arg(function == "ARGMAX", x, (1, 2)).astype(np.int32))
