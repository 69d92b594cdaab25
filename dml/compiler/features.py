"""What a device may have beyond Vulkan 1.1's core, for kernels that use it where it is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class MatrixShape(NamedTuple):
    """A product that a subgroup makes at once (VkCooperativeMatrixPropertiesKHR): m x k by k x n, plus m x n.

    a, b, c, result: data types by DirectML's names, as "FLOAT16" or "INT32".
    """

    m: int
    n: int
    k: int
    a: str
    b: str
    c: str
    result: str


@dataclass(frozen=True)
class Features:
    """Optional features that the device was opened with. The defaults are what every Vulkan 1.1 device has: none.

    storage_16bit, storage_8bit: storage buffers may be declared as arrays of such elements. float16, int8: arithmetic
    in them. integer_dot_product: packed 4 x 8-bit dot products. subgroup_operations: of "vote", "arithmetic", "ballot",
    "shuffle", "shuffle_relative", "clustered", "quad", in compute. float16_exact: conversions of FLOAT16 round to
    nearest even and keep subnormals, signed zeros, infinities and NaN (float controls). memory_model: Vulkan's, which
    cooperative matrices need. cooperative_matrices: of subgroup scope.
    """

    storage_16bit: bool = False
    storage_8bit: bool = False
    float16: bool = False
    int8: bool = False
    integer_dot_product: bool = False
    subgroup_operations: frozenset[str] = frozenset()
    float16_exact: bool = False
    memory_model: bool = False
    cooperative_matrices: tuple[MatrixShape, ...] = ()


NO_FEATURES = Features()
