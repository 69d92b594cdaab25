"""Kernels on either side of a selection threshold give the same results."""

from __future__ import annotations

from importlib import import_module

import pytest

import dml
from dml.compiler.lowering import compile_operator
from dml.conformance.axes import open_as
from dml.runtime.devices import VulkanDevice
from sample_descriptors import sample
from sample_runs import run_sample, tensors
from test_axes import assert_near

#: Thresholds by module, and a value that puts the operator's sample, on the given axis, on the other side.
CROSSED = [
    ("lines", "CPU_FEW_ELEMENTS", 1, "ACTIVATION_SOFTMAX", "plain"),
    ("lines", "MOST_SELECTED", 1, "TOP_K", "plain"),
    ("lines", "CPU_SCANNED", 2, "CUMULATIVE_SUMMATION", "plain"),
    ("lines", "SUM_BLOCK", 2, "REDUCE", "plain"),
    ("lines", "HELD_STEPS", 2, "ACTIVATION_LOG_SOFTMAX", "discrete"),
    ("lines", "SORTED_AT_ONCE", 128, "TOP_K", "discrete"),
    ("tiles", "FEW_ROWS", 2, "MULTIHEAD_ATTENTION", "plain"),
    ("recurrent", "FEW_SEQUENCES", 2, "RNN", "plain"),
    ("recurrent", "ROWS_OF_FEW", 1, "RNN", "plain"),
    ("gemm", "_PART_OF_K", 8, "RNN", "discrete"),
    ("gemm", "_OTHER_STEPS", 3, "GEMM", "plain"),
]


@pytest.mark.parametrize("module, name, value, operator, axis", CROSSED)
def test_the_other_side(
    vulkan: VulkanDevice,
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    name: str,
    value: int,
    operator: str,
    axis: str,
) -> None:
    device: dml.Device = open_as(vulkan, axis)
    desc = sample(operator)
    before, expected = run_sample(device, desc)
    monkeypatch.setattr(import_module(f"dml.compiler.selection.{module}"), name, value)
    if compile_operator(desc, device.vulkan.target) == before:
        pytest.skip("the sample has the same kernel on both sides on this device")
    _, results = run_sample(device, desc)
    for output, found, wanted in zip(tensors(desc.outputs()), results, expected, strict=True):
        assert_near(found, wanted, output, same_program=False)
