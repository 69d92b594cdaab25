"""Bindings of buffers, binding tables, and queries of a device's features.

Resources and dispatchables are objects of higher layers, so they are not typed here.

References: dml_buffer_binding, dml_buffer_array_binding, dml_binding_desc, dml_binding_properties,
dml_binding_table_desc, dml_feature_query_* and dml_feature_data_*.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from ..enums import DML_BINDING_TYPE, DML_FEATURE_LEVEL, DML_TENSOR_DATA_TYPE
from ..errors import DMLError
from ..structures import convert, derive_count, enumerator, sequence, structure


@structure()
@dataclass(frozen=True)
class DML_BUFFER_BINDING:
    """A range of a buffer: SizeInBytes bytes from Offset, by default up to the buffer's end.

    Buffer None binds nothing (an optional tensor).
    """

    Buffer: Any
    Offset: int = 0
    SizeInBytes: int = None  # type: ignore[assignment]  # derived in __post_init__

    def __post_init__(self) -> None:
        size: int | None = self.SizeInBytes
        if size is None:
            whole = getattr(self.Buffer, "size", 0)
            size = max(0, whole - self.Offset) if isinstance(whole, int) else 0
            object.__setattr__(self, "SizeInBytes", size)
        for name in ("Offset", "SizeInBytes"):
            if getattr(self, name) < 0:
                raise DMLError(f"DML_BUFFER_BINDING.{name}: must be at least 0, found {getattr(self, name)}")


@structure("BindingCount", "Bindings", converted=("BindingCount", "Bindings"))
@dataclass(frozen=True)
class DML_BUFFER_ARRAY_BINDING:
    """Several ranges bound as one: the inputs of operators during initialization. BindingCount is derived.

    None instead of a range binds nothing there.
    """

    Bindings: tuple[DML_BUFFER_BINDING, ...]
    BindingCount: int = None  # type: ignore[assignment]  # derived in __post_init__

    if TYPE_CHECKING:

        @overload
        def __init__(self, Bindings: Sequence[DML_BUFFER_BINDING | None], BindingCount: int | None = ...) -> None: ...

        @overload
        def __init__(self, BindingCount: int | None, Bindings: Sequence[DML_BUFFER_BINDING | None]) -> None: ...

        def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def __post_init__(self) -> None:
        items: Sequence[object] = self.Bindings
        if not isinstance(items, Sequence) or not all(isinstance(b, DML_BUFFER_BINDING | None) for b in items):
            raise DMLError(f"DML_BUFFER_ARRAY_BINDING.Bindings: must be DML_BUFFER_BINDINGs, found {items!r}")
        ranges = tuple(DML_BUFFER_BINDING(None) if item is None else item for item in items)
        object.__setattr__(self, "Bindings", ranges)
        derive_count(self, "BindingCount", len(ranges), "Bindings")


@structure()
@dataclass(frozen=True)
class DML_BINDING_DESC:
    """A binding of a given type; DML_BINDING_TYPE_NONE has no Desc and binds nothing."""

    Type: DML_BINDING_TYPE
    Desc: DML_BUFFER_BINDING | DML_BUFFER_ARRAY_BINDING | None = None

    if TYPE_CHECKING:

        def __init__(
            self, Type: DML_BINDING_TYPE | str | int, Desc: DML_BUFFER_BINDING | DML_BUFFER_ARRAY_BINDING | None = ...
        ) -> None: ...

    def __post_init__(self) -> None:
        wanted: dict[int, type] = {
            DML_BINDING_TYPE.DML_BINDING_TYPE_NONE: type(None),
            DML_BINDING_TYPE.DML_BINDING_TYPE_BUFFER: DML_BUFFER_BINDING,
            DML_BINDING_TYPE.DML_BINDING_TYPE_BUFFER_ARRAY: DML_BUFFER_ARRAY_BINDING,
        }
        if self.Type not in wanted:
            raise DMLError(f"DML_BINDING_DESC.Type: must be a DML_BINDING_TYPE, found {self.Type!r}")
        object.__setattr__(self, "Type", DML_BINDING_TYPE(self.Type))
        if not isinstance(self.Desc, wanted[self.Type]):
            raise DMLError(f"DML_BINDING_DESC.Desc: does not fit type {self.Type.name}, found {self.Desc!r}")


@structure()
@dataclass(frozen=True)
class DML_BINDING_PROPERTIES:
    """The bindings that a dispatchable needs: descriptors in the heap, and bytes of temporary and persistent memory."""

    RequiredDescriptorCount: int
    TemporaryResourceSize: int
    PersistentResourceSize: int


@structure()
@dataclass(frozen=True)
class DML_BINDING_TABLE_DESC:
    """The dispatchable of a binding table.

    The two descriptor handles and the heap size are Direct3D's; they are accepted and ignored.
    """

    Dispatchable: Any
    CPUDescriptorHandle: Any = None
    GPUDescriptorHandle: Any = None
    SizeInDescriptors: int | None = None


@structure()
@dataclass(frozen=True)
class DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT:
    """Asks whether the device supports tensors of a data type at all."""

    DataType: DML_TENSOR_DATA_TYPE

    if TYPE_CHECKING:

        def __init__(self, DataType: DML_TENSOR_DATA_TYPE | str | int) -> None: ...


@structure()
@dataclass(frozen=True)
class DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT:
    """Whether tensors of the requested data type are supported."""

    IsSupported: bool


_levels = sequence(enumerator(DML_FEATURE_LEVEL))


@structure(
    "RequestedFeatureLevelCount", "RequestedFeatureLevels",
    converted=("RequestedFeatureLevelCount", "RequestedFeatureLevels"),
)  # fmt: skip
@dataclass(frozen=True)
class DML_FEATURE_QUERY_FEATURE_LEVELS:
    """Asks which of these feature levels is the highest that the device supports. The count is derived."""

    RequestedFeatureLevels: tuple[DML_FEATURE_LEVEL, ...]
    RequestedFeatureLevelCount: int = None  # type: ignore[assignment]  # derived in __post_init__

    if TYPE_CHECKING:

        @overload
        def __init__(
            self,
            RequestedFeatureLevels: Iterable[DML_FEATURE_LEVEL | str | int],
            RequestedFeatureLevelCount: int | None = ...,
        ) -> None: ...

        @overload
        def __init__(
            self,
            RequestedFeatureLevelCount: int | None,
            RequestedFeatureLevels: Iterable[DML_FEATURE_LEVEL | str | int],
        ) -> None: ...

        def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def __post_init__(self) -> None:
        where = "DML_FEATURE_QUERY_FEATURE_LEVELS.RequestedFeatureLevels"
        levels = convert(where, self.RequestedFeatureLevels, _levels, "a sequence of DML_FEATURE_LEVELs")
        object.__setattr__(self, "RequestedFeatureLevels", levels)
        derive_count(self, "RequestedFeatureLevelCount", len(levels), "RequestedFeatureLevels")


@structure()
@dataclass(frozen=True)
class DML_FEATURE_DATA_FEATURE_LEVELS:
    """The highest of the requested feature levels that the device supports."""

    MaxSupportedFeatureLevel: DML_FEATURE_LEVEL


__all__ = [
    "DML_BINDING_DESC", "DML_BINDING_PROPERTIES", "DML_BINDING_TABLE_DESC", "DML_BUFFER_ARRAY_BINDING",
    "DML_BUFFER_BINDING", "DML_FEATURE_DATA_FEATURE_LEVELS", "DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT",
    "DML_FEATURE_QUERY_FEATURE_LEVELS", "DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT",
]  # fmt: skip
