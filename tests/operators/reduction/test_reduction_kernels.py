"""The dispatches of reductions, and grids that exceed one dimension."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import dml
import harness
from dml.compiler.lowering import compile_operator
from dml.compiler.selection import lines
from dml.compiler.target import DeviceClass, Target
from harness import assert_exact
from sample_descriptors import sample

FUNCTIONS = ("AVERAGE", "L1", "L2", "LOG_SUM", "LOG_SUM_EXP", "MAX", "MIN", "MULTIPLY", "SUM", "SUM_SQUARE")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_vulkan_minimum(function: str) -> None:
    """Every function compiles for a device with only Vulkan's minimum limits."""
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
    """A device whose grid allows only 7 x 11 workgroups in its first two dimensions."""
    return seen_as("discrete", max_workgroup_count=(7, 11, 65535))


def test_grids_of_reductions_fold(small_grids: dml.Device) -> None:
    x = np.random.default_rng(7).integers(-1000, 1000, (1000, 130)).astype(np.int32)
    desc = sample("REDUCE", InputTensor="INT32 1000x130", OutputTensor="INT32 1000x1", Axes=(1,))
    found = harness.run(small_grids, desc, {"InputTensor": x})["OutputTensor"]
    assert_exact(found, x.sum(1, dtype=np.int32, keepdims=True))


@pytest.fixture(params=["own", "another", "none"])
def with_subgroups(
    request: pytest.FixtureRequest, seen_as: Callable[..., dml.Device], monkeypatch: pytest.MonkeyPatch
) -> Callable[[], dml.Device]:
    """Return a function that opens the device as a GPU with subgroup operations, without compiled kernels.

    "another": kernels are compiled for another subgroup size than the device's, and avoid these operations at run time,
    as on a device whose subgroup size varies.
    """
    vulkan = seen_as("subgroups").vulkan
    if "shuffle" not in vulkan.target.features.subgroup_operations:
        pytest.skip("the device's subgroups do not shuffle")
    size = {"own": vulkan.target.subgroup_size, "another": 2 * vulkan.target.subgroup_size, "none": 0}[request.param]
    monkeypatch.setattr(lines, "shuffled", lambda target: size)
    return lambda: dml.Device(vulkan, dml.DML_FEATURE_LEVEL_6_4)


@pytest.mark.parametrize("shape", [(3, 9), (100, 66), (70, 130), (33, 520), (5, 4096), (2, 20000)])
@pytest.mark.parametrize("axis", [0, 1])
def test_lanes_read_adjacent_and_strided_elements(
    with_subgroups: Callable[[], dml.Device], shape: tuple[int, int], axis: int
) -> None:
    """Exact integer sums of rows, where lanes read adjacent elements, and of columns, where they do not."""
    x = np.random.default_rng(9).integers(-(2**31), 2**31, shape).astype(np.int32)
    sizes = [1 if d == axis else size for d, size in enumerate(shape)]
    given, result = ("x".join(map(str, each)) for each in (shape, sizes))
    desc = sample("REDUCE", InputTensor=f"INT32 {given}", OutputTensor=f"INT32 {result}", Axes=(axis,))
    found = harness.run(with_subgroups(), desc, {"InputTensor": x})["OutputTensor"]
    assert_exact(found, x.sum(axis, dtype=np.int32, keepdims=True))


@pytest.mark.parametrize("kind", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("length", [5, 24, 100, 600, 4104])
def test_rows_near(with_subgroups: Callable[[], dml.Device], kind: str, length: int) -> None:
    """Softmax of 7 rows: their maxima, and pairwise sums."""
    device = with_subgroups()
    x = harness.random(np.random.default_rng(3), kind, (1, 1, 7, length))
    desc = sample("ACTIVATION_SOFTMAX", InputTensor=f"{kind} 1x1x7x{length}", OutputTensor=f"{kind} 1x1x7x{length}")
    found = harness.run(device, desc, {"InputTensor": x})["OutputTensor"].astype(np.float64)
    wanted = np.exp(x.astype(np.float64) - x.max(3, keepdims=True).astype(np.float64))
    # Float32 sums of up to 4104 positive terms; a FLOAT16 result is rounded once more, or is subnormal.
    share, least = (2**-20, 0.0) if kind == "FLOAT32" else (2**-10, 2**-25)
    np.testing.assert_allclose(found, wanted / wanted.sum(3, keepdims=True), rtol=share, atol=least)
    # a second run gives the same bits
    assert_exact(harness.run(device, desc, {"InputTensor": x})["OutputTensor"].astype(np.float64), found)


@pytest.mark.parametrize("kind", ["INT32", "INT64"])
@pytest.mark.parametrize("shape", [(3, 16), (5, 40), (2, 603), (1, 8192), (3, 20001), (1, 100000)])
@pytest.mark.parametrize("downwards", [False, True])
def test_scans_near(
    with_subgroups: Callable[[], dml.Device], kind: str, shape: tuple[int, int], downwards: bool
) -> None:
    """Exact running sums of integers: within and across subgroups, by vectors and by elements."""
    x = np.random.default_rng(4).integers(-(2**31), 2**31, shape).astype(kind.lower())
    for exclusive in (False, True):
        text = f"{kind} {shape[0]}x{shape[1]}"
        desc = sample(
            "CUMULATIVE_SUMMATION", InputTensor=text, OutputTensor=text, Axis=1, HasExclusiveSum=exclusive,
            AxisDirection=dml.DML_AXIS_DIRECTION(int(downwards)),
        )  # fmt: skip
        found = harness.run(with_subgroups(), desc, {"InputTensor": x})["OutputTensor"]
        turned = x[:, ::-1] if downwards else x
        sums = np.cumsum(turned, 1, dtype=x.dtype) - (turned if exclusive else 0)
        assert_exact(found, (sums[:, ::-1] if downwards else sums).astype(x.dtype))


def test_sums_of_columns_take_two_dispatches() -> None:
    """Two dispatches suffice: the first leaves few enough partial results for the second."""
    target = Target(DeviceClass.DISCRETE, max_workgroup_invocations=1024, max_workgroup_size=(1024, 1024, 64))
    for kind in ("FLOAT32", "FLOAT16"):
        desc = sample("REDUCE", InputTensor=f"{kind} 16384x4096", OutputTensor=f"{kind} 1x4096", Axes=(0,))
        assert len(compile_operator(desc, replace(target, max_storage_buffer_range=1 << 31)).dispatches) == 2


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
