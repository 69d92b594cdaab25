"""Hatchling's build hook for wheels: it adds, as dml/_vendor, the files that dml needs besides Python code and shaders.

tools/wheel passes a folder of these files in ``DML_WHEEL_VENDOR``. When pip installs from source,
tools/vendoring/build creates one; if system packages are missing, the build stops with their names before anything is
installed. ``DML_WHEEL_VENDOR=`` (empty) leaves the files out: descriptions, rules and compilation work, devices do not.
An editable installation adds nothing; tools/setup puts the files into .venv/.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUILD = Path("tools", "vendoring", "build")


class VendoredFiles(BuildHookInterface[Any]):
    _made: str | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        vendored = os.environ.get("DML_WHEEL_VENDOR")
        if vendored is None and version == "standard":
            vendored = self._made = tempfile.mkdtemp()
            _build(Path(self.root), vendored)
        if vendored:
            build_data["force_include"][vendored] = "dml/_vendor"
            build_data["pure_python"] = False
            build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self._made is not None:
            shutil.rmtree(self._made, ignore_errors=True)


def _build(root: Path, folder: str) -> None:
    """Fill the folder. Exits with the script's message if it fails."""
    # pip sets PYTHONPATH for its build, which would leak into the environments that the script creates
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [root / BUILD, sys.executable, folder], env=environment, stdout=sys.stderr, stderr=subprocess.PIPE, text=True
    )
    if done.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        remedy = "after that, try again; with DML_WHEEL_VENDOR= in the environment, dml is installed without devices"
        sys.exit(f"{done.stderr}dml: Kompute and glslang could not be built; {remedy}")
    sys.stderr.write(done.stderr)
