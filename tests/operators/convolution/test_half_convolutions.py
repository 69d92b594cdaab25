"""Convolutions of FLOAT16 where DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION allows sums of a few in FLOAT16."""

from __future__ import annotations

import pytest
from convolution_cases import BACKWARD, build, of, products

import dml
from dml.compiler.program import Program
from dml.compiler.selection import convolution as selection
from dml.compiler.selection.convolution import ImplicitTile
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
    """Of each kernel that multiplies."""
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
