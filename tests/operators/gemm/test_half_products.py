"""Products of FLOAT16 where DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION allows sums of a few in FLOAT16."""

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
from harness import assert_sums

ALLOW, NONE = dml.DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION, dml.DML_EXECUTION_FLAG_NONE


@pytest.fixture
def without_units(seen_as: Callable[..., dml.Device]) -> dml.Device:
    """A GPU with arithmetic in FLOAT16 and without matrix units."""
    features = seen_as("discrete").vulkan.target.features
    if not features.float16:
        pytest.skip("the device does not compute in FLOAT16")
    return seen_as("discrete", features=features.without("cooperative_matrix"))


def half_steps(program: Program) -> list[str]:
    return [
        dict(dispatch.source.defines)["HALF_STEPS"]
        for dispatch in program.dispatches
        if dispatch.label == "gemm/shared.comp"
    ]


def assert_half_sums(result: Any, expected: Any, terms: Any, k: int) -> None:
    """Fail where a sum is off by more than eight steps of FLOAT16 make it, as selection.product_tiles says.

    A step may cut off 2^-10 of a sum of at most its eight terms' magnitudes, or what is below 2^-14. The sums of eights
    are added in float32, and the result is rounded to FLOAT16.
    """
    allowed = 8 * 2.0**-10 * terms + k * 2.0**-14 + 2.0**-11 * abs(expected) + 2.0**-25
    error = abs(result.astype(np.float64) - expected)
    assert (error <= allowed).all(), (error - allowed).max()


#: m, k, n; whether a and b are transposed; with C.
CASES = {
    "whole tiles": ((64, 64, 128), (0, 0), False),
    "of columns": ((70, 100, 72), (1, 0), False),
    "of rows": ((70, 100, 72), (0, 1), True),
    "turned": ((40, 24, 40), (1, 1), False),
    "odd": ((33, 301, 35), (0, 0), True),
    "parts of k": ((32, 1100, 32), (0, 1), True),
}


@pytest.mark.parametrize("name", CASES)
def test_sums_of_eight_in_half(without_units: dml.Device, name: str) -> None:
    device = without_units
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
    "tile", [*(tile for tile, _ in gemm._HALF_TILES), *gemm._SLOWER_TILES], ids=lambda tile: f"{tile.tile} {tile.slab}"
)
def test_each_tile(without_units: dml.Device, tile: SharedProduct, monkeypatch: pytest.MonkeyPatch) -> None:
    if not fits(without_units.vulkan.target, tile):
        pytest.skip("the device's workgroups do not hold it")
    monkeypatch.setattr(gemm, "_HALF_TILES", ((tile, 1),))
    (m, n), k = tile.tile, 50
    a, b, _, inputs = make("FLOAT16", (1, 1), m + 3, k, n + 4)
    operator = without_units.create_operator(describe(a, b, (1, 1, m + 3, n + 4)))
    compiled = without_units.compile_operator(operator, ALLOW)
    assert half_steps(compiled.program) == ["8"]
    assert_half_sums(compiled.dispatch(inputs)["OutputTensor"], *product(a, b, 0, 0), k)


def test_a_long_sum_loses_nothing(without_units: dml.Device) -> None:
    """4096 ones, which FLOAT16 alone adds up to 2048: sums of eight are exact, and go on in float32."""
    ones = np.ones((1, 1, 32, 4096), np.float16)
    operator = without_units.create_operator(describe(ones, ones, (1, 1, 32, 32), 0, 1))
    compiled = without_units.compile_operator(operator, ALLOW)
    result = compiled.dispatch({"ATensor": ones, "BTensor": ones})["OutputTensor"]
    np.testing.assert_array_equal(result, np.float16(4096))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_number_stays_in_its_row(without_units: dml.Device, value: float) -> None:
    a, b, _, inputs = make("FLOAT16", (1, 1), 40, 37, 40)
    a[0, 0, 3, 36] = value
    operator = without_units.create_operator(describe(a, b, (1, 1, 40, 40)))
    result = without_units.compile_operator(operator, ALLOW).dispatch(inputs)["OutputTensor"]
    assert not np.isfinite(result[0, 0, 3]).any()
    result[0, 0, 3] = 0
    assert np.isfinite(result).all()


def test_other_types_and_devices_keep_their_kernels(seen_as: Callable[..., dml.Device]) -> None:
    """Without the flag, without the feature, of FLOAT32, and on CPUs."""

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
