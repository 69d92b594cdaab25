""".ci/run with stand-ins for its commands: all steps run despite failures, and any failure fails the run."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / ".ci/run").read_text(encoding="utf-8")
STEPS = re.findall(r"^ *step (\w+) (\S+)", TEXT, re.M)

Run = Callable[[str], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that runs .ci/run with stand-ins; a command with the given words fails."""
    for program in {program for _, program in STEPS} | {"tools/setup", ".ci/run"}:
        path = tmp_path / program
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!/bin/bash\n[[ -z $FAILING || "{program} $*" != *"$FAILING"* ]]\n', encoding="utf-8")
        path.chmod(0o755)
    (tmp_path / ".ci/run").write_text(TEXT, encoding="utf-8")

    def with_failing(words: str) -> subprocess.CompletedProcess[str]:
        environment = {"FAILING": words, "PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path), "HOME": str(tmp_path)}
        return subprocess.run([tmp_path / ".ci/run"], env=environment, capture_output=True, text=True, timeout=120)

    return with_failing


def test_every_step_is_reported(run: Run) -> None:
    done = run("")
    assert done.returncode == 0, done.stdout + done.stderr
    told = re.findall(r"^=== (\w+): (?:(exit)|\S+)", done.stdout, re.M)
    assert len(STEPS) > 10
    # A step's output is printed between its two lines, wherever it ran
    assert sorted(told[::2]) == sorted((name, "") for name, _ in STEPS)
    assert told[1::2] == [(name, "exit") for name, _ in told[::2]]
    assert done.stdout.splitlines()[-1].startswith("=== all passed")


@pytest.mark.parametrize(
    "words, failed",
    [
        ("tools/test --all", "tests"),
        ("--vulkan-validation", "validation"),
        (".venv/bin/mypy", "types"),
        ("tools/wheel", "wheel"),
        ("tools/test -q --device llvmpipe -m device", "mesa"),
    ],
)
def test_a_failure_is_named_and_the_rest_runs(run: Run, words: str, failed: str) -> None:
    done = run(words)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == f"=== failed: {failed}"
    assert len(re.findall(r"^=== \w+: exit 0", done.stdout, re.M)) == len(STEPS) - 1


def test_each_command_is_run_in_a_fresh_clone() -> None:
    """.ci/commands has a quick stand-in for each command."""
    tools = {path.name for path in (ROOT / "tools").iterdir() if path.is_file() and os.access(path, os.X_OK)}
    assert set(re.findall(r"^    \[(\w+)\]=", (ROOT / ".ci/commands").read_text(encoding="utf-8"), re.M)) == tools
    assert ".ci/commands" in TEXT
