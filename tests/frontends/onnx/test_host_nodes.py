"""Nodes without DirectML operators run on the host, between parts on the device, and a warning names them."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from models import Array, assert_close, in_onnxruntime, in_reference, model_of
from onnx import helper
from typer.testing import CliRunner

import dml
from dml.cli import app
from dml.frontends.onnx import HostNodesWarning, PreparedModel, prepare
from dml.frontends.onnx.map import trace
from dml.frontends.onnx.map.node import NodeFacts
from dml.frontends.onnx.run import host_part
from dml.frontends.onnx.run.command import explain
from dml.frontends.onnx.run.host_part import REFERENCE, RUNTIME
from dml.frontends.parts import cut

FLOAT, INT64, BOOL, STRING = (onnx.TensorProto.DataType.Value(name) for name in ("FLOAT", "INT64", "BOOL", "STRING"))


def node(op: str, inputs: list[str], outputs: list[str], **attributes: Any) -> Any:
    return helper.make_node(op, inputs, outputs, **attributes)


def value(name: str, kind: int, shape: Any) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def prepared_with(model: Any, device: dml.Device, words: str) -> PreparedModel:
    """Prepare a model, expecting a warning with these words."""
    with pytest.warns(HostNodesWarning, match=words):
        return prepare(model, device)


def kinds(prepared: PreparedModel) -> list[str]:
    return ["host" if part.on_host else "device" for part in prepared.parts]


def determinants() -> tuple[Any, dict[str, Array]]:
    """Return a model of four parts (device, host, device, host): y depends on all of them, z only on a device part."""
    x = np.random.default_rng(0).uniform(-1, 1, (3, 4, 4)).astype(np.float32)
    nodes = [
        node("Sin", ["x"], ["s"]),
        node("Det", ["s"], ["d"], name="first"),
        node("Mul", ["d", "two"], ["twice"]),
        node("Mul", ["s", "two"], ["z"]),
        node("Unsqueeze", ["twice", "axes"], ["column"]),
        node("Mul", ["s", "column"], ["scaled"]),
        node("Transpose", ["scaled"], ["turned"], perm=[0, 2, 1]),
        node("Det", ["turned"], ["e"], name="second"),
        node("Add", ["e", "d"], ["y"]),
    ]
    initializers = {"two": np.array(2, np.float32), "axes": np.array([1, 2])}
    return model_of(nodes, {"x": x}, ["y", "z"], 21, initializers=initializers, ranks={"z": 3, "y": 1}), {"x": x}


def test_parts_alternate_and_the_results_are_the_references(device: dml.Device) -> None:
    model, feeds = determinants()
    prepared = prepared_with(model, device, r"2 Det \('first', 'second'\)")
    assert kinds(prepared) == ["device", "host", "device", "host", "device"]
    assert_close(prepared.run(feeds), in_reference(model, feeds), 1e-4)  # determinants of 4 x 4, of sines in float32


def test_the_warning_comes_once(device: dml.Device) -> None:
    model, feeds = determinants()
    prepared = prepared_with(model, device, "Det")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prepared.run(feeds)
        prepared.run(feeds)


def test_fallback_can_be_forbidden(device: dml.Device) -> None:
    model, _ = determinants()
    with pytest.raises(dml.DMLError, match=r"cannot be mapped: ai.onnx::Det .*'first'.*'second'") as caught:
        prepare(model, device, fallback=False)
    assert caught.value.hresult == dml.HRESULT.E_NOTIMPL


def test_without_onnxruntime_the_reference_computes(device: dml.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    model, feeds = determinants()
    expected = in_reference(model, feeds)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    prepared = prepared_with(model, device, "Det")
    assert_close(prepared.run(feeds), expected, 1e-4)
    assert {part.runtime for part in prepared.parts if part.on_host} == {"onnx's reference evaluator"}


def test_a_runtime_that_failed_for_its_numbers_is_tried_again(device: dml.Device) -> None:
    model, inputs = determinants()
    prepared = prepared_with(model, device, "Det")
    prepared.run(inputs)
    (first, *_) = [part for part in prepared.parts if part.on_host]
    (runners,) = first._runners.values()
    asked: list[str] = []

    def failing(feeds: dict[str, Any]) -> Any:
        asked.append("onnxruntime")
        raise RuntimeError("not these numbers")

    working = runners[RUNTIME]
    runners[RUNTIME] = failing
    prepared.run(inputs)
    assert first.runtime == REFERENCE
    prepared.run(inputs)
    assert asked == ["onnxruntime"] * 2
    runners[RUNTIME] = working
    prepared.run(inputs)
    assert first.runtime == RUNTIME


def test_a_runtime_that_refuses_the_node_is_not_tried_again(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def refusing(model: Any) -> Any:
        made.append("onnxruntime")
        raise RuntimeError("no such node")

    monkeypatch.setattr(host_part, "_onnxruntime", refusing)
    model, inputs = determinants()
    prepared = prepared_with(model, device, "Det")
    expected = in_reference(model, inputs)
    for _ in range(2):
        assert_close(prepared.run(inputs), expected, 1e-4)
    assert made == ["onnxruntime"] * 2, "once for each of the two parts"


def test_sizes_that_host_nodes_decide(device: dml.Device) -> None:
    """The size of Unique's output depends on data; the nodes after it are compiled for each size."""
    x = np.array([3, 1, 3, 2], np.float32)
    nodes = [node("Abs", ["x"], ["a"]), node("Unique", ["a"], ["u"]), node("Mul", ["u", "u"], ["y"])]
    prepared = prepared_with(model_of(nodes, {"x": x}, ["y"], 21, symbolic=True), device, "Unique")
    for given in ([3, 1, 3, 2], [-5, 5, 5, 5], [4, 3, 2, 1]):
        (y,) = prepared.run([np.array(given, np.float32)])
        assert y.tolist() == [v * v for v in sorted({abs(one) for one in given})]
    assert len(prepared.parts[-1].plans) == 3


