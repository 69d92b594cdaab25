"""Reproducers: the C program agrees with the suite on correct and on broken kernels, without dml."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from typer.testing import CliRunner

import dml
from dml.conformance import report
from dml.conformance.axes import open_as
from dml.conformance.case import Case
from dml.conformance.command import app
from dml.conformance.execution import forget, run_case
from dml.conformance.places import DeviceAxis
from dml.conformance.reproducer import write_reproducers
from dml.conformance.reproducer.tables import CaseFiles
from dml.conformance.runner import finished
from dml.conformance.suite import Suite
from dml.conformance.terminal import kinds_text
from dml.errors import DMLError
from dml.runtime.devices import list_devices

#: A kernel that copies subsequences; the fault swaps neighbours, so that every element is wrong.
KERNEL, READS = "movement/reverse_subsequences.comp", "return source_load(source_at(c));"
FAULT = KERNEL, READS, "return source_load(source_at(c) ^ 1u);"
CASE = "REVERSE_SUBSEQUENCES:type=INT32"
DEFINITIONS = json.loads(report.SCHEMA.read_text(encoding="utf-8"))["$defs"]


@pytest.fixture
def place(device):
    """Return the device as ``find`` restores it from a report, without this session's axis."""
    plain = next(one for one in list_devices() if one.name == device.vulkan.name)
    return DeviceAxis(plain, "plain")


