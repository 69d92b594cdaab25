"""`dml devices`: its list of devices, and its message without devices."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from rich.console import Console
from typer.testing import CliRunner

import dml
from dml.cli import app, tables
from dml.runtime import devices as runtime_devices


def run(*arguments):
    return CliRunner().invoke(app, ["devices", *arguments])


def test_a_row_for_each_device(vulkan):
    output = run().output
    (row,) = [line for line in output.splitlines() if line.startswith(f"│ {vulkan.index} ")]
    cells = [cell.strip() for cell in row.strip("│").split("│")]
    assert cells[1:4] == [vulkan.name, vulkan.device_class.value, vulkan.driver]
    assert "largest binding" in output


@pytest.mark.parametrize("columns", [80, 400])
def test_a_terminal_breaks_no_word(vulkan, monkeypatch, columns):
    """A narrow terminal shows a table for each device, a wide one a row for each; names and features stay whole."""
    monkeypatch.setattr(
        tables, "Console", lambda width=columns: Console(width=width, force_terminal=True, no_color=True)
    )
    output = re.sub(r"\x1b\[[0-9;]*m", "", run().output)
    assert max(map(len, output.splitlines())) <= columns
    assert any(re.match(rf"│ {vulkan.index} +│ ", line) for line in output.splitlines()) == (columns == 400)
    for text in (vulkan.name, vulkan.driver, *vulkan.features):
        assert text in output, text


def test_the_largest_binding_is_the_limit_of_kernels(vulkan):
    assert vulkan.max_binding == min(vulkan.target.max_storage_buffer_range - 256, vulkan.max_allocation)


def test_json_is_numbers_and_all_limits(vulkan):
    found = json.loads(run("--json").output)[vulkan.index]
    assert found["name"] == vulkan.name
    assert found["max_binding"] == vulkan.max_binding
    assert found["max_buffer"] == vulkan.max_allocation
    limits = found["limits"]
    assert limits["subgroup_size"] == vulkan.target.subgroup_size
    assert limits["max_workgroup_size"] == list(vulkan.target.max_workgroup_size)
    assert found["features"] == vulkan.target.features.described()


@pytest.mark.parametrize("option", ["-v", "--verbose"])
def test_all_of_a_device(vulkan, option):
    output = run(option).output
    for name, value in vulkan.properties():
        assert any(line.split("│")[1:3] == [f" {name.ljust(len(line.split('│')[1]) - 1)}",
                                             f" {value.ljust(len(line.split('│')[2]) - 1)}"]
                   for line in output.splitlines() if line.count("│") == 3), name  # fmt: skip


def test_without_a_driver_packages_to_install_are_named():
    nowhere = {**os.environ, "VK_DRIVER_FILES": "/nonexistent", "VK_ICD_FILENAMES": "/nonexistent"}
    result = subprocess.run([sys.executable, "-m", "dml", "devices"], capture_output=True, text=True, env=nowhere)
    assert result.returncode == 3
    assert "install Vulkan's loader and a driver" in result.stderr
    assert "VK_DRIVER_FILES=/nonexistent" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("command", ["devices", "run model.onnx", "run model.json", "explain model.onnx"])
def test_every_command_names_the_packages(monkeypatch, tmp_path, command):
    """Without devices, every command exits with 3 and names the packages to install."""
    monkeypatch.setattr(runtime_devices, "list_devices", lambda: ())
    monkeypatch.chdir(tmp_path)
    for suffix in ("onnx", "json"):
        (tmp_path / f"model.{suffix}").write_bytes(b"")
    result = CliRunner().invoke(app, command.split())
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith("no Vulkan device; install Vulkan's loader and a driver")


def test_a_device_for_a_notebook(vulkan):
    assert repr(vulkan) == f"<VulkanDevice {vulkan.index}: {vulkan.name}, {vulkan.driver}>"
    page = vulkan._repr_html_()
    assert page.count("<tr>") == len(vulkan.properties()) - 1
    assert "largest binding" in page


def test_a_wrong_device_is_refused_and_not_missing(vulkan):
    result = CliRunner().invoke(app, ["run", "model.json", "--device", "no such device"])
    assert result.exit_code == 1
    assert "no Vulkan device 'no such device'" in result.stderr
    assert dml.list_devices()[vulkan.index].name in result.stderr