@pytest.mark.parametrize("given", [{"value_string": "\u00e9"}, {"value_strings": ["a", "\u00e9"]}])
def test_constant_strings_are_text(device: dml.Device, given: dict[str, Any]) -> None:
    inputs = {"x": np.ones(2, np.float32)}
    model = model_of([helper.make_node("Constant", [], ["y"], **given)], inputs, ["y"], 18)
    (found,), (expected,) = prepare(model, device).run(inputs), in_onnxruntime(model, inputs)
    assert (found.shape, found.tolist()) == (expected.shape, expected.tolist())


def test_strings_pass_through_mapped_operators_too(device: dml.Device) -> None:
    nodes = [
        node("Concat", ["words", "more"], ["all"], axis=0),
        node("Equal", ["all", "word"], ["same"]),
        node("Cast", ["same"], ["count"], to=FLOAT),
        node("ReduceSum", ["count"], ["y"], keepdims=0),
    ]
    entries = [value("words", STRING, ["n"]), value("more", STRING, [1])]
    graph = helper.make_graph(nodes, "g", entries, [value("all", STRING, ["m"]), value("y", FLOAT, [])],
                              [onnx.numpy_helper.from_array(np.array(["b"], object), "word")])  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    prepared = prepare(model, device)
    with pytest.warns(HostNodesWarning, match="1 Concat .*1 Equal"):
        words, count = prepared.run({"words": np.array(["a", "b"]), "more": np.array(["b"], object)})
    assert words.tolist() == ["a", "b", "b"]
    assert count == 2
    assert not prepared.parts[-1].on_host  # the sum runs on the device


def test_a_node_whose_types_are_refused_goes_to_the_host_when_they_are_seen(device: dml.Device) -> None:
    x = np.array([0.3, 1.7, -20], np.float32)
    nodes = [
        node("Mul", ["x", "x"], ["s"]),
        node("Cast", ["s"], ["narrow"], to=onnx.TensorProto.FLOAT4E2M1, name="narrowing"),
        node("Cast", ["narrow"], ["wide"], to=FLOAT),
        node("Neg", ["wide"], ["y"]),
    ]
    model = model_of(nodes, {"x": x}, ["y"], 21)
    prepared = prepare(model, device)
    with pytest.warns(HostNodesWarning, match="'narrowing'"):
        found = prepared.run([x])
    assert_close(found, in_reference(model, {"x": x}), 0)
    assert kinds(prepared) == ["device", "host", "device"]
    with pytest.raises(dml.DMLError, match="narrowing"):
        prepare(model, device, fallback=False).run([x])


