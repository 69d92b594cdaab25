"""Means and variances of rows are accurate, regardless of which element comes first.

Kernels subtract a shift found from the row's first elements before they sum. Here the first elements are outliers, or
each of six elements in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import dml
from dml.conformance.references import normalization as reference
from harness import Array, assert_ulp, like, run, tensor

_RNG = np.random.default_rng(21)
#: Generators of the six elements of a row, by kind.
SIXES: dict[str, Callable[[], Array]] = {
    "small": lambda: _RNG.normal(0, 1, 6),
    "around an offset": lambda: _RNG.normal(10.0 ** _RNG.uniform(0, 6), 1, 6),
    "one outlier": lambda: np.append(_RNG.normal(0, 1, 5), 10.0 ** _RNG.uniform(0, 7)),
    "two outliers": lambda: np.append(_RNG.normal(0, 1, 4), (1e4, -2e4)),
    "of many magnitudes": lambda: _RNG.normal(0, 1, 6) * 10.0 ** _RNG.uniform(-6, 6, 6),
}


def moments(device: dml.Device, rows: Array) -> tuple[Array, Array]:
    """Return (means, variances) of the rows, from batch normalization training."""
    count, length = rows.shape
    x, one = rows.reshape(1, count, 1, length), np.zeros((1, count, 1, 1), np.float32)
    desc = dml.DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC(
        InputTensor=like(x), ScaleTensor=like(one), BiasTensor=like(one), OutputTensor=like(x),
        OutputMeanTensor=tensor("FLOAT32", one.shape), OutputVarianceTensor=tensor("FLOAT32", one.shape), Epsilon=1e-5,
    )  # fmt: skip
    compiled = device.compile_operator(device.create_operator(desc))
    assert len(compiled.program.dispatches) == 1  # the kernel for rows, not successive reductions
    results = compiled.dispatch({"InputTensor": x, "ScaleTensor": one, "BiasTensor": one})
    return results["OutputMeanTensor"].reshape(-1), results["OutputVarianceTensor"].reshape(-1)


def check(means: Array, variances: Array, rows: Array, most: float) -> None:
    """Assert that means are within ``most`` ulps of the row's mean magnitude, and variances within ``most`` ulps."""
    exact = rows.astype(np.float64)
    unit = np.spacing(np.abs(exact).mean(1).astype(np.float32))
    worst = np.max(np.abs(means - exact.mean(1)) / unit)
    assert worst <= most, f"{worst} units of the terms' magnitude, allowed {most}"
    assert_ulp(variances, exact.var(1), most, "long sums whose terms partly cancel")


@pytest.mark.parametrize("elements", list(SIXES))
def test_six_in_every_order(each_kind: dml.Device, elements: str) -> None:
    for _ in range(4):
        rows = np.array(list(permutations(SIXES[elements]())), np.float32)
        check(*moments(each_kind, rows), rows, 6)


@pytest.mark.parametrize("length", [12, 33, 64, 100, 256])
def test_outliers_at_any_place(each_kind: dml.Device, length: int) -> None:
    rows = np.random.default_rng(22).normal(3, 1, (length, length)).astype(np.float32)
    rows[np.arange(length), np.arange(length)] = 1e4
    rows[::3, :3] = -1e5
    check(*moments(each_kind, rows), rows, 12)  # up to 32 successive additions


def test_an_outlier_first(device: Any) -> None:
    """The first element, from which the kernel takes its shift, is far from all others."""
    x = np.random.default_rng(14).normal(0, 1, (4, 4096)).astype(np.float32)
    x[:, 0] = 1000
    desc = dml.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC(
        InputTensor=like(x), OutputTensor=like(x), Axes=(1,), NormalizeVariance=True, Epsilon=1e-5
    )
    result = run(device, desc, {"InputTensor": x})["OutputTensor"]
    np.testing.assert_allclose(result, reference.mean_variance(x, (1,)), rtol=2e-5, atol=1e-6)
