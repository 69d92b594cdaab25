"""Optional device features beyond Vulkan 1.1's core, for kernels that can use them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

from dml.errors import DMLError


class FloatMode(NamedTuple):
    """An execution mode of SPIR-V's float controls, for floats of ``bits`` bits."""

    name: str
    bits: int

    def __str__(self) -> str:
        return f"{self.name} {self.bits}"


class MatrixShape(NamedTuple):
    """A matrix product that a subgroup computes at once (VkCooperativeMatrixPropertiesKHR): m x k by k x n, plus m x n.

    a, b, c, result: data types by DirectML's names, as "FLOAT16" or "INT32".
    """

    m: int
    n: int
    k: int
    a: str
    b: str
    c: str
    result: str

    def __str__(self) -> str:
        return f"{self.m} x {self.n} x {self.k} {self.a} {self.b} + {self.c} = {self.result}"


@dataclass(frozen=True)
class Features:
    """Optional features that the device was opened with. The defaults are those of every Vulkan 1.1 device: none.

    storage_16bit, storage_8bit: storage buffers may be declared as arrays of such elements. float16, int8: arithmetic
    in them. integer_dot_product: packed 4 x 8-bit dot products. subgroup_operations: any of "vote", "arithmetic",
    "ballot", "shuffle", "shuffle_relative", "clustered", "quad", in compute. float16_exact: the modes in which
    conversions of FLOAT16 round to nearest even and keep subnormals, signed zeros, infinities and NaN; empty without
    them. memory_model: the Vulkan memory model, which cooperative matrices need. cooperative_matrices: matrices of
    subgroup scope. matrix_reductions: cooperative matrices have reductions, and conversions from sums to factors
    (VK_NV_cooperative_matrix2).
    """

    storage_16bit: bool = False
    storage_8bit: bool = False
    float16: bool = False
    int8: bool = False
    integer_dot_product: bool = False
    subgroup_operations: frozenset[str] = frozenset()
    float16_exact: tuple[FloatMode, ...] = ()
    memory_model: bool = False
    cooperative_matrices: tuple[MatrixShape, ...] = ()
    matrix_reductions: bool = False

    @property
    def broadcasts(self) -> bool:
        """Whether one invocation can broadcast a value to its subgroup."""
        return "ballot" in self.subgroup_operations

    @property
    def names(self) -> list[str]:
        """The available features, by the names that ``without`` takes."""
        return [name for name, field in FEATURES.items() if getattr(self, field)]

    @property
    def half_matrices(self) -> list[tuple[int, int, int]]:
        """The (m, n, k) of products of FLOAT16 with sums in FLOAT32 on matrix units, largest first."""
        return self._shapes("FLOAT16", "FLOAT16", "FLOAT32", "FLOAT32")

    @property
    def byte_matrices(self) -> list[tuple[int, int, int]]:
        """The (m, n, k) of products of INT8 with sums in INT32 on matrix units, largest first."""
        return self._shapes("INT8", "INT8", "INT32", "INT32")

    def _shapes(self, *wanted: str) -> list[tuple[int, int, int]]:
        shapes = {(s.m, s.n, s.k) for s in self.cooperative_matrices if (s.a, s.b, s.c, s.result) == wanted}
        fitting = [shape for shape in shapes if all(size in (8, 16, 32) for size in shape)]
        return sorted(fitting, key=lambda shape: (shape[0] * shape[1] * shape[2], shape), reverse=True)

    def described(self) -> dict[str, bool | str]:
        """Return each feature by name: whether it is available, or its variants as text."""
        found = {name: getattr(self, field) for name, field in FEATURES.items()}
        found["subgroup_operations"] = ", ".join(sorted(self.subgroup_operations))
        found["float16_exact"] = ", ".join(map(str, self.float16_exact))
        found["cooperative_matrix"] = "; ".join(map(str, self.cooperative_matrices))
        return found

    def without(self, *names: str) -> Features:
        """Return these features without some, by name, and without those that depend on them; "all" removes all.

        Raises DMLError for a name that is not in FEATURES.
        """
        for name in names:
            if name != "all" and name not in FEATURES:
                raise DMLError(f"unknown feature {name!r}; known are {', '.join(FEATURES)}, and all")
        if "all" in names:
            return NO_FEATURES
        left = replace(self, **{FEATURES[name]: getattr(NO_FEATURES, FEATURES[name]) for name in names})
        matrices = tuple(_possible(left))
        return replace(left, cooperative_matrices=matrices, matrix_reductions=left.matrix_reductions and bool(matrices))


def _possible(features: Features) -> Iterable[MatrixShape]:
    """Return the cooperative matrices that the other features allow."""
    if not features.memory_model:
        return ()
    needed = {"FLOAT16": features.float16, "INT8": features.int8, "UINT8": features.int8}
    lacking = {kind for kind, is_there in needed.items() if not is_there}
    return (shape for shape in features.cooperative_matrices if lacking.isdisjoint(shape))


#: No features: the minimum.
NO_FEATURES = Features()

#: Name -> field of Features: the field's own name, in the singular.
FEATURES = {
    {"cooperative_matrices": "cooperative_matrix"}.get(field.name, field.name): field.name for field in fields(Features)
}
