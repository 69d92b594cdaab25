"""What a lowering may know of the device it compiles for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

#: Iterations that llvmpipe grants an invocation's loops, over all of them, less what a kernel's own small ones take. It
#: ends them at 65,535, without a word.
CPU_ITERATIONS = 60000
#: Steps of an invocation on other devices, where a desktop's watchdog ends what runs for two seconds. A step waits for
#: memory about once, a microsecond at worst, and does at most some 1,024 multiply-adds (the largest tiles), at a
#: nanosecond each as long again: half a second.
GPU_STEPS = 1 << 18


class DeviceClass(Enum):
    """Kinds of Vulkan device, from VkPhysicalDeviceType; best first."""

    DISCRETE = "discrete"
    INTEGRATED = "integrated"
    VIRTUAL = "virtual"
    CPU = "cpu"
    OTHER = "other"


@dataclass(frozen=True)
class Target:
    """Limits (VkPhysicalDeviceLimits, sizes in bytes) and class of a device. The defaults are Vulkan 1.1's minima."""

    device_class: DeviceClass = DeviceClass.OTHER
    max_workgroup_invocations: int = 128
    max_workgroup_size: tuple[int, int, int] = (128, 128, 64)
    max_workgroup_count: tuple[int, int, int] = (65535, 65535, 65535)
    shared_memory: int = 16384
    max_storage_buffer_range: int = 1 << 27
    storage_buffer_alignment: int = 256
    max_storage_buffers: int = 4
    max_push_constants: int = 128
    subgroup_size: int = 1
    #: Steps of an invocation where fewer are wanted than the class of the device allows.
    fewer_steps: int | None = None

    @property
    def max_steps(self) -> int:
        """The most steps (see Dispatch) that one invocation may make; what takes more goes in parts."""
        most = CPU_ITERATIONS if self.is_cpu else GPU_STEPS
        return most if self.fewer_steps is None else min(most, self.fewer_steps)

    @property
    def is_cpu(self) -> bool:
        return self.device_class is DeviceClass.CPU

    @property
    def max_region(self) -> int:
        """Bytes that one binding may show: a driver may ask for its start at multiples of up to 256."""
        return self.max_storage_buffer_range - 256

    @property
    def workgroup(self) -> int:
        """Invocations of a one-dimensional workgroup where nothing asks for another number."""
        return min(64, self.max_workgroup_invocations)
