"""Compiles for other targets than the device under test, so that a CPU's driver runs the kernels that GPUs get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import dml
from dml.compiler.lowering import compile_operator
from dml.compiler.target import DeviceClass
from dml.operator import CompiledOperator


def compile_as_gpu(device: dml.Device, desc: dml.OperatorDesc, **limits: Any) -> CompiledOperator:
    """The operator as it is compiled for a discrete GPU with the device's limits, or the given ones."""
    target = replace(device.vulkan.target, device_class=DeviceClass.DISCRETE, **limits)
    program = compile_operator(device.create_operator(desc).desc, target)
    return CompiledOperator(device, program, type(desc).__name__, list(desc.inputs()), list(desc.outputs()))


def run_as_gpu(device: dml.Device, desc: dml.OperatorDesc, inputs: Mapping[str, Any], **limits: Any) -> dict[str, Any]:
    return compile_as_gpu(device, desc, **limits).dispatch(inputs)