def test_a_branch_with_unmapped_nodes_runs_on_the_host(device: dml.Device) -> None:
    """The nested graph reads a value from the device, and a weight that no other node reads."""
    x = np.array([[2, 1], [1, 3]], np.float32)
    then = helper.make_graph(
        [node("Add", ["s", "w"], ["t"]), node("Det", ["t"], ["a"])], "then", [], [value("a", FLOAT, [])]
    )
    other = helper.make_graph([node("ReduceSum", ["s"], ["b"], keepdims=0)], "else", [], [value("b", FLOAT, [])])
    nodes = [
        node("Mul", ["x", "x"], ["s"]),
        node("If", ["c"], ["d"], then_branch=then, else_branch=other, name="which"),
        node("Mul", ["s", "d"], ["y"]),
    ]
    feeds = {"x": x, "c": np.array(True)}
    model = model_of(nodes, feeds, ["y"], 21, initializers={"w": np.eye(2, dtype=np.float32)})
    prepared = prepared_with(model, device, r"1 If \('which'\)")
    for condition in (True, False):
        feeds["c"] = np.array(condition)
        assert_close(prepared.run(feeds), in_onnxruntime(model, feeds), 1e-6)


def test_a_loop_too_long_to_unroll_runs_on_the_host(device: dml.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes after the loop stay on the device."""
    monkeypatch.setattr(trace, "_UNROLLED", 40)
    body = helper.make_graph(
        [node("Add", ["v", "v"], ["next"]), node("Identity", ["c"], ["go"])],
        "body",
        [value("i", INT64, []), value("c", BOOL, []), value("v", FLOAT, [1])],
        [value("go", BOOL, []), value("next", FLOAT, [1])],
    )
    nodes = [node("Loop", ["count", "", "x"], ["last"], body=body), node("Neg", ["last"], ["y"])]
    feeds = {"x": np.ones(1, np.float32), "count": np.array(10)}
    model = model_of(nodes, {"count": feeds["count"], "x": feeds["x"]}, ["y"], 21, ranks={"y": 1})
    model.graph.output[0].type.tensor_type.elem_type = FLOAT
    prepared = prepare(model, device)
    assert prepared.run(feeds)[0].tolist() == [-1024]
    with pytest.warns(HostNodesWarning, match=r"1 Loop \('last'\);"):
        assert prepared.run(feeds | {"count": np.array(30)})[0].tolist() == [-(2**30)]


def test_a_loop_with_many_values_to_compute_runs_on_the_host(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each round's condition takes the nodes of all rounds before it: 2 + 4 + 6 nodes for three rounds."""
    monkeypatch.setattr(trace, "_UNROLLED", 20)
    body = helper.make_graph(
        [node("Add", ["v", "v"], ["next"]), node("Less", ["next", "bound"], ["go"])],
        "body",
        [value("i", INT64, []), value("c", BOOL, []), value("v", FLOAT, [1])],
        [value("go", BOOL, [1]), value("next", FLOAT, [1])],
    )
    feeds = {"x": np.ones(1, np.float32), "bound": np.array([7], np.float32)}
    loop = node("Loop", ["", "", "x"], ["last"], body=body)
    prepared = prepare(model_of([loop], feeds, ["last"], 21, ranks={"last": 1}), device)
    assert prepared.run(feeds)[0].tolist() == [8]
    with pytest.warns(HostNodesWarning, match=r"1 Loop \('last'\);"):
        assert prepared.run(feeds | {"bound": np.array([9], np.float32)})[0].tolist() == [16]


def test_a_warning_points_to_the_caller(device: dml.Device) -> None:
    model, _ = determinants()
    with pytest.warns(HostNodesWarning) as said:
        prepare(model, device)
    assert said[0].filename == __file__


def test_a_function_of_the_model_with_unmapped_nodes(device: dml.Device) -> None:
    body = [node("Det", ["a"], ["d"]), node("Mul", ["a", "d"], ["b"])]
    function = helper.make_function("mine", "Weighted", ["a"], ["b"], body, [helper.make_opsetid("", 21)])
    x = np.array([[2, 1], [1, 3]], np.float32)
    call = helper.make_node("Weighted", ["x"], ["y"], domain="mine")
    model = model_of([call], {"x": x}, ["y"], 21, domains={"mine": 1})
    model.functions.append(function)
    (y,) = prepared_with(model, device, "mine::Weighted").run([x])
    np.testing.assert_allclose(y, x * 5, rtol=1e-6)


def test_random_numbers_and_sequences(device: dml.Device) -> None:
    nodes = [
        node("RandomNormal", [], ["noise"], shape=[4, 256], mean=3.0, scale=0.5),
        node("SequenceConstruct", ["x", "noise"], ["pair"]),
        node("SequenceAt", ["pair", "one"], ["second"]),
        node("ReduceMean", ["second"], ["y"], keepdims=0),
    ]
    x = np.zeros(3, np.float32)
    model = model_of(nodes, {"x": x}, ["y"], 21, initializers={"one": np.array(1)}, ranks={"y": 0})
    (y,) = prepared_with(model, device, "RandomNormal").run([x])
    assert abs(y - 3) < 0.2  # 12 standard deviations of the mean of 1024 numbers


def test_classic_machine_learning(device: dml.Device) -> None:
    """A scaler on the host, a matrix product on the device, and a map as output."""
    x = np.array([[1.0, 2.0], [3.0, 5.0]], np.float32)
    nodes = [
        helper.make_node("Scaler", ["x"], ["s"], domain="ai.onnx.ml", offset=[1.0, 1.0], scale=[2.0, 0.5]),
        node("MatMul", ["s", "w"], ["scores"]),
        helper.make_node("ZipMap", ["scores"], ["y"], domain="ai.onnx.ml", classlabels_strings=["no", "yes"]),
    ]
    model = model_of(nodes, {"x": x}, ["scores"], 21, initializers={"w": np.eye(2, dtype=np.float32)},
                     domains={"ai.onnx.ml": 3})  # fmt: skip
    mapping = helper.make_map_type_proto(STRING, helper.make_tensor_type_proto(FLOAT, []))
    model.graph.output.append(helper.make_value_info("y", helper.make_sequence_type_proto(mapping)))
    scores, y = prepared_with(model, device, "1 ai.onnx.ml::Scaler .*1 ai.onnx.ml::ZipMap").run([x])
    assert scores.tolist() == [[0, 0.5], [4, 2]]
    assert y == [{"no": 0, "yes": 0.5}, {"no": 4, "yes": 2}]


def test_an_initializer_that_is_an_input_too_can_be_replaced_on_the_host(device: dml.Device) -> None:
    x = np.eye(2, dtype=np.float32)
    model = model_of([node("Add", ["x", "w"], ["s"]), node("Det", ["s"], ["y"])], {"x": x, "w": x}, ["y"], 21,
                     initializers={"w": x}, ranks={"y": 0})  # fmt: skip
    model.graph.node[0].op_type = "Add"
    prepared = prepared_with(model, device, "Det")
    assert float(prepared.run({"x": x})[0]) == 4
    assert float(prepared.run({"x": x, "w": 2 * x})[0]) == 9
    only = model_of([node("Det", ["w"], ["y"])], {"x": x, "w": x}, ["y"], 21, initializers={"w": x}, ranks={"y": 0})
    prepared = prepared_with(only, device, "Det")
    assert float(prepared.run({"x": x})[0]) == 1
    assert float(prepared.run({"x": x, "w": 2 * x})[0]) == 4


def test_large_initializers_reach_the_host(device: dml.Device) -> None:
    """Initializers above a mebibyte are passed separately from the nodes."""
    w = np.random.default_rng(2).uniform(-1, 1, (1, 600, 600)).astype(np.float32)
    x = np.full((1, 600, 600), 1e-3, np.float32)
    nodes = [node("Unique", ["w"], ["u"]), node("ReduceMax", ["u"], ["m"], keepdims=0), node("Add", ["x", "m"], ["y"])]
    model = model_of(nodes, {"x": x}, ["y"], 21, initializers={"w": w})
    assert_close(prepared_with(model, device, "Unique").run([x]), in_onnxruntime(model, {"x": x}), 0)


def test_unknown_operators_are_refused_at_load(device: dml.Device) -> None:
    """The host also knows operators that only onnxruntime or only onnx has."""
    x = np.ones(2, np.float32)
    for domain in ("nobody", "com.microsoft"):
        nodes = [node("Abs", ["x"], ["a"]), helper.make_node("Nonsense", ["a"], ["y"], domain=domain, name="it")]
        model = model_of(nodes, {"x": x}, ["y"], 21, domains={domain: 1})
        with pytest.raises(
            dml.DMLError, match=rf"neither dml nor a host runtime knows: {domain}::Nonsense version 1 \(node 'it'\)"
        ) as caught:
            prepare(model, device)
        assert caught.value.hresult == dml.HRESULT.E_NOTIMPL
    known = helper.make_node("Tokenizer", ["x"], ["y"], domain="com.microsoft", separators=[" "], mark=0, mincharnum=1,
                             pad_value="")  # fmt: skip
    graph = helper.make_graph([known], "g", [value("x", STRING, [1])], [value("y", STRING, ["n", "m"])])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    prepared = prepared_with(helper.make_model(graph, opset_imports=opsets, ir_version=10), device, "Tokenizer")
    assert prepared.run([np.array(["a b"], object)])[0].tolist() == [["a", "b"]]


def test_nodes_that_every_runtime_refuses_are_named(device: dml.Device) -> None:
    x = np.ones((2, 3), np.float32)
    model = model_of([node("Abs", ["x"], ["a"]), node("Det", ["a"], ["y"])], {"x": x}, ["y"], 21, ranks={"y": 0})
    prepared = prepared_with(model, device, "Det")
    with pytest.raises(dml.DMLError, match=r"nodes on the host, 1 Det \('y'\): onnxruntime's .*reference"):
        prepared.run([x])


MANY = (2, 1, 2, 3, 1, 2, 1, 2, 2)
TURNED = [8, 1, 6, 3, 4, 5, 2, 7, 0]


@pytest.mark.parametrize(
    "op, inputs, attributes",
    [
        ("Neg", [], {}),
        ("Identity", [], {}),
        ("Softmax", [], {"axis": 3}),
        ("Transpose", [], {"perm": TURNED}),
        ("Add", [np.arange(6, dtype=np.float32).reshape(3, 1, 1, 1, 1, 2)], {}),
        ("Expand", [np.array([2, *MANY])], {}),
        ("Gather", [np.array([[1, 0], [0, 1]])], {"axis": 3}),
        ("Unsqueeze", [np.array([0, 4])], {}),
        ("ReduceSum", [np.array([0, 3])], {"keepdims": 0}),
        ("MatMul", [np.arange(6, dtype=np.float32).reshape(2, 3)], {}),
    ],
)
@pytest.mark.filterwarnings("ignore::dml.errors.HostNodesWarning")
def test_nodes_of_more_than_eight_dimensions(
    op: str, inputs: list[Array], attributes: dict[str, Any], device: dml.Device
) -> None:
    """Such nodes run on the host if the device cannot express them; nodes of fewer dimensions stay on the device."""
    x = np.random.default_rng(5).uniform(-1, 1, 96).astype(np.float32)
    names = [f"i{index}" for index in range(len(inputs))]
    nodes = [
        node("Mul", ["x", "x"], ["s"]),
        node("Reshape", ["s", "many"], ["m"]),
        node(op, ["m", *names], ["n"], **attributes),
        node("Reshape", ["n", "flat"], ["f"]),
        node("Neg", ["f"], ["y"]),
    ]
    initializers = dict(zip(names, inputs, strict=True)) | {"many": np.array(MANY), "flat": np.array([-1])}
    model = model_of(nodes, {"x": x}, ["y", "n"], 21, initializers=initializers, ranks={"y": 1})
    prepared = prepare(model, device)
    assert_close(prepared.run([x]), in_reference(model, {"x": x}), 1e-6)
    assert not prepared.parts[0].on_host
    assert not prepared.parts[-1].on_host
    if op == "Neg":
        with pytest.raises(dml.DMLError, match=r"node Neg: .*DimensionCount: must be from 1 to 8") as caught:
            prepare(model, device, fallback=False).run([x])
        assert caught.value.hresult == dml.HRESULT.DXGI_ERROR_UNSUPPORTED


def test_explain_and_profile_name_host_nodes(device: dml.Device, tmp_path: Path) -> None:
    model, feeds = determinants()
    rows = explain(prepared_with(model, device, "Det"), feeds).rows
    on_host = [row for row in rows if row.on_host]
    assert [row.node for row in on_host] == ["node 'first' (Det)", "node 'second' (Det)"]
    assert "onnxruntime's CPU provider (no mapping for ai.onnx::Det version" in on_host[0].on_host
    assert len(rows) == len(model.graph.node)
    path, array, trace = tmp_path / "model.onnx", tmp_path / "x.npy", tmp_path / "trace.json"
    path.write_bytes(model.SerializeToString())
    np.save(array, feeds["x"])
    with pytest.warns(HostNodesWarning):
        result = CliRunner().invoke(app, ["run", str(path), "--input", f"x={array}", "--profile", str(trace)])
    assert result.exit_code == 0, result.output
    names = [event["args"]["name"] for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "M"]
    assert [name for name in names if "on the host" in name] == [f"model.onnx, part {at}, on the host" for at in (2, 4)]
    assert result.output.count("(host clock)") == 2
    command = [sys.executable, "-m", "dml", "run", str(path), "--input", f"x={array}", "--device", device.vulkan.name]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert said.startswith("dml: nodes of the model run on the host, without DirectML: 2 Det ('first', 'second')")
    assert said.count("\n") == 1
    result = CliRunner().invoke(app, ["run", str(path), "--input", f"x={array}", "--no-fallback"])
    assert result.exit_code == 1
    assert "cannot be mapped" in result.output


def cuts(nodes: list[Any], host: set[int], outputs: list[str], constants: tuple[str, ...] = ()) -> list[Any]:
    facts = [NodeFacts(one) for one in nodes]
    return [(one.on_host, [node.output[0] for node in one.nodes], one.inputs, one.outputs)
            for one in cut(facts, host, ["x"], constants, outputs)]  # fmt: skip


def test_constant_nodes_are_in_each_part_that_needs_them() -> None:
    nodes = [node("Neg", ["w"], ["n"]), node("Add", ["x", "n"], ["a"]), node("Det", ["a"], ["d"]),
             node("Mul", ["d", "n"], ["y"])]  # fmt: skip
    assert cuts(nodes, {2}, ["y"], ("w",)) == [
        (False, ["n", "a"], ("x",), ("a",)),
        (True, ["d"], ("a",), ("d",)),
        (False, ["n", "y"], ("d",), ("y",)),
    ]


def test_unneeded_nodes_are_left_out() -> None:
    nodes = [node("Det", ["x"], ["d"]), node("Abs", ["x"], ["y"])]
    assert cuts(nodes, {0}, ["y"]) == [(False, ["y"], ("x",), ("y",))]


def test_independent_host_nodes_share_a_part() -> None:
    nodes = [node("Det", ["x"], ["d"]), node("Abs", ["x"], ["a"]), node("Det", ["a"], ["e"]),
             node("Add", ["d", "e"], ["y"])]  # fmt: skip
    assert [on_host for on_host, *_ in cuts(nodes, {0, 2}, ["y"])] == [False, True, False]
