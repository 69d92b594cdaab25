"""Python functions about feature levels: a level's contents, and the lowest level for a description or model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import dml
from dml.capability.questions import data_types_of
from dml.graph import Builder
from dml.graph import operations as op

INT64 = dml.DML_BUFFER_TENSOR_DESC("INT64", (2, 3))
X = dml.DML_BUFFER_TENSOR_DESC("FLOAT32", (1, 1, 2, 3))


def test_since_when() -> None:
    assert dml.operator_introduced("FOLD") is dml.DML_FEATURE_LEVEL_6_4
    assert dml.supports_in_place("ELEMENT_WISE_ADD")
    assert dml.tensor_data_type_supported("FLOAT64", "3_0")
    assert not dml.tensor_data_type_supported("FLOAT64", "2_1")


def test_operators_of_a_level() -> None:
    every = dml.supported_operators()
    assert every == list(dml.operators())
    old = dml.supported_operators("1_0")
    assert set(old) < set(every)
    assert all(dml.operator_introduced(kind) == dml.DML_FEATURE_LEVEL_1_0 for kind in old)
    inside = dml.supported_operators("3_0", in_place=True)
    outside = dml.supported_operators("3_0", in_place=False)
    assert sorted([*inside, *outside]) == sorted(dml.supported_operators("3_0"))
    assert dml.DML_OPERATOR_GEMM in outside
    with pytest.raises(dml.DMLError, match="found '7_0'"):
        dml.supported_operators("7_0")


@pytest.mark.parametrize("level", ["1_0", "3_0", "4_1", "5_0", "6_4"])
def test_operators_that_take_a_type_are_those_whose_tables_have_it(level: str) -> None:
    found = dml.supported_operators(level, data_type="FLOAT64")
    for kind in dml.operators():
        tensors = dml.operator_support(kind, level) or {}
        taken = any(dml.DML_TENSOR_DATA_TYPE_FLOAT64 in tensor.data_types for tensor in tensors.values())
        assert (kind in found) == taken
        assert (dml.DML_TENSOR_DATA_TYPE_FLOAT64 in data_types_of(kind, level)) == taken


def test_the_lowest_level_of_a_description() -> None:
    relu = dml.DML_ACTIVATION_RELU_OPERATOR_DESC(X, X)
    assert dml.needed_level(relu) is dml.DML_FEATURE_LEVEL_1_0
    assert dml.needed_level(dml.DML_OPERATOR_DESC(dml.DML_OPERATOR_ACTIVATION_RELU, relu)) is dml.DML_FEATURE_LEVEL_1_0
    identity = dml.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(INT64, INT64)
    level = dml.needed_level(identity)
    dml.validate(identity, level)
    below = max(one for one in dml.DML_FEATURE_LEVEL if one < level)
    with pytest.raises(dml.DMLError):
        dml.validate(identity, below)
    with pytest.raises(dml.DMLError, match="takes an operator's description, a DML_GRAPH_DESC or a path, found int"):
        dml.needed_level(3)


def test_the_lowest_level_of_a_graph(device: Any) -> None:
    graph = Builder(device)
    x = graph.input("x", (2, 3))
    assert dml.needed_level(graph.build([op.relu(x.reshape(1, 1, 2, 3))])) is dml.DML_FEATURE_LEVEL_1_0
    assert dml.needed_level(graph.build([op.softmax(x)])) is dml.DML_FEATURE_LEVEL_5_1
    description = graph.build([x.reshape(1, 1, 2, 3) + graph.constant(np.ones((1, 1, 2, 3), np.float32))])
    assert dml.needed_level(description) is dml.DML_FEATURE_LEVEL_6_2


def test_the_lowest_level_of_a_model(tmp_path: Path) -> None:
    """The level needs no device and ignores nodes on the host."""
    entries = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 3]) for name in "xy"]

    def level(*ops: str) -> dml.DML_FEATURE_LEVEL:
        names = ["x", *(f"t{index}" for index in range(1, len(ops))), "y"]
        nodes = [helper.make_node(kind, [names[index]], [names[index + 1]]) for index, kind in enumerate(ops)]
        graph = helper.make_graph(nodes, "levels", entries[:1], entries[1:])
        path = tmp_path / "model.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
        return dml.needed_level(path)

    sigmoid, gelu = level("Sigmoid"), level("Sigmoid", "Gelu")
    assert sigmoid <= gelu
    assert gelu >= dml.DML_FEATURE_LEVEL_5_1  # ACTIVATION_GELU's level, or that of the operators it becomes
    with pytest.raises(dml.DMLError, match=r"only \.onnx, \.xml and \.bin are explained"):
        dml.needed_level(tmp_path / "model.txt")
