"""The machine's Vulkan devices, with the properties that Kompute does not report, read from Vulkan itself."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

from dml.compiler.features import NO_FEATURES
from dml.compiler.target import DeviceClass, Target
from dml.compiler.tuned import NOTHING_TUNED, Tuned
from dml.errors import HRESULT, DMLError
from dml.runtime import features, tuned_file
from dml.runtime.advice import no_vulkan
from dml.words import bytes_text, html_table

#: Index, or part of the name, of the default device.
DEVICE_VARIABLE = "DML_VULKAN_DEVICE"

_CLASSES = {
    0: DeviceClass.OTHER,
    1: DeviceClass.INTEGRATED,
    2: DeviceClass.DISCRETE,
    3: DeviceClass.VIRTUAL,
    4: DeviceClass.CPU,
}
_PREFERENCE = (DeviceClass.DISCRETE, DeviceClass.INTEGRATED, DeviceClass.VIRTUAL, DeviceClass.CPU, DeviceClass.OTHER)


class Identity(NamedTuple):
    """Identity of a driver's cached data (VkPhysicalDeviceProperties)."""

    vendor: int
    device: int
    driver_version: int
    cache_uuid: bytes

    def file_name(self, driver: str) -> str:
        """Return the file name for data kept about this device and driver. driver: its name and version."""
        # Everything that distinguishes driver builds: some change their data but not pipelineCacheUUID (lavapipe 22.3)
        build = hashlib.sha256(repr(([self.driver_version, self.cache_uuid], driver)).encode()).hexdigest()[:16]
        return f"{self.vendor:04x}-{self.device:04x}-{build}"


@dataclass(frozen=True, repr=False)
class VulkanDevice:
    """A physical device. ``index`` is its position in vkEnumeratePhysicalDevices; ``memory`` the size of its largest
    heap in bytes.

    timestamp_bits: width of the clock that times dispatches, 0 without one; timestamp_period: nanoseconds per tick.
    left: unused features, each with the reason.
    """

    index: int
    name: str
    driver: str
    api_version: tuple[int, int, int]
    target: Target
    memory: int
    max_allocation: int
    timestamp_bits: int
    timestamp_period: float
    identity: Identity
    left: tuple[str, ...] = ()

    @property
    def device_class(self) -> DeviceClass:
        return self.target.device_class

    @property
    def file_name(self) -> str:
        """File name for data kept on disk about this device and driver."""
        return self.identity.file_name(self.driver)

    @property
    def max_binding(self) -> int:
        """Maximum bytes of one binding. Larger tensors are split, in buffers of up to ``max_allocation``."""
        return min(self.target.max_region, self.max_allocation)

    @property
    def features(self) -> list[str]:
        """The optional features in use, by the names that DML_DISABLE_FEATURES takes, and timestamps."""
        return [*self.target.features.names, *(["timestamps"] if self.timestamp_bits > 0 else [])]

    def __repr__(self) -> str:
        return f"<VulkanDevice {self.index}: {self.name}, {self.driver or 'unknown driver'}>"

    def properties(self) -> list[tuple[str, str]]:
        """Return all known properties as pairs of texts: name and value."""
        target = self.target
        return [
            ("index", str(self.index)),
            ("name", self.name),
            ("type", self.device_class.value),
            ("driver", self.driver),
            ("Vulkan", ".".join(map(str, self.api_version))),
            ("memory (largest heap)", bytes_text(self.memory)),
            ("largest buffer", bytes_text(self.max_allocation)),
            ("largest binding", bytes_text(self.max_binding)),
            ("bindings of a kernel", str(target.max_storage_buffers)),
            ("features", ", ".join(self.features)),
            ("modes of exact FLOAT16", ", ".join(map(str, target.features.float16_exact)) or "none"),
            ("subgroup operations", ", ".join(sorted(target.features.subgroup_operations)) or "none"),
            ("cooperative matrices", "; ".join(map(str, target.features.cooperative_matrices)) or "none"),
            ("features left unused", "; ".join(self.left) or "none"),
            ("workgroup, invocations", str(target.max_workgroup_invocations)),
            ("workgroup, sizes", " x ".join(map(str, target.max_workgroup_size))),
            ("workgroups of a dispatch", " x ".join(map(str, target.max_workgroup_count))),
            ("shared memory", bytes_text(target.shared_memory)),
            ("subgroup", str(target.subgroup_size)),
            ("cores", str(target.cores or "unknown")),
            ("uniform block", bytes_text(target.max_uniform_buffer_range)),
            ("push constants", bytes_text(target.max_push_constants)),
            ("tuned", f"{len(target.tuned.choices)} choices of kernels" if target.tuned else "no"),
            ("timestamp", f"{self.timestamp_period:g} ns" if self.timestamp_bits else "none"),
            ("vendor and device", f"{self.identity.vendor:#06x} {self.identity.device:#06x}"),
        ]

    def _repr_html_(self) -> str:
        return html_table(self.name, ["property", "value"], self.properties()[2:])

    def tuned_by(self, table: Tuned) -> VulkanDevice:
        """Return the same device with another tuning table."""
        return self if table == self.target.tuned else replace(self, target=replace(self.target, tuned=table))

    def seen_as(self, **target: Any) -> VulkanDevice:
        """Return the same physical device with these fields of its target changed; limits and features may only shrink.

        It compiles and runs as such a device would: a discrete one stages its buffers. With another subgroup size it
        loses subgroup operations and matrices. Tuning results do not apply to another kind.
        """
        if target:
            target.setdefault("tuned", NOTHING_TUNED)
        if target.get("subgroup_size", self.target.subgroup_size) != self.target.subgroup_size:
            kept = target.get("features", self.target.features)
            target["features"] = kept.without("subgroup_operations", "cooperative_matrix")
        return replace(self, target=replace(self.target, **target))


