"""Which dispatches reductions become, and grids larger than one dimension holds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import dml
import harness
from dml.compiler.lowering import compile_operator
from dml.compiler.target import Target
from harness import assert_exact
from sample_descriptors import sample

FUNCTIONS = ("AVERAGE", "L1", "L2", "LOG_SUM", "LOG_SUM_EXP", "MAX", "MIN", "MULTIPLY", "SUM", "SUM_SQUARE")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_vulkan_minimum(function: str) -> None:
    """Every function compiles for a device that has no more than Vulkan promises."""
    desc = sample(
        "REDUCE", Function=dml.DML_REDUCE_FUNCTION[f"DML_REDUCE_FUNCTION_{function}"],
        InputTensor="FLOAT16 64x3x5000", OutputTensor="FLOAT16 1x3x1", Axes=(0, 2),
    )  # fmt: skip
    assert compile_operator(desc, Target()).dispatches


def test_long_reductions_take_chunks(device: dml.Device, as_discrete: dml.Device) -> None:
    desc = sample("REDUCE", InputTensor="1048576", OutputTensor="1", Axes=(0,))
    assert len(compile_operator(desc, as_discrete.vulkan.target).dispatches) == 2
    short = sample("REDUCE", InputTensor="512x64", OutputTensor="512x1", Axes=(1,))
    assert len(compile_operator(short, device.vulkan.target).dispatches) == 1


@pytest.fixture
def small_grids(seen_as: Callable[..., dml.Device]) -> dml.Device:
    """A device on which few workgroups already fill a dimension of the grid."""
    return seen_as("discrete", max_workgroup_count=(7, 11, 65535))


def test_grids_of_reductions_fold(small_grids: dml.Device) -> None:
    x = np.random.default_rng(7).integers(-1000, 1000, (1000, 130)).astype(np.int32)
    desc = sample("REDUCE", InputTensor="INT32 1000x130", OutputTensor="INT32 1000x1", Axes=(1,))
    found = harness.run(small_grids, desc, {"InputTensor": x})["OutputTensor"]
    assert_exact(found, x.sum(1, dtype=np.int32, keepdims=True))


@pytest.mark.parametrize("k", [3, 200])
def test_grids_of_top_k_fold(small_grids: dml.Device, k: int) -> None:
    x = np.random.default_rng(6).integers(-(2**15), 2**15, (40, 2100)).astype(np.int16)
    desc = sample(
        "TOP_K", InputTensor="INT16 40x2100", OutputValueTensor=f"INT16 40x{k}", OutputIndexTensor=f"UINT32 40x{k}",
        Axis=1, K=k,
    )  # fmt: skip
    found = harness.run(small_grids, desc, {"InputTensor": x})
    places = np.argsort(-x.astype(np.int32), 1, kind="stable")[:, :k]
    assert_exact(found["OutputIndexTensor"], places.astype(np.uint32))
    assert_exact(found["OutputValueTensor"], np.take_along_axis(x, places, 1))
