"""SequenceMap's body is a graph of the model: it reads the model's names, in the model's operator versions."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from models import assert_close, in_onnxruntime, model_of
from onnx import helper

import dml
from dml.frontends.onnx import prepare
from dml.frontends.onnx.map.node import Unsupported

X = np.random.default_rng(0).uniform(-1, 1, (2, 3, 4)).astype(np.float32)


def mapped(outer: str) -> Any:
    """Return a model whose SequenceMap scales the largest elements of each of two tensors by the value ``outer``."""
    body = helper.make_graph(
        # axes are an input of ReduceMax since version 18
        [helper.make_node("ReduceMax", ["t", "axes"], ["m"]), helper.make_node("Mul", ["m", outer], ["scaled"])],
        "body",
        [helper.make_tensor_value_info("t", onnx.TensorProto.FLOAT, None)],
        [helper.make_tensor_value_info("scaled", onnx.TensorProto.FLOAT, None)],
    )
    nodes = [
        helper.make_node("Add", ["x", "x"], [outer]),
        helper.make_node("SequenceConstruct", ["x", outer], ["s"]),
        helper.make_node("SequenceMap", ["s"], ["mapped"], body=body),
        helper.make_node("SequenceAt", ["mapped", "one"], ["y"]),
    ]
    initializers = {"axes": np.array([-1]), "one": np.array(1)}
    return model_of(nodes, {"x": X}, ["y"], 20, initializers=initializers, ranks={"y": 3})


def test_names_and_versions_of_the_model(device: dml.Device) -> None:
    model = mapped("twice")
    prepared = prepare(model, device, fallback=False)
    assert_close(prepared.run({"x": X}), in_onnxruntime(model, {"x": X}), 0)
    assert_close(prepared.run({"x": X}), [(2 * X).max(-1, keepdims=True) * 2 * X], 0)


def test_a_name_that_the_function_has_too_is_not_confused(device: dml.Device) -> None:
    """``input_sequence`` is a parameter of SequenceMap's function, which hides the model's name."""
    model = mapped("input_sequence")
    with pytest.raises(Unsupported, match="its body reads 'input_sequence', which is a name in the operator"):
        prepare(model, device, fallback=False).run({"x": X})
