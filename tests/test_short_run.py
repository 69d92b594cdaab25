"""The default run of the suite: the tests it selects, and its last line."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sample_descriptors import NAMES

TESTS = Path(__file__).parent

CASES = """
import pytest

@pytest.fixture
def vulkan():
    "One that stands in for the device: what takes it is a test on a device."

@pytest.mark.parametrize("number", range(43))
def test_many(vulkan, number): pass

@pytest.mark.parametrize("number", range(2))
def test_few(vulkan, number): pass

@pytest.mark.every_parameter
@pytest.mark.parametrize("number", range(43))
def test_each(vulkan, number): pass

@pytest.mark.parametrize("number", range(43))
def test_without_a_device(number): pass

@pytest.mark.slow
def test_slow(): pass
"""
ALL, SHORT = 43 + 2 + 43 + 43 + 1, 1 + 1 + 43 + 43


@pytest.fixture
def suite(tmp_path):
    """Return a function that runs a suite of these cases with its own pytest."""
    (tmp_path / "test_cases.py").write_text(CASES, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\ntestpaths = .\nmarkers =\n    slow\n    every_parameter\n    device\n    kind\n"
    )

    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", "-q", *arguments],
            env={**os.environ, "PYTHONPATH": f"{TESTS}:{TESTS.parent}"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        ).stdout.splitlines()

    return run


@pytest.mark.parametrize("processes", [[], ["-n", "2"]])
def test_the_last_line_counts_deselected_tests(suite, processes):
    """(Two processes must choose the same tests, or pytest-xdist runs none.)"""
    *_, counts, last = suite(*processes)
    assert counts.startswith(f"{SHORT} passed")
    assert last.startswith(f"left out: {ALL - SHORT} of {ALL} tests, ")
    assert "tools/test --all" in last


@pytest.mark.parametrize(
    "choice, count", [(["--all"], ALL), (["test_cases.py"], ALL), (["-k", "test_many"], 43), (["-m", "slow"], 1)]
)
def test_chosen_tests_run_completely(suite, choice, count):
    assert suite(*choice)[-1].startswith(f"{count} passed")


@pytest.mark.parametrize(
    "choice, count", [(["--all"], SHORT), (["test_cases.py", "-m", "device"], 1 + 1 + 43), (["-k", "test_many"], 1)]
)
def test_or_shortly(suite, choice, count):
    assert suite("--short", *choice)[-2].startswith(f"{count} passed")


#: Files that are slow as a whole, or need a package that is missing.
NOT_AT_ALL = {
    "tests/frontends/onnx/test_onnx_mutations.py",
    "tests/frontends/torch/test_torch_backend.py",
    "tests/frontends/test_large_weights.py",
    "tests/glslang/test_valid.py",
    "tests/runtime/test_large_models.py",
}
if importlib.util.find_spec("onnxruntime_genai") is None:
    NOT_AT_ALL.add("tests/frontends/genai/test_generation_judged.py")


@pytest.mark.slow
def test_every_operator_and_every_file_is_in_it():
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"],
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout
    assert set(re.findall(r"test_axes\.py::test_every_operator\[(\w+)-\w+\]", run.stdout)) == set(NAMES)
    files = {path.relative_to(TESTS.parent).as_posix() for path in TESTS.rglob("test_*.py")}
    assert files - set(re.findall(r"^(tests/[\w/]+\.py)::", run.stdout, re.M)) == NOT_AT_ALL
