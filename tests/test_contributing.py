"""CONTRIBUTING.md's places for a new operator are enough, and each of them is needed: its ROLL is added to a copy."""

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

#: Tests that look at every operator there is, and the new operator's own.
TESTS = (
    "tests/test_enums.py",
    "tests/test_cli.py",
    "tests/test_axes.py",
    "tests/test_misuse.py",
    "tests/capability",
    "tests/compiler",
    "tests/descriptors",
    "tests/validator",
    "tests/operators/movement/test_roll.py",
)
#: Those of them that are about ROLL, and those that count operators.
ONES = "ROLL- or ROLL] or ROLL_ or test_roll or operator_is_here or has_its_class or lists_every or operator_types"


class Insertion(NamedTuple):
    """Lines for a file: behind the line ``after``, or at its end (None). A file that is not there is made.

    path: of the file, or of a Python module, that may be a package: then of its file that has the line.
    """

    path: str
    after: str | None
    lines: str


def section(title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", TEXT, re.M | re.S)
    assert found, title
    return found[1]


def insertions() -> list[Insertion]:
    """What the numbered places of "Add an operator" say to insert, the operator's own test last."""
    found = []
    for item in re.split(r"^(?=\d+\. )", section("Add an operator"), flags=re.M)[1:]:
        path = re.match(r"\d+\. `([\w./]+)`", item)
        assert path, item
        for words, code in re.findall(r"(.*?)^   ```\w+\n(.*?)^   ```$", item, re.M | re.S):
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
    """A copy of the project with ROLL, as far as ``what`` goes."""
    root.mkdir()
    for folder in ("dml", "shaders", "tests", "tools"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__", "kompute"))
    shutil.copy(ROOT / "pyproject.toml", root)
    for insertion in what:
        insert(root, insertion)
    return root


def run_tests(root: Path, device: str) -> subprocess.CompletedProcess[str]:
    options = ["-q", "-x", "-p", "no:cacheprovider", "--device", device, "-k", ONES]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, *TESTS],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )


def test_an_operator_needs_these_places(tmp_path: Path, vulkan: VulkanDevice) -> None:
    run = run_tests(with_operator(tmp_path / "all", insertions()), vulkan.name)
    assert run.returncode == pytest.ExitCode.OK, run.stdout + run.stderr
    assert int(re.findall(r"(\d+) passed", run.stdout)[0]) > 30, run.stdout


@pytest.mark.slow
def test_and_each_of_them(tmp_path: Path, vulkan: VulkanDevice) -> None:
    """But for its test, with which the others are measured."""
    *places, test = insertions()

    def fails(left_out: int) -> bool:
        rest = [place for number, place in enumerate(places) if number != left_out]
        run = run_tests(with_operator(tmp_path / str(left_out), [*rest, test]), vulkan.name)
        return run.returncode != pytest.ExitCode.OK

    with ThreadPoolExecutor(2) as pool:
        needed = list(pool.map(fails, range(len(places))))
    assert [place.path for place, is_needed in zip(places, needed, strict=True) if not is_needed] == []