def _vulkan() -> Any:
    try:
        import vulkan
    except OSError as error:
        raise no_vulkan(f"no Vulkan loader ({error})") from error
    return vulkan


@contextlib.contextmanager
def _instance(vk: Any) -> Iterator[Any]:
    application = vk.VkApplicationInfo(
        pApplicationName="dml",
        applicationVersion=1,
        pEngineName="dml",
        engineVersion=1,
        apiVersion=features.packed(features.INSTANCE_VERSION),
    )
    try:
        instance = vk.vkCreateInstance(vk.VkInstanceCreateInfo(pApplicationInfo=application), None)
    except Exception as error:
        raise no_vulkan(f"Vulkan does not start ({error!r})") from error
    try:
        yield instance
    finally:
        vk.vkDestroyInstance(instance, None)


def _version(packed: int) -> tuple[int, int, int]:
    return packed >> 22 & 0x7F, packed >> 12 & 0x3FF, packed & 0xFFF


def _three(numbers: Any) -> tuple[int, int, int]:
    x, y, z = map(int, numbers)
    return x, y, z


_LLVMPIPE = re.compile(r"llvmpipe Mesa (\d+)\.(\d+)\b")


def _llvmpipe(driver: str) -> tuple[int, int]:
    """Return Target.llvmpipe from the driver's name and description."""
    found = _LLVMPIPE.match(driver)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _read(vk: Any, instance: Any, index: int, physical: Any) -> VulkanDevice:
    base = vk.vkGetPhysicalDeviceProperties(physical)
    api = _version(base.apiVersion)
    driver, driver_id, subgroup_size, narrowest, max_allocation, cores = "", 0, 1, 0, 1 << 30, 0
    optional = features.Found(NO_FEATURES, ())
    if api >= (1, 1, 0):
        # A struct in the chain that the device does not know keeps its initial values.
        names = vk.VkPhysicalDeviceDriverProperties()
        allocation = vk.VkPhysicalDeviceMaintenance3Properties(pNext=names)
        sizes = vk.VkPhysicalDeviceSubgroupSizeControlProperties(pNext=allocation)
        subgroup = vk.VkPhysicalDeviceSubgroupProperties(pNext=sizes)
        vk.vkGetPhysicalDeviceProperties2(physical, vk.VkPhysicalDeviceProperties2(pNext=subgroup))
        subgroup_size = max(1, int(subgroup.subgroupSize))
        narrowest, driver_id = int(sizes.minSubgroupSize), int(names.driverID)
        max_allocation = int(allocation.maxMemoryAllocationSize) or max_allocation
        driver = " ".join(filter(None, (vk.ffi.string(s).decode() for s in (names.driverName, names.driverInfo))))
        optional = features.read(vk, instance, physical, api)
        cores = features.cores(vk, physical)
    limits = base.limits
    identity = Identity(int(base.vendorID), int(base.deviceID), int(base.driverVersion), bytes(base.pipelineCacheUUID))
    # With timestampComputeAndGraphics every compute queue family has timestamps; the narrowest counts.
    families = vk.vkGetPhysicalDeviceQueueFamilyProperties(physical)
    widths = [int(f.timestampValidBits) for f in families if f.queueFlags & vk.VK_QUEUE_COMPUTE_BIT]
    heaps = vk.vkGetPhysicalDeviceMemoryProperties(physical)
    target = Target(
        device_class=_CLASSES.get(int(base.deviceType), DeviceClass.OTHER),
        max_workgroup_invocations=int(limits.maxComputeWorkGroupInvocations),
        max_workgroup_size=_three(limits.maxComputeWorkGroupSize),
        max_workgroup_count=_three(limits.maxComputeWorkGroupCount),
        shared_memory=int(limits.maxComputeSharedMemorySize),
        max_storage_buffer_range=int(limits.maxStorageBufferRange),
        storage_buffer_alignment=int(limits.minStorageBufferOffsetAlignment),
        max_uniform_buffer_range=int(limits.maxUniformBufferRange),
        uniform_buffer_alignment=int(limits.minUniformBufferOffsetAlignment),
        max_storage_buffers=min(
            int(limits.maxPerStageDescriptorStorageBuffers), int(limits.maxDescriptorSetStorageBuffers)
        ),
        max_texels=int(limits.maxTexelBufferElements),
        max_texel_buffers=min(
            int(limits.maxPerStageDescriptorSampledImages), int(limits.maxDescriptorSetSampledImages)
        ),
        texel_alignment=int(limits.minTexelBufferOffsetAlignment),
        max_push_constants=int(limits.maxPushConstantsSize),
        subgroup_size=subgroup_size,
        min_subgroup_size=narrowest,
        vendor=identity.vendor,
        device=identity.device,
        driver=driver_id,
        cores=cores,
        features=optional.features,
        tuned=tuned_file.used(identity.file_name(driver)),
        llvmpipe=_llvmpipe(driver),
    )
    return VulkanDevice(
        index,
        base.deviceName,
        driver,
        api,
        target,
        max((int(heaps.memoryHeaps[i].size) for i in range(heaps.memoryHeapCount)), default=0),
        max_allocation,
        min(widths, default=0) if limits.timestampComputeAndGraphics else 0,
        float(limits.timestampPeriod),
        identity,
        optional.left,
    )