def reproduced(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Build a folder's program as its README says, with warnings as errors, and run it."""
    compiler = next(filter(None, map(shutil.which, ("gcc", "cc", "g++"))))
    line = [compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "reproduce.c", "-lvulkan", "-lm", "-o", "reproduce"]
    built = subprocess.run(line, cwd=folder, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return subprocess.run(["./reproduce", *arguments], cwd=folder, capture_output=True, text=True, timeout=120)


def written(place: DeviceAxis, case: str, folder: Path, seed: int = 0) -> Path:
    made = CaseFiles(place, Case.parse(case), seed)
    folder.mkdir()
    for name, data in made.files.items():
        (folder / name).write_bytes(data)
    return folder


@pytest.mark.parametrize("case", [
    "GEMM:type=FLOAT16,c=yes,layout=owned",  # the persistent resource, initialization
    "SPLIT:type=INT8,layout=padded",  # an array of outputs, and gaps between rows
    "ACTIVATION_TANH:type=FLOAT32,values=edges",  # subnormal inputs, NaN
    "CONVOLUTION:type=FLOAT32,sizes=2x5x13x13,bias=yes",  # a uniform block
    "CAST:type=FLOAT64,to=INT64",
    "QUANTIZE:type=FLOAT32,to=INT4",  # half bytes
    "GRAPH_STORED_WEIGHTS:type=FLOAT32,numbers=UINT4",
])  # fmt: skip
@pytest.mark.parametrize("axis", ["plain", "discrete"])
def test_the_program_finds_nothing_wrong_with_right_kernels(place, tmp_path, case, axis):
    found = reproduced(written(DeviceAxis(place.device, axis), case, tmp_path / "case"))
    assert found.returncode == 0, found.stdout + found.stderr
    assert found.stdout.splitlines()[-1] == "all outputs are right"


def test_every_wrong_element_is_found(place, broken, tmp_path):
    broken(*FAULT)
    found = reproduced(written(place, CASE, tmp_path / "case"))
    assert found.returncode == 1, found.stdout + found.stderr
    assert "OutputTensor[0, 0" in found.stdout
    assert found.stdout.splitlines()[-1] == "WRONG"
    assert f"{place.device.name}, driver version" in found.stdout


def test_a_small_error_beyond_the_limit_is_found_and_one_within_is_not(place, tmp_path):
    right = written(place, "ACTIVATION_TANH:type=FLOAT32", tmp_path / "right")
    for name, factor, status in (("off", 1.01, 1), ("within", 1.00001, 0)):
        output = right / "output-OutputTensor.expected.bin"
        bounds = right / "output-OutputTensor.bounds.bin"
        data = (output.read_bytes(), bounds.read_bytes())
        output.write_bytes((np.frombuffer(data[0], np.float32) * np.float32(factor)).tobytes())
        bounds.write_bytes((np.frombuffer(data[1], np.float64) * factor).tobytes())
        found = reproduced(right)
        assert found.returncode == status, (name, found.stdout)
        output.write_bytes(data[0])
        bounds.write_bytes(data[1])


def test_bytes_in_gaps_that_are_written_are_found(place, broken, tmp_path):
    broken("lib/for_each.glsl", "void main() {", "void main() {\n    result_data[push_.result_OFFSET + 1u] = 7u;")
    found = reproduced(written(place, "REVERSE_SUBSEQUENCES:type=INT32,layout=padded", tmp_path / "case"))
    assert found.returncode == 1, found.stdout + found.stderr


def test_a_device_by_its_name(place, tmp_path):
    folder = written(place, "ACTIVATION_RELU:type=FLOAT32", tmp_path / "case")
    assert reproduced(folder, place.device.name[:5]).returncode == 0
    found = reproduced(folder, "no such device")
    assert found.returncode == 2
    assert f"there is {place.device.name}" in found.stderr


@pytest.fixture
def failing(place, broken):
    """``failing(*cases)``: a report of these cases with a broken kernel."""

    def made(*cases, fault=FAULT):
        broken(*fault)
        device = open_as(place.device, place.axis)
        results = [finished(place, {**run_case(device, Case.parse(case))}, 0) for case in cases]
        forget(device)
        for outcome in results:
            if outcome["failure"] is not None:
                outcome["failure"].setdefault("descriptor", None)
        run = {"device": place.record(), "shard": "1/1", "seconds": 1.0, "complete": True, "coverage": None}
        made = report.started(Suite().record(len(cases)))
        made["runs"] = [{**run, "results": report.in_order(results)}]
        return made

    return made


def test_a_report_becomes_a_zip_file(failing, tmp_path):
    made = failing(CASE, "REVERSE_SUBSEQUENCES:type=INT32,sizes=2x3x4", "ACTIVATION_RELU:type=FLOAT32")
    schema = {"$ref": "#/$defs/outcome", "$defs": DEFINITIONS}
    for outcome in made["runs"][0]["results"]:
        jsonschema.validate(outcome, schema)
    path = tmp_path / "failures.zip"
    assert write_reproducers(made, path) == 1  # one failure per operator, data type and kind
    again = tmp_path / "again.zip"
    write_reproducers(made, again)
    assert path.read_bytes() == again.read_bytes()
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path / "out")
    (folder,) = (one for one in (tmp_path / "out").iterdir() if one.is_dir())
    assert folder.name == "01-REVERSE_SUBSEQUENCES-INT32"
    text = (folder / "README.md").read_text()
    assert "wrong values" in text
    assert "again: dml conformance --case REVERSE_SUBSEQUENCES:type=INT32" in text
    for name in (one.name for one in folder.iterdir() if one.name != "README.md"):
        assert f"| {name} |" in text
    assert folder.name in (tmp_path / "out" / "README.md").read_text()
    assert reproduced(folder).returncode == 1


def test_a_folder_and_a_smallest_case(failing, tmp_path):
    made = failing(CASE)
    failure = made["runs"][0]["results"][0]["failure"]
    failure["smallest"] = {"case": "REVERSE_SUBSEQUENCES:type=INT32,axis=first", "message": "m", "command": "c"}
    assert write_reproducers(made, tmp_path / "new") == 1
    assert "REVERSE_SUBSEQUENCES:type=INT32,axis=first" in (tmp_path / "new" / "README.md").read_text()
    with pytest.raises(DMLError, match=r"must be a new or empty folder, or the name of a \.zip file"):
        write_reproducers(made, tmp_path / "new")


def test_failures_with_the_same_smallest_case_share_a_folder(failing, tmp_path):
    made = failing(CASE, "REVERSE_SUBSEQUENCES:type=FLOAT32", "REVERSE_SUBSEQUENCES:type=UINT32")
    first, second, _ = made["runs"][0]["results"]
    for outcome in (first, second):
        outcome["failure"]["smallest"] = {"case": CASE, "message": "m", "command": "c"}
    assert write_reproducers(made, tmp_path / "new") == 2
    shared, alone = sorted(one for one in (tmp_path / "new").iterdir() if one.is_dir())
    assert f"The same case reproduces:\n\n- `{second['case']}`" in (shared / "README.md").read_text()
    assert "The same case reproduces" not in (alone / "README.md").read_text()


def test_compilation_failures_have_their_own_kind(failing, tmp_path):
    made = failing(CASE, fault=(KERNEL, READS, READS.replace("load(", "load((")))
    (outcome,) = made["runs"][0]["results"]
    assert outcome["failure"]["kind"] == "compilation"
    assert kinds_text([outcome]) == "1 does not compile"
    assert write_reproducers(made, tmp_path / "new") == 1
    files = {one.name for one in (tmp_path / "new" / "01-REVERSE_SUBSEQUENCES-INT32").iterdir()}
    assert files == {"README.md", "kernel-0-movement-reverse_subsequences.comp"}
    assert (
        "There is no program to run" in (tmp_path / "new" / "01-REVERSE_SUBSEQUENCES-INT32" / "README.md").read_text()
    )


def test_a_pipeline_that_the_driver_refuses_is_one_as_well(device, monkeypatch):
    def refuse(*_):
        raise DMLError("making a compute pipeline: ErrorInvalidShaderNV", dml.HRESULT.E_FAIL)

    monkeypatch.setattr(device.context.pipelines, "_make", refuse)
    monkeypatch.setattr(device.context.pipelines, "get", refuse)
    outcome = run_case(device, Case.parse(CASE))
    assert outcome["failure"]["kind"] == "compilation"
    assert outcome["failure"]["kernels"] == [f"shaders/{KERNEL}"]


def test_the_command_writes_it_from_a_report(failing, tmp_path, monkeypatch):
    made = failing(CASE)
    report.write(tmp_path / "report.json", made)
    line = ["show", str(tmp_path / "report.json"), "--reproducers", str(tmp_path / "failures.zip")]
    assert CliRunner().invoke(app, line).exit_code == 1  # exit status of failed cases
    assert zipfile.is_zipfile(tmp_path / "failures.zip")
    made["runs"][0]["device"]["name"] = "another"
    report.write(tmp_path / "report.json", made)
    (tmp_path / "failures.zip").unlink()
    assert CliRunner().invoke(app, line).exit_code == 3
    assert not (tmp_path / "failures.zip").exists()


def test_nothing_failed(place, tmp_path):
    made = report.started(Suite().record(0))
    made["runs"] = [{"device": place.record(), "results": []}]
    assert write_reproducers(made, tmp_path / "none.zip") == 0
    with zipfile.ZipFile(tmp_path / "none.zip") as archive:
        assert archive.namelist() == ["README.md"]
