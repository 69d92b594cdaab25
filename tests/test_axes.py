"""Every operator gives the plain device's results on every axis; and tests of the axes themselves."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import dml
from dml.compiler.lowering import compile_operator, implemented
from dml.compiler.program import Program
from dml.compiler.selection import max_steps
from dml.compiler.target import DeviceClass, Target
from dml.conformance.axes import AXES, open_as
from dml.descriptors.base import operators
from dml.runtime.devices import VulkanDevice
from harness import LAYOUTS, Array, Tensor
from sample_descriptors import NAMES, sample
from sample_runs import UNTOUCHED, elements, run_sample, tensors


def test_every_operator_is_here() -> None:
    """Operators that DirectML lacks are tested elsewhere."""
    assert {type(sample(name)) for name in NAMES} == implemented() & set(operators().values())


def assert_near(found: Array, expected: Array, desc: Tensor, same_program: bool) -> None:
    """Compare all bytes of an output. The same program gives the same bits in any memory. Other kernels may sum floats
    in another order, with errors in the last bits of the largest element. No kernel writes into a layout's gaps."""
    inside = elements(desc)
    assert (found[~inside] == UNTOUCHED).all()
    kind = dml.numpy_dtype(desc.DataType)
    if same_program or kind.kind != "f":
        np.testing.assert_array_equal(found, expected)
        return
    values, wanted = found[inside].view(kind), expected[inside].view(kind)
    np.testing.assert_allclose(values, wanted, rtol=0, atol=8 * np.finfo(kind).eps * np.nanmax(np.abs(wanted)))


#: One layout is enough where compiling a kernel is slow.
ONE_AND_MORE = [LAYOUTS[0], *(pytest.param(layout, marks=pytest.mark.slow) for layout in LAYOUTS[1:])]


@pytest.mark.every_parameter
@pytest.mark.parametrize("layout", ONE_AND_MORE)
@pytest.mark.parametrize("name", NAMES)
def test_every_operator(vulkan: VulkanDevice, name: str, layout: str) -> None:
    """An axis is left out if an earlier axis gives the same program; in the last layout, only if both also have the
    same kind of memory."""
    plain = open_as(vulkan)
    desc = sample(name, layout)
    own, expected = run_sample(plain, desc)

    def seen_in(device: dml.Device) -> bool:
        return layout == LAYOUTS[-1] and device.context.unified

    seen: list[tuple[Program, bool]] = [(own, seen_in(plain))]
    for axis in AXES:
        device = open_as(vulkan, axis)
        run = compile_operator(desc, device.vulkan.target), seen_in(device)
        if run in seen:
            continue
        seen.append(run)
        _, results = run_sample(device, desc)
        for output, found, wanted in zip(tensors(desc.outputs()), results, expected, strict=True):
            assert_near(found, wanted, output, run[0] == own)


def test_what_an_axis_changes(vulkan: VulkanDevice, seen_as: Callable[..., dml.Device]) -> None:
    """The compiler gets another class and other limits; the runtime opens the same physical device again."""
    classes = {axis: open_as(vulkan, axis).vulkan.device_class for axis in AXES}
    assert classes["plain"] is classes["minimum"] is vulkan.device_class
    assert classes["discrete"] is classes["discrete64"] is DeviceClass.DISCRETE
    assert classes["integrated"] is DeviceClass.INTEGRATED
    assert {open_as(vulkan, axis).vulkan.index for axis in AXES} == {vulkan.index}
    assert [open_as(vulkan, axis).vulkan.target.subgroup_size for axis in ("discrete", "discrete64")] == [32, 64]
    minimum = open_as(vulkan, "minimum").vulkan.target
    assert minimum == Target(device_class=vulkan.device_class)
    own = open_as(vulkan, "subgroups").vulkan.target
    assert (own.subgroup_size, own.features) == (vulkan.target.subgroup_size, vulkan.target.features)
    # The driver stays the same, and llvmpipe ends long loops of any kernel.
    assert max_steps(open_as(vulkan, "discrete").vulkan.target) <= max_steps(vulkan.target)
    narrow = seen_as("discrete", max_storage_buffers=5)
    assert (narrow.vulkan.device_class, narrow.vulkan.target.max_storage_buffers) == (DeviceClass.DISCRETE, 5)
    assert seen_as("discrete", max_storage_buffers=5) is narrow


def test_a_discrete_device_has_staged_buffers(vulkan: VulkanDevice) -> None:
    """The host cannot map them: reads and writes are copied."""
    device = open_as(vulkan, "discrete")
    assert not device.context.unified
    buffer = device.create_buffer(np.arange(4, dtype=np.uint32))
    assert buffer.piece.view is None
    assert buffer.read(np.uint32).tolist() == [0, 1, 2, 3]
    assert open_as(vulkan, "integrated").context.unified


CASE = """
def test_one(device):
    print("class", device.vulkan.device_class.value, "staged", not device.context.unified)
"""


def run_pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_one.py").write_text(CASE, encoding="utf-8")
    arguments = ["-p", "conftest", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(folder), "-q", "-rP"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *arguments, *options, str(folder)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
    )


def test_the_option(tmp_path: Path) -> None:
    run = run_pytest(tmp_path, "--as", "discrete", "--as", "integrated")
    assert "2 passed" in run.stdout, run.stdout + run.stderr
    assert "test_one[discrete]" in run.stdout
    assert "class discrete staged True" in run.stdout
    assert "class integrated staged False" in run.stdout


def test_an_unknown_axis_is_a_one_line_error(tmp_path: Path) -> None:
    run = run_pytest(tmp_path, "--as", "discreet")
    assert run.returncode == pytest.ExitCode.USAGE_ERROR
    there = "plain, discrete, discrete64, subgroups, integrated, minimum, and all"
    line = f"--as discreet: unknown axis; the axes are {there}"
    assert (run.stdout + run.stderr).strip() == f"ERROR: {line}"
