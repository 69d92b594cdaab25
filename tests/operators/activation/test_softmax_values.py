"""SOFTMAX, LOG_SOFTMAX, HARDMAX and their forms with axes, against float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import dml
import harness
from dml.conformance.references import softmax
from harness import LAYOUTS, Array, assert_exact, assert_ulp, like, tensor

PLAIN = {
    "SOFTMAX": dml.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC,
    "LOG_SOFTMAX": dml.DML_ACTIVATION_LOG_SOFTMAX_OPERATOR_DESC,
    "HARDMAX": dml.DML_ACTIVATION_HARDMAX_OPERATOR_DESC,
}
WITH_AXES = {
    "SOFTMAX": dml.DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC,
    "LOG_SOFTMAX": dml.DML_ACTIVATION_LOG_SOFTMAX1_OPERATOR_DESC,
    "HARDMAX": dml.DML_ACTIVATION_HARDMAX1_OPERATOR_DESC,
}


REFERENCES = {"SOFTMAX": softmax.softmax, "LOG_SOFTMAX": softmax.log_softmax, "HARDMAX": softmax.hardmax}


def reference(kind: str, x: Array, axes: Sequence[int]) -> Array:
    with np.errstate(invalid="ignore"):
        return REFERENCES[kind](x.astype(np.float64), axes)


def assert_close(kind: str, found: Array, x: Array, axes: Sequence[int]) -> None:
    expected = reference(kind, x, axes)
    if kind == "HARDMAX":
        assert_exact(found, expected.astype(found.dtype))
    elif kind == "LOG_SOFTMAX":
        # A result is a difference of numbers up to several tens: its error is relative to these, not to its own small
        # value.
        spacing = np.spacing(np.max(np.abs(x)).astype(np.float32))
        rounding = np.abs(expected) * np.finfo(found.dtype).eps
        assert found.dtype == x.dtype
        assert np.all(np.abs(found.astype(np.float64) - expected) <= 4 * spacing + rounding)
    else:
        most = 1 if x.dtype == np.float16 else 24
        assert_ulp(found, expected, most, "x - max rounds to half an ulp of up to 16, which is as much again in e^x")


def describe(kind: str, x: dml.DML_BUFFER_TENSOR_DESC, axes: Sequence[int] | None, layout: str = "packed") -> Any:
    output = tensor(x.DataType, x.Sizes, layout)
    if axes is None:
        return PLAIN[kind](InputTensor=x, OutputTensor=output)
    return WITH_AXES[kind](InputTensor=x, OutputTensor=output, Axes=axes)


@pytest.mark.parametrize("kind", PLAIN)
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("sizes", [(5,), (1, 1, 9, 64), (1, 1, 1, 7, 33), (1,) * 7 + (40,)])
def test_rows(device: dml.Device, kind: str, dtype: str, sizes: tuple[int, ...]) -> None:
    x = harness.random(np.random.default_rng(1), dtype, sizes, -6, 6)
    found = harness.run(device, describe(kind, like(x), None), {"InputTensor": x})["OutputTensor"]
    assert_close(kind, found, x, (len(sizes) - 1,))


@pytest.mark.parametrize("kind", WITH_AXES)
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
def test_every_dimension_count(device: dml.Device, kind: str, dtype: str) -> None:
    for rank in range(1, 9):
        x = harness.random(np.random.default_rng(rank), dtype, (2, 1, 2, 2, 1, 3, 2, 4)[-rank:], -6, 6)
        found = harness.run(device, describe(kind, like(x), (rank // 2,)), {"InputTensor": x})["OutputTensor"]
        assert_close(kind, found, x, (rank // 2,))
        row = x.reshape(*(1,) * (rank - 1), -1)
        found = harness.run(device, describe(kind, like(row), None), {"InputTensor": row})["OutputTensor"]
        assert_close(kind, found, row, (rank - 1,))


@pytest.mark.parametrize("kind", WITH_AXES)
@pytest.mark.parametrize("axes", [(0,), (1,), (2, 0), (3, 1), (0, 1, 2, 3)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_axes_and_layouts(device: dml.Device, kind: str, axes: tuple[int, ...], layout: str) -> None:
    x = harness.random(np.random.default_rng(2), "FLOAT32", (3, 4, 5, 8), -8, 8)
    found = harness.run(device, describe(kind, like(x, layout), axes, layout), {"InputTensor": x})["OutputTensor"]
    assert_close(kind, found, x, axes)


@pytest.mark.parametrize("kind", ["SOFTMAX", "LOG_SOFTMAX"])
@pytest.mark.parametrize(
    "sizes, axes",
    [
        ((3, 4096), (1,)),
        ((40, 127), (1,)),
        ((131, 1004), (1,)),  # vectors
        ((513, 1024), (1,)),  # two vectors at a time
        ((4, 48, 197), (2,)),  # rows that begin and end within vectors
        ((12000, 3), (1,)),
        ((40004, 1), (1,)),
        ((4, 8191), (1,)),
        ((331, 105), (1,)),  # no whole last vector
        ((1, 70000), (1,)),
        ((3000, 16), (0,)),
    ],
)
def test_lengths(each_kind: dml.Device, kind: str, sizes: tuple[int, ...], axes: tuple[int, ...]) -> None:
    """Lengths for one dispatch and for several, with the kernels for CPU drivers and for GPUs."""
    x = harness.random(np.random.default_rng(3), "FLOAT32", sizes, -8, 8)
    found = harness.run(each_kind, describe(kind, like(x), axes), {"InputTensor": x})["OutputTensor"]
    assert_close(kind, found, x, axes)


def test_rows_beyond_the_loops_of_a_driver(device: dml.Device) -> None:
    """Many rows, each with more elements than the iterations that Mesa's CPU driver allows an invocation."""
    x = np.zeros((70, 30001), np.float32)
    x[:, -1] = 1
    found = harness.run(device, describe("SOFTMAX", like(x), (1,)), {"InputTensor": x})["OutputTensor"]
    assert_ulp(found[3], reference("SOFTMAX", x[3], (0,)), 16, "sums of equal terms round equally")


