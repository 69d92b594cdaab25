"""The suite with few subjects: in this process with a misbehaving worker, or in a copy of the package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dml
from dml.conformance import families, process, subject

HERE = Path(__file__).parent
PACKAGE = Path(dml.__file__).parent


def use_few(patch: pytest.MonkeyPatch, **odd: str) -> None:
    """Use only the few subjects in this test, and workers that misbehave as ``odd`` says (see odd_worker.py)."""
    patch.setattr(families, "__path__", [str(HERE / "few")])
    patch.setattr(subject, "_SUBJECTS", {})
    patch.delitem(sys.modules, "dml.conformance.families.few_subjects", raising=False)
    subject.load.cache_clear()
    patch.setattr(process, "WORKER", (sys.executable, str(HERE / "odd_worker.py")))
    make_odd(patch, **odd)


def make_odd(patch: pytest.MonkeyPatch, **odd: str) -> None:
    patch.setenv("ODD", json.dumps(odd))


class Copy:
    """A copy of the package and its kernels, by default with the few subjects, and its dml command."""

    def __init__(self, folder: Path, *, few: bool = True) -> None:
        self.folder = folder
        shutil.copytree(PACKAGE, folder / "dml", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(PACKAGE.parent / "shaders", folder / "shaders")
        if few:
            places = folder / "dml" / "conformance" / "families"
            for module in places.glob("[a-z]*.py"):
                module.unlink()
            shutil.copy(HERE / "few" / "few_subjects.py", places)

    command = (sys.executable, "-m", "dml")

    def environment(self, **variables: str) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(self.folder), **variables}

    def dml(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.command, *arguments],
            capture_output=True, text=True, cwd=self.folder, env=self.environment(**variables), timeout=300,
        )  # fmt: skip
