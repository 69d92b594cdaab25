"""A Builder with ``converts=True`` casts data types that an operator does not take at the level, and no others."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest

import dml
from dml import enums
from dml.capability import LATEST, short_name
from dml.compiler.target import DeviceClass, Target
from dml.graph import operations as op
from dml.graph.builder import Builder
from dml.graph.conversions import conversions
from dml.planning.planner import Planner
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
    assert not conversions(cls, found, enums.DML_REDUCE_FUNCTION_SUM, LATEST)
    with pytest.raises(dml.DMLError, match="REDUCE does not take INT64 at feature level 6_4"):
        conversions(cls, found, enums.DML_REDUCE_FUNCTION_LOG_SUM, LATEST)


def test_an_older_level_computes_in_a_wider_type(device):
    """At 3_0, ELEMENT_WISE_ADD takes no INT8; INT32 gives the same sums modulo 256."""
    x = np.array([100, -100, 7, -128], np.int8).reshape(1, 1, 1, 4)
    for level, nodes in (("3_0", ["CAST", "ELEMENT_WISE_ADD", "CAST"]), ("6_4", ["ELEMENT_WISE_ADD"])):
        old = dml.create_device(device.vulkan.index, feature_level=level)
        builder = Builder(old, converts=True)
        a = builder.input("x", x.shape, enums.DML_TENSOR_DATA_TYPE_INT8)
        total = a + a
        made = [node.Desc.Operator.desc.OPERATOR_TYPE for node in builder.build({"y": total}).Nodes]
        assert [one for one, _ in groupby(map(short_name, made))] == nodes
        assert_exact(builder.compile({"y": total}).dispatch({"x": x})["y"], x + x)


def test_an_older_level_refuses_numbers_that_a_narrower_type_loses():
    def filled(level):
        builder = Builder(Planner(Target(DeviceClass.CPU), level), converts=True)
        return op.fill_value_constant(builder, (1, 1, 2, 3), 7, INT64)

    with pytest.raises(dml.DMLError, match="FILL_VALUE_CONSTANT does not take INT64 at feature level 3_0") as error:
        filled(enums.DML_FEATURE_LEVEL_3_0)
    assert error.value.hresult == dml.HRESULT.DXGI_ERROR_UNSUPPORTED
    assert filled(enums.DML_FEATURE_LEVEL_4_1).data_type == INT64


def test_an_operator_that_the_level_lacks_is_refused_as_such():
    builder = Builder(Planner(Target(DeviceClass.CPU), enums.DML_FEATURE_LEVEL_3_0), converts=True)
    with pytest.raises(dml.DMLError, match=r"ACTIVATION_GELU\.Type: is available from feature level 5_1 on"):
        op.gelu(builder.input("x", (1, 1, 2, 3)))
