"""DxDispatch's command line: options and time measurements."""

from __future__ import annotations

import json

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import dml
from dml import cache
from dml.frontends.dxdispatch.__main__ import main
from dml.frontends.dxdispatch.timing import Timing

FLOAT3 = {"DataType": "FLOAT32", "Sizes": [3]}
app = typer.Typer()
app.command()(main)


@pytest.fixture
def model(tmp_path):
    """Write a model that reads an input folder, doubles the input, prints it and writes it to an output folder."""
    (tmp_path / "in").mkdir()
    np.save(tmp_path / "in" / "a.npy", np.array([1, 2, 3], np.float32))
    path = tmp_path / "model.json"
    text = {
        "resources": {
            "A": {"initialValuesDataType": "FLOAT32", "initialValues": {"sourcePath": "a.npy"}},
            "Out": {"initialValuesDataType": "FLOAT32", "initialValues": {"valueCount": 3, "value": 0}},
        },
        "dispatchables": {
            "add": {
                "type": "DML_OPERATOR_ELEMENT_WISE_ADD",
                "desc": {"ATensor": FLOAT3, "BTensor": FLOAT3, "OutputTensor": FLOAT3},
            }
        },
        "commands": [
            {
                "type": "dispatch",
                "dispatchable": "add",
                "bindings": {"ATensor": "A", "BTensor": "A", "OutputTensor": "Out"},
            },
            {"type": "print", "resource": "Out"},
            {"type": "writeFile", "resource": "Out", "targetPath": "out.npy"},
        ],
    }
    path.write_text(json.dumps(text))
    return path


def invoke(device, *arguments):
    return CliRunner().invoke(app, [*map(str, arguments), "--adapter", device.vulkan.name])


def test_input_and_output_folders(device, model, tmp_path):
    folders = ["--input_path", tmp_path / "in", "--output_path", tmp_path / "out"]
    made = invoke(device, model, *folders, "-i", 4, "-r", 2, "-v", 2, "--print_commands")
    assert made.exit_code == 0, made.output
    lines = made.output.splitlines()
    assert lines[0] == f"Running on '{device.vulkan.name}'"
    assert "Resource 'Out': 2, 4, 6" in lines
    assert sum(line.startswith("  [") for line in lines) == 4
    assert any(line.startswith("  cold: 1 iterations") for line in lines)
    assert any(line.startswith("  hot: 3 iterations") for line in lines)
    assert [line.split(":")[0] for line in lines if line.startswith(("Begin", "End"))] == [
        f"{edge} commands[{k}]" for k in range(3) for edge in ("Begin", "End")
    ]
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "out.npy"), [2, 4, 6])
    assert not (tmp_path / "out.npy").exists()


def test_devices_and_versions(device):
    shown = invoke(device, "-s", "-S")
    assert shown.exit_code == 0, shown.output
    assert any(line.endswith(device.vulkan.name) for line in shown.output.splitlines())
    assert f"numpy: {np.__version__}" in shown.output


def test_the_shader_cache_is_cleared_on_request(device, tmp_path, monkeypatch):
    monkeypatch.setenv("DML_CACHE_DIR", str(tmp_path / "cache"))
    kept = cache.folder(cache.FOLDERS[0]) / "kept"
    cache.write(kept, b"a shader")
    assert cache.read(kept) == b"a shader"
    assert invoke(device, "-s", "--clear_shader_caches").exit_code == 0
    assert cache.read(kept) is None


def test_what_is_wrong(device, model):
    assert invoke(device).exit_code == 2
    missing = invoke(device, model)
    assert isinstance(missing.exception, dml.DMLError)
    assert "a.npy" in missing.exception.message


def test_measurements():
    """Iterations continue after the minimum count until the time is up; each measurement has several dispatches."""
    count = 0

    def dispatch():
        nonlocal count
        count += 1

    assert len(Timing(3, 5).measure(dispatch)) == 3
    assert count == 15
    count = 0
    assert len(Timing(2, milliseconds=8, interval=2).measure(dispatch)) == count >= 2
    assert Timing(3, warmup=9).report("x", [9.0, 8.0, 1.0]) == ["Dispatch 'x': 3 iterations, 1.0000 ms median (CPU)"]
    assert Timing(1).report("x", [4.0]) == ["Dispatch 'x': 1 iterations, 4.0000 ms median (CPU)"]
    with pytest.raises(dml.DMLError, match="at least 1"):
        Timing(0)
