"""A Builder with ``converts=True`` casts data types that an operator does not support, and no others."""

from __future__ import annotations

import numpy as np
import pytest

import dml
from dml import enums
from dml.graph import operations as op
from dml.graph.builder import Builder
from dml.graph.conversions import conversions
from harness import assert_exact

INT64 = enums.DML_TENSOR_DATA_TYPE_INT64
FLOAT64 = enums.DML_TENSOR_DATA_TYPE_FLOAT64


def test_a_product_of_float64_is_computed_in_float32(device):
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    builder = Builder(device, converts=True)
    product = op.gemm(builder.input("a", a.shape, FLOAT64), builder.input("b", b.shape, FLOAT64))
    assert product.data_type == FLOAT64
    assert_exact(builder.compile({"y": product}).dispatch({"a": a, "b": b})["y"], a @ b)


def test_other_builders_refuse_unsupported_data_types(device):
    builder = Builder(device)
    x = builder.input("x", (2, 3), FLOAT64)
    with pytest.raises(dml.DMLError, match=r"GEMM.*FLOAT64"):
        op.gemm(x, x, transpose_b=True)


def test_supported_data_types_are_not_cast(device):
    counts = []
    for converts in (False, True):
        builder = Builder(device, converts=converts)
        x = builder.input("x", (2, 3))
        counts.append(len(builder.build({"y": op.reduce(op.exp(x) + 1.0, enums.DML_REDUCE_FUNCTION_SUM, [1])}).Nodes))
    assert counts[0] == counts[1]


def test_the_data_types_of_a_reduction_depend_on_its_function():
    cls = dml.DML_REDUCE_OPERATOR_DESC
    found = (("InputTensor", INT64), ("OutputTensor", INT64))
    assert not conversions(cls, found, enums.DML_REDUCE_FUNCTION_SUM)
    with pytest.raises(dml.DMLError, match="REDUCE does not take INT64"):
        conversions(cls, found, enums.DML_REDUCE_FUNCTION_LOG_SUM)
