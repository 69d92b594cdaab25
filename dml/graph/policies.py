"""Tensor policies: the layouts of operators' outputs in a Builder (DirectMLX's TensorPolicy).

A policy is a function of an output's data type, flags and sizes that returns its description: strides, a larger total
size, a guaranteed alignment.
"""

from __future__ import annotations

from collections.abc import Callable

from dml.enums import DML_TENSOR_DATA_TYPE, DML_TENSOR_FLAGS
from dml.errors import DMLError
from dml.tensors import DML_BUFFER_TENSOR_DESC, nhwc_strides, packed_tensor

TensorPolicy = Callable[[DML_TENSOR_DATA_TYPE, DML_TENSOR_FLAGS, tuple[int, ...]], DML_BUFFER_TENSOR_DESC]


def packed(data_type: DML_TENSOR_DATA_TYPE, flags: DML_TENSOR_FLAGS, sizes: tuple[int, ...]) -> DML_BUFFER_TENSOR_DESC:
    """Describe a row-major tensor without gaps: a Builder's default."""
    return packed_tensor(data_type, sizes) if not flags else DML_BUFFER_TENSOR_DESC(data_type, sizes, Flags=flags)


def interleaved_channel(
    data_type: DML_TENSOR_DATA_TYPE, flags: DML_TENSOR_FLAGS, sizes: tuple[int, ...]
) -> DML_BUFFER_TENSOR_DESC:
    """Channels last in memory ({N, C, H, W} as NHWC); tensors of fewer than three dimensions are packed."""
    strides = nhwc_strides(sizes) if len(sizes) > 2 else None
    return DML_BUFFER_TENSOR_DESC(data_type, sizes, strides, Flags=flags)


def described(
    policy: TensorPolicy, data_type: DML_TENSOR_DATA_TYPE, flags: DML_TENSOR_FLAGS, sizes: tuple[int, ...]
) -> DML_BUFFER_TENSOR_DESC:
    """Return the policy's description of a tensor. Raises DMLError if it has another data type or other sizes."""
    found = policy(data_type, flags, sizes)
    name = getattr(policy, "__name__", type(policy).__name__)
    if not isinstance(found, DML_BUFFER_TENSOR_DESC):
        raise DMLError(f"tensor policy {name}: must return a DML_BUFFER_TENSOR_DESC, found {found!r}")
    if (found.DataType, found.Sizes) != (data_type, sizes):
        raise DMLError(
            f"tensor policy {name}: must keep data type {data_type.name} and sizes {sizes}, found {found.in_words}"
        )
    return found


__all__ = ["TensorPolicy", "interleaved_channel", "packed"]
