"""A model's picture: its information on nodes and kernels, and its page in a browser."""

from __future__ import annotations

import html
import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from typer.testing import CliRunner

import dml
from browser import DESK, PHONE, PROGRAM, WHY_NOT, browser
from dml.cli import app
from dml.frontends.onnx import HostNodesWarning, prepare
from dml.picture import page, write_picture
from dml.picture.onnx import onnx_picture

needs_browser = pytest.mark.skipif(PROGRAM is None, reason=WHY_NOT)


def classifier():
    """Return a model: two convolutions with batch normalization, a skip connection, an If with a known branch, and a
    product."""
    random = np.random.default_rng(0)
    weights = {
        "w1": random.standard_normal((4, 4, 3, 3)), "w2": random.standard_normal((4, 4, 3, 3)),
        "scale": np.ones(4), "bias": np.zeros(4), "mean": np.zeros(4), "variance": np.ones(4),
        "last": random.standard_normal((4, 3)),
    }  # fmt: skip
    branches = {
        f"{name}_branch": helper.make_graph([helper.make_node(op, ["skipped"], [f"{name}_result"])], name, [],
                                            [helper.make_tensor_value_info(f"{name}_result", TensorProto.FLOAT, None)])
        for name, op in (("then", "Abs"), ("else", "Neg"))
    }  # fmt: skip
    norm = ["scale", "bias", "mean", "variance"]
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["c1"], "block/conv1", pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c1", *norm], ["n1"], "block/norm1"),
        helper.make_node("Relu", ["n1"], ["r1"], "block/relu1"),
        helper.make_node("Conv", ["r1", "w2"], ["c2"], "block/conv2", pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["c2", "x"], ["skipped"], "block/add"),
        helper.make_node("If", ["yes"], ["chosen"], "either", **branches),
        helper.make_node("GlobalAveragePool", ["chosen"], ["pooled"], "pool"),
        helper.make_node("Shape", ["pooled"], ["shape"], "shape"),
        helper.make_node("Flatten", ["pooled"], ["flat"], "</script>flatten"),
        helper.make_node("Gemm", ["flat", "last"], ["y"]),
    ]
    initializers = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()]
    initializers.append(numpy_helper.from_array(np.array(True), "yes"))
    graph = helper.make_graph(
        nodes, "classifier",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 4, 8, 8))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 3)),
         helper.make_tensor_value_info("shape", TensorProto.INT64, (4,))],
        initializers,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


@pytest.fixture(scope="module")
def picture(device):
    return onnx_picture(prepare(classifier(), device), "classifier.onnx", profile=True)


def named(picture, name):
    return next(node for node in picture.nodes if node.name == name)


def test_nodes_are_those_of_the_file(picture):
    nodes = [node for node in picture.nodes if node.kind == "node"]
    assert [node.operator for node in nodes] == [node.op_type for node in classifier().graph.node]
    assert [node.name for node in picture.nodes if node.kind == "input"] == ["x"]
    assert [node.name for node in picture.nodes if node.kind == "output"] == ["y", "shape"]
    conv = named(picture, "block/conv1")
    assert conv.attributes == [("pads", "[1, 1, 1, 1]")]
    assert [(v.name, v.shape, v.size, v.known) for v in conv.inputs] == [
        ("x", (1, 4, 8, 8), 1024, False),
        ("w1", (4, 4, 3, 3), 576, True),
    ]
    assert conv.operators == ["CONVOLUTION"]
    assert named(picture, "either").inner == ["node Abs"]


def test_edges_lead_from_writers_to_readers(picture):
    names = [node.name or node.operator for node in picture.nodes]
    edges = [(names[start], names[end], value) for start, end, value in picture.edges]
    assert ("x", "block/conv1", "x") in edges
    assert ("x", "block/add", "x") in edges
    assert ("block/conv2", "block/add", "c2") in edges
    assert ("Gemm", "y", "y") in edges
    assert ("shape", "shape", "shape") in edges
    assert len(edges) == len(set(edges))


