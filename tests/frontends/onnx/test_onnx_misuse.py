"""Wrong models raise a DMLError that names node, attribute or input, and rule; faults of dml keep their own type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from models import model_of, node_model
from onnx import helper, numpy_helper

import dml
from dml.frontends.onnx import prepare, registry

ONE = np.ones((2, 3), np.float32)
IMAGE = np.ones((1, 4, 6, 6), np.float32)
MICROSOFT = "com.microsoft"


@pytest.mark.parametrize("fault", [AssertionError("planted"), TypeError("planted"), KeyError("planted")])
def test_a_fault_of_ours_shows_as_one(device: dml.Device, monkeypatch: pytest.MonkeyPatch, fault: Exception) -> None:
    """The exception keeps its type and cause, and gets a note that names the node."""
    cause = RuntimeError("the original cause")

    def faulty(node: Any) -> Any:
        raise fault from cause

    monkeypatch.setitem(registry._MAPPINGS, ("", "Relu"), [(1, faulty)])
    model = model_of([helper.make_node("Relu", ["x"], ["y"], name="inner")], {"x": ONE}, ["y"], 17)
    with pytest.raises(type(fault)) as caught:
        prepare(model, device).run([ONE])
    assert caught.value is fault
    assert caught.value.__cause__ is cause
    assert caught.value.__notes__ == ["while node 'inner' (Relu) of an ONNX model was mapped"]


def test_a_fault_inside_a_loop_names_every_node_around_it(device: dml.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(node: Any) -> Any:
        raise LookupError("planted")

    monkeypatch.setitem(registry._MAPPINGS, ("", "Relu"), [(1, faulty)])
    value = helper.make_tensor_value_info("r", 1, [2, 3])
    branch = helper.make_graph([helper.make_node("Relu", ["x"], ["r"], name="inner")], "branch", [], [value])
    node = helper.make_node("If", ["c"], ["y"], name="outer", then_branch=branch, else_branch=branch)
    model = model_of([node], {"x": ONE}, ["y"], 17, initializers={"c": np.array(True)})
    with pytest.raises(LookupError) as caught:
        prepare(model, device).run([ONE])
    assert caught.value.__notes__ == [
        "while node 'inner' (Relu) of an ONNX model was mapped",
        "while node 'outer' (If) of an ONNX model was mapped",
    ]


#: Error -> operator, version, inputs (None: omitted), attributes, and the message after the node's name.
WRONG: dict[str, tuple[str, int, Mapping[str, Any], Mapping[str, Any], str]] = {
    "a rank": ("DepthToSpace", 13, {"x": ONE}, {"blocksize": 2}, r"input 0 must have rank 4, found shape \(2, 3\)"),
    "a low rank": ("Trilu", 14, {"x": ONE[0]}, {}, r"input 0 must have at least rank 2, found shape \(3,\)"),
    "a divisor": ("DepthToSpace", 13, {"x": IMAGE}, {"blocksize": 3}, "blocks of 3 x 3 do not divide 4 channels"),
    "a bound": ("SpaceToDepth", 13, {"x": IMAGE}, {"blocksize": 0},
                "attribute 'blocksize' must be at least 1, found 0"),
    "a choice": ("DepthToSpace", 13, {"x": IMAGE}, {"blocksize": 2, "mode": "X"},
                 "attribute 'mode' must be one of DCR, CRD, found 'X'"),
    "a count": ("ConvTranspose", 11, {"x": IMAGE, "w": IMAGE}, {"strides": [2]},
                r"attribute 'strides' must have 2 items, found \[2\]"),
    "an input left out": ("Concat", 13, {"x": None, "b": ONE}, {"axis": 0}, "input 0 must be given"),
    "a number that is none": ("TopK", 11, {"x": ONE, "k": np.zeros(0, np.int64)}, {},
                              r"input 1 must hold one number, found shape \(0,\)"),
    "unequal lists": ("Slice", 13, {"x": ONE, "starts": np.array([0]), "ends": np.array([1, 2])}, {},
                      r"starts, ends, axes and steps must be equally long, found \[1, 2\]"),
    "types": ("BitShift", 11, {"x": np.ones(3, np.int32), "by": np.ones(3, np.int8)}, {"direction": "LEFT"},
              "both inputs must have one type, found int32 and int8"),
    "scales": ("Upsample", 9, {"x": IMAGE, "scales": np.array([1, 1, -2, 2], np.float32)}, {},
               r"scales must be positive, found \[1.0, 1.0, -2.0, 2.0\]"),
    "coordinates without end": ("Resize", 10, {"x": ONE, "scales": np.array([1, 2.0**40], np.float32)}, {},
                                "resizing to 3298534883328 elements: more than 16777216 along an axis"),
    "weights without end": ("Resize", 19, {"x": IMAGE[0, 0], "r": np.zeros(0, np.float32), "s": np.zeros(0, np.float32),
                                           "sizes": np.array([6, 2**24])}, {"mode": "cubic", "antialias": 1},
                            r"resizing 6 elements to 16777216 takes more than 67108864 weights"),
    "no spatial dimension": ("GlobalMaxPool", 1, {"x": ONE[0]}, {}, "input 0 must have at least rank 3"),
    "an average of none": ("GlobalAveragePool", 1, {"x": ONE}, {}, "input 0 must have at least rank 3"),
    "bits of another width": ("BitCast", 26, {"x": ONE}, {"to": 7}, "bits of float32 cannot be read as int64"),
    "blocks of negative size": ("QuantizeLinear", 21, {"x": ONE, "s": np.ones((0, 2), np.float32)}, {"block_size": -1},
                                "attribute 'block_size' must be at least 0, found -1"),
    "negative sizes": ("Expand", 13, {"x": ONE[:1, :1], "shape": np.array([2, -5])}, {},
                       r"sizes must not be negative, found \(2, -5\)"),
    "a matrix": ("Gemm", 13, {"a": ONE[0], "b": ONE.T}, {}, "input 0 must have at least rank 2"),
    "updates": ("ScatterND", 16, {"x": ONE, "i": np.array([[0]]), "u": ONE}, {"reduction": "add"},
                r"updates must have shape \(1, 3\), found \(2, 3\)"),
    "regions": ("RoiAlign", 10, {"x": IMAGE, "r": np.ones((1, 3), np.float32), "b": np.zeros(1, np.int64)}, {},
                "rois must have four columns"),
    "an end of dimensions": ("Flatten", 13, {"x": IMAGE}, {"axis": 5}, "axis must be from -4 to 4, found 5"),
    "its other end": ("Flatten", 13, {"x": IMAGE}, {"axis": -5}, "axis must be from -4 to 4, found -5"),
    "softmax of what is not there": ("Softmax", 11, {"x": IMAGE}, {"axis": 5}, "axis must be from -4 to 4, found 5"),
    "a matrix for a stack": ("EyeLike", 9, {"x": IMAGE[0]}, {}, "input 0 must have rank 2, found shape"),
    "a direction": ("BitShift", 11, {"x": np.ones(3, np.uint8), "by": np.ones(3, np.uint8)}, {"direction": "UP"},
                    "attribute 'direction' must be one of LEFT, RIGHT, found 'UP'"),
    "an approximation": ("Gelu", 20, {"x": ONE}, {"approximate": "sin"},
                         "attribute 'approximate' must be one of none, tanh, found 'sin'"),
    "coordinates": ("RoiAlign", 16, {"x": IMAGE, "r": np.ones((1, 4), np.float32), "b": np.zeros(1, np.int64)},
                    {"coordinate_transformation_mode": "x"}, "attribute 'coordinate_transformation_mode' must be one"),
    "padding": ("MaxPool", 12, {"x": IMAGE}, {"kernel_shape": [2, 2], "auto_pad": "SAME"},
                "attribute 'auto_pad' must be one of NOTSET, SAME_UPPER, SAME_LOWER, VALID, found 'SAME'"),
    "blocks": ("Col2Im", 18, {"x": np.ones((1, 5, 4), np.float32), "i": np.array([3, 3]), "b": np.array([2, 2])}, {},
               r"dimension 1 of shape \(1, 5, 4\) must be a multiple of block_shape's 4 elements"),
    "a tensor for a sequence": ("SequenceAt", 11, {"x": ONE, "at": np.array(0)}, {}, "input 0 must be a sequence"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_wrong_nodes(device: dml.Device, what: str) -> None:
    op, version, inputs, attributes, message = WRONG[what]
    _, *others = (name for name, array in inputs.items() if array is not None)
    outputs = dict.fromkeys(["y", "indices"] if op == "TopK" else ["y"], (2, np.float32))
    model, given = node_model(
        op, inputs, outputs, domain="", version=version, constants=others, name="wrong", **attributes
    )
    with pytest.raises(dml.DMLError, match=rf"^node 'wrong' \({op}\): {message}"):
        prepare(model, device).run(given)


def test_constants_of_an_operator_newer_than_the_opset(device: dml.Device) -> None:
    """The operator is mapped without a schema, by which constants are folded."""
    node = helper.make_node("GreaterOrEqual", ["a", "b"], ["y"])
    constants = [
        numpy_helper.from_array(np.array(values, np.int8), name) for name, values in (("a", [1, 2]), ("b", [2, 2]))
    ]
    graph = helper.make_graph([node], "graph", [], [helper.make_tensor_value_info("y", 9, [2])], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 5)])
    (result,) = prepare(model, device).run([])
    assert result.tolist() == [False, True]


@pytest.mark.parametrize(
    "attributes, message",
    [
        ({"alpha": "much"}, "attribute 'alpha' must be a number, found b'much'"),
        ({"alpha": [1.0, 2.0]}, "attribute 'alpha' must be a number"),
        ({"transA": 1.5}, "attribute 'transA' must be an integer, found 1.5"),
        ({"activation": 3}, "attribute 'activation' must be text, found 3"),
    ],
)
def test_attributes_of_wrong_types_in_domains_without_a_checker(
    device: dml.Device, attributes: dict[str, Any], message: str
) -> None:
    inputs = {"a": ONE, "b": ONE.T.copy()}
    op = "FusedMatMulActivation" if "activation" in attributes else "FusedMatMul"
    model, given = node_model(op, inputs, {"y": (2, np.float32)}, domain=MICROSOFT, **attributes)
    with pytest.raises(dml.DMLError, match=f"^node {op}: {message}"):
        prepare(model, device).run(given)
