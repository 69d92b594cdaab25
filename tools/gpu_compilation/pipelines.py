"""Compile compute pipelines and read the driver's statistics. Nothing is allocated on the device, and nothing runs."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import vulkan as vk

from dml.runtime import features
from dml.runtime.devices import VulkanDevice

STATISTICS = "VK_KHR_pipeline_executable_properties"


@dataclass(frozen=True)
class Kernel:
    """A compute shader with everything its pipeline depends on.

    push_words: number of 32-bit push constants. uniform: whether a uniform buffer follows the storage buffers.
    """

    spirv: bytes
    buffers: int
    push_words: int
    uniform: bool = False

    def digest(self, opening: object) -> int:
        """Return 32 bits of a hash of what the compiler receives. opening: what the device is created with."""
        rest = repr((self.buffers, self.push_words, self.uniform, opening)).encode()
        return int.from_bytes(hashlib.sha256(self.spirv + rest).digest()[:4], "little")


class PipelineCompiler:
    """Compiles pipelines on the first device of the only driver that the loader sees."""

    def __init__(self, device: Any, *, assembly: bool) -> None:
        self._device = device
        self._flags = vk.VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR
        if assembly:
            self._flags |= vk.VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR
        self._assembly = assembly
        self._statistics_of = vk.vkGetDeviceProcAddr(device, "vkGetPipelineExecutableStatisticsKHR")

    def compile(self, kernel: Kernel) -> tuple[dict[str, float], float, str]:
        """Return the driver's statistics by its names, the CPU milliseconds, and the machine code as text (empty unless
        requested).

        Raises vulkan.VkError if the driver refuses the kernel.
        """
        with self._module(kernel.spirv) as module, self._layout(kernel) as layout:
            stage = vk.VkPipelineShaderStageCreateInfo(
                stage=vk.VK_SHADER_STAGE_COMPUTE_BIT, module=module, pName="main"
            )
            info = vk.VkComputePipelineCreateInfo(flags=self._flags, stage=stage, layout=layout)
            start = time.process_time()
            (pipeline,) = vk.vkCreateComputePipelines(self._device, vk.ffi.NULL, 1, [info], None)
            took = (time.process_time() - start) * 1e3
            try:
                return self._statistics(pipeline), took, self._machine_code(pipeline) if self._assembly else ""
            finally:
                vk.vkDestroyPipeline(self._device, pipeline, None)

    def _statistics(self, pipeline: Any) -> dict[str, float]:
        # A compute pipeline is one executable.
        info = vk.VkPipelineExecutableInfoKHR(pipeline=pipeline, executableIndex=0)
        members = {
            vk.VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR: "b32",
            vk.VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR: "i64",
            vk.VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR: "u64",
            vk.VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR: "f64",
        }
        return {s.name: getattr(s.value, members[s.format]) for s in self._statistics_of(self._device, info)}

    def _machine_code(self, pipeline: Any) -> str:
        """Return the text that the driver calls "Assembly", "GEN Assembly" or the like; empty if it has none."""
        # The package vulkan has the structures, but cannot call this function with arrays.
        address = vk.lib.vkGetDeviceProcAddr(self._device, b"vkGetPipelineExecutableInternalRepresentationsKHR")
        kind = "VkPipelineExecutableInternalRepresentationKHR"
        get = vk.ffi.cast(f"VkResult(*)(VkDevice, VkPipelineExecutableInfoKHR *, uint32_t *, {kind} *)", address)
        info = vk.VkPipelineExecutableInfoKHR(pipeline=pipeline, executableIndex=0)
        count = vk.ffi.new("uint32_t *")
        get(self._device, vk.ffi.addressof(info), count, vk.ffi.NULL)
        found = vk.ffi.new(f"{kind}[]", count[0])
        for one in found:
            one.sType = vk.VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR
        get(self._device, vk.ffi.addressof(info), count, found)
        texts = [vk.ffi.new("char[]", one.dataSize) for one in found]
        for one, text in zip(found, texts, strict=True):
            one.pData = text
        get(self._device, vk.ffi.addressof(info), count, found)
        for one, text in zip(found, texts, strict=True):
            if vk.ffi.string(one.name).lower().endswith(b"assembly"):
                return str(vk.ffi.string(text).decode(errors="replace"))
        return ""

    @contextmanager
    def _module(self, spirv: bytes) -> Iterator[Any]:
        info = vk.VkShaderModuleCreateInfo(codeSize=len(spirv), pCode=spirv)
        module = vk.vkCreateShaderModule(self._device, info, None)
        try:
            yield module
        finally:
            vk.vkDestroyShaderModule(self._device, module, None)

    @contextmanager
    def _layout(self, kernel: Kernel) -> Iterator[Any]:
        kinds = [vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER] * kernel.buffers
        if kernel.uniform:
            kinds.append(vk.VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER)
        bindings = [
            vk.VkDescriptorSetLayoutBinding(
                binding=binding, descriptorType=kind, descriptorCount=1, stageFlags=vk.VK_SHADER_STAGE_COMPUTE_BIT
            )
            for binding, kind in enumerate(kinds)
        ]
        sets = vk.vkCreateDescriptorSetLayout(
            self._device, vk.VkDescriptorSetLayoutCreateInfo(pBindings=bindings), None
        )
        push = vk.VkPushConstantRange(vk.VK_SHADER_STAGE_COMPUTE_BIT, 0, 4 * kernel.push_words)
        ranges = [push] if kernel.push_words else []
        layout = vk.vkCreatePipelineLayout(
            self._device, vk.VkPipelineLayoutCreateInfo(pSetLayouts=[sets], pPushConstantRanges=ranges), None
        )
        try:
            yield layout
        finally:
            vk.vkDestroyPipelineLayout(self._device, layout, None)
            vk.vkDestroyDescriptorSetLayout(self._device, sets, None)


@contextmanager
def pipeline_compiler(used: VulkanDevice, *, assembly: bool = False) -> Iterator[PipelineCompiler]:
    """Yield a compiler on the device ``used``. Raises vulkan.VkError if the driver cannot report statistics of
    pipelines."""
    version = features.packed(features.INSTANCE_VERSION)
    application = vk.VkApplicationInfo(pApplicationName="dml", apiVersion=version)
    instance = vk.vkCreateInstance(vk.VkInstanceCreateInfo(pApplicationInfo=application), None)
    try:
        physical = vk.vkEnumeratePhysicalDevices(instance)[0]
        families = vk.vkGetPhysicalDeviceQueueFamilyProperties(physical)
        family = next(i for i, f in enumerate(families) if f.queueFlags & vk.VK_QUEUE_COMPUTE_BIT)
        queue = vk.VkDeviceQueueCreateInfo(queueFamilyIndex=family, queueCount=1, pQueuePriorities=[1.0])
        extensions, structures = features.opening(used.target.features, used.api_version)
        chain: list[Any] = [vk.VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR(pipelineExecutableInfo=True)]
        for structure, booleans in structures.items():
            chain.append(features.structure(vk, structure, booleans, chain[-1]))
        device = vk.vkCreateDevice(
            physical,
            vk.VkDeviceCreateInfo(
                pNext=chain[-1], pQueueCreateInfos=[queue], ppEnabledExtensionNames=[STATISTICS, *extensions]
            ),
            None,
        )
        try:
            yield PipelineCompiler(device, assembly=assembly)
        finally:
            vk.vkDestroyDevice(device, None)
    finally:
        vk.vkDestroyInstance(instance, None)
