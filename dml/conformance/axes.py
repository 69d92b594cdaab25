"""Kinds of device that one physical device can stand for, so that a CPU's driver runs what GPUs get.

An axis changes what the compiler and the runtime are told, not the device: as ``discrete`` it gets the kernels for GPUs
and staged buffers, as ``integrated`` those kernels over memory that the host shares.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any

from dml.api.device import Device
from dml.compiler.selection import CPU_ITERATIONS
from dml.compiler.target import DeviceClass, Target
from dml.conformance.options import OptionError
from dml.enums import DML_FEATURE_LEVEL
from dml.runtime.devices import VulkanDevice

#: A CPU's driver that stands for a GPU still ends loops that are longer.
_LOOPS = {"fewer_steps": CPU_ITERATIONS}

#: Axis -> the fields of ``Target`` that it changes. "minimum" has no more than Vulkan 1.1 promises of each limit, and
#: no optional feature. "subgroups" is a discrete GPU with the device's own subgroups, and so with what needs those:
#: where they are said to be wider than they are, their operations cannot be used.
AXES: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "discrete": {"device_class": DeviceClass.DISCRETE, "subgroup_size": 32, **_LOOPS},
    "discrete64": {"device_class": DeviceClass.DISCRETE, "subgroup_size": 64, **_LOOPS},
    "subgroups": {"device_class": DeviceClass.DISCRETE, **_LOOPS},
    "integrated": {"device_class": DeviceClass.INTEGRATED, "subgroup_size": 32, **_LOOPS},
    "minimum": {field.name: field.default for field in fields(Target) if field.name != "device_class"},
}


def selected(asked: Iterable[str]) -> list[str]:
    """The axes of the options ``--as``, each once; "all" stands for every one.

    Raises OptionError for an unknown one.
    """
    found: list[str] = []
    for name in asked:
        if name != "all" and name not in AXES:
            raise OptionError(f"--as {name}: there is no such axis; there are {', '.join(AXES)}, and all")
        found += AXES if name == "all" else [name]
    return list(dict.fromkeys(found))


def seen_as(vulkan: VulkanDevice, axis: str = "plain", **limits: Any) -> VulkanDevice:
    """The physical device as the axis has it and with these limits.

    A CPU's driver that stands for a GPU still ends long loops, so its kernels go in parts as short as on CPUs.
    """
    changes = {**AXES[axis], **limits}
    if vulkan.target.is_cpu and "device_class" in changes:
        changes.setdefault("fewer_steps", CPU_ITERATIONS)
    return vulkan.seen_as(**changes)


def open_as(vulkan: VulkanDevice, axis: str = "plain", **limits: Any) -> Device:
    """The device that ``seen_as`` gives, opened; a process opens each once."""
    return _open(seen_as(vulkan, axis, **limits))


@cache
def _open(vulkan: VulkanDevice) -> Device:
    return Device(vulkan, DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_6_4)
