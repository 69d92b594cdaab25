"""`dml explain`: reports the operators of each node and the assumed sizes, and runs no nodes on the host."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from typer.testing import CliRunner, Result

import dml
from dml.cli import app
from dml.frontends.onnx.run import host_part

FLOAT, INT64, BOOL = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL
value, sequence = helper.make_tensor_value_info, helper.make_tensor_sequence_value_info


def saved(folder: Path, nodes: list[Any], inputs: list[Any], outputs: list[Any], **initial: Any) -> Path:
    initializers = [numpy_helper.from_array(np.asarray(array), name) for name, array in initial.items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), folder / "m.onnx")
    return folder / "m.onnx"


@pytest.fixture
def explain(device: dml.Device) -> Any:
    def run(path: Path, *arguments: object) -> Result:
        return CliRunner().invoke(
            app, ["explain", str(path), "--device", str(device.vulkan.index), *map(str, arguments)]
        )

    return run


@pytest.fixture
def pooling(tmp_path: Path) -> Path:
    """Save a pooling with a window of 2 over images of any size."""
    nodes = [
        helper.make_node("MaxPool", ["x"], ["p"], kernel_shape=[2, 2], strides=[2, 2], name="pool1"),
        helper.make_node("Relu", ["p"], ["y"]),
    ]
    return saved(tmp_path, nodes, [value("x", FLOAT, ["n", 3, "h", "w"])], [value("y", FLOAT, None)])


def test_errors_report_assumed_sizes(explain: Any, tmp_path: Path) -> None:
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], name="conv1")]
    inputs, outputs = [value("x", FLOAT, ["n", 3, "h", "w"])], [value("y", FLOAT, None)]
    convolution = saved(tmp_path, nodes, inputs, outputs, w=np.ones((4, 3, 2, 2), np.float32))
    result = explain(convolution)
    assert result.exit_code == 1
    assert "does not fit 1 elements" in result.output
    assert "sizes assumed: h=1, n=1, w=1 (--size h=NUMBER gives one)" in result.output
    inspected = CliRunner().invoke(app, ["inspect", str(convolution)])
    assert "sizes assumed: h=1, n=1, w=1" in inspected.output


def test_given_sizes_are_reported(explain: Any, pooling: Path, tmp_path: Path) -> None:
    result = explain(pooling, "--size", "h=8", "--size", "w=6")
    assert result.exit_code == 0, result.output
    assert "sizes assumed: n=1 (--size n=NUMBER gives one)" in result.output
    assert "node Relu -> y" in result.output, "a node without a name has its output's"
    np.save(tmp_path / "x.npy", np.zeros((4, 3, 10, 12), np.float32))
    result = explain(pooling, "--input", f"x={tmp_path / 'x.npy'}", "--json")
    assert json.loads(result.output)["sizes"] == {"h": 10, "n": 4, "w": 12}
    assert json.loads(result.output)["assumed"] == []
    assert "the model has no size 'depth'; it has h, n, w" in explain(pooling, "--size", "depth=3").output


def test_json_with_times(explain: Any, pooling: Path) -> None:
    result = explain(pooling, "--size", "h=8", "--size", "w=6", "--json", "--profile")
    facts = json.loads(result.output)
    assert facts["sizes"] == {"h": 8, "n": 1, "w": 6}
    assert [(one["node"], one["operators"]) for one in facts["nodes"]] == [
        ("node 'pool1' (MaxPool)", ["MAX_POOLING2"]),
        ("node Relu -> y", ["ACTIVATION_RELU"]),
    ]
    assert facts["kernels"][0]["nodes"][0] == "pool1"
    assert all(kernel["nanoseconds"] > 0 for kernel in facts["kernels"])
    plain = json.loads(explain(pooling, "--size", "h=8", "--size", "w=6", "--json").output)
    assert "kernels" not in plain


def test_the_page_has_the_sizes(explain: Any, pooling: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = explain(pooling, "--size", "h=8", "--size", "w=6", "--html", page, "--profile")
    assert result.exit_code == 0, result.output
    assert "<dt>sizes</dt><dd>h=8, n=1 (assumed), w=6</dd>" in page.read_text(encoding="utf-8")


@pytest.mark.filterwarnings("ignore::dml.errors.HostNodesWarning")
def test_no_node_runs_on_the_host(explain: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shapes after host nodes are inferred by ONNX; assumed sizes are reported."""

    def refuse(*_: object) -> None:
        raise AssertionError("a node ran on the host")

    monkeypatch.setattr(host_part, "_onnxruntime", refuse)
    monkeypatch.setattr(host_part, "_reference", refuse)
    nodes = [
        helper.make_node("Det", ["x"], ["d"], name="det"),
        helper.make_node("Add", ["d", "d"], ["e"], name="add"),
        helper.make_node("Unique", ["e"], ["u"], name="unique"),
        helper.make_node("Neg", ["u"], ["y"], name="neg"),
    ]
    path = saved(tmp_path, nodes, [value("x", FLOAT, ["n", 4, 4])], [value("y", FLOAT, None)])
    result = explain(path, "--json", "--size", "n=3")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.output[result.output.index("{") :])
    by_name = {one["node"].split("'")[1]: one for one in facts["nodes"]}
    assert {name: one["operators"] for name, one in by_name.items()} == {
        "det": [], "add": ["ELEMENT_WISE_ADD"], "unique": [], "neg": ["ELEMENT_WISE_NEGATE"],
    }  # fmt: skip
    assert "no mapping for ai.onnx::Det" in by_name["det"]["on_host"]
    assert facts["assumed"] == ["sizes known only after a run on the host, assumed to be 1: u"]


