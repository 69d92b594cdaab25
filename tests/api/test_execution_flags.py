"""DML_EXECUTION_FLAGS of a device and of a call."""

from __future__ import annotations

import numpy as np
import pytest

import dml
from dml.graph import operations as op
from dml.graph.builder import Builder
from half_products import ALLOW, IN_FLOAT, IN_HALVES, desc, inputs


@pytest.fixture
def allowing(computes_in_halves: dml.Device) -> dml.Device:
    """Open the device with the flag for all compilations."""
    return dml.Device(computes_in_halves.vulkan, dml.DML_FEATURE_LEVEL_6_4, ALLOW)


def test_a_call_may_allow_half_precision(computes_in_halves: dml.Device) -> None:
    operator = computes_in_halves.create_operator(desc())
    for flags, expected in ((dml.DML_EXECUTION_FLAG_NONE, IN_FLOAT), (ALLOW, IN_HALVES), (ALLOW | 2, IN_HALVES)):
        result = computes_in_halves.compile_operator(operator, flags).dispatch(inputs())["OutputTensor"]
        np.testing.assert_array_equal(result, expected)


def test_a_device_may_allow_half_precision_for_all_calls(computes_in_halves: dml.Device, allowing: dml.Device) -> None:
    """``dispatch`` keeps compiled operators of both devices separately."""
    for _ in range(2):
        for device, expected in ((computes_in_halves, IN_FLOAT), (allowing, IN_HALVES)):
            np.testing.assert_array_equal(dml.dispatch(desc(), inputs(), device)["OutputTensor"], expected)


def test_graphs(computes_in_halves: dml.Device, allowing: dml.Device) -> None:
    """Graphs with equal layouts and different flags do not share lowered nodes."""
    given = inputs()
    for device, flags, expected in (
        (computes_in_halves, dml.DML_EXECUTION_FLAG_NONE, IN_FLOAT),
        (computes_in_halves, ALLOW, IN_HALVES),
        (computes_in_halves, dml.DML_EXECUTION_FLAG_NONE, IN_FLOAT),
        (allowing, dml.DML_EXECUTION_FLAG_NONE, IN_HALVES),
    ):
        graph = Builder(device)
        a, b = (graph.input(name, given[f"{name}Tensor"].shape, dml.DML_TENSOR_DATA_TYPE_FLOAT16) for name in "AB")
        built = graph.build({"y": op.gemm(a, b)})
        compiled = device.compile_graph(built, flags)
        (result,) = compiled.dispatch(dict(zip("AB", given.values(), strict=True))).values()
        np.testing.assert_array_equal(result.reshape(-1), np.full(result.size, expected))


def test_a_device_that_is_created_has_them(vulkan: object, device: dml.Device) -> None:
    index = device.vulkan.index
    assert dml.create_device(index).execution_flags == dml.DML_EXECUTION_FLAG_NONE
    assert dml.create_device(index, execution_flags=ALLOW).execution_flags == ALLOW


@pytest.mark.parametrize("flags", ["HALF", None, 1.5])
def test_values_that_are_not_flags(device: dml.Device, flags: object) -> None:
    operator = device.create_operator(desc())
    with pytest.raises(dml.DMLError):
        device.compile_operator(operator, flags)
    with pytest.raises(dml.DMLError):
        dml.create_device(device.vulkan.index, execution_flags=flags)
