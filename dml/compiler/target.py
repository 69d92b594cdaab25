"""What a lowering may know of the device it compiles for."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import Enum
from functools import cached_property

from dml.compiler.features import NO_FEATURES, Features
from dml.compiler.tuned import NOTHING_TUNED, Tuned
from dml.enums import DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION, DML_EXECUTION_FLAGS


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
    max_uniform_buffer_range: int = 16384
    uniform_buffer_alignment: int = 256
    max_storage_buffers: int = 4
    #: Of uniform texel buffers: elements of one, how many a kernel binds, and where they may begin.
    max_texels: int = 65536
    max_texel_buffers: int = 16
    texel_alignment: int = 256
    max_push_constants: int = 128
    subgroup_size: int = 1
    #: The narrowest subgroup that a kernel may be compiled for; 0 where the device does not tell.
    min_subgroup_size: int = 0
    #: VkPhysicalDeviceProperties' vendorID and deviceID, and VkDriverId; 0 where they are unknown. Only
    #: ``selection.devices`` looks at them.
    vendor: int = 0
    device: int = 0
    driver: int = 0
    #: What it was opened with beyond Vulkan 1.1's core.
    features: Features = NO_FEATURES
    #: The version of Mesa whose llvmpipe it is; (0, 0) where it is another driver.
    llvmpipe: tuple[int, int] = (0, 0)
    #: Whether DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION was given: FLOAT16 may be computed with in halves.
    allows_half: bool = False
    #: Steps of an invocation where fewer are wanted than the class of the device allows.
    fewer_steps: int | None = None
    #: Which variants were fastest where they were measured; selection's rules decide the rest.
    tuned: Tuned = NOTHING_TUNED

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Kept, since what is lowered is looked up by its target."""
        return hash(tuple(getattr(self, field.name) for field in fields(self)))

    def under(self, flags: DML_EXECUTION_FLAGS) -> Target:
        """The same with what these flags allow."""
        return self._with_half if flags & DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION else self

    @cached_property
    def _with_half(self) -> Target:
        return self if self.allows_half else replace(self, allows_half=True)

    @cached_property
    def is_cpu(self) -> bool:
        return self.device_class is DeviceClass.CPU

    @cached_property
    def max_region(self) -> int:
        """Bytes that one binding may show: a driver may ask for its start at multiples of up to 256."""
        return self.max_storage_buffer_range - 256

    @cached_property
    def workgroup(self) -> int:
        """Invocations of a one-dimensional workgroup where nothing asks for another number."""
        return min(64, self.max_workgroup_invocations)
