"""The text of a failing test, and the places where the suite names the device it ran on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as Xml

import numpy as np
import pytest

from dml.runtime.devices import VulkanDevice
from harness import assert_exact, assert_sums, assert_ulp

CASE = """
import numpy as np
import dml
from harness import assert_exact, run, tensor

def test_one(device):
    x = np.array([[-1, 2, 3]], np.float32)
    desc = dml.DML_ACTIVATION_RELU_OPERATOR_DESC(tensor("FLOAT32", x.shape), tensor("FLOAT32", x.shape))
    assert_exact(run(device, desc, {"InputTensor": x})["OutputTensor"], x)
"""


def run_pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_one.py").write_text(CASE, encoding="utf-8")
    arguments = ["-p", "conftest", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(folder)]
    paths = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-m", "pytest", *arguments, *options, str(folder)],
        env={**os.environ, "PYTHONPATH": paths, "COLUMNS": "500"}, capture_output=True, text=True,
    )  # fmt: skip


def test_a_failure_names_element_device_descriptor_and_command(vulkan: VulkanDevice, tmp_path: Path) -> None:
    found = run_pytest(tmp_path, "--device", vulkan.name, "--as", "minimum", f"--junitxml={tmp_path / 'r.xml'}")
    assert found.returncode == 1, found.stdout + found.stderr
    tensor = {"DataType": "FLOAT32", "Sizes": [1, 3]}
    descriptor = {"type": "DML_OPERATOR_ACTIVATION_RELU", "desc": {"InputTensor": tensor, "OutputTensor": tensor}}
    name = vulkan.name.split(" (")[0]
    for text in (
        f"Vulkan device: {vulkan.name}, driver {vulkan.driver}, Vulkan ",  # the header
        "at [0, 0]: found 0.0, expected -1.0; 1 of 3 elements differ",
        f"device: {vulkan.name}, driver {vulkan.driver}",
        f"descriptor: {json.dumps(descriptor)}",
        f"again: tools/test 'test_one.py::test_one[{name}-minimum]' --device '{vulkan.name}' --as minimum",
    ):
        assert text in found.stdout
    properties = {one.get("name"): one.get("value") for one in Xml.parse(tmp_path / "r.xml").iter("property")}
    assert properties == {"device": vulkan.name, "driver": vulkan.driver}


@pytest.mark.parametrize("processes", [(), ("-n", "2")])
def test_a_missing_device_is_a_one_line_error(tmp_path: Path, processes: tuple[str, ...]) -> None:
    found = run_pytest(tmp_path, "--device", "no such device", *processes)
    assert found.returncode == pytest.ExitCode.USAGE_ERROR
    (line,) = (found.stdout + found.stderr).strip().splitlines()
    assert line.startswith("ERROR: --device: no Vulkan device")


def failure(assertion, *arguments):
    with pytest.raises(AssertionError) as caught:
        assertion(*arguments)
    return str(caught.value)


def test_the_worst_element_is_named():
    one = np.ones((2, 3), np.float32)
    off = one.copy()
    off[0, 1] += 2.0**-23
    off[1, 2] += 4 * 2.0**-23
    assert_ulp(off, one, 4, "none")
    assert failure(assert_ulp, off, one, 0.5, "a reason") == (
        "at [1, 2]: found 1.0000005, expected 1.0, 4 ulp off, allowed 0.5; 2 of 6 elements differ: a reason"
    )
    assert failure(assert_exact, off, one).endswith("2 of 6 elements differ")
    off[0, 0] = np.nan
    assert failure(assert_ulp, off, one, 8, "x") == (
        "at [0, 0]: found nan, expected 1.0; 1 of 6 elements differ: x"
    )  # fmt: skip
    assert_exact(off, off.copy())


def test_sums_say_how_far_they_are_off():
    one = np.ones(3, np.float32)
    assert_sums(one, np.ones(3), np.ones(3), 4)
    text = failure(assert_sums, np.array([1, 1.5, 1], np.float32), np.ones(3), np.ones(3), 4)
    assert text.startswith("at [1]: found 1.5, expected 1.0; 1 of 3 elements differ; off by 0.5, allowed ")
    assert failure(assert_sums, np.array([1, 1, np.nan], np.float32), np.ones(3), np.ones(3), 4).startswith("at [2]")
