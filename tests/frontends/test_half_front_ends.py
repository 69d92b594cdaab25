"""DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION in the front ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dml
from dml.cli import app
from dml.frontends import pydirectml
from dml.frontends.dxdispatch import Session, load
from half_products import ALLOW, IN_FLOAT, IN_HALVES, SIZE, STEPS, inputs


@pytest.mark.parametrize("flags", [None, [], ["ALLOW_HALF_PRECISION_COMPUTATION"]])
@pytest.mark.parametrize("compile_type", ["DmlCompileOp", "DmlCompileGraph"])
def test_dxdispatch(computes_in_halves: dml.Device, tmp_path: Path, flags: Any, compile_type: str) -> None:
    given = inputs()
    sizes = {"ATensor": (1, 1, SIZE, STEPS), "BTensor": (1, 1, STEPS, SIZE), "OutputTensor": (1, 1, SIZE, SIZE)}
    desc = {name: {"DataType": "FLOAT16", "Sizes": list(each)} for name, each in sizes.items()}
    desc |= {"TransA": "NONE", "TransB": "NONE", "Alpha": 1, "Beta": 0}
    gemm = {"type": "GEMM", "desc": desc, "dmlCompileType": compile_type}
    if flags is not None:
        gemm["executionFlags"] = flags
    resources: dict[str, Any] = {
        name: {"initialValuesDataType": "FLOAT16", "initialValues": array.ravel().tolist()}
        for name, array in given.items()
    }
    resources["OutputTensor"] = {"initialValuesDataType": "FLOAT16", "initialValues": {"valueCount": 1024, "value": 0}}
    command = {"type": "dispatch", "dispatchable": "gemm", "bindings": {name: name for name in sizes}}
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"resources": resources, "dispatchables": {"gemm": gemm}, "commands": [command]}))
    session = Session(load(path), computes_in_halves, say=lambda _: None)
    session.run()
    result = session.array(session.model.resources["OutputTensor"])
    np.testing.assert_array_equal(result, IN_HALVES if flags else IN_FLOAT)


@pytest.mark.parametrize("half", [False, True])
def test_pydirectml(computes_in_halves: dml.Device, monkeypatch: pytest.MonkeyPatch, half: bool) -> None:
    device = pydirectml.Device()
    monkeypatch.setattr(device, "vulkan", computes_in_halves)
    builder = pydirectml.GraphBuilder(device)
    given = list(inputs().values())
    halves = pydirectml.TensorDataType.FLOAT16
    tensors = [pydirectml.input_tensor(builder, i, pydirectml.TensorDesc(halves, x.shape)) for i, x in enumerate(given)]
    y = pydirectml.gemm(*tensors)
    flags = pydirectml.ExecutionFlags
    model = builder.build(flags.ALLOW_HALF_PRECISION_COMPUTATION if half else flags.NONE, [y])
    (result,) = device.compute(model, [pydirectml.Binding(*each) for each in zip(tensors, given, strict=True)], [y])
    np.testing.assert_array_equal(np.array(result), IN_HALVES if half else IN_FLOAT)


def test_models_run_as_their_device_says(computes_in_halves: dml.Device) -> None:
    """One ONNX model on one physical device, with and without the flag, at changing sizes."""
    pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    from dml.frontends.onnx import prepare

    kinds = {"a": ["m", STEPS], "b": [STEPS, SIZE], "y": ["m", SIZE]}
    a, b, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT16, sizes) for name, sizes in kinds.items())
    graph = helper.make_graph([helper.make_node("MatMul", ["a", "b"], ["y"])], "product", [a, b], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    allowing = dml.Device(computes_in_halves.vulkan, dml.DML_FEATURE_LEVEL_6_4, ALLOW)
    prepared = [(prepare(model, computes_in_halves), IN_FLOAT), (prepare(model, allowing), IN_HALVES)]
    for rows in (SIZE, SIZE + 1, SIZE + 2, SIZE + 3, SIZE):
        x = np.resize(inputs()["ATensor"], (rows, STEPS))
        for one, expected in prepared:
            (result,) = one.run([x, inputs()["BTensor"][0, 0]])
            np.testing.assert_array_equal(result, np.full((rows, SIZE), expected))


@pytest.mark.parametrize("half", [False, True])
def test_dml_run(tmp_path: Path, device: dml.Device, monkeypatch: pytest.MonkeyPatch, half: bool) -> None:
    """--half opens the device with the flag."""
    opened = []

    def create_device(*args: Any, **named: Any) -> dml.Device:
        opened.append(named["execution_flags"])
        return device

    monkeypatch.setattr("dml.api.device.create_device", create_device)
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"resources": {}, "dispatchables": {}, "commands": []}))
    result = CliRunner().invoke(app, ["run", str(path), *(["--half"] if half else [])])
    assert result.exit_code == 0, result.output
    assert opened == [ALLOW if half else dml.DML_EXECUTION_FLAG_NONE]
