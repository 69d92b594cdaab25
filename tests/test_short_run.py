"""The default run of the suite: the tests it selects, and its last line."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import short_run
from sample_descriptors import NAMES

TESTS = Path(__file__).parent

CASES = """
import pytest

@pytest.fixture
def vulkan():
    "A stand-in for the device: a test that takes it is a test on a device."

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


#: Runs pytest once for each list of arguments.
RUNS = """
import json, sys, pytest

for arguments in json.loads(sys.argv[1]):
    pytest.main(["-p", "conftest", "-p", "no:cacheprovider", "-q", *arguments])
    print("=== ended")
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    """Return a function that runs a suite of these cases with each of several choices; returns each run's lines."""
    folder = tmp_path_factory.mktemp("suite")
    (folder / "test_cases.py").write_text(CASES, encoding="utf-8")
    (folder / "pytest.ini").write_text(
        "[pytest]\ntestpaths = .\nmarkers =\n    slow\n    every_parameter\n    device\n    kind\n"
    )

    def run(*choices):
        printed = subprocess.run(
            [sys.executable, "-c", RUNS, json.dumps(choices)],
            env={**os.environ, "PYTHONPATH": f"{TESTS}:{TESTS.parent}"},
            cwd=folder,
            capture_output=True,
            text=True,
        ).stdout
        return [lines.splitlines() for lines in printed.split("=== ended\n")[:-1]]

    return run


def test_the_last_line_counts_deselected_tests(suite):
    """(Two processes must choose the same tests, or pytest-xdist runs none.)"""
    runs = suite([], ["-n", "2"])
    assert len(runs) == 2
    for *_, counts, last in runs:
        assert counts.startswith(f"{SHORT} passed")
        assert last.startswith(f"left out: {ALL - SHORT} of {ALL} tests, ")
        assert "tools/test --all" in last


def test_chosen_tests_run_completely_or_shortly(suite):
    """The number of tests that each choice runs."""
    counts = {
        ("--all",): ALL,
        ("test_cases.py",): ALL,
        ("-k", "test_many"): 43,
        ("-m", "slow"): 1,
        ("--short", "--all"): SHORT,
        ("--short", "test_cases.py", "-m", "device"): 1 + 1 + 43,
        ("--short", "-k", "test_many"): 1,
    }
    for (choice, count), lines in zip(counts.items(), suite(*counts), strict=True):
        last = lines[-2] if "--short" in choice else lines[-1]
        assert last.startswith(f"{count} passed"), choice


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


@pytest.fixture
def selected(request):
    """Return the names of the default run's tests; if this run has not collected all tests, start another pytest."""
    config = request.config
    paths = [Path(path).resolve() for path in config.args]
    if paths == [TESTS] and not (config.option.keyword or config.option.markexpr):
        return [item.nodeid for item in short_run.chosen(request.session.items)]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"],
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout
    return run.stdout.splitlines()


@pytest.mark.slow
def test_every_operator_and_every_file_is_in_it(selected):
    names = [name for name in selected if "test_axes.py::test_every_operator[" in name]
    assert {re.search(r"[\[-]([A-Z\d_]+)[\]-]", name)[1] for name in names} == set(NAMES)
    files = {path.relative_to(TESTS.parent).as_posix() for path in TESTS.rglob("test_*.py")}
    assert files - {name.partition("::")[0] for name in selected} == NOT_AT_ALL
