"""The devices of a run, each on an axis, and the commands that reproduce a case there."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

from dml.conformance.axes import seen_as, selected
from dml.errors import HRESULT, DMLError
from dml.runtime.devices import VulkanDevice, choose, list_devices

#: Fields that identify a device across reports.
IDENTITY = ("name", "driver", "driver_version", "api_version", "vendor_id", "device_id", "axis")


@dataclass(frozen=True)
class DeviceAxis:
    """A Vulkan device presented as one of the kinds in ``axes.AXES``: as a discrete GPU, for example."""

    device: VulkanDevice
    axis: str

    @property
    def which(self) -> str:
        """A value of ``--device`` for the device: its name, or its index if an earlier one has the same name."""
        name = self.device.name
        first = next((other for other in list_devices() if name.lower() in other.name.lower()), self.device)
        return name if first.index == self.device.index else str(self.device.index)

    def command(self, case: str, seed: int) -> str:
        """Return the command that runs exactly that case here."""
        words = ["dml", "conformance", "--case", case, "--device", self.which, "--as", self.axis]
        return shlex.join([*words, *(["--seed", str(seed)] if seed else [])])

    def record(self) -> dict[str, Any]:
        """The device's record for a report."""
        device, target = self.device, seen_as(self.device, self.axis).target
        limits = {
            field.name: _plain(getattr(target, field.name))
            for field in fields(target)
            if field.name not in ("features", "tuned")
        }
        return {
            "name": device.name,
            "driver": device.driver,
            "driver_version": device.identity.driver_version,
            "api_version": ".".join(map(str, device.api_version)),
            "vendor_id": device.identity.vendor,
            "device_id": device.identity.device,
            "type": device.device_class.value,
            "axis": self.axis,
            "limits": {**limits, "max_allocation": device.max_allocation, "memory": device.memory},
            "features": {
                **target.features.described(),
                "timestamp_bits": device.timestamp_bits,
                "timestamp_period": device.timestamp_period,
                "tuned": len(target.tuned.choices),
            },
        }


def places(devices: Sequence[str], axes: Sequence[str]) -> list[DeviceAxis]:
    """Return the devices that ``--device`` names (by default all) on each axis of ``--as`` (by default plain).

    Raises DMLError for an unknown device or axis, or without any device.
    """
    kinds = selected(axes) or ["plain"]
    if not list_devices():
        choose()  # raises an error that says what to install
    wanted = devices or ["all"]
    found = [device for text in wanted for device in (list_devices() if text == "all" else [choose(text)])]
    return [DeviceAxis(device, axis) for device in dict.fromkeys(found) for axis in kinds]


def find(records: Sequence[Mapping[str, Any]]) -> list[DeviceAxis]:
    """Return the devices on axes that have these records in a journal. Raises DMLError if one no longer exists."""
    found: list[DeviceAxis] = []
    for record in records:
        name, driver, axis = (record[key] for key in ("name", "driver", "axis"))
        like = (DeviceAxis(device, axis) for device in list_devices() if (device.name, device.driver) == (name, driver))
        match = next((place for place in like if place not in found), None)  # the machine may have several of a kind
        if match is None:
            raise DMLError(f"this machine has no device {name!r} with driver {driver!r}", HRESULT.DXGI_ERROR_NOT_FOUND)
        found.append(match)
    return found


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else list(value) if isinstance(value, tuple) else value
