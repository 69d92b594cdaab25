"""onnxruntime-genai's Tensor and NamedTensors, over NumPy arrays."""

from __future__ import annotations

from collections import UserDict
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.arguments import as_array

from .refused import with_refused_names


@with_refused_names
class Tensor:
    """An array on the host."""

    def __init__(self, array: npt.ArrayLike) -> None:
        self._array = as_array(array, "Tensor")

    def as_numpy(self) -> npt.NDArray[Any]:
        return self._array

    def shape(self) -> list[int]:
        return list(self._array.shape)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self._array, dtype, copy=copy)


class NamedTensors(UserDict[str, Tensor]):
    """Model inputs by name; arrays are stored as Tensors."""

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value if isinstance(value, Tensor) else Tensor(value))

    def __ior__(self, other: Any) -> NamedTensors:  # type: ignore[misc, override]
        self.update(other)
        return self
