"""A device's optional features: read from Vulkan, and enabled when the device is created."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from dml import glslang
from dml.compiler.features import Features, FloatMode, MatrixShape
from dml.errors import DMLError

#: Names of features to treat as missing, separated by commas; "all" disables all.
DISABLE_VARIABLE = "DML_DISABLE_FEATURES"

Version = tuple[int, int, int]

#: The Vulkan version of the instance; a device of a later version is used as one of this version.
INSTANCE_VERSION: Version = (1, 3, 0)

_NEVER = (99, 0, 0)


def packed(version: Version) -> int:
    """Pack a version as Vulkan does."""
    major, minor, patch = version
    return major << 22 | minor << 12 | patch


class _Structure(NamedTuple):
    """A Vulkan feature structure.

    type: its VkStructureType. core: the version from which its features need no extension. booleans: for each of its
    booleans, the field of Features that needs it; "" if no kernel does. since: the Vulkan version for which kernels
    that use them are compiled.
    """

    name: str
    type: int
    core: Version
    extension: str
    booleans: tuple[str, ...]
    since: Version = (1, 1, 0)

    def is_there(self, version: Version, extensions: Iterable[str]) -> bool:
        return version >= self.since and (version >= self.core or self.extension in extensions)


STRUCTURES = (
    _Structure("VkPhysicalDevice16BitStorageFeatures", 1000083000, (1, 1, 0), "VK_KHR_16bit_storage",
               ("storage_16bit", "", "", "")),
    _Structure("VkPhysicalDevice8BitStorageFeatures", 1000177000, (1, 2, 0), "VK_KHR_8bit_storage",
               ("storage_8bit", "", "")),
    _Structure("VkPhysicalDeviceShaderFloat16Int8Features", 1000082000, (1, 2, 0), "VK_KHR_shader_float16_int8",
               ("float16", "int8")),
    _Structure("VkPhysicalDeviceShaderIntegerDotProductFeatures", 1000280000, (1, 3, 0),
               "VK_KHR_shader_integer_dot_product", ("integer_dot_product",)),
    # With the memory model enabled but its device scope not, atomics are not allowed.
    _Structure("VkPhysicalDeviceVulkanMemoryModelFeatures", 1000211000, (1, 2, 0), "VK_KHR_vulkan_memory_model",
               ("memory_model", "memory_model", "")),
    _Structure("VkPhysicalDeviceCooperativeMatrixFeaturesKHR", 1000506000, _NEVER, "VK_KHR_cooperative_matrix",
               ("cooperative_matrices", "")),
    _Structure("VkPhysicalDeviceCooperativeMatrix2FeaturesNV", 1000593000, _NEVER, "VK_NV_cooperative_matrix2",
               ("", "", "matrix_reductions", "matrix_reductions", "", "", ""), (1, 3, 0)),
)  # fmt: skip

#: Float controls are properties, not features: where supported, they need not be enabled.
_FLOAT_CONTROLS, _FLOAT_CONTROLS_CORE = "VK_KHR_shader_float_controls", (1, 2, 0)
#: VkShaderFloatControlsIndependence -> float widths whose modes must be set together with those of 16 bits.
_TOGETHER = {0: (16, 64), 1: (16,), 2: (16, 32, 64)}

_SUBGROUP_OPERATIONS = {
    "vote": 0x2,
    "arithmetic": 0x4,
    "ballot": 0x8,
    "shuffle": 0x10,
    "shuffle_relative": 0x20,
    "clustered": 0x40,
    "quad": 0x80,
}

#: VkComponentTypeKHR
_COMPONENTS = dict(enumerate((
    "FLOAT16", "FLOAT32", "FLOAT64", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64",
)))  # fmt: skip
_SUBGROUP_SCOPE = 3

#: Features that older compilers lack: name, GLSL extension, and the first glslang version with it.
COMPILED_SINCE = (
    ("cooperative_matrix", "GL_KHR_cooperative_matrix", "13"),
    ("matrix_reductions", "GL_NV_cooperative_matrix2", "15.1"),
)


class Found(NamedTuple):
    """The features in use, and one line for each feature that is available but unused, with the reason."""

    features: Features
    left: tuple[str, ...]


def read(vk: Any, instance: Any, physical: Any, version: Version) -> Found:
    """Read the features of a physical device of Vulkan 1.1 or later, without those that DML_DISABLE_FEATURES names or
    that the compiler lacks. Raises DMLError if the variable names an unknown feature."""
    has = _read(vk, instance, physical, min(version, INSTANCE_VERSION))
    left = []
    used = has
    for name, extension, since in COMPILED_SINCE:
        if name in used.names and not glslang.has_extension(extension):
            used = used.without(name)
            left.append(f"{name}: {glslang.compiler()} cannot compile it, version {since} can")
    possible, used = used, _enabled(used)
    off = [name for name in possible.names if name not in used.names]
    return Found(used, (*left, *(f"{name}: {DISABLE_VARIABLE}" for name in off)))


def _enabled(features: Features) -> Features:
    """Remove the features that the user disabled."""
    names = [name.strip() for name in os.environ.get(DISABLE_VARIABLE, "").split(",")]
    try:
        return features.without(*filter(None, names))
    except DMLError as error:
        raise DMLError(f"{DISABLE_VARIABLE}: {error.message}") from error


def opening(features: Features, version: Version) -> tuple[list[str], dict[int, list[bool]]]:
    """Return the extensions and feature structures (see Kompute's Manager) to create a device with."""
    version = min(version, INSTANCE_VERSION)
    extensions: list[str] = []
    structures: dict[int, list[bool]] = {}
    for structure in STRUCTURES:
        wanted = [bool(field and getattr(features, field)) for field in structure.booleans]
        if any(wanted):
            structures[structure.type] = wanted
            if version < structure.core:
                extensions.append(structure.extension)
    if features.float16_exact and version < _FLOAT_CONTROLS_CORE:
        extensions.append(_FLOAT_CONTROLS)
    return extensions, structures


def structure(vk: Any, kind: int, booleans: Sequence[bool], following: Any = None) -> Any:
    """Build a Vulkan feature structure from words: type and next pointer in four, then the booleans.

    The Vulkan package need not know the structure. kind: its VkStructureType. following: the structure its next pointer
    refers to, kept alive with it.
    """
    words = vk.ffi.new("uint32_t[]", 4 + len(booleans))
    words[0] = kind
    if following is not None:
        is_array = vk.ffi.typeof(following).kind == "array"
        vk.ffi.cast("void **", words)[1] = following if is_array else vk.ffi.addressof(following)
    for i, value in enumerate(booleans):
        words[4 + i] = value
    return words


def _read(vk: Any, instance: Any, physical: Any, version: Version) -> Features:
    extensions = {extension.extensionName for extension in vk.vkEnumerateDeviceExtensionProperties(physical, None)}
    present = [extension for extension in STRUCTURES if extension.is_there(version, extensions)]
    chain: list[Any] = []
    for extension in present:
        chain.append(structure(vk, extension.type, [False] * len(extension.booleans), chain[-1] if chain else None))
    vk.vkGetPhysicalDeviceFeatures2(physical, vk.VkPhysicalDeviceFeatures2(pNext=chain[-1]))
    found: dict[str, Any] = {}
    for extension, answer in zip(present, chain, strict=True):
        for feature, is_there in zip(extension.booleans, answer[4 : 4 + len(extension.booleans)], strict=True):
            found[feature] = bool(is_there) and found.get(feature, True)
    found.pop("", None)
    matrices = found.pop("cooperative_matrices", False)
    features = Features(
        **found,
        subgroup_operations=_subgroup_operations(vk, physical),
        float16_exact=_exact(vk, physical, version, extensions),
        cooperative_matrices=tuple(_matrices(vk, instance, physical)) if matrices else (),
    )
    return features.without()


def _properties(vk: Any, physical: Any, structure: Any) -> Any:
    vk.vkGetPhysicalDeviceProperties2(physical, vk.VkPhysicalDeviceProperties2(pNext=structure))
    return structure


class _Cores(NamedTuple):
    """A Vulkan properties structure from which the core count is read. type: its VkStructureType. words: number of
    32-bit words after its next pointer. factors: the words whose product is the core count."""

    extension: str
    type: int
    words: int
    factors: tuple[int, ...]


#: Sources of the core count; the first that the device supports is read. (AMD's version 2 counts active units only.)
_CORES = (
    _Cores("VK_AMD_shader_core_properties2", 1000227000, 2, (1,)),
    _Cores("VK_AMD_shader_core_properties", 1000185000, 14, (0, 1, 2)),
    # the 64-bit shaderCoreMask precedes shaderCoreCount
    _Cores("VK_ARM_shader_core_builtins", 1000497001, 4, (2,)),
    _Cores("VK_NV_shader_sm_builtins", 1000154001, 2, (0,)),
)


def cores(vk: Any, physical: Any) -> int:
    """Return the number of compute units, shader cores or multiprocessors; 0 if no extension reports it."""
    extensions = {item.extensionName for item in vk.vkEnumerateDeviceExtensionProperties(physical, None)}
    for item in _CORES:
        if item.extension in extensions:
            words = _properties(vk, physical, structure(vk, item.type, [False] * item.words))
            return math.prod(int(words[4 + index]) for index in item.factors)
    return 0


def _subgroup_operations(vk: Any, physical: Any) -> frozenset[str]:
    found = _properties(vk, physical, vk.VkPhysicalDeviceSubgroupProperties())
    if not int(found.supportedStages) & vk.VK_SHADER_STAGE_COMPUTE_BIT:
        return frozenset()
    return frozenset(name for name, bit in _SUBGROUP_OPERATIONS.items() if int(found.supportedOperations) & bit)


def _exact(vk: Any, physical: Any, version: Version, extensions: Iterable[str]) -> tuple[FloatMode, ...]:
    """Return the modes in which FLOAT16 conversions are exact; empty if the device lacks any of them."""
    if version < _FLOAT_CONTROLS_CORE and _FLOAT_CONTROLS not in extensions:
        return ()
    return exact_modes(_properties(vk, physical, vk.VkPhysicalDeviceFloatControlsProperties()))


def exact_modes(controls: Any) -> tuple[FloatMode, ...]:
    """Return the exact modes from a VkPhysicalDeviceFloatControlsProperties."""
    modes = [
        FloatMode("SignedZeroInfNanPreserve", 16),
        *(FloatMode("DenormPreserve", bits) for bits in _TOGETHER[int(controls.denormBehaviorIndependence)]),
        *(FloatMode("RoundingModeRTE", bits) for bits in _TOGETHER[int(controls.roundingModeIndependence)]),
    ]
    has_all = all(getattr(controls, f"shader{mode.name}Float{mode.bits}") for mode in modes)
    return tuple(modes) if has_all else ()


def _matrices(vk: Any, instance: Any, physical: Any) -> Iterable[MatrixShape]:
    """Yield the subgroup matrix shapes of types that kernels use; integer sums must wrap, not saturate."""
    stages = _properties(vk, physical, vk.VkPhysicalDeviceCooperativeMatrixPropertiesKHR())
    if not int(stages.cooperativeMatrixSupportedStages) & vk.VK_SHADER_STAGE_COMPUTE_BIT:
        return
    # The Vulkan package knows the structure, but not the function.
    address = vk.lib.vkGetInstanceProcAddr(instance, b"vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR")
    if not address:
        return
    get = vk.ffi.cast("VkResult(*)(VkPhysicalDevice, uint32_t *, VkCooperativeMatrixPropertiesKHR *)", address)
    count = vk.ffi.new("uint32_t *")
    if get(physical, count, vk.ffi.NULL) != 0:
        return
    shapes = vk.ffi.new("VkCooperativeMatrixPropertiesKHR[]", count[0])
    for shape in shapes:
        shape.sType = vk.VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR
    if get(physical, count, shapes) != 0:
        return
    for shape in shapes[0 : count[0]]:
        types = [_COMPONENTS.get(int(kind), "") for kind in (shape.AType, shape.BType, shape.CType, shape.ResultType)]
        if all(types) and int(shape.scope) == _SUBGROUP_SCOPE and not shape.saturatingAccumulation:
            yield MatrixShape(int(shape.MSize), int(shape.NSize), int(shape.KSize), *types)
