"""The device's own FLOAT16 conversions: used if it guarantees that they are exact, with the results of the portable
ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dml
from dml.compiler.features import Features, FloatMode
from dml.compiler.lowering import compile_operator
from dml.compiler.program import Program
from dml.compiler.target import DeviceClass, Target
from dml.conformance.axes import open_as
from sample_descriptors import sample, samples_in
from sample_runs import elements, run_sample, tensors

PORTABLE = Target(DeviceClass.DISCRETE, subgroup_size=32)
EXACT = replace(PORTABLE, features=Features(float16_exact=(FloatMode("DenormPreserve", 16),)))


def texts(program: Program) -> list[str]:
    dispatches = (*program.adopt, *program.initialize, *program.dispatches)
    return [dict(dispatch.source.headers)["prelude.glsl"] for dispatch in dispatches]


@pytest.mark.parametrize("layout", ["packed", "padded"])
def test_only_float16_kernels_request_float_modes(layout: str) -> None:
    floats, halves = (sample("ELEMENT_WISE_ADD", layout, kind) for kind in ("FLOAT32", "FLOAT16"))
    assert compile_operator(floats, PORTABLE) == compile_operator(floats, EXACT)
    assert all("half_hardware" in text for text in texts(compile_operator(halves, EXACT)))
    assert not any("half_hardware" in text for text in texts(compile_operator(halves, PORTABLE)))


@pytest.mark.parametrize("name", samples_in("FLOAT16"))
def test_the_results_are_the_same(device: dml.Device, fast_halves: dml.Device, name: str) -> None:
    """Results equal bit for bit, except for NaN payloads."""
    portable = open_as(device.vulkan, features=device.vulkan.target.features.without("float16_exact"))
    desc = sample(name, "packed", "FLOAT16")
    _, expected = run_sample(portable, desc)
    _, found = run_sample(fast_halves, desc)
    for output, wanted, result in zip(found, expected, tensors(desc.outputs()), strict=True):
        inside, kind = elements(result), dml.numpy_dtype(result.DataType)
        np.testing.assert_array_equal(output[~inside], wanted[~inside])
        values, right = output[inside].view(kind), wanted[inside].view(kind)
        np.testing.assert_array_equal(values, right)
        if kind.kind == "f":
            is_number = ~np.isnan(right)
            np.testing.assert_array_equal(np.signbit(values[is_number]), np.signbit(right[is_number]))