@pytest.mark.filterwarnings("ignore::dml.errors.HostNodesWarning")
def test_nodes_after_an_unknown_rank_have_no_plan(explain: Any, tmp_path: Path) -> None:
    """ONNX cannot infer shapes of onnxruntime's operators."""
    nodes = [
        helper.make_node("Unique", ["x"], ["u"], name="unique"),
        helper.make_node("Tokenizer", ["words"], ["t"], domain="com.microsoft", name="split", separators=[" "], mark=0,
                         mincharnum=1, pad_value=""),
        helper.make_node("Shape", ["t"], ["s"], name="shape"),
        helper.make_node("Expand", ["u", "s"], ["y"], name="expand"),
    ]  # fmt: skip
    inputs = [value("x", FLOAT, [3]), value("words", onnx.TensorProto.STRING, [2])]
    graph = helper.make_graph(nodes, "g", inputs, [value("y", FLOAT, None)])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), tmp_path / "m.onnx")
    for arguments in ((), ("--html", tmp_path / "page.html")):
        result = explain(tmp_path / "m.onnx", *arguments)
        assert result.exit_code == 0, result.output
    assert "on the device, known once it runs" in (tmp_path / "page.html").read_text(encoding="utf-8")
    listed = explain(tmp_path / "m.onnx").output
    assert "depend on the shape of t" in " ".join(listed.split())


