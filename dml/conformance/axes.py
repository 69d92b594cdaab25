"""Axes: kinds of device that one physical device can emulate, so that a CPU driver runs GPU kernels.

An axis (an option of ``--as``) changes the properties that the compiler and the runtime see, not the device itself:
``discrete`` selects the kernels for GPUs and staged buffers, ``integrated`` the same kernels with shared memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any

from dml.api.device import Device
from dml.compiler.selection.devices import CPU_ITERATIONS
from dml.compiler.target import DeviceClass, Target
from dml.conformance.options import OptionError
from dml.enums import DML_FEATURE_LEVEL
from dml.runtime.devices import VulkanDevice

#: The iteration limit of CPU drivers also applies when one emulates a GPU.
_LOOPS = {"fewer_steps": CPU_ITERATIONS}

#: Axis -> the fields of ``Target`` that it changes. "minimum" has Vulkan 1.1's minimum for each limit, and no optional
#: feature. "subgroups" is a discrete GPU with the device's own subgroup size: only that size allows subgroup
#: operations.
AXES: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "discrete": {"device_class": DeviceClass.DISCRETE, "subgroup_size": 32, **_LOOPS},
    "discrete64": {"device_class": DeviceClass.DISCRETE, "subgroup_size": 64, **_LOOPS},
    "subgroups": {"device_class": DeviceClass.DISCRETE, **_LOOPS},
    "integrated": {"device_class": DeviceClass.INTEGRATED, "subgroup_size": 32, **_LOOPS},
    "minimum": {field.name: field.default for field in fields(Target) if field.name != "device_class"},
}


def selected(asked: Iterable[str]) -> list[str]:
    """Return the axes that the options ``--as`` name, each once; "all" means every axis.

    Raises OptionError for an unknown one.
    """
    found: list[str] = []
    for name in asked:
        if name != "all" and name not in AXES:
            raise OptionError(f"--as {name}: unknown axis; the axes are {', '.join(AXES)}, and all")
        found += AXES if name == "all" else [name]
    return list(dict.fromkeys(found))


def seen_as(vulkan: VulkanDevice, axis: str = "plain", **limits: Any) -> VulkanDevice:
    """Return the physical device with the properties of an axis, changed by ``limits``.

    A CPU driver that emulates a GPU still ends long loops, so its kernels are split as for CPUs.
    """
    changes = {**AXES[axis], **limits}
    if vulkan.target.is_cpu and "device_class" in changes:
        changes.setdefault("fewer_steps", CPU_ITERATIONS)
    return vulkan.seen_as(**changes)


def open_as(vulkan: VulkanDevice, axis: str = "plain", **limits: Any) -> Device:
    """Open the device that ``seen_as`` returns. A second call for the same device and axis returns the same Device."""
    return _open(seen_as(vulkan, axis, **limits))


@cache
def _open(vulkan: VulkanDevice) -> Device:
    return Device(vulkan, DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_6_4)