def test_fates_of_nodes(picture, device):
    group = named(picture, "block/conv1").group
    assert group is not None
    assert {node.name for node in picture.nodes if node.group == group} == {
        "block/conv1", "block/norm1", "block/relu1",
    }  # fmt: skip
    # a CPU driver adds to small results in a separate kernel
    added = named(picture, "block/add").group
    assert added is not None
    assert (named(picture, "block/conv2").group == added) is not device.vulkan.target.is_cpu
    assert named(picture, "shape").fate == "known"
    assert named(picture, "</script>flatten").fate == "view"
    assert named(picture, "pool").fate == "kernel"


def test_kernels_are_the_programs(picture, device):
    compiled = prepare(classifier(), device)
    plan, _ = compiled.compiled_for({"x": np.zeros((1, 4, 8, 8), np.float32)})
    ran = [kernel for kernel in picture.kernels if not kernel.once]
    assert [kernel.kernel for kernel in ran] == [dispatch.label for dispatch in plan.compiled.program.dispatches]
    for kernel, dispatch in zip(ran, plan.compiled.program.dispatches, strict=True):
        bound = sum({binding.region: binding.region.size for binding in dispatch.bindings}.values())
        assert kernel.read + kernel.written + kernel.weights >= bound
        assert kernel.nodes
    # every nanosecond is attributed to one node
    assert sum(node.nanoseconds or 0 for node in picture.nodes) == sum(kernel.nanoseconds for kernel in ran) > 0


def test_without_a_profile_there_are_no_times(device):
    picture = onnx_picture(prepare(classifier(), device), "classifier.onnx")
    assert all(kernel.nanoseconds is None for kernel in picture.kernels)
    assert all(node.nanoseconds is None for node in picture.nodes)


def test_the_page_fetches_nothing_and_escapes_names(picture):
    text = page(picture)
    assert "default-src 'none'" in html.unescape(text)
    assert not re.search(r"""(src|href)\s*=\s*["'](?!#)|@import|url\(|https?://(?!www\.w3\.org)""", text)
    assert text.count("</script>") == 2


def test_a_model_whose_outputs_are_known_has_no_kernels(device):
    graph = helper.make_graph(
        [helper.make_node("Shape", ["x"], ["y"])], "shape",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 3))],
        [helper.make_tensor_value_info("y", TensorProto.INT64, (2,))],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    picture = onnx_picture(prepare(model, device), "shape.onnx", profile=True)
    assert picture.kernels == []
    assert "shape.onnx" in page(picture)


def test_nodes_on_the_host_stand_between_those_of_the_device(device):
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["squares"], "before"),
        helper.make_node("Det", ["squares"], ["d"], "determinant"),
        helper.make_node("Mul", ["squares", "d"], ["y"], "behind"),
    ]
    entries = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, (2, 2))] for name in ("x", "y")]
    graph = helper.make_graph(nodes, "g", *entries)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    with pytest.warns(HostNodesWarning):
        prepared = prepare(model, device)
    found = onnx_picture(prepared, "m.onnx", profile=True)
    assert [node.fate for node in found.nodes] == ["input", "kernel", "host", "kernel", "output"]
    assert found.edges == [(0, 1, "x"), (1, 2, "squares"), (1, 3, "squares"), (2, 3, "d"), (3, 4, "y")]
    assert [kernel.nodes for kernel in found.kernels] == [[1], [2], [3]]
    assert "on the host" in found.kernels[1].kernel
    assert all(kernel.nanoseconds > 0 for kernel in found.kernels)


def test_the_command(device, tmp_path):
    onnx.save(classifier(), tmp_path / "classifier.onnx")
    made = tmp_path / "made" / "page.html"
    arguments = ["explain", str(tmp_path / "classifier.onnx"), "--device", str(device.vulkan.index)]
    result = CliRunner().invoke(app, [*arguments, "--html", str(made), "--profile"])
    assert result.exit_code == 0, result.output
    assert "block/conv1" in made.read_text("utf-8")
    result = CliRunner().invoke(app, [*arguments, "--profile"])
    assert result.exit_code == 2
    assert "--profile: needs --html or --json" in result.output
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(app, [*arguments, "--html", str(tmp_path / "file" / "page.html")])
    assert result.exit_code == 1
    assert "page.html" in result.output
    assert (tmp_path / "file").read_text() == ""


