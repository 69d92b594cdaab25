"""The attention kernels for GPUs, at sizes that reach each of them and its edges, against float64 NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from attention_cases import Case, check, data, describe

import dml
from dml.compiler.lowering import compile_operator
from dml.compiler.program import Access
from dml.compiler.selection import attention
from dml.compiler.target import DeviceClass, Target
from harness import run

NAMES = ("tiles", "few", "few_lanes", "merge", "matrices", "in_registers")
TILES, FEW, LANES, MERGE, MATRICES, IN_REGISTERS = (f"attention/{name}.comp" for name in NAMES)


def labels(device: dml.Device, case: Case) -> list[str]:
    case = case.consistent
    program = compile_operator(describe(case, data(case)), device.vulkan.target)
    return [dispatch.label for dispatch in program.dispatches]


def reference_rows(inputs: dict[str, Any], scale: float, keys: slice = slice(None)) -> Any:
    """Return one head of the first batch element, computed from some of the keys in float64."""
    query, key, value = (inputs[f"{name}Tensor"][0].astype(np.float64) for name in ("Query", "Key", "Value"))
    scores = query @ key[keys].T * scale
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights @ value[keys] / weights.sum(1, keepdims=True)


def assert_runs(device: dml.Device, named: tuple[list[str], Case], data_type: str) -> None:
    """Assert that these kernels run and give correct results."""
    kernels, case = named
    case = replace(case, data_type=data_type)
    assert labels(device, case) == kernels
    check(device, case)


#: The kernels that run, and a case that reaches them. Sizes: batch, queries, new keys, past keys, head size, value head
#: size.
CASES = {
    "a tile, not filled": ([TILES], Case((1, 20, 30, 0, 20, 12), (1, 1))),
    "tiles of several keys": ([TILES], Case((2, 70, 100, 0, 40, 24), (2, 2), mask="BOOLEAN", relative=True)),
    "wide results": ([TILES], Case((1, 40, 70, 0, 16, 136), (1, 1), mask="KEY_SEQUENCE_END_START")),
    "parts of keys": ([TILES, MERGE], Case((1, 65, 300, 0, 8, 40), (1, 1), mask="KEY_SEQUENCE_LENGTH")),
    "heads that share": ([TILES], Case((1, 30, 50, 0, 36, 16), (6, 2), relative=True)),
    "not in vectors": ([TILES], Case((1, 20, 30, 0, 7, 5), (1, 1), layouts=("padded", "reversed"))),
    "few rows": ([FEW], Case((2, 1, 100, 0, 64, 32), (2, 2), mask="BOOLEAN")),
    "few rows in parts": ([FEW, MERGE], Case((1, 3, 700, 0, 24, 40), (4, 2), relative=True)),
    "few rows, wide": ([FEW], Case((1, 2, 40, 0, 256, 128), (1, 1))),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("data_type", ["FLOAT32", "FLOAT16"])
def test_what_a_gpu_gets(seen_as: Callable[..., dml.Device], name: str, data_type: str) -> None:
    """Test the kernels of a GPU that has neither matrix units nor subgroup operations."""
    features = seen_as("discrete").vulkan.target.features.without("cooperative_matrix", "subgroup_operations")
    device = seen_as("discrete", features=features)
    assert_runs(device, CASES[name], data_type)


#: Keys of at most 32 elements, each shared by eight lanes in FLOAT32.
LANES_CASES = {
    "masked": ([LANES], Case((2, 1, 100, 0, 32, 24), (2, 2), mask="BOOLEAN")),
    "several rows in parts": ([LANES, MERGE], Case((1, 3, 700, 0, 24, 32), (4, 2), relative=True)),
    "fewer keys than lanes": ([LANES], Case((1, 2, 3, 0, 8, 32), (3, 1))),
}


@pytest.mark.parametrize("wide", [1, 2], ids=["full", "not full"])
@pytest.mark.parametrize("name", LANES_CASES)
@pytest.mark.parametrize("data_type", ["FLOAT32", "FLOAT16"])
def test_lanes_of_a_subgroup(
    seen_as: Callable[..., dml.Device], monkeypatch: pytest.MonkeyPatch, name: str, data_type: str, wide: int
) -> None:
    """Subgroups have the assumed size, or are half full."""
    vulkan = seen_as("subgroups").vulkan
    if "shuffle" not in vulkan.target.features.subgroup_operations:
        pytest.skip("the device's subgroups do not shuffle")
    if wide * vulkan.target.subgroup_size < 8:
        pytest.skip("the lanes of a key are more than a subgroup")
    monkeypatch.setattr(attention, "shuffled", lambda target: wide * target.subgroup_size)
    device = dml.Device(vulkan, dml.DML_FEATURE_LEVEL_6_4)
    assert_runs(device, LANES_CASES[name], data_type)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_lanes_keep_nan_in_its_row(seen_as: Callable[..., dml.Device], value: float) -> None:
    device = seen_as("subgroups")
    case = Case((2, 1, 300, 0, 8, 8), (1, 1)).consistent
    inputs = data(case)
    inputs["QueryTensor"][1, 0] = value
    result = run(device, describe(case, inputs), inputs)["OutputTensor"]
    assert np.isnan(result[1]).all()
    assert np.isfinite(result[0]).all()


@pytest.mark.parametrize("queries", [2, 40])
def test_minimum_memory_of_vulkan(seen_as: Callable[..., dml.Device], queries: int) -> None:
    """The minimum device has 16 KiB of shared memory, 128 invocations and four storage buffers."""
    smallest = seen_as("minimum", device_class=DeviceClass.DISCRETE)
    check(smallest, Case((1, queries, 70, 0, 40, 136), (2, 2)))


@pytest.mark.parametrize("mask, keys", [("NONE", 80), ("BOOLEAN", 81), ("KEY_SEQUENCE_LENGTH", 82),
                                        ("KEY_SEQUENCE_END_START", 700), ("NONE", 1)])  # fmt: skip
def test_wide_results_go_through_memory(as_discrete: dml.Device, mask: str, keys: int) -> None:
    """Results too wide for registers take two matrix products with a softmax kernel between them."""
    case = Case((2, 70, keys, 0, 16, 600), (2, 2), mask=mask)
    assert "attention/softmax.comp" in labels(as_discrete, case)
    check(as_discrete, case)


@pytest.mark.parametrize(
    "keys, mask, kernels",
    [
        (2048, None, ["activation/softmax.comp"]),
        (2047, None, ["attention/softmax.comp", "activation/softmax.comp"]),
        (2048, "BOOLEAN", ["attention/softmax.comp", "activation/softmax.comp"]),
    ],
)
def test_cpu_drivers_never_read_the_scores_that_a_kernel_writes(
    keys: int, mask: str | None, kernels: list[str]
) -> None:
    """They read such memory one invocation at a time. Rows of whole vectors without a mask need no masking."""
    case = Case((1, 464, keys, 0, 64, 64), (2, 2), mask=mask or "NONE").consistent
    program = compile_operator(describe(case, data(case)), Target(DeviceClass.CPU))
    between = program.dispatches[1:-1]
    assert [dispatch.label for dispatch in between] == kernels
    for dispatch in between:
        assert {one.access for one in dispatch.bindings} == {Access.READ, Access.WRITE}
        read, written = (
            [one.region for one in dispatch.bindings if one.access is way] for way in (Access.READ, Access.WRITE)
        )
        assert not any(one.overlaps(other) for one in read for other in written)


@pytest.mark.parametrize("each, workgroups", [(1, 4), (4, 4), (8, 8)])
def test_heads_of_one_query_share_what_they_read_on_cpu_drivers(each: int, workgroups: int) -> None:
    """Two key heads of 128 columns. Four lanes of a workgroup compute 16 columns each, or 8 if eight query heads share
    a key head; a value is read once for these query heads."""
    case = Case((1, 1, 1, 2047, 128, 128), (2 * each, 2), in_place=True, data_type="FLOAT16").consistent
    program = compile_operator(describe(case, data(case)), Target(DeviceClass.CPU))
    assert program.dispatches[-1].label == "gemm/tiled.comp"
    assert math.prod(program.dispatches[-1].groups) == workgroups


@pytest.mark.parametrize("queries", [1, 40])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rows_with_nan_are_independent(as_discrete: dml.Device, queries: int, value: float) -> None:
    """A score that is NaN or infinite makes its row NaN; other rows are unaffected."""
    case = Case((2, queries, 300, 0, 8, 8), (1, 1)).consistent
    inputs = data(case)
    inputs["QueryTensor"][1, queries - 1] = value
    result = run(as_discrete, describe(case, inputs), inputs)["OutputTensor"]
    assert np.isnan(result[1, queries - 1]).all()
    result[1, queries - 1] = 0
    assert np.isfinite(result).all()


@pytest.mark.parametrize("queries", [1, 40])
def test_keys_filtered_by_minus_infinity(as_discrete: dml.Device, queries: int) -> None:
    """All scores of the first tiles are -infinity; only later keys have weights above zero."""
    case = Case((1, queries, 400, 0, 8, 8), (1, 1), mask="KEY_SEQUENCE_END_START", filter_value=-np.inf).consistent
    inputs = data(case)
    inputs["MaskTensor"][:] = [[390], [350]]
    result = run(as_discrete, describe(case, inputs), inputs)["OutputTensor"].astype(np.float64)
    expected = reference_rows(inputs, 8**-0.5, slice(350, 390))
    np.testing.assert_allclose(result[0], expected, 1e-5, 1e-5)  # tolerance of attention_cases.check


MATRIX_CASES = {
    "whole tiles": ([MATRICES], Case((1, 64, 64, 0, 16, 16), (1, 1))),
    "edges": ([MATRICES], Case((2, 70, 100, 0, 40, 24), (4, 2), mask="KEY_SEQUENCE_LENGTH")),
    "every mask": ([MATRICES], Case((1, 33, 65, 0, 24, 8), (2, 2), mask="BOOLEAN", relative=True)),
    "parts of keys": ([MATRICES, MERGE], Case((1, 70, 300, 0, 128, 64), (1, 1))),
    "stacked": ([MATRICES], Case((2, 40, 40, 0, 32, 32), (2, 2), source="query key value")),
}


@pytest.mark.parametrize("name", MATRIX_CASES)
def test_on_matrix_units(on_matrices: dml.Device, name: str) -> None:
    """Results are within the tolerance of the other kernels: weights are not rounded to FLOAT16."""
    assert_runs(on_matrices, MATRIX_CASES[name], "FLOAT16")


REGISTER_CASES = {
    "whole tiles": ([IN_REGISTERS], Case((1, 64, 64, 0, 16, 16), (1, 1))),
    "edges": ([IN_REGISTERS], Case((2, 70, 100, 0, 40, 24), (4, 2))),
    "parts of keys": ([IN_REGISTERS, MERGE], Case((1, 70, 300, 0, 64, 16), (1, 1))),
    "stacked": ([IN_REGISTERS], Case((2, 40, 40, 0, 32, 32), (2, 2), source="query key value")),
    "masked": ([MATRICES], Case((1, 33, 65, 0, 24, 8), (2, 2), mask="BOOLEAN")),
    "many columns": ([MATRICES], Case((1, 33, 65, 0, 72, 8), (1, 1))),
}


@pytest.mark.parametrize("name", REGISTER_CASES)
def test_scores_that_stay_in_registers(on_matrix_reductions: dml.Device, name: str) -> None:
    """Results are within the tolerance of the other kernels."""
    assert_runs(on_matrix_reductions, REGISTER_CASES[name], "FLOAT16")


@pytest.mark.parametrize("tile", sorted({tile for tiles in attention.REGISTER_TILES.values() for tile in tiles}))
def test_each_tile_in_registers(
    on_matrix_reductions: dml.Device, tile: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention, "REGISTER_TILES", {128: (tile,)})
    case = Case((1, 90, 100, 0, 16, 8), (1, 1), data_type="FLOAT16")
    assert labels(on_matrix_reductions, case) == [IN_REGISTERS]
    check(on_matrix_reductions, case)


@pytest.mark.parametrize("scale", [-0.25, 0.0, 3e-6])
def test_scales_of_any_sign_in_registers(on_matrix_reductions: dml.Device, scale: float) -> None:
    """These kernels scale scores late, by a positive number: a scale of zero or below would turn the -infinity of
    missing keys into NaN or infinity."""
    case = Case((1, 20, 30, 0, 8, 8), (1, 1), data_type="FLOAT16").consistent
    inputs = data(case)
    desc = replace(describe(case, inputs), Scale=scale)
    result = run(on_matrix_reductions, desc, inputs)["OutputTensor"]
    # the tolerance of attention_cases.check
    np.testing.assert_allclose(result[0], reference_rows(inputs, scale), 2**-11 * 1.01, 1e-5)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rows_with_nan_are_independent_in_registers(on_matrix_reductions: dml.Device, value: float) -> None:
    case = Case((2, 40, 70, 0, 8, 8), (1, 1), data_type="FLOAT16").consistent
    inputs = data(case)
    inputs["QueryTensor"][1, 39] = value
    result = run(on_matrix_reductions, describe(case, inputs), inputs)["OutputTensor"]
    assert np.isnan(result[1, 39]).all()
    result[1, 39] = 0
    assert np.isfinite(result).all()


def test_without_the_feature_the_without_matrices_kernel(
    seen_as: Callable[..., dml.Device], on_matrices: dml.Device
) -> None:
    without = seen_as("subgroups", features=on_matrices.vulkan.target.features.without("cooperative_matrix"))
    assert labels(without, Case((1, 64, 64, 0, 16, 16), (1, 1), data_type="FLOAT16")) == [TILES]
