"""Conversion between PyTorch's tensors and NumPy arrays over the same memory."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import torch

#: PyTorch's types that NumPy lacks -> PyTorch's integer type of the same width, and ml_dtypes' type.
_BITS: dict[torch.dtype, tuple[torch.dtype, Any]] = {torch.bfloat16: (torch.int16, ml_dtypes.bfloat16)}


def to_array(tensor: torch.Tensor) -> npt.NDArray[Any]:
    """Return the tensor's elements, without a copy if they are in host memory. Complex ones are pairs, as in exported
    models."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    if tensor.dtype in _BITS:
        bits, dtype = _BITS[tensor.dtype]
        array: npt.NDArray[Any] = tensor.contiguous().view(bits).numpy().view(dtype)
        return array
    return np.asarray(tensor.numpy())


def to_tensor(array: npt.NDArray[Any]) -> torch.Tensor:
    """Return a tensor over an array that nothing else writes to."""
    array = np.ascontiguousarray(array).reshape(array.shape)
    for kind, (bits, dtype) in _BITS.items():
        if array.dtype == dtype:
            return torch.from_numpy(array.view(np.int16)).view(bits).view(kind)
    if not array.flags.writeable:
        array = array.copy()
    return torch.from_numpy(array)
