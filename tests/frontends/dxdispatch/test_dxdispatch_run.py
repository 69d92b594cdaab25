"""DxDispatch's models on a device: dispatchables, bindings and commands."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import dml
from dml.cli import app
from dml.frontends.dxdispatch import Session, load

FLOAT3 = {"DataType": "FLOAT32", "Sizes": [3]}


def numbers(*values, kind="FLOAT32", **more):
    return {"initialValuesDataType": kind, "initialValues": list(values), **more}


def zeros(count, kind="FLOAT32"):
    return {"initialValuesDataType": kind, "initialValues": {"valueCount": count, "value": 0}}


def write(tmp_path, resources, dispatchables, commands):
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"resources": resources, "dispatchables": dispatchables, "commands": commands}))
    return path


def dispatch(name, **bindings):
    return {"type": "dispatch", "dispatchable": name, "bindings": bindings}


ADD = {
    "type": "DML_OPERATOR_ELEMENT_WISE_ADD",
    "desc": {"ATensor": FLOAT3, "BTensor": FLOAT3, "OutputTensor": FLOAT3},
}
ABC = {"A": numbers(1, 2, 3), "B": numbers(5, 8, -5), "Out": zeros(3)}
BOUND = {"ATensor": "A", "BTensor": "B", "OutputTensor": "Out"}


def run(device, path, **options):
    """Run a file and return its output without the lines about times."""
    lines: list[str] = []
    Session(load(path, **options), device, say=lines.append).run()
    return [line for line in lines if not line.startswith("Dispatch")]


@pytest.mark.parametrize("compile_type", ["DmlCompileOp", "DmlCompileGraph"])
def test_a_dispatch_and_a_print(device, tmp_path, compile_type):
    commands = [dispatch("add", **BOUND), {"type": "PRINT", "resource": "Out"}]
    path = write(tmp_path, ABC, {"add": {**ADD, "dmlCompileType": compile_type}}, commands)
    assert run(device, path) == ["Resource 'Out': 6, 10, -2"]


def test_resources_keep_written_values(device, tmp_path):
    again = {"ATensor": "Out", "BTensor": "B", "OutputTensor": "A"}
    commands = [dispatch("add", **BOUND), dispatch("add", **again), {"type": "print", "resource": "A"}]
    assert run(device, write(tmp_path, ABC, {"add": ADD}, commands)) == ["Resource 'A': 11, 18, -7"]


def test_fields_next_to_the_type_and_in_desc(device, tmp_path):
    """Enumerators without prefix, a tensor with its own data type, a fused activation in either form."""
    tensor = {"Type": "BUFFER", "Desc": {"DataType": "DML_TENSOR_DATA_TYPE_FLOAT32", "Sizes": [3], "Strides": [1]}}
    for fused in ({"Type": "ACTIVATION_ELU", "Alpha": 0.5}, {"Type": "ACTIVATION_ELU", "Desc": {"Alpha": 0.5}}):
        add = {
            "Type": "ELEMENT_WISE_ADD1",
            "ATensor": tensor,
            "BTensor": FLOAT3,
            "OutputTensor": {**FLOAT3, "DimensionCount": 1, "Flags": ["NONE"], "TotalTensorSizeInBytes": 12},
            "FusedActivation": fused,
            "comment": "ignored",
        }
        add["type"] = add["Type"]
        path = write(tmp_path, ABC, {"add": add}, [dispatch("add", **BOUND), {"type": "print", "resource": "Out"}])
        assert run(device, path) == ["Resource 'Out': 6, 10, -0.432332"]


@pytest.mark.parametrize("compile_type", ["DmlCompileOp", "DmlCompileGraph"])
def test_tensors_that_dml_owns_are_bound_at_initialization(device, tmp_path, compile_type):
    desc = {**ADD["desc"], "ATensor": {**FLOAT3, "Flags": "DML_TENSOR_FLAG_OWNED_BY_DML"}}
    add = {"type": ADD["type"], "desc": desc, "bindings": {"ATensor": "A"}, "dmlCompileType": compile_type}
    commands = [dispatch("add", BTensor="B", OutputTensor="Out"), {"type": "print", "resource": "Out"}]
    assert run(device, write(tmp_path, ABC, {"add": add}, commands)) == ["Resource 'Out': 6, 10, -2"]


def test_offsets_count_elements(device, tmp_path):
    resources = {**ABC, "A": numbers(*range(8)), "Out": zeros(12)}
    bound = {
        "ATensor": {"name": "A", "elementOffset": 4},
        "BTensor": {"name": "A", "elementOffset": 1, "elementSizeInBytes": 16, "elementCount": 1},
        "OutputTensor": [{"name": "Out", "elementOffset": 8, "elementStride": 4, "format": "R32_FLOAT"}],
    }
    path = write(tmp_path, resources, {"add": ADD}, [dispatch("add", **bound), {"type": "print", "resource": "Out"}])
    assert run(device, path) == ["Resource 'Out': 0, 0, 0, 0, 0, 0, 0, 0, 8, 10, 12, 0"]


@pytest.mark.parametrize("compile_type", ["DmlCompileOp", "DmlCompileGraph"])
def test_tensor_arrays_and_counts(device, tmp_path, compile_type):
    resources = {"A": numbers(1, 2, kind="INT32"), "B": numbers(3, kind="INT32"), "Out": zeros(3, "INT32")}
    tensors = [{"DataType": "INT32", "Sizes": [size]} for size in (2, 1, 3)]
    desc = {"InputCount": 2, "InputTensors": tensors[:2], "OutputTensor": tensors[2], "Axis": 0}
    join = {"type": "DML_OPERATOR_JOIN", "desc": desc, "dmlCompileType": compile_type}
    commands = [dispatch("join", InputTensors=["A", "B"], OutputTensor="Out"), {"type": "print", "resource": "Out"}]
    assert run(device, write(tmp_path, resources, {"join": join}, commands)) == ["Resource 'Out': 1, 2, 3"]


@pytest.mark.parametrize("compile_type", ["DmlCompileOp", "DmlCompileGraph"])
def test_optional_tensors_are_left_out(device, tmp_path, compile_type):
    square = {"DataType": "FLOAT32", "Sizes": [1, 1, 2, 2]}
    desc = {"ATensor": square, "BTensor": square, "OutputTensor": square, "TransA": "NONE", "TransB": "TRANSPOSE"}
    gemm = {"type": "GEMM", "desc": {**desc, "Alpha": 2, "Beta": 1.0}, "dmlCompileType": compile_type}
    gemm["executionFlags"] = ["ALLOW_HALF_PRECISION_COMPUTATION", "DML_EXECUTION_FLAG_DISABLE_META_COMMANDS"]
    resources = {"A": numbers(1, 2, 3, 4), "B": numbers(1, 0, 0, 1), "Out": zeros(4)}
    commands = [
        dispatch(
            "gemm",
            **BOUND,
        ),
        {"type": "print", "resource": "Out"},
    ]
    assert run(device, write(tmp_path, resources, {"gemm": gemm}, commands)) == ["Resource 'Out': 2, 4, 6, 8"]


@pytest.mark.parametrize("scalar", [{"Min": 2, "Max": 4.0}, {"Min": {"UInt16": 0x4000}, "Max": {"UInt16": 0x4400}}])
def test_scalar_unions_are_numbers_or_members(device, tmp_path, scalar):
    five = {"DataType": "FLOAT16", "Sizes": [5]}
    clip = {"type": "DML_OPERATOR_ELEMENT_WISE_CLIP1", "InputTensor": five, "OutputTensor": five, **scalar}
    clip["MinMaxDataType"] = "FLOAT16"
    values = {"valueCount": 5, "valueStart": 1, "valueDelta": 1}
    resources = {"A": {"initialValuesDataType": "FLOAT16", "initialValues": values}, "Out": zeros(5, "FLOAT16")}
    commands = [dispatch("clip", InputTensor="A", OutputTensor="Out"), {"type": "print", "resource": "Out"}]
    assert run(device, write(tmp_path, resources, {"clip": clip}, commands)) == ["Resource 'Out': 2, 2, 3, 4, 4"]


def test_print_shows_bits(device, tmp_path):
    resources = {"A": numbers("nan", 1.5, 1e10, kind="FLOAT16"), "B": numbers(-1, kind="INT8")}
    commands = [{"type": "print", "resource": name, "verbose": True} for name in resources]
    assert run(device, write(tmp_path, resources, {}, commands)) == [
        "Resource 'A':\n[0] nan (0x7E00)\n[1] 1.5 (0x3E00)\n[2] inf (0x7C00)",
        "Resource 'B':\n[0] -1 (0xFF)",
    ]


def test_write_file(device, tmp_path):
    resources = {"A": numbers(1, 2, 3, 4, 5, 6, kind="INT16")}
    commands = [
        {"type": "writeFile", "resource": "A", "targetPath": "out/a.npy", "dimensions": [2, 3]},
        {"type": "writeFile", "resource": "A", "targetPath": "flat.npy"},
        {"type": "writeFile", "resource": "A", "targetPath": "a.dat"},
    ]
    run(device, write(tmp_path, resources, {}, commands))
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "a.npy"), np.arange(1, 7, dtype=np.int16).reshape(2, 3))
    np.testing.assert_array_equal(np.load(tmp_path / "flat.npy"), np.arange(1, 7, dtype=np.int16))
    assert (tmp_path / "a.dat").read_bytes() == np.arange(1, 7, dtype=np.int16).tobytes()


def test_write_a_picture(device, tmp_path):
    image = pytest.importorskip("PIL.Image")
    resources = {"A": numbers(*[0] * 6, *[1.5] * 6, *[-1] * 6)}
    commands = [{"type": "writeFile", "resource": "A", "targetPath": "a.png", "dimensions": [1, 3, 2, 3]}]
    run(device, write(tmp_path, resources, {}, commands))
    pixels = np.asarray(image.open(tmp_path / "a.png"))
    assert pixels.shape == (2, 3, 3)
    assert (pixels == [0, 255, 0]).all()


def test_files_are_not_written_outside(device, tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    commands = [{"type": "writeFile", "resource": "A", "targetPath": "../a.dat"}]
    path = write(folder, {"A": numbers(1)}, {}, commands)
    with pytest.raises(dml.DMLError, match=r"commands\[0\]: '../a.dat' leads out of the model's folder"):
        run(device, path)
    assert not (tmp_path / "a.dat").exists()
    run(device, path, allow_paths_outside=True)
    assert (tmp_path / "a.dat").exists()


DESC = ADD["desc"]
WRONG = [
    ({}, [dispatch("sub", **BOUND)], r"commands\[0\]\.dispatchable: the model has no dispatchable 'sub'"),
    ({}, [dispatch("add", ATensor="C")], r"commands\[0\]\.bindings\.ATensor: the model has no resource 'C'"),
    ({}, [dispatch("add", **BOUND, CTensor="A")], r"^commands\[0\]: bindings\.CTensor: there is no bind point"),
    ({}, [dispatch("add", ATensor="A", OutputTensor="Out")], r"commands\[0\]: .*BTensor: a buffer must be bound"),
    ({}, [dispatch("add", **{**BOUND, "ATensor": ["A", "B"]})], r"ATensor: takes 1 resources, found 2"),
    ({}, [dispatch("add", **{**BOUND, "ATensor": {"name": "A", "elementOffset": 9}})], "ends at byte 36, beyond"),
    ({}, [dispatch("add", **{**BOUND, "ATensor": {"name": "A", "elementOffset": 1}})], "multiple of 16"),
    ({}, [dispatch("add", **{**BOUND, "ATensor": 5})], r"bindings\.ATensor: must be an object"),
    ({}, [{"type": "dispatch", "dispatchable": "add"}], r"commands\[0\]: needs a member 'bindings'"),
    ({}, [{"type": "wait"}], r"commands\[0\]\.type: 'wait' is not a command"),
    ({}, [{"type": "print", "resource": "A", "verbose": 1}], r"verbose: must be true or false"),
    ({}, [{**dispatch("add", **BOUND), "threadGroupCount": [1]}], r"threadGroupCount: must be an array of 3"),
    ({}, [{"type": "writeFile", "resource": "A", "targetPath": "a.npy", "dimensions": [4]}], "16 bytes, the resource"),
    ({}, [{"type": "writeFile", "resource": "A", "targetPath": "a.png", "dimensions": [3]}], "an image has the sizes"),
    ({"type": "DML_OPERATOR_ADD"}, [], r"dispatchables\.add\.type: 'DML_OPERATOR_ADD' is not a DML_OPERATOR_TYPE"),
    ({"type": "INVALID"}, [], r"dispatchables\.add"),
    ({"type": "hlsl", "sourcePath": "a.hlsl"}, [], r"add\.type: HLSL shaders are compiled for Direct3D 12"),
    ({"type": "ONNX", "sourcePath": "a.onnx"}, [], r"dispatchables\.add: .*a\.onnx: cannot be read"),
    ({"type": "dmlSerializedGraph", "sourcePath": "a.bin"}, [], r"add: .*a\.bin: cannot be read"),
    ({"dmlCompileType": "Graph"}, [], r"dmlCompileType: must be DmlCompileOp or DmlCompileGraph"),
    ({"executionFlags": ["FAST"]}, [], r"executionFlags\[0\]: 'FAST' is not a DML_EXECUTION_FLAGS"),
    ({"desc": {**DESC, "ATensor": {"DataType": "FLOAT32"}}}, [], r"add\.desc\.ATensor: needs a member 'Sizes'"),
    ({"desc": {**DESC, "ATensor": {**FLOAT3, "Sizes": [-1]}}}, [], r"ATensor\.Sizes\[0\]: must be from 0 to"),
    ({"desc": {**DESC, "ATensor": {**FLOAT3, "DimensionCount": 2}}}, [], r"desc\.ATensor: .*DimensionCount: must be 1"),
    ({"desc": {**DESC, "ATensor": {**FLOAT3, "Sizes": [4]}}}, [], r"add: .*must have the sizes of ATensor"),
    ({"desc": {"ATensor": FLOAT3, "BTensor": FLOAT3}}, [], r"add\.desc: needs a member 'OutputTensor'"),
    ({"desc": {**DESC, "ATensor": {**FLOAT3, "Flags": "OWNED_BY_DML"}}}, [], r"dispatchables\.add: .*must be bound"),
    ({"bindings": {"ATensor": "A"}}, [], r"dispatchables\.add: .*nothing may be bound"),
    ({"bindings": {"OutputTensor": "A"}}, [], r"^dispatchables\.\w+: bindings\.OutputTensor: there is no bind point"),
]  # fmt: skip


@pytest.mark.parametrize("changes,commands,message", WRONG, ids=range(len(WRONG)))
def test_wrong_models_name_their_place(device, tmp_path, changes, commands, message):
    with pytest.raises(dml.DMLError, match=message):
        run(device, write(tmp_path, ABC, {"add": {**ADD, **changes}}, commands))


def command(*arguments):
    return CliRunner().invoke(app, ["run", *map(str, arguments)])


def test_the_command_runs_explains_and_profiles(device, tmp_path):
    path = write(tmp_path, ABC, {"add": ADD}, [dispatch("add", **BOUND), {"type": "print", "resource": "Out"}])
    which = ["--device", device.vulkan.name]
    result = command(path, *which, "--iterations", 3)
    assert result.exit_code == 0, result.output
    assert "Dispatch 'add': 3 iterations, " in result.output
    assert "Resource 'Out': 6, 10, -2" in result.output
    result = command(path, *which, "--explain")
    assert result.output.startswith("add: ELEMENT_WISE_ADD: inputs [12, 12] outputs [12]")
    assert "Resource" not in result.output
    trace = tmp_path / "trace.json"
    result = command(path, *which, "--profile", trace)
    assert "commands[0] add: " in result.output
    assert "100.0%" in result.output
    events = json.loads(trace.read_text())["traceEvents"]
    (kernel,) = [event for event in events if event["ph"] == "X"]
    assert kernel["args"]["kernel"].startswith("elementwise/")
    assert kernel["dur"] > 0


def test_the_command_reports_errors(tmp_path):
    (tmp_path / "model.json").write_text("{")
    for name, message in (
        ("model.json", "line 1, column 2"),
        ("none.json", "No such file"),
        ("a.txt", "is not supported; supported are"),
    ):
        result = command(tmp_path / name)
        assert result.exit_code == 1
        assert message in " ".join(result.output.split()), result.output
