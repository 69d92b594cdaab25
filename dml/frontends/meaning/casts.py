"""Casts of tensors that may have the data type already."""

from __future__ import annotations

import dml.graph.operations as op
from dml.enums import DML_TENSOR_DATA_TYPE
from dml.graph.builder import Tensor


def as_type(x: Tensor, data_type: DML_TENSOR_DATA_TYPE) -> Tensor:
    """Cast a tensor, unless it has the data type."""
    return x if x.data_type == data_type else op.cast(x, data_type)
