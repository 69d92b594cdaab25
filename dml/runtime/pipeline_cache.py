"""Drivers' pipeline caches (VkPipelineCache) on disk: one entry per device and driver.

Drivers may trust this data and crash if it is damaged; ``dml.cache`` returns only what was written. Some drivers,
lavapipe and SwiftShader among them, cache nothing: their data is a header.
"""

from __future__ import annotations

import contextlib
import struct
from pathlib import Path
from typing import Any

from dml import cache
from dml.errors import DMLError
from dml.runtime.devices import VulkanDevice
from dml.runtime.native import vulkan_errors

#: A larger entry is not written again, so that the next process starts a new one.
MOST_BYTES = 64 << 20

#: VkPipelineCacheHeaderVersionOne: its size and version, vendor, device and the driver's pipelineCacheUUID.
_HEADER = struct.Struct("<IIII16s")


def load(device: VulkanDevice, manager: Any) -> None:
    """Initialize the manager's cache from an earlier process's entry, if there is one."""
    data = cache.read(_entry(device))
    if data is not None and _is_of(device, data) and len(data) <= MOST_BYTES:
        # The driver recompiles rejected entries
        with contextlib.suppress(DMLError), vulkan_errors("reading a pipeline cache"):
            manager.set_pipeline_cache_data(data)


def keep(device: VulkanDevice, manager: Any) -> None:
    """Write the manager's pipeline cache, unless it is empty."""
    with contextlib.suppress(DMLError), vulkan_errors("keeping a pipeline cache"):
        data: bytes = manager.pipeline_cache_data()
        if len(data) > _HEADER.size and _is_of(device, data):
            entry = _entry(device)
            if len(data) <= MOST_BYTES:
                cache.write(entry, data)
            else:
                with contextlib.suppress(OSError):
                    entry.unlink()


def _entry(device: VulkanDevice) -> Path:
    return cache.folder("pipelines") / f"{device.file_name}.bin"


def _is_of(device: VulkanDevice, data: bytes) -> bool:
    """Whether the data starts with the header of the device's driver."""
    if len(data) < _HEADER.size:
        return False
    size, version, *identity = _HEADER.unpack_from(data)
    vendor, number, _, uuid = device.identity
    return (version, identity) == (1, [vendor, number, uuid]) and _HEADER.size <= size <= len(data)
