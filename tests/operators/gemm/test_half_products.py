"""Products of FLOAT16 with partial sums in FLOAT16, which DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION
allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gemm_cases import describe, make, product

import dml
from dml.compiler.lowering import compile_operator
from dml.compiler.program import Program
from dml.compiler.selection import gemm
from dml.compiler.selection.gemm import SharedProduct
from dml.compiler.selection.product_tiles import fits
from harness import assert_half_sums, assert_sums

ALLOW, NONE = dml.DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION, dml.DML_EXECUTION_FLAG_NONE


def half_steps(program: Program) -> list[str]:
    return [
        dict(dispatch.source.defines)["HALF_STEPS"]
        for dispatch in program.dispatches
        if dispatch.label == "gemm/shared.comp"
    ]


#: m, k, n; whether a and b are transposed; whether there is a C.
CASES = {
    "whole tiles": ((64, 64, 128), (0, 0), False),
    "of columns": ((70, 100, 72), (1, 0), False),
    "of rows": ((70, 100, 72), (0, 1), True),
    "turned": ((40, 24, 40), (1, 1), False),
    "odd": ((33, 301, 35), (0, 0), True),
    "parts of k": ((32, 1100, 32), (0, 1), True),
}


@pytest.mark.parametrize("name", CASES)
def test_sums_of_eight_in_half(computes_in_halves: dml.Device, name: str) -> None:
    device = computes_in_halves
    (m, k, n), (ta, tb), with_c = CASES[name]
    a, b, c, inputs = make("FLOAT16", (2, 2), m, k, n, ta, tb, with_c)
    desc = describe(a, b, (2, 2, m, n), ta, tb, c, alpha=0.5, beta=-2.0 if with_c else 0.0)
    operator = device.create_operator(desc)
    plain, allowed = (device.compile_operator(operator, flags) for flags in (NONE, ALLOW))
    assert set(half_steps(plain.program)) == {"0"}
    assert set(half_steps(allowed.program)) == {"8"}
    expected, terms = product(a, b, ta, tb, 0.5, c, -2.0)
    without, result = (compiled.dispatch(inputs)["OutputTensor"] for compiled in (plain, allowed))
    assert_sums(without, expected, terms, k)
    assert_half_sums(result, expected, terms, k)
    assert (result != without).any()


@pytest.mark.parametrize(
    "tile",
    [*(tile for tile, _ in (*gemm._HALF_TILES, *gemm._TILES_OF_FEW_REGISTERS[-1:])), *gemm._SLOWER_TILES],
    ids=lambda tile: f"{tile.tile} {tile.tile_k}",
)
def test_each_tile(computes_in_halves: dml.Device, tile: SharedProduct, monkeypatch: pytest.MonkeyPatch) -> None:
    if not fits(computes_in_halves.vulkan.target, tile):
        pytest.skip("the device's workgroups do not hold it")
    monkeypatch.setattr(gemm, "_HALF_TILES", ((tile, 1),))
    (m, n), k = tile.tile, 50
    a, b, _, inputs = make("FLOAT16", (1, 1), m + 3, k, n + 4)
    operator = computes_in_halves.create_operator(describe(a, b, (1, 1, m + 3, n + 4)))
    compiled = computes_in_halves.compile_operator(operator, ALLOW)
    assert half_steps(compiled.program) == ["8"]
    assert_half_sums(compiled.dispatch(inputs)["OutputTensor"], *product(a, b, 0, 0), k)


def test_a_long_sum_loses_nothing(computes_in_halves: dml.Device) -> None:
    """Purely in FLOAT16, a sum of 4096 ones stops at 2048. The kernel adds eight terms in FLOAT16, then those sums in
    float32."""
    ones = np.ones((1, 1, 32, 4096), np.float16)
    operator = computes_in_halves.create_operator(describe(ones, ones, (1, 1, 32, 32), 0, 1))
    compiled = computes_in_halves.compile_operator(operator, ALLOW)
    result = compiled.dispatch({"ATensor": ones, "BTensor": ones})["OutputTensor"]
    np.testing.assert_array_equal(result, np.float16(4096))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nan_and_infinity_stay_in_their_row(computes_in_halves: dml.Device, value: float) -> None:
    a, b, _, inputs = make("FLOAT16", (1, 1), 40, 37, 40)
    a[0, 0, 3, 36] = value
    operator = computes_in_halves.create_operator(describe(a, b, (1, 1, 40, 40)))
    result = computes_in_halves.compile_operator(operator, ALLOW).dispatch(inputs)["OutputTensor"]
    assert not np.isfinite(result[0, 0, 3]).any()
    result[0, 0, 3] = 0
    assert np.isfinite(result).all()


def test_other_types_and_devices_keep_their_kernels(seen_as: Callable[..., dml.Device]) -> None:
    """Kernels stay the same without the flag, without the feature, with FLOAT32, and on CPUs."""

    def same(target: Any, dtype: str) -> bool:
        a, b, _, _ = make(dtype, (1, 1), 64, 64, 64)
        desc = describe(a, b, (1, 1, 64, 64))
        return compile_operator(desc, target.under(NONE)) == compile_operator(desc, target.under(ALLOW))

    discrete = seen_as("discrete").vulkan.target
    lacking = seen_as("discrete", features=discrete.features.without("float16", "cooperative_matrix")).vulkan.target
    plain = seen_as("plain").vulkan.target
    assert same(discrete, "FLOAT32")
    assert same(lacking, "FLOAT16")
    assert not plain.is_cpu or same(plain, "FLOAT16")
