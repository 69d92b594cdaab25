"""The facts about a device that lowerings may use."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import Enum
from functools import cached_property

from dml.compiler.features import NO_FEATURES, Features
from dml.compiler.tuned import NOTHING_TUNED, Tuned
from dml.enums import DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION, DML_EXECUTION_FLAGS


class DeviceClass(Enum):
    """Kinds of Vulkan device, from VkPhysicalDeviceType, best first."""

    DISCRETE = "discrete"
    INTEGRATED = "integrated"
    VIRTUAL = "virtual"
    CPU = "cpu"
    OTHER = "other"


@dataclass(frozen=True)
class Target:
    """A device's limits (VkPhysicalDeviceLimits, sizes in bytes) and class. The defaults are Vulkan 1.1's minima."""

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
    #: Uniform texel buffers: maximum elements, maximum number per kernel, and alignment of their offsets.
    max_texels: int = 65536
    max_texel_buffers: int = 16
    texel_alignment: int = 256
    max_push_constants: int = 128
    subgroup_size: int = 1
    #: The narrowest subgroup that a kernel may be compiled for; 0 if unknown.
    min_subgroup_size: int = 0
    #: VkPhysicalDeviceProperties' vendorID and deviceID, and VkDriverId; 0 if unknown. Only ``selection.devices`` uses
    #: them.
    vendor: int = 0
    device: int = 0
    driver: int = 0
    #: Number of units that run workgroups concurrently: compute units, multiprocessors, shader cores; 0 if unknown.
    cores: int = 0
    #: Enabled features beyond Vulkan 1.1's core.
    features: Features = NO_FEATURES
    #: Mesa version of llvmpipe; (0, 0) for other drivers.
    llvmpipe: tuple[int, int] = (0, 0)
    #: Whether DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION was given: FLOAT16 arithmetic may use halves.
    allows_half: bool = False
    #: Steps per invocation, if fewer than the device class allows.
    fewer_steps: int | None = None
    #: Variants measured as fastest; without a measurement, selection's rules decide.
    tuned: Tuned = NOTHING_TUNED

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Cached, since lowerings are looked up by target."""
        return hash(tuple(getattr(self, field.name) for field in fields(self)))

    def under(self, flags: DML_EXECUTION_FLAGS) -> Target:
        """Return the target under these execution flags."""
        return self._with_half if flags & DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION else self

    @cached_property
    def _with_half(self) -> Target:
        return self if self.allows_half else replace(self, allows_half=True)

    @cached_property
    def is_cpu(self) -> bool:
        return self.device_class is DeviceClass.CPU

    @cached_property
    def max_region(self) -> int:
        """Maximum bytes of a region in one binding, which may begin up to 256 bytes earlier to align its offset."""
        return self.max_storage_buffer_range - 256

    @cached_property
    def workgroup(self) -> int:
        """Default number of invocations in a one-dimensional workgroup."""
        return min(64, self.max_workgroup_invocations)