@pytest.mark.parametrize("last", ["ConcatFromSequence", "SequenceAt"])
def test_a_loop_that_fills_a_sequence(last: str, explain: Any, tmp_path: Path) -> None:
    """The trip count is an unknown input: one iteration is assumed where zero would leave an empty sequence to
    concatenate."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["on"]),
            helper.make_node("Mul", ["x", "x"], ["square"]),
            helper.make_node("SequenceInsert", ["s", "square"], ["longer"]),
        ],
        "body",
        [value("i", INT64, []), value("go", BOOL, []), sequence("s", FLOAT, None)],
        [value("on", BOOL, []), sequence("longer", FLOAT, None)],
    )
    attributes = {"axis": 0} if last == "ConcatFromSequence" else {}
    nodes = [
        helper.make_node("SequenceEmpty", [], ["empty"], dtype=FLOAT),
        helper.make_node("Loop", ["count", "", "empty"], ["filled"], body=body, name="often"),
        helper.make_node(last, ["filled", "first"][: 2 if last == "SequenceAt" else 1], ["y"], **attributes),
    ]
    path = saved(tmp_path, nodes, [value("x", FLOAT, [2, 3]), value("count", INT64, [])], [value("y", FLOAT, None)],
                 first=0)  # fmt: skip
    result = explain(path)
    assert result.exit_code == 0, result.output
    assert "ELEMENT_WISE_MULTIPLY" in result.output
    assert "zeros for x and ones for count" in result.output
    np.save(tmp_path / "n.npy", np.array(3))
    result = explain(path, "--input", f"count={tmp_path / 'n.npy'}", "--json")
    often = next(one for one in json.loads(result.output)["nodes"] if "'often'" in one["node"])
    assert often["operators"] == ["ELEMENT_WISE_MULTIPLY"] * 3


def test_openvino_ir_of_open_sizes(explain: Any, tmp_path: Path, device: dml.Device) -> None:
    ov = pytest.importorskip("openvino", reason="the openvino package is a test dependency (extra `test`)")
    opset = pytest.importorskip("openvino.opset13")
    x = opset.parameter([-1, -1, 3], np.float32, name="x")
    ov.save_model(ov.Model([opset.result(opset.relu(x))], [x], "small"), str(tmp_path / "small.xml"))
    facts = json.loads(explain(tmp_path / "small.xml", "--size", "x.1=6", "--json").output)
    assert [one["operators"] for one in facts["nodes"]] == [["ACTIVATION_RELU"]]
    assert facts["sizes"] == {"x.0": 1, "x.1": 6}
    arguments = ["inspect", str(tmp_path / "small.xml"), "--json", "--size", "x.1=6"]
    facts = json.loads(CliRunner().invoke(app, [*arguments, "--device", str(device.vulkan.index)]).output)
    assert facts["inputs"][0]["shape"] == ["x.0", "x.1", 3]
    assert (facts["sizes"], facts["assumed"]) == ({"x.0": 1, "x.1": 6}, ["x.0"])
    assert facts["memory"]["inputs"] == 4 * 6 * 3


def test_sizes_that_openvino_ir_does_not_have(tmp_path: Path, device: dml.Device) -> None:
    ov = pytest.importorskip("openvino", reason="the openvino package is a test dependency (extra `test`)")
    opset = pytest.importorskip("openvino.opset13")
    for sizes, has in (([-1, -1, 3], "x.0, x.1"), ([2, 3], "none")):
        x = opset.parameter(sizes, np.float32, name="x")
        ov.save_model(ov.Model([opset.result(opset.relu(x))], [x], "small"), str(tmp_path / "small.xml"))
        arguments = [str(tmp_path / "small.xml"), "--size", "x.2=6", "--device", str(device.vulkan.index)]
        runs = [CliRunner().invoke(app, ["inspect", *arguments]), CliRunner().invoke(app, ["explain", *arguments])]
        runs += [CliRunner().invoke(app, ["run", *arguments, *more]) for more in (["--random"], ["--explain"])]
        for run in runs:
            assert run.exit_code == 1
            assert f"the model has no size 'x.2'; it has {has}" in run.output


def test_openvino_ir(explain: Any, tmp_path: Path, device: dml.Device) -> None:
    ov = pytest.importorskip("openvino", reason="the openvino package is a test dependency (extra `test`)")
    opset = pytest.importorskip("openvino.opset13")
    x = opset.parameter([2, 3], np.float32, name="x")
    made = opset.relu(opset.matmul(x, opset.constant(np.ones((3, 4), np.float32)), False, False), name="top")
    ov.save_model(ov.Model([opset.result(made)], [x], "small"), str(tmp_path / "small.xml"), compress_to_fp16=False)
    facts = json.loads(explain(tmp_path / "small.xml", "--json").output)
    assert [one["operators"] for one in facts["nodes"]] == [["GEMM"], ["ACTIVATION_RELU"]]
    assert "'top'" in facts["nodes"][1]["node"]
    run = CliRunner().invoke(
        app, ["inspect", str(tmp_path / "small.xml"), "--json", "--device", str(device.vulkan.index)]
    )
    facts = json.loads(run.output)
    assert [(one["name"], one["kind"], one["shape"]) for one in facts["inputs"]] == [("x", "float32", [2, 3])]
    assert facts["outputs"][0]["shape"] == [2, 4]
    assert [(one["name"], one["how"]) for one in facts["operators"]] == [("MatMul", "mapped"), ("ReLU", "mapped")]
    assert facts["weight_bytes"] == 48
    assert facts["memory"]["inputs"] == 24


def test_another_format_is_refused(explain: Any, tmp_path: Path) -> None:
    (tmp_path / "m.txt").touch()
    result = explain(tmp_path / "m.txt")
    assert result.exit_code == 1
    assert "only .onnx, .xml and .bin are explained, found the suffix '.txt'" in result.output
