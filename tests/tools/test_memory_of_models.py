"""tools/memory: its models give correct results, and their weights take no more memory than in the file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dml.compiler.target import DeviceClass, Target
from dml.frontends.onnx.run.inspect import inspect_model
from dml.planning.planner import Planner
from dml.runtime.devices import VulkanDevice
from tools.documentation.performance import MODELS as MEASURED
from tools.memory_of_models.models import AS_DISCRETE, MODELS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_small_models_are_measured(tmp_path: Path, vulkan: VulkanDevice) -> None:
    options = ["--scale", "0.0625", "--processes", "0", "--device", vulkan.name, "--json", str(tmp_path / "m.json")]
    command = [sys.executable, "-m", "tools.memory_of_models", *options]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    found = json.loads((tmp_path / "m.json").read_text())
    assert (found["device"], found["driver"]) == (vulkan.name, vulkan.driver)
    assert list(found["models"]) == list(MODELS)
    for name, one in found["models"].items():
        assert set(one["answers"]) - {"discrete"} == {"plain", "onnxruntime"}, name
        assert ("discrete" in one["answers"]) == (name in AS_DISCRETE), name
        assert one["device"]["weights"] <= 1.1 * one["weights"] + (1 << 20), name


@pytest.mark.parametrize("name", ["unet", "vae-decoder"])
def test_filters_take_no_more_memory_than_in_the_file(tmp_path: Path, name: str) -> None:
    """Winograd's transformed filters, four times as large, are working memory."""
    made = MODELS[name](tmp_path, 0.25)
    found = inspect_model(made.path, Planner(Target(DeviceClass.CPU, subgroup_size=8)), inputs=made.feeds)
    assert found.memory is not None
    assert found.memory["weights"] <= 1.01 * made.bytes


def test_an_unknown_model_is_refused() -> None:
    command = [sys.executable, "-m", "tools.memory_of_models", "gpt-5"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 2
    assert "there is no model 'gpt-5'; there are llama" in ran.stderr


@pytest.mark.parametrize("path", sorted(MEASURED.glob("*.json")), ids=lambda path: path.stem)
def test_recorded_measurements_cover_every_model(path: Path) -> None:
    found = json.loads(path.read_text())
    assert found["scale"] == 1
    assert list(found["models"]) == list(MODELS)
