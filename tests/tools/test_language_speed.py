"""tools/bench --language: its tables, and errors without llama.cpp. No test asserts a time."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from dml.runtime.devices import VulkanDevice
from tools.documentation.performance import LANGUAGE
from tools.language_speed.__main__ import GOALS, ratios_of
from tools.language_speed.node import _PLATFORMS

ROOT = Path(__file__).resolve().parents[2]
SMALL = ["--scale", "0.0625", "--prompt", "16", "--tokens", "4"]


def speed(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tools.language_speed", *SMALL, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, **environment})


def test_a_small_model_is_measured(tmp_path: Path, vulkan: VulkanDevice) -> None:
    ran = speed("--peers", "dml", "--device", vulkan.name, "--json", str(tmp_path / "found.json"))
    assert ran.returncode == 0, ran.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["device"] == vulkan.name
    assert set(found["answers"]) == {"dml"}
    assert found["answers"]["dml"]["peak"] > found["weights"]
    assert ratios_of(found) == {}


def test_without_node_one_line_is_printed(tmp_path: Path) -> None:
    ran = speed("--peers", "llama.cpp", PATH=str(tmp_path))
    assert ran.returncode == 125, ran.stderr
    machine = platform.system(), platform.machine()
    lacking = f"node-llama-cpp has no Vulkan back end for {' '.join(machine)}"
    reason = "llama.cpp runs in Node.js: install node and npm" if machine in _PLATFORMS else lacking
    assert ran.stderr == f"tools/bench --language: {reason}\n"


@pytest.mark.parametrize("path", sorted(LANGUAGE.glob("*.json")), ids=lambda path: path.stem)
def test_recorded_measurements(path: Path) -> None:
    found = json.loads(path.read_text())
    ratios = ratios_of(found)
    assert found["driver"]
    assert set(ratios) == set(GOALS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("--peers", "llamacpp"), "there is no peer 'llamacpp'"), (("--tokens", "0"), "must be at least 1")],
)
def test_wrong_arguments_are_refused(arguments: tuple[str, ...], message: str) -> None:
    ran = speed(*arguments)
    assert ran.returncode == 2
    assert message in ran.stderr


def test_ratios_are_of_the_measure_that_the_device_calls_for() -> None:
    def answer(cpu: float, wall: float, peak: int) -> dict[str, object]:
        return {"prompt": {"cpu": cpu, "wall": wall}, "token": {"cpu": cpu / 2, "wall": wall}, "peak": peak}

    answers = {"dml": answer(1, 3, 100), "llama.cpp": answer(4, 6, 400)}
    assert ratios_of({"measure": "cpu", "answers": answers}) == {"prompt": 0.25, "token": 0.25, "peak": 0.25}
    assert ratios_of({"measure": "wall", "answers": answers})["prompt"] == 0.5
