"""Thresholds of selection: each alternative value changes a program, and `dml tune --constants` finds bad values."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from desktop import DESKTOP
from dml.cli import app
from dml.compiler.features import Features, MatrixShape
from dml.compiler.lowering import compile_operator
from dml.compiler.selection import lines
from dml.compiler.selection.thresholds import Threshold, overridden, rows
from dml.compiler.target import DeviceClass, Target
from dml.compiler.tuned import Tuned, TunedChoice
from dml.errors import DMLError
from dml.planning.planner import Planner
from dml.tuning import constants
from dml.tuning.measuring import compiled
from dml.tuning.workloads import workload

SUBGROUPS = frozenset({"shuffle", "arithmetic", "ballot", "vote", "quad", "shuffle_relative"})
MATRICES = (
    MatrixShape(16, 16, 16, "FLOAT16", "FLOAT16", "FLOAT32", "FLOAT32"),
    MatrixShape(16, 16, 32, "INT8", "INT8", "INT32", "INT32"),
)
SMALL = Features(storage_16bit=True, storage_8bit=True, float16=True, int8=True, integer_dot_product=True,
                 memory_model=True, subgroup_operations=SUBGROUPS)  # fmt: skip
LARGE = replace(SMALL, cooperative_matrices=MATRICES, matrix_reductions=True)
LLVMPIPE = Target(
    DeviceClass.CPU, 1024, (1024,) * 3, shared_memory=32768, max_storage_buffer_range=1 << 27, max_storage_buffers=32,
    max_texels=1 << 27, max_texel_buffers=128, subgroup_size=8, min_subgroup_size=8, features=SMALL, llvmpipe=(22, 3),
)  # fmt: skip
CPUS = [LLVMPIPE, replace(LLVMPIPE, llvmpipe=(26, 1)), Target(DeviceClass.CPU, 256, subgroup_size=4)]
GPUS = [replace(DESKTOP, features=LARGE, cores=132), DESKTOP, replace(DESKTOP, features=SMALL, cores=40)]
TARGETS = {"cpu": CPUS, "llvmpipe": CPUS[:2], "gpu": GPUS, "any": CPUS}


class Compiler(Planner):
    """A planner that compiles single operators, too."""

    def compile_operator(self, operator):
        return SimpleNamespace(program=compile_operator(operator.desc, self.target))


def program(row, value, target, work):
    """Return the work's dispatches with the threshold at this value."""
    mark = TunedChoice("constants", row.name, str(value), 1.0, "", 1.0)
    with overridden(row.name, value):
        made = compiled(Compiler(replace(target, tuned=Tuned((mark,)))), work.desc, work.weights, work.scale).program
    return made.initialize, made.dispatches


@pytest.mark.parametrize("row", rows().values(), ids=rows())
def test_each_alternative_changes_a_program(row):
    left = list(row.alternatives)
    works = [workload(named) for named in row.workloads]
    for target in TARGETS[row.device]:
        for work in works:
            own = program(row, row.value, target, work)
            left = [value for value in left if program(row, value, target, work) == own]
            if not left:
                return
    assert not left


@pytest.mark.parametrize("row", rows().values(), ids=rows())
def test_each_row_names_its_driver_and_date(row):
    assert row.device in TARGETS
    assert row.driver
    assert len(row.date) == len("2026-11-24")
    assert row.value not in row.alternatives
    for value, milliseconds in row.samples.items():
        assert json.loads(value) in [json.loads(json.dumps(each)) for each in (row.value, *row.alternatives)]
        assert len(milliseconds) == len(row.workloads)


def test_an_override_ends_with_an_error():
    def fail() -> None:
        with overridden("lines.CPU_PARALLEL", 1):
            raise KeyError(lines.CPU_PARALLEL)

    before = lines.CPU_PARALLEL
    with pytest.raises(KeyError, match="1"):
        fail()
    assert before == lines.CPU_PARALLEL != 1


def row(device="any"):
    """Return a threshold with the smallest workload that it changes."""
    small = {"nonzero": {"count": 8192}}
    return Threshold("lines.NONZERO_CHUNK", 32, (8, 128), device, (small,), "", "", {})


def remeasured(vulkan, times, monkeypatch):
    """Remeasure the threshold with simulated times. times: seconds by value."""
    monkeypatch.setattr(constants, "_BUSY", 0.0)
    return constants.remeasure(vulkan, row(), lambda row, value, commands: times[value])


def test_a_good_value_holds(vulkan, monkeypatch):
    found = remeasured(vulkan, {32: 1.0, 8: 2.0, 128: 0.99}, monkeypatch)
    assert found.verdict == "holds"
    assert found.faster == pytest.approx({"8": 0.5, "128": 1.0 / 0.99})
    assert found.samples == {"32": [1000.0], "8": [2000.0], "128": [990.0]}


def test_a_bad_value_is_found(vulkan, monkeypatch):
    found = remeasured(vulkan, {32: 3.0, 8: 2.0, 128: 1.0}, monkeypatch)
    assert found.verdict == "does not hold: 128 is 3.00 times faster"
    assert constants.as_json(found, "driver")["holds"] is False


def test_a_value_without_effect_is_reported(vulkan, monkeypatch):
    monkeypatch.setattr(constants, "workload", lambda named: workload({"softmax": {"rows": 1, "length": 8}}))
    assert remeasured(vulkan, {32: 1.0}, monkeypatch).verdict == "makes no difference on this device"


def test_unknown_names_and_other_devices_rows_are_refused():
    with pytest.raises(DMLError, match=r"there is no row 'lines.NOTHING'"):
        constants.wanted(["lines.NOTHING"], LLVMPIPE)
    with pytest.raises(DMLError, match=r"lines.GPU_BUSY is for GPUs, found a device of class cpu"):
        constants.wanted(["lines.GPU_BUSY"], LLVMPIPE)
    with pytest.raises(DMLError, match=r"lines.CPU_STAGGER is for drivers on CPUs, found a device of class discrete"):
        constants.wanted(["lines.CPU_STAGGER"], DESKTOP)
    with pytest.raises(DMLError, match=r"is for llvmpipe"):
        constants.wanted(["TEXELS_BEFORE"], CPUS[2])


def test_without_names_all_rows_of_the_device_are_measured():
    assert {row.device for row in constants.wanted([], LLVMPIPE)} == {"cpu", "llvmpipe", "any"}
    assert {row.device for row in constants.wanted([], DESKTOP)} == {"gpu", "any"}


def test_the_command_prints_its_measurements(vulkan, monkeypatch):
    monkeypatch.setattr(constants, "wanted", lambda names, target: [row()])
    monkeypatch.setattr(constants, "ROUNDS", 1)
    arguments = ["tune", "--device", vulkan.name, "--constants", "lines.NONZERO_CHUNK"]
    told = CliRunner().invoke(app, arguments)
    assert told.exit_code == 0, told.output
    assert "lines.NONZERO_CHUNK = 32: " in told.output
    (found,) = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).output)["constants"]
    assert (found["value"], found["alternatives"], found["driver"]) == (32, [8, 128], vulkan.driver)
    assert list(found["samples"]) == ["32", "8", "128"]


def test_names_are_for_constants():
    found = CliRunner().invoke(app, ["tune", "product"])
    assert found.exit_code == 1
    assert "names of constants need --constants" in found.output
