"""Kernels chosen for products of 8-bit integers, by the properties of various devices."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dml.compiler.features import Features, MatrixShape
from dml.compiler.selection.bytes import ByteMatrixProduct, DotProduct, DotRows, byte_kernel
from dml.compiler.target import DeviceClass, Target


def with_matrices(m: int, n: int, k: int) -> Features:
    shape = MatrixShape(m, n, k, "INT8", "INT8", "INT32", "INT32")
    return Features(integer_dot_product=True, int8=True, memory_model=True, cooperative_matrices=(shape,))


DOTS = Features(integer_dot_product=True)
#: A typical GPU, and Vulkan's minimum.
GPU = Target(DeviceClass.DISCRETE, 1024, (1024, 1024, 64), shared_memory=49152, subgroup_size=32)
LEAST = Target(DeviceClass.DISCRETE, subgroup_size=32)


@pytest.mark.parametrize("target", [GPU, LEAST])
def test_the_dot_product(target: Target) -> None:
    target = replace(target, features=DOTS)
    large, small, few = (byte_kernel(target, *sizes, 1) for sizes in ((2048,) * 3, (64,) * 3, (3, 512, 512)))
    assert isinstance(large, DotProduct)
    assert isinstance(small, DotProduct)
    assert isinstance(few, DotRows)
    assert large.tile > small.tile
    for kernel in (large, small, few):
        assert kernel.workgroup <= target.max_workgroup_invocations
        # Each invocation loads whole vectors
        assert isinstance(kernel, DotRows) or not any(
            side * kernel.tile_k % (16 * kernel.workgroup) for side in kernel.tile
        )


@pytest.mark.parametrize("shape", [(16, 16, 32), (16, 16, 16), (8, 8, 8), (8, 8, 32), (16, 8, 32)])
@pytest.mark.parametrize("target", [GPU, LEAST])
@pytest.mark.parametrize("size", [64, 2048])
def test_matrices(shape: tuple[int, int, int], target: Target, size: int) -> None:
    kernel = byte_kernel(replace(target, features=with_matrices(*shape)), size, size, size, 1)
    assert isinstance(kernel, ByteMatrixProduct)
    assert kernel.shared_bytes <= target.shared_memory
    assert kernel.workgroup <= target.max_workgroup_invocations
    m, n, k = shape
    assert (kernel.subgroup_tile[0] % m, kernel.subgroup_tile[1] % n, kernel.tile_k % k) == (0, 0, 0)
    assert (kernel.rows % kernel.subgroup_tile[0], kernel.columns % kernel.subgroup_tile[1]) == (0, 0)


def test_products_too_small_for_matrix_units_use_dot_products() -> None:
    target = replace(GPU, features=with_matrices(16, 16, 32))
    assert isinstance(byte_kernel(target, 64, 12, 64, 1), DotProduct)
    assert isinstance(byte_kernel(target, 4, 64, 64, 1), DotRows)


def test_neither() -> None:
    assert byte_kernel(GPU, 64, 64, 64, 1) is None
    assert byte_kernel(replace(GPU, features=with_matrices(16, 16, 32).without("int8")), 4, 64, 64, 1) is not None
    cpu = replace(GPU, device_class=DeviceClass.CPU, features=with_matrices(8, 8, 8))
    assert byte_kernel(cpu, 64, 64, 64, 1) is None
    # Matrices wider than the kernels' vectors
    wide = with_matrices(16, 16, 64).without("integer_dot_product")
    assert byte_kernel(replace(GPU, features=wide), 64, 64, 64, 1) is None
