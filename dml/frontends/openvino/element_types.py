"""OpenVINO's Type: the element types of tensors."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.errors import DMLError

from .ir import ELEMENT_TYPES
from .refused import with_refused_names


@with_refused_names
class Type(Enum):
    """An element type by OpenVINO's name. ``Type(numpy.float32)`` is Type.f32."""

    f64 = "f64"
    f32 = "f32"
    f16 = "f16"
    bf16 = "bf16"
    i64 = "i64"
    i32 = "i32"
    i16 = "i16"
    i8 = "i8"
    u64 = "u64"
    u32 = "u32"
    u16 = "u16"
    u8 = "u8"
    boolean = "boolean"

    @classmethod
    def _missing_(cls, value: object) -> Type:
        try:
            wanted = np.dtype(value)  # type: ignore[call-overload]
        except TypeError:
            wanted = None
        for name, kind in ELEMENT_TYPES.items():
            if wanted == np.dtype(kind):
                return cls(name)
        raise DMLError(f"Type: takes one of {', '.join(ELEMENT_TYPES)}, or its NumPy dtype, found {value!r}")

    def __repr__(self) -> str:
        return f"<Type: {self.to_dtype().name!r}>"

    __str__ = __repr__

    def to_dtype(self) -> np.dtype[Any]:
        found: np.dtype[Any] = np.dtype(ELEMENT_TYPES[self.value])
        return found

    def to_string(self) -> str:
        return str(self.value)

    def get_type_name(self) -> str:
        return str(self.value)

    @property
    def type_name(self) -> str:
        return str(self.value)

    def get_size(self) -> int:
        """Return the size of an element in bytes."""
        return int(self.to_dtype().itemsize)

    @property
    def size(self) -> int:
        return self.get_size()

    def get_bitwidth(self) -> int:
        return 1 if self is Type.boolean else 8 * self.get_size()

    @property
    def bitwidth(self) -> int:
        return self.get_bitwidth()

    def is_real(self) -> bool:
        return self.value in ("f64", "f32", "f16", "bf16")

    @property
    def real(self) -> bool:
        return self.is_real()

    def is_integral(self) -> bool:
        return not self.is_real()

    @property
    def integral(self) -> bool:
        return self.is_integral()

    def is_integral_number(self) -> bool:
        return self.is_integral() and self is not Type.boolean

    @property
    def integral_number(self) -> bool:
        return self.is_integral_number()

    def is_signed(self) -> bool:
        return self.is_real() or self.value.startswith(("i", "b"))

    @property
    def signed(self) -> bool:
        return self.is_signed()

    def is_quantized(self) -> bool:
        """Return whether it is an integer type that quantized models use."""
        return self in (Type.i8, Type.u8, Type.i32)

    @property
    def quantized(self) -> bool:
        return self.is_quantized()

    def is_static(self) -> bool:
        return True

    def is_dynamic(self) -> bool:
        return False

    def compatible(self, other: Type) -> bool:
        return self is other


def type_of(given: Type | str | npt.DTypeLike) -> Type:
    """Convert a Type, its name or a NumPy dtype. Raises DMLError for anything else."""
    return given if isinstance(given, Type) else Type(given)
