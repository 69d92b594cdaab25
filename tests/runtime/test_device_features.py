"""Optional features: read from Vulkan, turned off on request, and enabled when a device is created."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dml
from desktop import EVERY_FEATURE
from dml.api.operator import CompiledOperator
from dml.compiler.features import FEATURES, NO_FEATURES, Features, FloatMode, MatrixShape
from dml.compiler.program import Access, Dispatch, Program, Region, Space, StorageBinding
from dml.glslang import Source
from dml.runtime import features
from dml.runtime.devices import VulkanDevice, list_devices
from harness import tensor

MATRIX = MatrixShape(8, 8, 8, "FLOAT16", "FLOAT16", "FLOAT32", "FLOAT32")


@pytest.fixture
def read_again() -> Iterator[Callable[[], tuple[VulkanDevice, ...]]]:
    """Return a function that lists the devices again."""

    def again() -> tuple[VulkanDevice, ...]:
        list_devices.cache_clear()
        return list_devices()

    yield again
    list_devices.cache_clear()


def test_known_features_of_this_driver(vulkan: VulkanDevice) -> None:
    if "llvmpipe Mesa" in vulkan.driver:
        expected = {"storage_16bit", "storage_8bit", "float16", "int8", "integer_dot_product", "memory_model"}
        assert expected <= set(vulkan.features)
        assert vulkan.target.features.broadcasts
    elif "SwiftShader" in vulkan.name:
        assert not {"storage_16bit", "storage_8bit", "float16", "int8", "cooperative_matrix"} & set(vulkan.features)
    else:
        pytest.skip("no expectations of this driver")


def test_the_device_is_created_with_its_targets_features(device: dml.Device) -> None:
    target, manager = device.vulkan.target, device.context.manager
    _, structures = features.opening(target.features, device.vulkan.api_version)
    assert manager.features == structures
    assert any(map(any, structures.values())) == bool(
        set(target.features.names) - {"float16_exact", "subgroup_operations"}
    )


@pytest.mark.parametrize("name", FEATURES)
def test_a_device_seen_without_a_feature(device: dml.Device, seen_as: Callable[..., dml.Device], name: str) -> None:
    without = seen_as(features=device.vulkan.target.features.without(name))
    assert name not in without.vulkan.features
    assert (
        without.context.manager.features
        == features.opening(without.vulkan.target.features, device.vulkan.api_version)[1]
    )
    assert without.create_buffer(8).size >= 8


def test_subgroups_that_are_not_the_devices_have_no_operations(vulkan: VulkanDevice) -> None:
    own = vulkan.target.subgroup_size
    assert vulkan.seen_as(subgroup_size=own).target.features == vulkan.target.features
    other = vulkan.seen_as(subgroup_size=2 * own).target.features
    assert other == vulkan.target.features.without("subgroup_operations", "cooperative_matrix")


def test_the_variable_turns_features_off(
    vulkan: VulkanDevice, read_again: Callable[[], tuple[VulkanDevice, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(features.DISABLE_VARIABLE, "")
    had = read_again()[vulkan.index]
    monkeypatch.setenv(features.DISABLE_VARIABLE, "float16, cooperative_matrix")
    found = read_again()[vulkan.index]
    assert found.target.features == had.target.features.without("float16", "cooperative_matrix")
    assert ("float16: DML_DISABLE_FEATURES" in found.left) == had.target.features.float16
    monkeypatch.setenv(features.DISABLE_VARIABLE, "integer_dot_product")
    found = read_again()[vulkan.index]
    assert not found.target.features.integer_dot_product
    assert ("integer_dot_product: DML_DISABLE_FEATURES" in found.left) == had.target.features.integer_dot_product
    monkeypatch.setenv(features.DISABLE_VARIABLE, "all")
    assert read_again()[vulkan.index].target.features == NO_FEATURES


def test_an_unknown_name_in_the_variable_is_refused(
    vulkan: VulkanDevice, read_again: Callable[[], tuple[VulkanDevice, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(features.DISABLE_VARIABLE, "float16,warp")
    with pytest.raises(dml.DMLError, match="DML_DISABLE_FEATURES: unknown feature 'warp'; known are storage_16bit"):
        read_again()


def test_features_that_cannot_be_compiled_are_unused_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cooperative matrices need glslang 13 or later."""
    has = Features(float16=True, memory_model=True, cooperative_matrices=(MATRIX,))
    monkeypatch.setattr(features, "_read", lambda *_: has)
    monkeypatch.setenv(features.DISABLE_VARIABLE, "")
    monkeypatch.setattr("dml.glslang.has_extension", lambda name: name == "GL_KHR_cooperative_matrix")
    assert features.read(None, None, None, (1, 3, 0)) == (has, ())
    monkeypatch.setattr("dml.glslang.has_extension", lambda name: False)
    found = features.read(None, None, None, (1, 3, 0))
    assert found.features == has.without("cooperative_matrix")
    assert [line.partition(":")[0] for line in found.left] == ["cooperative_matrix"]
    assert "cannot compile it, version 13 can" in found.left[0]


