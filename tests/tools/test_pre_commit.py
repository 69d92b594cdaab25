"""The pre-commit hooks run CI's first checks in the project's environment."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_hooks_equal_ci() -> None:
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    asked = re.findall(
        r"^ +step \w+ \.venv/bin/(ruff check|ruff format|mypy|lint-imports)", (ROOT / ".ci/run").read_text(), re.M
    )
    assert len(asked) == 4
    assert re.findall(r"entry: \.venv/bin/(ruff \w+|[\w-]+)", text) == asked


def test_hooks_fetch_nothing() -> None:
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert set(re.findall(r"repo: (.*)", text)) == {"local"}
    assert set(re.findall(r"language: (.*)", text)) == {"system"}
