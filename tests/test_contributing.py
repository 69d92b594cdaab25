"""CONTRIBUTING.md's places for a new operator and a new data type are sufficient and necessary: tried in copies."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from dml.runtime.devices import VulkanDevice

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

#: Tests that cover every operator, and the new operator's own test.
TESTS = (
    "tests/test_enums.py",
    "tests/cli",
    "tests/conformance/test_subjects.py",
    "tests/test_axes.py",
    "tests/test_misuse.py",
    "tests/capability",
    "tests/compiler",
    "tests/descriptors",
    "tests/validator",
    "tests/operators/movement/test_roll.py",
)
#: Selection among these for pytest's -k: tests about ROLL, and tests that count operators.
ONES = (
    "ROLL- or ROLL] or ROLL_ or test_roll or operator_is_here or has_its_class or lists_every or operator_types "
    "or has_a_subject"
)


Run = subprocess.CompletedProcess[str]


class Insertion(NamedTuple):
    """Lines for a file: after the line ``after``, or at its end (None). A missing file is created.

    path: a file or a Python module; for a package, the file in it that has the line is meant.
    """

    path: str
    after: str | None
    lines: str


def section(title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", TEXT, re.M | re.S)
    assert found, title
    return found[1]


def insertions(title: str = "Add an operator") -> list[Insertion]:
    """Return the insertions in a section's numbered places; an operator's own test is the last."""
    found = []
    for item in re.split(r"^(?=\d+\. )", section(title), flags=re.M)[1:]:
        path = re.match(r"\d+\. `([\w./]+)`", item)
        assert path, item
        for words, code in re.findall(r"(.*?)^ +```\w+\n(.*?)^ +```$", item, re.M | re.S):
            after = re.search(r"[Aa]fter\s+`([^`]+)`:\s*$", words)
            found.append(Insertion(path[1], after[1] if after else None, textwrap.dedent(code)))
    return found


def file_of(root: Path, insertion: Insertion) -> Path:
    path = root / insertion.path
    if path.is_dir():
        return next(file for file in sorted(path.glob("*.py")) if f"{insertion.after}\n" in file.read_text("utf-8"))
    return path if path.suffix else path.with_suffix(".py")


def insert(root: Path, insertion: Insertion) -> None:
    path = file_of(root, insertion)
    if insertion.after is None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(insertion.lines)
        return
    lines = path.read_text(encoding="utf-8").splitlines()
    at = next(n for n, line in enumerate(lines) if line.strip() == insertion.after)
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    own = insertion.lines if insertion.lines.startswith(" ") else textwrap.indent(insertion.lines, indent)
    path.write_text("\n".join([*lines[: at + 1], own.rstrip("\n"), *lines[at + 1 :], ""]), encoding="utf-8")


def with_operator(root: Path, what: Iterable[Insertion]) -> Path:
    """Return a copy of the project with ROLL, with only the insertions in ``what``."""
    root.mkdir()
    for folder in ("dml", "shaders", "tests", "tools"):  # with Python's bytecode, so that it is not compiled again
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("kompute"))
    shutil.copy(ROOT / "pyproject.toml", root)
    for insertion in what:
        insert(root, insertion)
    return root


def run_tests(root: Path, device: str, tests: Iterable[str] = TESTS, ones: str = ONES) -> Run:
    options = ["-q", "-x", "-p", "no:cacheprovider", "--device", device, "-k", ones]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=root,
        env={
            **os.environ,
            "PYTHONPATH": str(root),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # importing them takes as long as the tests
        },
        capture_output=True,
        text=True,
    )


def test_an_operator_needs_these_places(tmp_path: Path, vulkan: VulkanDevice) -> None:
    run = run_tests(with_operator(tmp_path / "all", insertions()), vulkan.name)
    assert run.returncode == pytest.ExitCode.OK, run.stdout + run.stderr
    assert int(re.findall(r"(\d+) passed", run.stdout)[0]) > 30, run.stdout


@pytest.mark.slow
def test_and_each_of_them(tmp_path: Path, vulkan: VulkanDevice) -> None:
    """Every place is necessary, except the operator's own test, which checks the others. (With all places, the test
    above finds no failure.)"""
    *places, test = insertions()

    own = [test.path, TESTS[0]]  # these tests collect little, and fail for most places

    def fails(left_out: int) -> bool:
        rest = [place for number, place in enumerate(places) if number != left_out]
        root = with_operator(tmp_path / str(left_out), [*rest, test])
        return any(run_tests(root, vulkan.name, tests).returncode != pytest.ExitCode.OK for tests in (own, TESTS))

    with ThreadPoolExecutor(2) as pool:
        needed = list(pool.map(fails, range(len(places))))
    assert [place.path for place, is_needed in zip(places, needed, strict=True) if not is_needed] == []


#: Samples of several families with BFLOAT16 in place of FLOAT32: the results are FLOAT32's, rounded.
SAMPLES = """
import numpy as np
import pytest