def test_reductions_need_a_newer_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    has = Features(float16=True, memory_model=True, cooperative_matrices=(MATRIX,), matrix_reductions=True)
    monkeypatch.setattr(features, "_read", lambda *_: has)
    monkeypatch.setenv(features.DISABLE_VARIABLE, "")
    monkeypatch.setattr("dml.glslang.has_extension", lambda name: name == "GL_KHR_cooperative_matrix")
    found = features.read(None, None, None, (1, 3, 0))
    assert found.features == has.without("matrix_reductions")
    assert [line.partition(":")[0] for line in found.left] == ["matrix_reductions"]
    assert "version 15.1 can" in found.left[0]


def test_extensions_by_version() -> None:
    """Features in the core of the device's version need no extension; without wanted features none is enabled."""
    matrices = ["VK_KHR_cooperative_matrix", "VK_NV_cooperative_matrix2"]
    assert features.opening(EVERY_FEATURE, (1, 3, 0))[0] == features.opening(EVERY_FEATURE, (1, 4, 0))[0] == matrices
    assert features.opening(EVERY_FEATURE, (1, 2, 100))[0] == ["VK_KHR_shader_integer_dot_product", *matrices]
    assert sorted(features.opening(EVERY_FEATURE, (1, 1, 0))[0]) == [
        "VK_KHR_8bit_storage",
        matrices[0],
        "VK_KHR_shader_float16_int8",
        "VK_KHR_shader_float_controls",
        "VK_KHR_shader_integer_dot_product",
        "VK_KHR_vulkan_memory_model",
        matrices[1],
    ]
    assert features.opening(NO_FEATURES, (1, 1, 0)) == ([], {})


def test_only_the_wanted_booleans_of_a_structure() -> None:
    float16_int8 = 1000082000
    assert features.opening(Features(int8=True), (1, 2, 0))[1] == {float16_int8: [False, True]}
    assert features.opening(Features(float16=True), (1, 2, 0))[1] == {float16_int8: [True, False]}
    memory_model = 1000211000  # with device scope, without which atomics are not allowed
    assert features.opening(Features(memory_model=True), (1, 2, 0))[1] == {memory_model: [True, True, False]}
    reductions = 1000593000  # with conversions
    wanted = features.opening(Features(matrix_reductions=True), (1, 3, 0))[1]
    assert wanted == {reductions: [False, False, True, True, False, False, False]}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({}, 0),
        ({"VK_NV_shader_sm_builtins": [132, 64]}, 132),
        ({"VK_ARM_shader_core_builtins": [0x3FF, 0, 10, 64]}, 10),
        ({"VK_AMD_shader_core_properties": [4, 2, 10, *[0] * 11]}, 80),
        ({"VK_AMD_shader_core_properties": [4, 2, 10, *[0] * 11], "VK_AMD_shader_core_properties2": [0, 72]}, 72),
    ],
)
def test_cores_by_extension(told: dict[str, list[int]], expected: int) -> None:
    """Drivers write the core counts behind the structure's sType and pNext."""
    vk = pytest.importorskip("vulkan")
    types = {one.type: one.extension for one in features._CORES}

    def answer(_: Any, properties: Any) -> None:
        words = vk.ffi.cast("uint32_t *", properties.pNext)
        for index, word in enumerate(told[types[words[0]]]):
            words[4 + index] = word

    driver = SimpleNamespace(
        ffi=vk.ffi,
        vkEnumerateDeviceExtensionProperties=lambda *_: [SimpleNamespace(extensionName=name) for name in told],
        VkPhysicalDeviceProperties2=lambda pNext: SimpleNamespace(pNext=pNext),
        vkGetPhysicalDeviceProperties2=answer,
    )
    assert features.cores(driver, None) == expected


