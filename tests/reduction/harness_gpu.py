"""Runs what a lowering makes for another target: on a CPU driver, the kernels that GPUs get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import dml
from dml.compiler.lowering import compile_operator
from dml.compiler.program import Program
from dml.compiler.target import DeviceClass, Target
from dml.operator import CompiledOperator


def gpu(device: dml.Device, **limits: Any) -> Target:
    """The device's limits as those of a discrete GPU."""
    return replace(device.vulkan.target, device_class=DeviceClass.DISCRETE, **limits)


def program(device: dml.Device, desc: dml.OperatorDesc, target: Target | None = None) -> Program:
    return compile_operator(device.create_operator(desc).desc, target or device.vulkan.target)


def run_for(target: Target, device: dml.Device, desc: dml.OperatorDesc, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """As harness.run, compiled for ``target``."""
    compiled = CompiledOperator(
        device, program(device, desc, target), type(desc).__name__, list(desc.inputs()), list(desc.outputs())
    )
    return compiled.dispatch(inputs)