@cache
def list_devices() -> tuple[VulkanDevice, ...]:
    """List every Vulkan device, in Vulkan's order.

    Raises NoVulkanDevice, a DMLError with advice on what to install, without a Vulkan loader or driver; DMLError if
    DML_DISABLE_FEATURES names an unknown feature.
    """
    vk = _vulkan()
    with _instance(vk) as instance:
        try:
            physical = vk.vkEnumeratePhysicalDevices(instance)
        except Exception as error:
            raise no_vulkan(f"Vulkan lists no devices ({error!r})") from error
        return tuple(_read(vk, instance, index, device) for index, device in enumerate(physical))


def choose(wanted: int | str | None = None) -> VulkanDevice:
    """Choose the device by index or part of its name; else by DML_VULKAN_DEVICE; else the best.

    Best means discrete, then integrated, virtual, CPU. Raises DMLError if no device matches.
    """
    devices = list_devices()
    if not devices:
        raise no_vulkan("no Vulkan device")
    source = "asked for"
    if wanted is None:
        wanted = os.environ.get(DEVICE_VARIABLE) or None
        source = f"asked for by {DEVICE_VARIABLE}"
    if wanted is None:
        return min(devices, key=lambda device: _PREFERENCE.index(device.device_class))
    have = "; ".join(f"device {device.index}: {device.name}" for device in devices)
    if isinstance(wanted, str) and wanted.strip().isdecimal():
        wanted = int(wanted)
    if isinstance(wanted, int):
        if 0 <= wanted < len(devices):
            return devices[wanted]
    else:
        for device in devices:
            if wanted.lower() in device.name.lower():
                return device
    raise DMLError(f"no Vulkan device {wanted!r} as {source}; this machine has {have}", HRESULT.DXGI_ERROR_UNSUPPORTED)
