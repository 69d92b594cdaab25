"""ONNX models as DxDispatch's dispatchables: bound shapes, deferred resources, unbound resources."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import helper

import dml
from dml.frontends.dxdispatch import Session, load
from dml.frontends.dxdispatch.validate import faults_of_file

A = {"initialValuesDataType": "FLOAT32", "initialValues": [1, 2, 3, 4, 5, 6]}
B = {"initialValuesDataType": "FLOAT32", "initialValues": [7, 8, 9, 10, 11, 12]}
C = {"initialValuesDataType": "FLOAT32", "initialValues": {"valueCount": 12, "value": 0}}
LATER = {"initialValuesDataType": "FLOAT32", "initialValues": "deferred"}
RESOURCES = {"a": A, "b": B, "c": C, "later": LATER}
PRINT = {"type": "print", "resource": "c"}


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a DxDispatch file for an ONNX model that concatenates {n, 2} and {m, 2}."""
    sizes = {"x": "N", "z": "M", "y": "K"}
    entries = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [sizes[name], 2]) for name in sizes]
    joined = helper.make_node("Concat", ["x", "z"], ["y"], axis=0)
    graph = helper.make_graph([joined], "concat", entries[:2], entries[2:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.save(model, tmp_path / "concat.onnx")

    def written(commands, **more):
        path = tmp_path / "model.json"
        concat = {"type": "onnx", "sourcePath": "concat.onnx", **more}
        path.write_text(json.dumps({"resources": RESOURCES, "dispatchables": {"concat": concat}, "commands": commands}))
        return path

    return written


def dispatch(**bindings):
    return {"type": "dispatch", "dispatchable": "concat", "bindings": bindings}


def shaped(name, *shape, **more):
    return {"name": name, "shape": list(shape), **more}


def run(device, path, **options):
    lines = []
    Session(load(path, **options), device, say=lines.append).run()
    return [line for line in lines if not line.startswith("Dispatch")]


def test_bound_shapes_and_deferred_resources(device, write):
    """DxDispatch's own example: two shapes, then an output whose size comes from the model."""
    commands = [
        dispatch(x=shaped("a", 1, 2), z=shaped("b", 1, 2), y=shaped("c", 2, 2)), PRINT,
        dispatch(x=shaped("a", 3, 2), z=shaped("b", 3, 2), y=shaped("c", 6, 2)), PRINT,
        dispatch(x=shaped("a", 3, 2), z=shaped("b", 2, 2, elementOffset=2, elementSizeInBytes=4), y={"name": "later"}),
        {"type": "print", "resource": "later"},
        dispatch(x=shaped("later", 2, 2), z=shaped("b", 1, 2), y="later"),
        {"type": "print", "resource": "later"},
    ]  # fmt: skip
    assert run(device, write(commands)) == [
        "Resource 'c': 1, 2, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0",
        "Resource 'c': 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12",
        "Resource 'later': 1, 2, 3, 4, 5, 6, 9, 10, 11, 12",
        "Resource 'later': 1, 2, 3, 4, 7, 8",
    ]


def test_a_deferred_resource_in_a_file(device, write, tmp_path):
    commands = [
        dispatch(x=shaped("a", 1, 2), z=shaped("b", 1, 2), y="later"),
        {"type": "writeFile", "resource": "later", "targetPath": "y.npy", "dimensions": [2, 2]},
    ]
    run(device, write(commands))
    assert np.load(tmp_path / "y.npy").tolist() == [[1, 2], [7, 8]]


def test_sizes_by_name(device, write):
    """Sizes come from the command line, else from the file, else they are 1."""
    commands = [dispatch(x="a", z="b", y="later"), {"type": "print", "resource": "later"}]
    path = write(commands, freeDimensionNameOverrides={"N": 2})
    assert run(device, path) == ["Resource 'later': 1, 2, 3, 4, 7, 8"]
    command = [sys.executable, "-m", "dml.frontends.dxdispatch", path, "-a", device.vulkan.name]
    done = subprocess.run([*command, "-f", "N:1", "-b", "z:2,2"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Resource 'later': 1, 2, 7, 8, 9, 10" in done.stdout
    done = subprocess.run([*command, "-f", "N"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "takes NAME:NUMBERS" in done.stderr


def test_nothing_is_bound(device, write, tmp_path):
    """The model is named in a file, or given by its own path."""
    path = write([{"type": "dispatch", "dispatchable": "concat"}])
    for source in (path, tmp_path / "concat.onnx"):
        lines = []
        session = Session(load(source), device, say=lines.append)
        session.run()
        assert [line.startswith("Dispatch 'concat': 1 iterations") for line in lines] == [True]
        assert "JOIN" in session.describe()
        (times,) = session.profile().values()
        assert times
    assert [one.faults for one in faults_of_file(path)] == [()]


@pytest.mark.parametrize(
    "command, message",
    [
        (dispatch(x=shaped("a", 9, 2)), r"commands\[0\]\.bindings\.x: float32 of shape \(9, 2\) ends at byte 72"),
        (dispatch(x=shaped("a", 3)), r"commands\[0\]: input 'x': takes arrays of rank 2"),
        (dispatch(w="a"), r"the model has no input or output 'w'; it has x, z, y"),
        (dispatch(x=["a", "b"]), r"bindings\.x: takes 1 resource, found 2"),
        (dispatch(y=shaped("c", 1, 2)), r"its shape is \(1, 2\), the model makes \(2, 2\)"),
        (dispatch(x="later"), r"bindings\.x: is deferred, and no model has written to it"),
        ({"type": "print", "resource": "later"}, r"'later' is deferred, and no model has written to it"),
        (dispatch(x=shaped("a", -1, 2)), r"shape\[0\]: must be from 0"),
    ],
)
def test_what_does_not_fit(device, write, command, message):
    with pytest.raises(dml.DMLError, match=message):
        run(device, write([command]))


def test_deferred_resources_are_for_onnx_models(write):
    path = write([dispatch()])
    whole = json.loads(path.read_text())
    tensor = {"DataType": "FLOAT32", "Sizes": [6]}
    whole["dispatchables"]["concat"] = {
        "type": "ELEMENT_WISE_IDENTITY", "desc": {"InputTensor": tensor, "OutputTensor": tensor},
    }  # fmt: skip
    whole["commands"] = [dispatch(InputTensor="a", OutputTensor="later")]
    path.write_text(json.dumps(whole))
    with pytest.raises(dml.DMLError, match="only ONNX models may use deferred resources"):
        load(path)
