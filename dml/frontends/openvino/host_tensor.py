"""OpenVINO's Tensor, over a NumPy array."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dml.arguments import as_array
from dml.errors import DMLError

from .element_types import Type, type_of
from .refused import with_refused_names
from .shapes import PartialShape, Shape


@with_refused_names
class Tensor:
    """An array on the host: ``Tensor(array)``, ``Tensor(Type.f32, [2, 3])`` or ``Tensor(array, shared_memory=True)``.

    Raises DMLError for a value that is not an array of numbers, and for a dynamic shape.
    """

    def __init__(self, array: Any, shape: Any = None, shared_memory: bool = False) -> None:
        if isinstance(shape, bool):  # Tensor(array, True)
            shape, shared_memory = None, shape
        #: The array, in the tensor's shape.
        self.data: npt.NDArray[Any]
        if shape is not None and isinstance(array, Type | type | str | np.dtype):
            sizes = tuple(shape) if isinstance(shape, Shape) else tuple(PartialShape(shape).to_shape())
            self.data = np.zeros(sizes, type_of(array).to_dtype())
        else:
            given = as_array(array, "Tensor")
            self.data = given if shared_memory else given.copy()

    def __repr__(self) -> str:
        return f"<Tensor: shape{self.shape} type: {self.element_type.to_string()}>"

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.data, dtype, copy=copy)

    def __copy__(self) -> Tensor:
        return Tensor(self.data)

    def __deepcopy__(self, memo: object) -> Tensor:
        return Tensor(self.data)

    @property
    def element_type(self) -> Type:
        return type_of(self.data.dtype)

    def get_element_type(self) -> Type:
        return self.element_type

    @property
    def shape(self) -> Shape:
        return Shape(self.data.shape)

    @shape.setter
    def shape(self, shape: Any) -> None:
        self.set_shape(shape)

    def get_shape(self) -> Shape:
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Change the sizes; new elements are zero."""
        sizes = tuple(PartialShape(shape).to_shape())
        if sizes != self.data.shape:
            resized = np.zeros(sizes, self.data.dtype)
            count = min(resized.size, self.data.size)
            resized.reshape(-1)[:count] = self.data.reshape(-1)[:count]
            self.data = resized

    @property
    def strides(self) -> tuple[int, ...]:
        return self.data.strides

    def get_strides(self) -> tuple[int, ...]:
        """Return the bytes from one element to the next along each dimension."""
        return self.data.strides

    @property
    def size(self) -> int:
        return int(self.data.size)

    def get_size(self) -> int:
        return self.size

    @property
    def byte_size(self) -> int:
        return int(self.data.nbytes)

    def get_byte_size(self) -> int:
        return self.byte_size

    def is_continuous(self) -> bool:
        return bool(self.data.flags.c_contiguous)

    def copy_to(self, target: Tensor) -> None:
        target.copy_from(self)

    def copy_from(self, source: Any) -> None:
        """Copy the elements and the sizes of another tensor or array. Raises DMLError for another element type."""
        found = source.data if isinstance(source, Tensor) else as_array(source, "Tensor.copy_from")
        if found.dtype != self.data.dtype:
            raise DMLError(f"Tensor.copy_from: takes elements of {self.data.dtype}, found {found.dtype}")
        self.set_shape(found.shape)
        self.data[...] = found
