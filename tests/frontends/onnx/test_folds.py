"""Nodes that are folded while a model is traced: NumPy's results equal those of ONNX's reference evaluator."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from dml.frontends.onnx import registry
from dml.frontends.onnx.map import folding
from dml.frontends.onnx.map.node import NodeFacts, OnnxNode
from dml.frontends.onnx.map.trace import Scope, Trace

I = np.int64  # noqa: E741
LONG = np.array([5, -7, 3, 0], I)
BY = np.array([2, 2, -2, 9], I)
GRID = np.arange(24, dtype=I).reshape(2, 3, 4)
REALS = np.array([0.5, 2.25, 9, 1e-3], np.float32)
#: Cases: operator, inputs, attributes.
CASES: list[tuple[str, list[Any], dict[str, Any]]] = [
    *[(op, [LONG, BY], {}) for op in ("Add", "Sub", "Mul", "Div", "Equal", "Less", "Greater")],
    *[(op, [LONG.astype(np.int32), BY.astype(np.int32)[:1]], {}) for op in ("Add", "Sub", "Mul", "Div")],
    *[(op, [REALS, REALS[::-1].copy()], {}) for op in ("Add", "Sub", "Mul", "Div", "Equal", "Less", "Greater")],
    *[(op, [LONG > 0, BY > 0], {}) for op in ("And", "Or", "Equal")],
    ("Div", [np.array(7, I), np.array(-2, I)], {}),
    ("Not", [LONG > 0], {}),
    ("Identity", [GRID], {}),
    ("Sqrt", [REALS], {}),
    ("Gather", [GRID, np.array([1, -1], I)], {}),
    ("Gather", [GRID, np.array(2, I)], {"axis": -1}),
    ("Gather", [np.array([8, 9], I), np.array([[0], [1]], np.int32)], {"axis": 0}),
    ("Unsqueeze", [LONG, np.array([0, -1], I)], {}),
    ("Unsqueeze", [np.array(3, I), np.array([0], I)], {}),
    ("Squeeze", [LONG.reshape(1, 4, 1), np.array([0, -1], I)], {}),
    ("Squeeze", [LONG.reshape(1, 4, 1)], {}),
    ("Concat", [LONG, BY, LONG[:1]], {"axis": 0}),
    ("Concat", [GRID, GRID[..., :1].copy()], {"axis": -1}),
    ("Slice", [GRID, np.array([1], I), np.array([3], I), np.array([1], I)], {}),
    ("Slice", [GRID, np.array([-1, 0], I), np.array([-9, 99], I), np.array([2, 0], I), np.array([-2, 1], I)], {}),
    ("Slice", [LONG, np.array([2**62], I), np.array([2**63 - 1], I)], {}),
    *[
        ("Cast", [LONG], {"to": kind})
        for kind in (onnx.TensorProto.FLOAT, onnx.TensorProto.INT32, onnx.TensorProto.BOOL, onnx.TensorProto.FLOAT16)
    ],
    ("Cast", [REALS], {"to": onnx.TensorProto.INT64}),
    ("Cast", [REALS], {"to": onnx.TensorProto.DOUBLE}),
    ("Cast", [LONG > 0], {"to": onnx.TensorProto.FLOAT}),
    ("Range", [np.array(2, I), np.array(9, I), np.array(3, I)], {}),
    ("Range", [np.array(9, I), np.array(2, I), np.array(-3, I)], {}),
    ("Range", [np.array(0, np.float32), np.array(1, np.float32), np.array(0.25, np.float32)], {}),
    ("Reshape", [GRID, np.array([0, -1], I)], {}),
    ("Reshape", [GRID, np.array([4, 3, 2], I)], {"allowzero": 1}),
    ("Transpose", [GRID], {}),
    ("Transpose", [GRID], {"perm": [1, 2, 0]}),
    ("ConstantOfShape", [np.array([2, 3], I)], {}),
    ("ConstantOfShape", [np.array([2], I)], {"value": helper.make_tensor("v", onnx.TensorProto.INT64, [1], [7])}),
    ("ConstantOfShape", [np.array([], I)], {"value": helper.make_tensor("v", onnx.TensorProto.INT64, [1], [7])}),
    ("Expand", [LONG.reshape(4, 1), np.array([2, 1, 3], I)], {}),
    ("Expand", [LONG > 0, np.array([2, 4], I)], {}),
    ("Where", [LONG > 0, LONG, BY], {}),
]
#: Operators and inputs that raise an error in every implementation.
WRONG: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("Gather", [LONG, np.array([4], I)], {}),
    ("Reshape", [GRID, np.array([5], I)], {}),
    ("Concat", [GRID, LONG], {"axis": 0}),
    ("Add", [LONG, BY[:3]], {}),
]


def node_of(op: str, arrays: list[Any], attributes: dict[str, Any]) -> OnnxNode:
    proto = helper.make_node(op, [f"x{index}" for index in range(len(arrays))], ["y"], **attributes)
    trace: Any = Trace(None, {})
    return OnnxNode(trace, NodeFacts(proto), Scope({"": 21}), [])


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{len(case[1])}")
def test_numpy_results_equal_the_references(case: tuple[str, list[Any], dict[str, Any]]) -> None:
    op, arrays, attributes = case
    node = node_of(op, arrays, attributes)
    reference = ReferenceEvaluator(node.proto.raw, opsets={"": 21})
    (wanted,) = reference.run(None, {f"x{index}": array for index, array in enumerate(arrays)})
    how = registry.fold_of(op)
    found = folding._computed(node, how, list(arrays))
    if found is None:  # not computed in NumPy but by ONNX's reference
        assert op in ("Cast", "Range", "Reshape")
        (found,) = folding._evaluate(node, how, list(arrays)) or [None]
    wanted = np.asarray(wanted)
    assert isinstance(found, np.ndarray)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case[0])
def test_nodes_that_neither_can_compute_are_left_to_mappings(case: tuple[str, list[Any], dict[str, Any]]) -> None:
    op, arrays, attributes = case
    assert folding._evaluate(node_of(op, arrays, attributes), registry.fold_of(op), list(arrays)) is None


def test_every_operator_here_is_compared() -> None:
    assert registry.fold_of("Add").compute is not None  # this also imports every registration
    assert {op for op, _, _ in CASES} == {op for op, how in registry._FOLDS.items() if how.compute is not None}
