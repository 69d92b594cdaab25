"""What drivers keep of the pipelines they made (VkPipelineCache), on disk between processes: an entry for each device
and driver.

Drivers may trust this data, and crash where it is damaged; ``dml.cache`` gives back nothing but what was written. Some
keep nothing, lavapipe and SwiftShader among them: their data is a header.
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

#: An entry that has grown larger is not written again, so that the next process begins a new one.
MOST_BYTES = 64 << 20

#: VkPipelineCacheHeaderVersionOne: its size and version, vendor, device and the driver's pipelineCacheUUID.
_HEADER = struct.Struct("<IIII16s")


def load(device: VulkanDevice, manager: Any) -> None:
    """Begin the manager's cache with what an earlier process kept of this device and driver, if one did."""
    data = cache.read(_entry(device))
    if data is not None and _is_of(device, data) and len(data) <= MOST_BYTES:
        # What the driver will not have, it makes anew
        with contextlib.suppress(DMLError), vulkan_errors("reading a pipeline cache"):
            manager.set_pipeline_cache_data(data)


def keep(device: VulkanDevice, manager: Any) -> None:
    """Write what the driver has of the manager's pipelines, if it is anything."""
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
    """Whether the data begins with the header that the device's driver writes."""
    if len(data) < _HEADER.size:
        return False
    size, version, *identity = _HEADER.unpack_from(data)
    vendor, number, _, uuid = device.identity
    return (version, identity) == (1, [vendor, number, uuid]) and _HEADER.size <= size <= len(data)
