"""Convolutions of FLOAT16: partial sums in FLOAT16 where an execution flag allows them, and the memory of weights."""

from __future__ import annotations

import numpy as np
import pytest
from convolution_cases import BACKWARD, build, check, of, products
from convolution_cases import CASES as CONVOLUTIONS

import dml
from dml.compiler.program import Program
from dml.compiler.selection import convolution as selection
from dml.compiler.selection.convolution import ImplicitTile
from dml.compiler.selection.stored_weights import KEPT_WIDER
from dml.compiler.target import DeviceClass, Target
from dml.graph import operations as op
from dml.graph.builder import Builder
from dml.planning.planner import Planner
from dml.runtime.needs import memory_needs
from harness import assert_half_sums, assert_sums

ALLOW, NONE = dml.DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION, dml.DML_EXECUTION_FLAG_NONE

CASES = {
    "one tap": of(1, 16, 20, (9, 11), (3, 3), start=(1, 1), end=(1, 1)),
    "slabs of eight": of(2, 8, 36, (7, 10), (3, 2), strides=(2, 1), start=(0, 1)),
    "a table": of(1, 3, 17, (15, 13), (7, 7), strides=(2, 2), start=(3, 3), end=(3, 3)),
    "backward": of(1, 16, 20, (6, 5), (3, 3), strides=(2, 2), direction=BACKWARD),
    "a product": of(1, 40, 36, (8, 8), (1, 1)),
}


def steps_in_half(program: Program) -> set[str | None]:
    """Return the values of HALF_STEPS among the convolution and product kernels."""
    kernels = [d for d in program.dispatches if d.label in ("convolution/implicit.comp", "gemm/shared.comp")]
    assert kernels
    return {dict(dispatch.source.defines)["HALF_STEPS"] for dispatch in kernels}


def assert_both_ways(device: dml.Device, made: tuple) -> None:
    desc, inputs, expected, terms = made
    operator = device.create_operator(desc)
    plain, allowed = (device.compile_operator(operator, flags) for flags in (NONE, ALLOW))
    assert steps_in_half(plain.program) == {"0"}
    assert steps_in_half(allowed.program) == {"8"}
    without, result = (compiled.dispatch(inputs)["OutputTensor"] for compiled in (plain, allowed))
    assert_sums(without, expected, terms, products(desc))
    assert_half_sums(result, expected, terms, products(desc))
    assert (result != without).any()


@pytest.mark.parametrize("layout", ["packed", "nhwc"])
@pytest.mark.parametrize("name", CASES)
def test_sums_of_eight_in_half(computes_in_halves: dml.Device, name: str, layout: str) -> None:
    assert_both_ways(computes_in_halves, build("FLOAT16", 2, layout=layout, **CASES[name]))


@pytest.mark.parametrize("tile", selection._IMPLICIT_HALF_TILES, ids=lambda tile: f"{tile.channels} x {tile.places}")
def test_each_tile(computes_in_halves: dml.Device, tile: ImplicitTile, monkeypatch: pytest.MonkeyPatch) -> None:
    if tile.workgroup > computes_in_halves.vulkan.target.max_workgroup_invocations:
        pytest.skip("the device has smaller workgroups")
    monkeypatch.setattr(selection, "_IMPLICIT_HALF_TILES", (tile,))
    assert_both_ways(computes_in_halves, build("FLOAT16", 2, **of(1, 24, 70, (9, 8), (3, 3), start=(1, 1))))


def test_without_a_table(computes_in_halves: dml.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "_LARGEST_TABLE", 0)
    assert_both_ways(computes_in_halves, build("FLOAT16", 2, **CASES["a table"]))


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_large_weights_stay_halves(device: dml.Device, case: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights above a bound stay FLOAT16 in the direct kernel, all weights in the implicit one."""
    monkeypatch.setitem(KEPT_WIDER, "direct convolution", 0)
    check(device, *build("FLOAT16", 2, **case))


def test_weights_of_real_sizes_keep_their_bytes() -> None:
    """The largest weights of Stable Diffusion's UNet, 1280 x 1280 x 3 x 3, on a CPU driver and on a GPU."""
    size = 1280
    for target in (Target(DeviceClass.CPU, subgroup_size=8), Target(DeviceClass.DISCRETE, subgroup_size=32)):
        graph = Builder(Planner(target))
        x = graph.input("x", (1, size, 16, 16), dml.DML_TENSOR_DATA_TYPE_FLOAT16)
        weights = np.zeros((size, size, 3, 3), np.float16)
        y = op.convolution(x, graph.constant(weights), start_padding=(1, 1), end_padding=(1, 1))
        needed = memory_needs(graph.compile({"y": y}).program).weights
        assert needed <= 1.05 * weights.nbytes
