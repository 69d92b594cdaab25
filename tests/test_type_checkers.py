"""mypy and pyright on users' programs (the README's, the guides', ports): correct ones pass, mistakes are reported."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dml
from tools.constructor_signatures import stubs

ROOT = Path(__file__).parents[1]
PROGRAMS = ROOT / "tests" / "typing_programs"
GUIDES = ROOT / "tools" / "documentation" / "guide"
_ERROR = re.compile(r"^(?P<path>[^:\n]+):(?P<line>\d+): error: (?P<message>.*)$", re.MULTILINE)

#: A mistake as (file name, line, message).
Faults = set[tuple[str, int, str]]


def test_stubs_are_those_of_the_classes() -> None:
    """The committed stubs are up to date; `python -m tools.constructor_signatures` writes them."""
    for path, text in stubs().items():
        assert path.read_text(encoding="utf-8") == text, path


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of all programs: the files in typing_programs, and a file for each page's Python."""
    folder = tmp_path_factory.mktemp("programs")
    for path in PROGRAMS.glob("*.py"):
        (folder / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    for page in (ROOT / "README.md", *GUIDES.glob("*.md")):
        blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        if blocks:
            (folder / f"page_{page.stem.lower()}.py").write_text("\n".join(blocks), encoding="utf-8")
    return folder


def by_mypy(folder: Path) -> Faults:
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file=", f"--cache-dir={folder / 'cache'}",
         "--check-untyped-defs", "--allow-redefinition-new", "--local-partial-types",
         "--disable-error-code=import-untyped", "--disable-error-code=import-not-found",
         *map(str, folder.glob("*.py"))],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode in (0, 1), run.stdout + run.stderr
    return {
        (Path(found["path"]).name, int(found["line"]), found["message"])
        for found in _ERROR.finditer(run.stdout)
        if Path(found["path"]).parent == folder
    }


def by_pyright(folder: Path) -> Faults:
    if importlib.util.find_spec("pyright") is None:
        pytest.skip("needs pyright: tools/setup --test")
    (folder / "pyrightconfig.json").write_text(
        json.dumps({
            "include": ["."], "extraPaths": [str(ROOT)], "reportMissingImports": False,
            "reportMissingModuleSource": False, "reportAttributeAccessIssue": "error",
        })
    )  # fmt: skip
    run = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "--project", str(folder)],
        cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
    )  # fmt: skip
    assert run.returncode in (0, 1), run.stdout + run.stderr
    return {
        (Path(one["file"]).name, one["range"]["start"]["line"] + 1, one["message"])
        for one in json.loads(run.stdout)["generalDiagnostics"]
        if one["severity"] == "error"
    }


@pytest.mark.parametrize("checker", [by_mypy, by_pyright], ids=["mypy", "pyright"])
def test_type_checkers_accept_valid_programs_and_refuse_mistakes(programs: Path, checker: object) -> None:
    assert callable(checker)
    faults: Faults = checker(programs)
    lines = (PROGRAMS / "refused.py").read_text(encoding="utf-8").splitlines()
    expected = {index for index, line in enumerate(lines, 1) if line.endswith("# refused")}
    wrong = sorted(fault for fault in faults if fault[0] != "refused.py")
    assert not wrong, "\n".join(map(str, wrong))
    assert {line for name, line, _ in faults if name == "refused.py"} == expected


def test_the_accepted_programs_run(device: dml.Device) -> None:
    spec = importlib.util.spec_from_file_location("accepted_programs", PROGRAMS / "accepted.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(device)