import dml
from harness import run
from sample_descriptors import sample

FAMILIES = (
    "ACTIVATION_GELU", "AVERAGE_POOLING1", "BATCH_NORMALIZATION", "CONVOLUTION", "CUMULATIVE_SUMMATION",
    "ELEMENT_WISE_ADD1", "GEMM", "GRU", "MULTIHEAD_ATTENTION", "REDUCE", "RESAMPLE2", "SLICE1", "TILE",
)


@pytest.mark.parametrize("name", FAMILIES)
def test_bfloat16(device, name):
    rng = np.random.default_rng(0)
    inputs = {}
    desc, of_floats = sample(name, floats="BFLOAT16"), sample(name)
    for field, tensor in desc.inputs():
        if tensor is not None:
            kind = dml.numpy_dtype(tensor.DataType)
            draw = rng.integers if kind.kind in "iu" else rng.uniform
            inputs[field] = draw(1, 3, tensor.Sizes).astype(kind)
    found = run(device, desc, inputs)
    floats = {field: a if a.dtype.kind in "iu" else a.astype(np.float32) for field, a in inputs.items()}
    for field, expected in run(device, of_floats, floats).items():
        np.testing.assert_allclose(found[field].astype(np.float32), expected, rtol=2**-7, atol=1e-3)
"""


def with_data_type(root: Path, what: Iterable[Insertion]) -> Path:
    """Return a copy of the project with BFLOAT16, with only the insertions in ``what``; operators take it like
    FLOAT16."""
    with_operator(root, what)
    table = root / "dml/capability/operators.json"
    table.write_text(table.read_text(encoding="utf-8").replace('"FLOAT16"', '"FLOAT16", "BFLOAT16"'), encoding="utf-8")
    (root / "tests/test_bfloat16.py").write_text(SAMPLES, encoding="utf-8")
    return root


def run_data_type(root: Path, vulkan: VulkanDevice) -> Run:
    return run_tests(root, vulkan.name, ["tests/test_bfloat16.py", "tests/compiler/test_data_types.py"], "bfloat16")


def test_a_data_type_needs_these_places(tmp_path: Path, vulkan: VulkanDevice) -> None:
    run = run_data_type(with_data_type(tmp_path / "all", insertions("Add a data type")), vulkan)
    assert run.returncode == pytest.ExitCode.OK, run.stdout + run.stderr
    assert int(re.findall(r"(\d+) passed", run.stdout)[0]) > 14, run.stdout


@pytest.mark.slow
def test_and_each_of_a_data_types(tmp_path: Path, vulkan: VulkanDevice) -> None:
    places = insertions("Add a data type")
    for left_out, place in enumerate(places):
        rest = [other for other in places if other is not place]
        run = run_data_type(with_data_type(tmp_path / str(left_out), rest), vulkan)
        assert run.returncode != pytest.ExitCode.OK, place.path