def test_rows_are_independent(device: dml.Device) -> None:
    """A NaN, an infinity or a row of -infinity makes its own row NaN and no other, even where rows share vectors."""
    x = harness.random(np.random.default_rng(5), "FLOAT32", (400, 98), -8, 8)
    x[::7, 0], x[3::7, 97], x[5::7, 50], x[6::7] = np.nan, np.inf, -np.inf, -np.inf
    x[2::7, 97] = 1e30
    for kind in ("SOFTMAX", "LOG_SOFTMAX"):
        found = harness.run(device, describe(kind, like(x), (1,)), {"InputTensor": x})["OutputTensor"]
        expected = reference(kind, x, (1,))
        assert (np.isnan(found) == np.isnan(expected)).all()
        plain = np.isin(np.arange(400) % 7, (1, 4))
        assert_close(kind, found[plain], x[plain], (1,))


def test_float16_with_lanes(each_kind: dml.Device) -> None:
    x = harness.random(np.random.default_rng(4), "FLOAT16", (6, 512), -8, 8)
    found = harness.run(each_kind, describe("SOFTMAX", like(x), (1,)), {"InputTensor": x})["OutputTensor"]
    assert_close("SOFTMAX", found, x, (1,))


def test_large_and_special_values(device: dml.Device) -> None:
    nan, inf = np.nan, np.inf
    x = np.array([[1e30, 1e30, 0, -1e30], [-1e38, -1e38, -1e38, -3e38], [nan, 1, 2, 3], [inf, 1, 2, 3],
                  [-inf, 0, 0, 0], [-inf, -inf, -inf, -inf]], np.float32)  # fmt: skip
    for axes in (None, (1,)):
        found = harness.run(device, describe("SOFTMAX", like(x), axes), {"InputTensor": x})["OutputTensor"]
        assert_ulp(found, reference("SOFTMAX", x, (1,)), 2, "equal terms")
    found = harness.run(device, describe("LOG_SOFTMAX", like(x), None), {"InputTensor": x})["OutputTensor"]
    assert_ulp(found, reference("LOG_SOFTMAX", x, (1,)), 2, "equal terms")
    found = harness.run(device, describe("HARDMAX", like(x), None), {"InputTensor": x})["OutputTensor"]
    assert_exact(found, reference("HARDMAX", x, (1,)).astype(np.float32))


@pytest.mark.parametrize("kind", ["SOFTMAX", "LOG_SOFTMAX"])
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
def test_columns_are_independent(each_kind: dml.Device, kind: str, dtype: str) -> None:
    """Columns take several dispatches; a NaN of either sign, an infinity or a column of -infinity makes its own NaN."""
    x = harness.random(np.random.default_rng(6), dtype, (40, 70), -8, 8)
    x[0, ::7], x[3, 1::7], x[39, 2::7], x[20, 3::7], x[:, 4::7] = np.nan, -np.float32(np.nan), np.inf, -np.inf, -np.inf
    found = harness.run(each_kind, describe(kind, like(x), (0,)), {"InputTensor": x})["OutputTensor"]
    expected = reference(kind, x, (0,))
    assert (np.isnan(found) == np.isnan(expected)).all()
    assert (np.isneginf(found) == np.isneginf(expected)).all()
    plain = np.arange(70) % 7 > 4
    assert_close(kind, found[:, plain], x[:, plain], (0,))
    assert np.array_equal(found[20, 3::7], expected[20, 3::7].astype(found.dtype))


PAGE = np.array([[[12, 0], [-101, 11]], [[3, 234], [0, -101]]], np.float32)
EXAMPLES = [
    ((1,), [[[1, 0], [0, 1]], [[1, 1], [0, 0]]]),
    ((0,), [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]),
    ((0, 2), [[[0, 0], [0, 1]], [[0, 1], [0, 0]]]),
]


@pytest.mark.parametrize("axes, expected", EXAMPLES)
def test_page_examples_of_hardmax1(device: dml.Device, axes: tuple[int, ...], expected: list[list[list[int]]]) -> None:
    found = harness.run(device, describe("HARDMAX", like(PAGE), axes), {"InputTensor": PAGE})["OutputTensor"]
    assert_exact(found, np.array(expected, np.float32))
