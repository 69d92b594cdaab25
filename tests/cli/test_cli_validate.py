"""`dml validate`: all faults of the operators in a file, and an exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dml.cli import app
from dml.frontends.dxdispatch.validate import faults_of_file
from dml.frontends.dxdispatch.writing import dispatchable
from sample_descriptors import NAMES, sample


def run(*arguments):
    return CliRunner().invoke(app, ["validate", *map(str, arguments)])


def tensor(*sizes, of="FLOAT32"):
    return {"DataType": of, "Sizes": list(sizes)}


def relu(**changes):
    x = tensor(1, 1, 2, 3)
    return {"Type": "ACTIVATION_RELU", "Desc": {"InputTensor": x, "OutputTensor": x, **changes}}


def model(**dispatchables):
    """Return a model of these dispatchables, and a command that does not match them."""
    return {"resources": {}, "dispatchables": dispatchables, "commands": []}


@pytest.fixture
def write(tmp_path):
    def write_json(value, name="a.json") -> Path:
        (tmp_path / name).write_text(json.dumps(value))
        return tmp_path / name

    return write_json


def test_a_right_operator(write):
    path = write(relu())
    result = run(path)
    assert (result.exit_code, result.output) == (0, f"{path}: ACTIVATION_RELU is valid at feature level 6_4\n")


def test_all_faults_of_all_dispatchables(write):
    wrong = relu(InputTensor=tensor(1, 2, of="INT32"), OutputTensor=tensor(*[1] * 9))
    path = write(model(good={"type": "ACTIVATION_RELU", **relu()["Desc"]}, bad=wrong, worse=relu(InputTensor=3)))
    result = run(path, "--feature-level", "3.0")
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        f"{path}: dispatchables.good: ACTIVATION_RELU is valid at feature level 3_0",
        f"{path}: dispatchables.bad: ACTIVATION_RELU.InputTensor.DataType: must be one of FLOAT32, FLOAT16 at feature "
        "level 3_0, found DML_TENSOR_DATA_TYPE_INT32",
        f"{path}: dispatchables.bad: ACTIVATION_RELU.OutputTensor.DimensionCount: must be from 1 to 8 at feature level "
        "3_0, found 9",
        f"{path}: dispatchables.worse.Desc.InputTensor: must be an object, found a number",
    ]


def test_all_faults_of_a_form(write):
    path = write({"Type": "GEMM", "Desc": {"ATensor": tensor(1, 1, 2, 2), "Alpha": "x", "TransA": "SIDEWAYS"}})
    lines = run(path).output.splitlines()
    assert [line.removeprefix(f"{path}: ").partition(":")[0] for line in lines] == ["Desc"] * 2 + [
        "Desc.TransA", "Desc"
    ] + ["Desc.Alpha", "Desc"]  # fmt: skip
    assert "'SIDEWAYS' is not a DML_MATRIX_TRANSFORM; it has NONE, TRANSPOSE" in lines[2]


def test_a_near_name(write):
    assert "'GELU' is not a DML_OPERATOR_TYPE; near it: ACTIVATION_GELU" in run(write({"Type": "GELU"})).output


def test_other_faults_of_a_model(write):
    value = model(good=relu())
    value["commands"] = [{"type": "dispatch", "dispatchable": "none", "bindings": {}}]
    result = run(write(value))
    assert result.exit_code == 1
    assert "the model has no dispatchable 'none'" in result.output


def test_direct3ds_dispatchables_are_refused_with_the_reason(write):
    result = run(write(model(shader={"type": "hlsl"})))
    assert result.exit_code == 1
    assert "HLSL shaders are compiled for Direct3D 12" in result.output


def test_several_files_and_json(write):
    good, bad = write(relu()), write(relu(OutputTensor=tensor(1, 1, 2, 4)), "b.json")
    result = run(good, bad, "--json")
    assert result.exit_code == 1
    first, second = json.loads(result.output)
    assert first == {"file": str(good), "path": "", "operator": "ACTIVATION_RELU", "faults": []}
    (fault,) = second["faults"]
    assert fault["hresult"] == "E_INVALIDARG"
    assert fault["message"].startswith("ACTIVATION_RELU.OutputTensor: must have the sizes of InputTensor")


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_the_exit_status_counts_every_file(write, options):
    good, bad = write(relu()), write(relu(OutputTensor=tensor(1, 1, 2, 4)), "b.json")
    for files, code in (((good,), 0), ((good, bad), 1), ((bad, good), 1)):
        result = run(*files, *options)
        assert result.exit_code == code
        assert result.exception is None or isinstance(result.exception, SystemExit)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"dispatchables": 3}', "\xff"])
def test_a_file_that_is_not_a_model_is_one_fault(tmp_path, text):
    path = tmp_path / "a.json"
    path.write_bytes(text.encode("latin-1"))
    result = run(path)
    assert result.exit_code == 1
    assert result.output.startswith(f"{path}: ")
    assert result.output.count("\n") == 1


def test_a_file_that_is_not_there(tmp_path):
    result = run(tmp_path / "no.json")
    assert result.exit_code == 1
    assert "No such file" in result.stderr


@pytest.mark.parametrize("name", NAMES)
def test_files_written_by_dml_are_valid(write, name):
    """Every operator's descriptor in a conformance report is valid."""
    (found,) = faults_of_file(write(dispatchable(sample(name))))
    assert (found.operator, found.faults) == (name, ())
