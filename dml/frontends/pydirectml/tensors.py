"""PyDirectML's TensorDesc and the types that it uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dml.enums import DML_TENSOR_DATA_TYPE, DML_TENSOR_FLAGS
from dml.frontends.pydirectml.enumerations import TensorDataType, TensorFlags
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SIZE_2D, nhwc_strides


class Dimensions(list[int]):
    """Sizes or strides."""


class TensorPolicy:
    """Layouts of tensors without given strides: ``default`` is row-major, ``interleaved_channel`` is NHWC."""

    default: TensorPolicy
    interleaved_channel: TensorPolicy

    def __init__(self, strides: Callable[[Sequence[int]], tuple[int, ...] | None]) -> None:
        self.strides = strides


TensorPolicy.default = TensorPolicy(lambda sizes: None)
TensorPolicy.interleaved_channel = TensorPolicy(nhwc_strides)

_NAMES = ("data_type", "flags", "sizes", "strides", "total_tensor_size_in_bytes", "guaranteed_base_offset_alignment")


class TensorDesc:
    """A tensor: data type, optional flags, sizes, then strides or a policy that computes them.

    TensorDesc(data_type, sizes), (data_type, flags, sizes), (data_type, sizes, strides), the first two optionally with
    a tensor_policy at the end, or (data_type, flags, sizes, strides, total_tensor_size_in_bytes,
    guaranteed_base_offset_alignment).
    """

    def __init__(self, data_type: Any, *positional: Any, **named: Any) -> None:
        rest = list(positional)
        if rest and isinstance(rest[0], TensorFlags):
            named["flags"] = rest.pop(0)
        if rest:
            named["sizes"] = rest.pop(0)
        if rest and isinstance(rest[0], TensorPolicy):
            named["tensor_policy"] = rest.pop(0)
        for name, value in zip(_NAMES[3:], rest, strict=False):
            named[name] = value
        unknown = set(named) - set(_NAMES) - {"tensor_policy"}
        if unknown or len(rest) > 3 or "sizes" not in named:
            raise TypeError(f"TensorDesc takes {', '.join(_NAMES)} or tensor_policy; see its documentation")
        sizes = tuple(named["sizes"])
        strides = named.get("strides")
        if strides is None:
            strides = named.get("tensor_policy", TensorPolicy.default).strides(sizes)
        self._desc = DML_BUFFER_TENSOR_DESC(
            DML_TENSOR_DATA_TYPE(int(data_type)),
            sizes,
            None if strides is None else tuple(strides),
            named.get("total_tensor_size_in_bytes"),
            named.get("guaranteed_base_offset_alignment", 0),
            DML_TENSOR_FLAGS(int(named.get("flags", 0))),
        )

    @staticmethod
    def of(desc: DML_BUFFER_TENSOR_DESC) -> TensorDesc:
        """Return a DML_BUFFER_TENSOR_DESC as PyDirectML's TensorDesc."""
        result = TensorDesc.__new__(TensorDesc)
        result._desc = desc
        return result

    @property
    def desc(self) -> DML_BUFFER_TENSOR_DESC:
        """The tensor as a DML_BUFFER_TENSOR_DESC."""
        return self._desc

    @property
    def data_type(self) -> Any:
        return TensorDataType(int(self._desc.DataType))

    @property
    def flags(self) -> Any:
        return TensorFlags(int(self._desc.Flags))

    @property
    def sizes(self) -> Dimensions:
        return Dimensions(self._desc.Sizes)

    @property
    def strides(self) -> Dimensions | None:
        return None if self._desc.Strides is None else Dimensions(self._desc.Strides)

    @property
    def total_tensor_size_in_bytes(self) -> int:
        return self._desc.TotalTensorSizeInBytes

    @property
    def guaranteed_base_offset_alignment(self) -> int:
        return self._desc.GuaranteedBaseOffsetAlignment

    def __repr__(self) -> str:
        shape = ",".join(map(str, self.sizes))
        return f"dml.TensorDesc of type {int(self.data_type)} and shape [{shape}] with flags {int(self.flags)}"


class Size2D:
    """A width and a height."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height

    @property
    def desc(self) -> DML_SIZE_2D:
        return DML_SIZE_2D(self.width, self.height)
