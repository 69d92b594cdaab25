"""Every data type with every rank, at small sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dml
import harness
from dml.conformance.references.reduction import arg
from harness import Array, assert_exact, like, tensor

UP, DOWN = dml.DML_AXIS_DIRECTION_INCREASING, dml.DML_AXIS_DIRECTION_DECREASING
SIZES = (2, 1, 2, 2, 1, 3, 2, 3)
WIDE = ["FLOAT32", "FLOAT16", "INT64", "INT32", "UINT64", "UINT32"]
ALL = [*WIDE, "INT16", "INT8", "UINT16", "UINT8"]


def small(dtype: str, rank: int) -> Array:
    """Return integers, which every type represents and sums exactly."""
    x = np.random.default_rng(rank).integers(0, 4, SIZES[-rank:])
    return x.astype(dml.numpy_dtype(harness.data_type(dtype)))


def reduce_max(device: dml.Device, x: Array) -> None:
    desc = dml.DML_REDUCE_OPERATOR_DESC(
        Function=dml.DML_REDUCE_FUNCTION_MAX,
        InputTensor=like(x),
        OutputTensor=tensor(like(x).DataType, (1, *x.shape[1:])),
        Axes=(0,),
    )
    assert_exact(harness.run(device, desc, {"InputTensor": x})["OutputTensor"], x.max(0, keepdims=True))


def argument(largest: bool) -> Callable[[dml.Device, Array], None]:
    operator = dml.DML_ARGMAX_OPERATOR_DESC if largest else dml.DML_ARGMIN_OPERATOR_DESC

    def check(device: dml.Device, x: Array) -> None:
        output = tensor("UINT32", (*x.shape[:-1], 1))
        desc = operator(InputTensor=like(x), OutputTensor=output, Axes=(x.ndim - 1,), AxisDirection=DOWN)
        found = harness.run(device, desc, {"InputTensor": x})["OutputTensor"]
        assert_exact(found, arg(largest, x, (x.ndim - 1,), last=True).astype(np.uint32))

    return check


def cumulative(product: bool) -> Callable[[dml.Device, Array], None]:
    def check(device: dml.Device, x: Array) -> None:
        common: dict[str, Any] = {"InputTensor": like(x), "OutputTensor": like(x), "Axis": 0, "AxisDirection": UP}
        desc = (
            dml.DML_CUMULATIVE_PRODUCT_OPERATOR_DESC(**common, HasExclusiveProduct=False)
            if product
            else dml.DML_CUMULATIVE_SUMMATION_OPERATOR_DESC(**common, HasExclusiveSum=False)
        )
        expected = (np.cumprod if product else np.cumsum)(x, 0, dtype=x.dtype)
        assert_exact(harness.run(device, desc, {"InputTensor": x})["OutputTensor"], expected)

    return check


def top_k(old: bool) -> Callable[[dml.Device, Array], None]:
    def check(device: dml.Device, x: Array) -> None:
        axis = x.ndim - 1
        sizes = (*x.shape[:-1], 2)
        common: dict[str, Any] = {
            "InputTensor": like(x),
            "OutputValueTensor": tensor(like(x).DataType, sizes),
            "OutputIndexTensor": tensor("UINT32", sizes),
            "Axis": axis,
            "K": 2,
        }
        if old:
            desc: Any = dml.DML_TOP_K_OPERATOR_DESC(**common)
            places = np.argsort(-x.astype(np.int64), -1, kind="stable")[..., :2]
        else:
            desc = dml.DML_TOP_K1_OPERATOR_DESC(**common, AxisDirection=UP)
            places = np.argsort(x, -1, kind="stable")[..., :2]
        found = harness.run(device, desc, {"InputTensor": x})
        assert_exact(found["OutputIndexTensor"], places.astype(np.uint32))
        assert_exact(found["OutputValueTensor"], np.take_along_axis(x, places, -1))

    return check


def nonzero(device: dml.Device, x: Array) -> None:
    leading = (1,) * max(0, x.ndim - 2)
    desc = dml.DML_NONZERO_COORDINATES_OPERATOR_DESC(
        InputTensor=like(x),
        OutputCountTensor=tensor("UINT32", (1,) * x.ndim),
        OutputCoordinatesTensor=tensor("UINT32", (*leading, x.size, x.ndim)),
    )
    found = harness.run(device, desc, {"InputTensor": x})
    expected = np.argwhere(x).astype(np.uint32)
    assert found["OutputCountTensor"].item() == len(expected)
    assert_exact(found["OutputCoordinatesTensor"].reshape(x.size, x.ndim)[: len(expected)], expected)


CHECKS: dict[str, tuple[list[str], Callable[[dml.Device, Array], None]]] = {
    "REDUCE": (ALL, reduce_max),
    "ARGMAX": (ALL, argument(True)),
    "ARGMIN": (ALL, argument(False)),
    "CUMULATIVE_SUMMATION": (WIDE, cumulative(False)),
    "CUMULATIVE_PRODUCT": (WIDE, cumulative(True)),
    "NONZERO_COORDINATES": ([t for t in ALL if not t.endswith("64")], nonzero),
    "TOP_K": (ALL, top_k(True)),
    "TOP_K1": (ALL, top_k(False)),
}


@pytest.mark.parametrize("operator, dtype", [(operator, t) for operator, (types, _) in CHECKS.items() for t in types])
def test_every_dimension_count(device: dml.Device, operator: str, dtype: str) -> None:
    for rank in range(1, 9):
        CHECKS[operator][1](device, small(dtype, rank))
