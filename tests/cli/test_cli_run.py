"""`dml run`: messages about missing and random inputs and missing folders, and the names in a profile."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from typer.testing import CliRunner, Result

import dml
from dml.cli import app

value = helper.make_tensor_value_info


@pytest.fixture
def run(device: dml.Device) -> Any:
    def command(*arguments: object) -> Result:
        return CliRunner().invoke(app, ["run", "--device", str(device.vulkan.index), *map(str, arguments)])

    return command


@pytest.fixture
def layers(tmp_path: Path) -> Path:
    """Save a model of two layers, the second without a name, with a batch and its mask as inputs."""
    rng = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(rng.uniform(-1, 1, (8, 8)).astype(np.float32), f"w{index}") for index in range(2)
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w0"], ["a"], name="conv1"),
        helper.make_node("Relu", ["a"], ["b"], name="relu1"),
        helper.make_node("MatMul", ["b", "w1"], ["c"]),
        helper.make_node("Cast", ["mask"], ["m"], to=onnx.TensorProto.FLOAT),
        helper.make_node("Mul", ["c", "m"], ["y"]),
    ]
    inputs = [value("x", onnx.TensorProto.FLOAT, ["batch", 8]), value("mask", onnx.TensorProto.INT64, ["batch", 1])]
    graph = helper.make_graph(nodes, "g", inputs, [value("y", onnx.TensorProto.FLOAT, ["batch", 8])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def test_missing_inputs_are_listed(run: Any, layers: Path, tmp_path: Path) -> None:
    result = run(layers)
    assert result.exit_code == 1
    assert (
        "inputs are missing: x: float32 batch x 8; mask: int64 batch x 1. Give each as --input x=FILE.npy"
        in result.output
    )
    assert "--random" in result.output
    np.save(tmp_path / "x.npy", np.zeros((3, 8), np.float32))
    result = run(layers, "--input", f"x={tmp_path / 'x.npy'}")
    assert "inputs are missing: mask: int64 batch x 1." in result.output


def test_random_inputs(run: Any, layers: Path, tmp_path: Path) -> None:
    """Random inputs repeat in each run; sizes come from given arrays and from --size."""
    result = run(layers, "--random", "--size", "batch=5", "--output-dir", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "x: random float32 (5, 8)\nmask: random int64 (5, 1)\n" in result.output
    first = np.load(tmp_path / "out" / "y.npy")
    assert first.shape == (5, 8)
    run(layers, "--random", "--size", "batch=5", "--output-dir", tmp_path / "out")
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "y.npy"), first)
    np.save(tmp_path / "x.npy", np.zeros((3, 8), np.float32))
    result = run(layers, "--random", "--input", f"x={tmp_path / 'x.npy'}")
    assert "mask: random int64 (3, 1)" in result.output
    assert run(layers, "--random", "--size", "depth=5").exit_code == 1


def test_openvino_models_too(run: Any, tmp_path: Path) -> None:
    ov = pytest.importorskip("openvino", reason="the openvino package is a test dependency (extra `test`)")
    opset = pytest.importorskip("openvino.opset13")
    x = opset.parameter([2, 3], np.float32, name="x")
    ov.save_model(ov.Model([opset.result(opset.relu(x, name="top"))], [x], "small"), str(tmp_path / "small.xml"))
    assert "inputs are missing: x: float32 2 x 3." in run(tmp_path / "small.xml").output
    result = run(tmp_path / "small.xml", "--random")
    assert result.exit_code == 0
    assert "x: random float32 (2, 3)" in result.output
    for arguments in ((), ("--random",)):
        result = run(tmp_path / "small.xml", "--profile", tmp_path / "trace.json", *arguments)
        assert result.exit_code == 0, result.output
        trace = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
        assert [event["name"] for event in trace["traceEvents"] if event["ph"] == "X"] == ["top (ACTIVATION_RELU)"]


def test_openvino_models_of_open_sizes(run: Any, tmp_path: Path) -> None:
    ov = pytest.importorskip("openvino", reason="the openvino package is a test dependency (extra `test`)")
    opset = pytest.importorskip("openvino.opset13")
    x = opset.parameter([-1, 3], np.float32, name="x")
    ov.save_model(ov.Model([opset.result(opset.relu(x, name="top"))], [x], "small"), str(tmp_path / "small.xml"))
    assert "inputs are missing: x: float32 x.0 x 3." in run(tmp_path / "small.xml").output
    result = run(tmp_path / "small.xml", "--random", "--size", "x.0=4")
    assert result.exit_code == 0, result.output
    assert "x: random float32 (4, 3)" in result.output
    np.save(tmp_path / "x.npy", np.ones((5, 3), np.float32))
    for arguments in (("--size", "x.0=4"), ("--random",), ("--input", f"x={tmp_path / 'x.npy'}")):
        result = run(tmp_path / "small.xml", "--profile", tmp_path / "trace.json", *arguments)
        assert result.exit_code == 0, result.output
        trace = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
        assert [event["name"] for event in trace["traceEvents"] if event["ph"] == "X"] == ["top (ACTIVATION_RELU)"]


def test_a_folder_that_is_not_there_is_refused_before_the_work(run: Any, layers: Path, tmp_path: Path) -> None:
    result = run(layers, "--profile", tmp_path / "nowhere" / "trace.json")
    assert result.exit_code == 2
    assert "--profile: the folder" in result.output
    assert not (tmp_path / "nowhere").exists()


def test_a_profile_has_the_models_names(run: Any, layers: Path, tmp_path: Path) -> None:
    result = run(layers, "--profile", tmp_path / "trace.json", "--size", "batch=5")
    assert result.exit_code == 0, result.output
    assert "conv1 (GEMM)" in result.output
    trace = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    names = " + ".join(event["name"] for event in trace["traceEvents"] if event["ph"] == "X")
    assert {"conv1 (GEMM)", "relu1 (ACTIVATION_RELU)", "c (GEMM)"} <= set(names.split(" + "))
    assert not re.search(r"\bnode \d", names)
    assert "sizes assumed: batch=1" in run(layers, "--profile", tmp_path / "trace.json").output


def test_an_explanation_tells_nodes_apart(run: Any, layers: Path) -> None:
    lines = run(layers, "--explain").output.splitlines()
    assert "node 'conv1' (MatMul): GEMM (feature level 4_0)" in lines
    assert "node MatMul -> c: GEMM (feature level 4_0)" in lines
    assert lines[-1] == "sizes assumed: batch=1 (--size batch=NUMBER gives one)"


def test_an_unknown_feature_level_is_a_usage_error(run: Any, layers: Path) -> None:
    result = run(layers, "--random", "--feature-level", "9_9")
    assert result.exit_code == 2
    assert "must be a DML_FEATURE_LEVEL, found '9_9'" in result.output
