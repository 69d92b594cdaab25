"""ONNX's data types as NumPy's, and their types on the device."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from onnx import helper

from dml.enums import DML_TENSOR_DATA_TYPE
from dml.errors import HRESULT, DMLError
from dml.tensors import data_type_of

Array = npt.NDArray[Any]
DType = np.dtype[Any]
Shape = tuple[int, ...]
BOOL, BFLOAT16 = np.dtype(np.bool_), np.dtype(ml_dtypes.bfloat16)
FLOAT32, FLOAT16, FLOAT64 = np.dtype(np.float32), np.dtype(np.float16), np.dtype(np.float64)
INT64, INT32, UINT32, UINT8 = np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.uint32), np.dtype(np.uint8)
#: Floating-point types that DirectML lacks; FLOAT32 represents all of their numbers.
FLOAT8 = tuple(np.dtype(getattr(ml_dtypes, f"float8_{name}")) for name in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz"))
STORED_AS_FLOAT32 = (BFLOAT16, *FLOAT8)
FLOATS = (FLOAT32, FLOAT16, FLOAT64, BFLOAT16)


def storage(dtype: DType) -> DML_TENSOR_DATA_TYPE:
    """Return the data type that holds elements of an ONNX dtype on the device."""
    if dtype in STORED_AS_FLOAT32:
        return DML_TENSOR_DATA_TYPE.DML_TENSOR_DATA_TYPE_FLOAT32
    try:
        return data_type_of(dtype)
    except DMLError:
        raise DMLError(f"no DirectML data type holds {dtype}", HRESULT.DXGI_ERROR_UNSUPPORTED) from None


def dtype_of(data_type: int) -> DType:
    """Return the NumPy dtype of an ONNX data type."""
    try:
        found: DType = np.dtype(helper.tensor_dtype_to_np_dtype(data_type))
        return found
    except (KeyError, ValueError, TypeError):
        raise DMLError(f"no NumPy dtype for ONNX data type {data_type}") from None