def controls(denormals: int, rounding: int, **lacking: bool) -> SimpleNamespace:
    """Return a VkPhysicalDeviceFloatControlsProperties. Independence 0: 16 and 64 bits share their modes; 1: every
    width has its own; 2: all share one."""
    modes = ("SignedZeroInfNanPreserve", "DenormPreserve", "RoundingModeRTE")
    has = {f"shader{mode}Float{bits}": True for mode in modes for bits in (16, 32, 64)}
    return SimpleNamespace(
        **{**has, **lacking}, denormBehaviorIndependence=denormals, roundingModeIndependence=rounding
    )


def test_float_modes_that_go_together() -> None:
    def widths(found: tuple[FloatMode, ...]) -> tuple[list[int], list[int]]:
        assert found[0] == FloatMode("SignedZeroInfNanPreserve", 16)
        named = [[mode.bits for mode in found if mode.name == name] for name in ("DenormPreserve", "RoundingModeRTE")]
        return named[0], named[1]

    assert widths(features.exact_modes(controls(1, 1))) == ([16], [16])
    assert widths(features.exact_modes(controls(0, 1))) == ([16, 64], [16])
    assert widths(features.exact_modes(controls(1, 2))) == ([16], [16, 32, 64])
    assert features.exact_modes(controls(1, 1, shaderDenormPreserveFloat64=False))
    for lacking in ("DenormPreserveFloat16", "DenormPreserveFloat64", "RoundingModeRTEFloat16"):
        assert features.exact_modes(controls(0, 1, **{f"shader{lacking}": False})) == ()


KERNELS = {
    "storage_16bit": """
        #extension GL_EXT_shader_16bit_storage : require
        layout(set = 0, binding = 0) readonly buffer X { uint16_t x[]; };
        layout(set = 0, binding = 1) writeonly buffer Y { uint16_t y[]; };
        void main() {
            for (uint i = 0u; i < 8u; ++i) y[2u * push_.y + i] = uint16_t(uint(x[2u * push_.x + 7u - i]));
        }""",
    "storage_8bit": """
        #extension GL_EXT_shader_8bit_storage : require
        layout(set = 0, binding = 0) readonly buffer X { uint8_t x[]; };
        layout(set = 0, binding = 1) writeonly buffer Y { uint8_t y[]; };
        void main() {
            for (uint i = 0u; i < 16u; ++i) y[4u * push_.y + i] = uint8_t(uint(x[4u * push_.x + 15u - i]));
        }""",
    "float16": """
        #extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
        layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
        layout(set = 0, binding = 1) writeonly buffer Y { uint y[]; };
        void main() {
            for (uint i = 0u; i < 4u; ++i) y[push_.y + i] =
                packFloat2x16(unpackFloat2x16(x[push_.x + i]) * float16_t(2));
        }""",
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_that_use_a_feature_are_valid(device: dml.Device, name: str) -> None:
    """The validation layer accepts them too; it refuses them on a device that was created without the feature."""
    if name not in device.vulkan.features:
        pytest.skip(f"this device has no {name}")
    head = "#version 450\nlayout(local_size_x = 1) in;\nlayout(push_constant) uniform Push { uint x, y; } push_;\n"
    source = Source("tests/feature.comp", head + KERNELS[name])
    regions = Region(Space.INPUT, 0, 0, 16), Region(Space.OUTPUT, 0, 0, 16)
    bindings = StorageBinding(regions[0], Access.READ), StorageBinding(regions[1], Access.WRITE)
    program = Program(inputs=[16], outputs=[16], dispatches=[Dispatch("feature", source, bindings, (1, 1, 1))])
    examples: dict[str, Any] = {
        "storage_8bit": np.arange(16, dtype=np.uint8),
        "storage_16bit": np.arange(8, dtype=np.uint16),
    }
    x = examples.get(name, np.linspace(-1, 1, 8, dtype=np.float16))
    t = tensor(x.dtype.name.upper(), x.shape)
    made = CompiledOperator(device, program, "feature", [("x", t)], [("y", t)]).dispatch({"x": x})["y"]
    assert made.tolist() == (2 * x if name == "float16" else x[::-1]).tolist()