def test_a_page_that_cannot_be_written_is_refused(picture, tmp_path):
    with pytest.raises(dml.DMLError, match=re.escape(str(tmp_path))):
        write_picture(picture, tmp_path)


@pytest.fixture(scope="module")
def opened(picture, tmp_path_factory):
    path = tmp_path_factory.mktemp("picture") / "page.html"
    write_picture(picture, path)
    with browser() as found:
        yield found, path


@needs_browser
def test_searching_and_choosing(opened):
    found, path = opened
    found.open(path)
    found.set("#query", "block")
    assert found.texts("#found") == ["5 found"]
    assert found.ask("document.querySelectorAll('.node.matches').length") == 5
    found.ask("byId('search').requestSubmit()")
    assert found.texts("#found") == ["1 of 5"]
    details = found.texts("#details")[0]
    for part in ("block/conv1", "CONVOLUTION", "BatchNormalization block/norm1", "Relu block/relu1",
                 "1 × 4 × 8 × 8 float32", "known beforehand", "pads", ".comp", " ms, "):  # fmt: skip
        assert part in details
    # the chosen node is in view
    box = found.ask("(({left, top, right, bottom}) => [left, top, right, bottom])"
                    "(document.querySelector('.node.chosen').getBoundingClientRect())")  # fmt: skip
    assert 0 < box[0] < box[2] < DESK
    assert 0 < box[1] < box[3] < 900
    found.click("#details [data-goes-to]")
    assert found.texts("#details h2") == ["BatchNormalization"]
    assert found.complaints == []


@needs_browser
def test_moving_zooming_and_tapping(opened):
    found, path = opened
    found.open(path)
    before = found.ask("({...camera})")
    found.click("#closer")
    assert found.ask("camera.scale") > before["scale"]
    found.click("#fit")
    found.ask("byId('drawing').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowLeft'}))")
    found.ask("byId('drawing').dispatchEvent(new WheelEvent('wheel', {deltaY: -200, clientX: 300, clientY: 300}))")
    assert found.ask("camera.scale") > found.ask("farthest()")
    found.click("#fit")
    x, y = found.ask("(({x, y, width, height}) => [x + width / 2, y + height / 2])"
                     "(nodeElements[1].getBoundingClientRect())")  # fmt: skip
    for kind in ("mousePressed", "mouseReleased"):
        found.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
    assert found.texts("#details h2") == ["Conv"]
    # dragging moves the view and chooses nothing
    where = found.ask("({...camera})")
    found.send("Input.dispatchMouseEvent", type="mousePressed", x=40, y=300, button="left", clickCount=1)
    found.send("Input.dispatchMouseEvent", type="mouseMoved", x=100, y=340, button="left", buttons=1)
    found.send("Input.dispatchMouseEvent", type="mouseReleased", x=100, y=340, button="left", clickCount=1)
    moved = found.ask("({...camera})")
    assert (round(moved["x"] - where["x"]), round(moved["y"] - where["y"])) == (60, 40)
    assert found.texts("#details h2") == ["Conv"]
    found.ask("nodeElements[2].focus(); "
              "nodeElements[2].dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}))")  # fmt: skip
    assert found.texts("#details h2") == ["BatchNormalization"]
    assert found.complaints == []


@needs_browser
def test_the_lists_say_the_same(opened, picture):
    found, path = opened
    found.open(path)
    ran = [kernel for kernel in picture.kernels if not kernel.once]
    rows = found.texts("#kernel-list tbody tr")
    assert len(rows) == len(ran)
    assert max(ran, key=lambda kernel: kernel.nanoseconds).kernel in rows[0]
    assert len(found.texts("#node-list tbody tr")) == sum(node.kind == "node" for node in picture.nodes)


@needs_browser
@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_overflows_and_texts_stand_out(opened, width, dark):
    found, path = opened
    found.open(path, width=width, dark=dark)
    assert found.too_wide() == []
    assert found.faint() == []
    found.ask("choose(1)")
    assert found.too_wide() == []
    assert found.faint() == []
