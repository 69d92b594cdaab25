"""Pictures of graphs of DirectML operators, and of OpenVINO's models."""

from __future__ import annotations

import numpy as np
import pytest

import dml
from dml.frontends.options import Options
from dml.graph import operations as op
from dml.graph.builder import Builder
from dml.picture import page
from dml.picture.files import picture_of
from dml.picture.graph import graph_picture


def test_a_graph(device):
    builder = Builder(device)
    x = builder.input("x", (2, 8))
    product = op.gemm(x, builder.constant(np.ones((8, 4), np.float32)))
    compiled = builder.compile({"y": op.relu(product), "sum": x + 1.0})
    times = compiled.profile({"x": np.ones((2, 8), np.float32)})
    picture = graph_picture(builder.graph, compiled, device, "a graph", times)
    named = {node.operator: index for index, node in enumerate(picture.nodes) if node.kind == "node"}
    assert sorted(named) == ["ACTIVATION_RELU", "ELEMENT_WISE_IDENTITY", "GEMM"]
    gemm, relu = (picture.nodes[named[name]] for name in ("GEMM", "ACTIVATION_RELU"))
    assert [(value.shape, value.known) for value in gemm.inputs] == [((2, 8), False), ((8, 4), True)]
    assert gemm.group is not None
    assert gemm.group == relu.group
    assert ("Alpha", "1.0") in gemm.attributes
    edges = {(picture.nodes[start].operator, picture.nodes[end].operator) for start, end, _ in picture.edges}
    assert edges == {("input", "GEMM"), ("GEMM", "ACTIVATION_RELU"), ("input", "ELEMENT_WISE_IDENTITY"),
                     ("ACTIVATION_RELU", "output"), ("ELEMENT_WISE_IDENTITY", "output")}  # fmt: skip
    assert sum(node.nanoseconds or 0 for node in picture.nodes) == sum(time.nanoseconds for time in times)
    assert "a graph" in page(picture)


def test_an_openvino_model(device, tmp_path):
    ov = pytest.importorskip("openvino", reason="the openvino package is a test dependency (extra `test`)")
    opset = pytest.importorskip("openvino.opset13")
    x = opset.parameter([2, 3], np.float32, name="x")
    made = opset.relu(opset.matmul(x, opset.constant(np.ones((3, 4), np.float32)), False, False))
    ov.save_model(ov.Model([opset.result(made)], [x], "small"), str(tmp_path / "small.xml"))
    picture = picture_of(tmp_path / "small.xml", device, Options(), profile=True)
    assert "GEMM" in [node.operator for node in picture.nodes]
    assert any(kernel.nanoseconds for kernel in picture.kernels)


def test_another_file_is_refused(device, tmp_path):
    with pytest.raises(dml.DMLError, match=r"only \.onnx, \.xml and \.bin are drawn, found the suffix '\.json'"):
        picture_of(tmp_path / "model.json", device, Options())
