"""`dml inspect`: describes an ONNX model without running it."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from typer.testing import CliRunner

import dml
from dml.cli import app
from dml.compiler.target import DeviceClass, Target
from dml.frontends.onnx import prepare
from dml.frontends.onnx.run.inspect import inspect_model
from dml.planning.planner import Planner
from dml.runtime import devices as runtime_devices
from dml.words import bytes_text


def run(*arguments):
    return CliRunner().invoke(app, ["inspect", *map(str, arguments)])


def model(*, operator="Relu", domain="", columns=4):
    """Return a model of relu(x @ w), with x of {batch, 8}."""
    weights = np.ones((8, columns), np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node(operator, ["h"], ["y"], domain=domain)]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", 1, ["batch", 8])],
        [helper.make_tensor_value_info("y", 1, ["batch", columns])],
        [numpy_helper.from_array(weights, "w")],
    )
    imports = [helper.make_opsetid("", 17), *([helper.make_opsetid(domain, 1)] if domain else [])]
    return helper.make_model(graph, opset_imports=imports, ir_version=10, producer_name="tests")


@pytest.fixture
def path(tmp_path):
    onnx.save(model(), tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


def test_a_model_is_described(path):
    result = run(path)
    assert result.exit_code == 0
    lines = result.output.splitlines()
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines if "│" in line]
    assert ["input", "x", "float32", "batch x 8"] in rows
    assert ["output", "y", "float32", "batch x 4"] in rows
    assert ["MatMul", "1", "yes"] in rows
    assert "opsets: ai.onnx 17, made by tests" in lines
    assert "weights in the file: 32 elements, 128 B" in lines
    assert " for batch=1 (assumed): 176 B at most (weights 128 B, inputs 32 B, outputs 16 B" in lines[-1]


@pytest.fixture
def convolutions(tmp_path):
    """Return a model of two convolutions, the filters ``large`` and ``small`` and a bias, in a file."""
    rng = np.random.default_rng(0)
    shapes = {"large": (128, 128, 3, 3), "small": (64, 128, 1, 1), "bias": (128,)}
    weights = {name: rng.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "large", "bias"], ["h"], "first", pads=[1] * 4),
            helper.make_node("Conv", ["h", "small"], ["y"], "second"),
        ],
        "g",
        [helper.make_tensor_value_info("x", 1, [1, 128, 28, 28])],
        [helper.make_tensor_value_info("y", 1, [1, 64, 28, 28])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    path = tmp_path / "convolutions.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), path)
    return path, weights


def test_transformed_filters_are_intermediates(convolutions):
    """A filter transformed for Winograd takes working memory; weights take no more memory than in the file."""
    path, weights = convolutions
    found = inspect_model(path, Planner(Target(DeviceClass.CPU, subgroup_size=8)))
    assert found.memory is not None
    assert found.prepared == ()
    assert found.memory["intermediates"] >= 4 * weights["large"].nbytes
    taken = {one.name: one.device_bytes for one in found.largest}
    assert taken == {name: array.nbytes for name, array in weights.items()}
    assert sum(taken.values()) == found.memory["weights"]


def test_weights_rearranged_at_initialization_are_listed():
    """CPU drivers read four elements at a time: rows of 30 are padded to 32."""
    found = inspect_model(model(columns=30), Planner(Target(DeviceClass.CPU, subgroup_size=8)))
    assert found.memory is not None
    ((name, size),) = found.prepared
    assert name.startswith("elementwise/elementwise.comp of ")
    assert name.endswith(", from w")
    assert size == found.memory["weights"] == 8 * 32 * 4
    assert [one.device_bytes for one in found.largest] == [size]


@pytest.mark.parametrize("kind", list(DeviceClass))
def test_each_weight_has_its_bytes_on_the_device(convolutions, kind):
    path, weights = convolutions
    found = inspect_model(path, Planner(Target(kind, subgroup_size=8)))
    assert found.memory is not None
    taken = {one.name: one.device_bytes for one in found.largest}
    assert taken.keys() == weights.keys()
    assert all(taken[name] >= array.nbytes for name, array in weights.items())
    assert sum(taken.values()) == found.memory["weights"]


def test_text_and_json_say_the_bytes_of_a_transformed_filter(convolutions, device):
    path, _ = convolutions
    found = inspect_model(path, Planner(device.vulkan.target))
    facts = json.loads(run(path, "--json", "--device", device.vulkan.index).output)
    assert {one["name"]: one["device_bytes"] for one in facts["largest"]} == {
        one.name: one.device_bytes for one in found.largest
    }
    lines = run(path, "--device", device.vulkan.index).output.splitlines()
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines if "│" in line]
    for one in found.largest:
        (row,) = [row for row in rows if row[0] == one.name]
        assert row[3:] == [bytes_text(one.bytes), bytes_text(one.device_bytes)]


def test_predicted_memory_equals_a_runs(path, device):
    """The predicted memory for a size equals that of the model compiled for the device."""
    facts = json.loads(run(path, "--size", "batch=64", "--json", "--device", device.vulkan.index).output)
    assert facts["sizes"] == {"batch": 64}
    assert facts["device"] == device.vulkan.name
    assert facts["operators"][0] == {"name": "MatMul", "domain": "ai.onnx", "version": 17, "count": 1, "how": "mapped"}
    plan, _ = prepare(path, device).compiled_for({"x": np.zeros((64, 8), np.float32)})
    program = plan.compiled.program
    assert facts["memory"]["inputs"] == sum(program.inputs)
    assert facts["memory"]["outputs"] == sum(program.outputs)
    assert facts["memory"]["intermediates"] == program.temporary_size
    assert facts["memory"]["weights"] >= 128


def test_it_needs_no_device(monkeypatch, path):
    monkeypatch.setattr(runtime_devices, "list_devices", lambda: ())
    result = run(path)
    assert result.exit_code == 0
    assert "memory on a discrete GPU with Vulkan's smallest limits for batch=1 (assumed): " in result.output
    result = run(path, "--device", "0")
    assert result.exit_code == 3


def test_an_operator_without_a_mapping_is_reported():
    facts = inspect_model(model(operator="Mystery", domain="some.where"), Planner(Target(DeviceClass.DISCRETE)))
    assert {one.name: one.how for one in facts.operators} == {"MatMul": "mapped", "Mystery": "host"}
    assert facts.memory is None
    assert facts.unplanned


def test_a_plan_that_needs_values_is_reported():
    """A Tile whose repeats are computed from an input cannot be planned without values."""
    nodes = [
        helper.make_node("Cast", ["n"], ["r"], to=7),
        helper.make_node("Tile", ["x", "r"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "tile",
        [helper.make_tensor_value_info("x", 1, [3]), helper.make_tensor_value_info("n", 1, [1])],
        [helper.make_tensor_value_info("y", 1, ["k"])],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    facts = inspect_model(made, Planner(Target(DeviceClass.DISCRETE)))
    assert facts.memory is None
    assert facts.unplanned == "node Tile: the plan depends on values that only a device computes"


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (("--size", "batch"), "--size: must be name=number, at least 1, found 'batch'", 2),
        (("--size", "batch=0"), "found 'batch=0'", 2),
        (("--size", "width=3"), "the model has no size 'width'; it has batch", 1),
        (("--input", "z"), "--input: must be name=file.npy, found 'z'", 2),
        (("--input", "z=none.npy"), "none.npy: cannot be read: No such file or directory", 1),
    ],
)
def test_what_is_wrong(path, arguments, message, code):
    result = run(path, *arguments)
    assert result.exit_code == code
    assert message in result.stderr


def test_a_file_that_is_not_a_model(tmp_path):
    (tmp_path / "a.onnx").write_bytes(b"not a model")
    result = run(tmp_path / "a.onnx")
    assert result.exit_code == 1
    assert "not an ONNX model (broken protobuf)" in result.stderr


def test_an_input_that_does_not_exist(path, tmp_path):
    np.save(tmp_path / "z.npy", np.zeros(3, np.float32))
    result = run(path, "--input", f"z={tmp_path / 'z.npy'}")
    assert result.exit_code == 1
    assert "the model has no input 'z'; it has x" in result.stderr


def test_planning_agrees_with_a_device(device):
    x = dml.DML_BUFFER_TENSOR_DESC("FLOAT32", (2, 3))
    planner = Planner(device.vulkan.target)
    with pytest.raises(dml.DMLError, match="must have the sizes of InputTensor"):
        planner.create_operator(dml.DML_ACTIVATION_RELU_OPERATOR_DESC(x, dml.DML_BUFFER_TENSOR_DESC("FLOAT32", (2, 4))))
