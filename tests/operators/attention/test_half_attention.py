"""Attention with FLOAT16 weights, which DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from attention_cases import Case, data, describe, expect

import dml
from dml.compiler.features import Features, MatrixShape
from dml.compiler.lowering import compile_operator
from dml.compiler.program import Program
from dml.compiler.target import DeviceClass, Target

ALLOW, NONE = dml.DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION, dml.DML_EXECUTION_FLAG_NONE

#: Sizes are batch, queries, new keys, past keys, head size, value head size.
CASES = {
    "whole tiles": Case((1, 64, 64, 0, 16, 16), (1, 1)),
    "edges": Case((2, 70, 100, 0, 40, 24), (4, 2), mask="KEY_SEQUENCE_LENGTH"),
    "parts of keys": Case((1, 70, 300, 0, 64, 16), (1, 1)),
}


def assert_within(device: dml.Device, case: Case) -> int:
    """Assert that results with the flag are within the error of weights rounded once. Return how many differ from those
    without the flag.

    A weight's relative error is at most 2^-10, in either rounding mode of FLOAT16. Weights are scaled up to 2^12: below
    the smallest normal number, 2^-14, the error is 2^-26 of the largest weight. The result is rounded to FLOAT16 once
    more. The rest is float32's error, as in attention_cases.
    """
    case = replace(case, data_type="FLOAT16").consistent
    inputs = data(case)
    operator = device.create_operator(describe(case, inputs))
    plain, allowed = (
        device.compile_operator(operator, flags).dispatch(inputs)["OutputTensor"] for flags in (NONE, ALLOW)
    )
    expected = expect(case, inputs)["OutputTensor"]
    sums = expect(case, {n: np.abs(a) if n == "ValueTensor" else a for n, a in inputs.items()})["OutputTensor"]
    largest = np.abs(inputs["ValueTensor"]).max() * case.sizes[2]
    bound = sums * 2.0**-10 + largest * 2.0**-26 + np.abs(expected) * 2.0**-11 * 1.01 + 2e-5
    assert (np.abs(allowed.reshape(expected.shape) - expected) <= bound).all()
    return int((allowed != plain).sum())


@pytest.mark.parametrize("name", CASES)
def test_weights_rounded_once(on_matrices: dml.Device, name: str) -> None:
    assert assert_within(on_matrices, CASES[name]) > 0


@pytest.mark.parametrize("name", ["whole tiles", "parts of keys"])
def test_weights_rounded_once_in_registers(on_matrix_reductions: dml.Device, name: str) -> None:
    """Results need not differ from those without the flag: lavapipe leaves out conversions of matrices in registers."""
    assert_within(on_matrix_reductions, CASES[name])


MANY_COLUMNS = Case((1, 33, 65, 0, 72, 72), (1, 1), data_type="FLOAT16").consistent


@pytest.mark.slow
def test_many_columns_in_registers(on_matrix_reductions: dml.Device) -> None:
    assert_within(on_matrix_reductions, MANY_COLUMNS)


def test_without_matrix_units_nothing_changes(seen_as: Callable[..., dml.Device]) -> None:
    """Kernels without matrix units keep weights in float32 under the flag, too."""
    features = seen_as("discrete").vulkan.target.features.without("cooperative_matrix")
    device = seen_as("discrete", features=features)
    assert program_of(device.vulkan.target, NONE) == program_of(device.vulkan.target, ALLOW)


def test_many_columns_stay_in_registers() -> None:
    """With weights rounded once, registers suffice for 128 columns."""
    target, desc = units(reductions=True), describe(MANY_COLUMNS, data(MANY_COLUMNS))
    kernels = [compile_operator(desc, target.under(flags)).dispatches[0].label for flags in (NONE, ALLOW)]
    assert kernels == ["attention/matrices.comp", "attention/in_registers.comp"]


def units(*, reductions: bool) -> Target:
    """Return a GPU with matrix units."""
    shape = MatrixShape(16, 16, 16, "FLOAT16", "FLOAT16", "FLOAT32", "FLOAT32")
    features = Features(float16=True, memory_model=True, cooperative_matrices=(shape,), matrix_reductions=reductions)
    return Target(
        DeviceClass.DISCRETE, 1024, (1024, 1024, 64), shared_memory=49152, subgroup_size=32, features=features
    )


def program_of(target: Target, flags: dml.DML_EXECUTION_FLAGS, kind: str = "FLOAT16") -> Program:
    case = replace(CASES["whole tiles"], data_type=kind).consistent
    return compile_operator(describe(case, data(case)), target.under(flags))


@pytest.mark.parametrize("reductions", [False, True], ids=["matrices", "in registers"])
def test_it_is_another_kernel(reductions: bool) -> None:
    target = units(reductions=reductions)
    plain, allowed = (program_of(target, flags).dispatches[0].source for flags in (NONE, ALLOW))
    assert plain.text == allowed.text
    assert [dict(source.defines)["HALF_WEIGHTS"] for source in (plain, allowed)] == ["0", "1"]
    assert program_of(target, NONE, "FLOAT32") == program_of(target, ALLOW, "FLOAT32")
