"""Fixtures of the tests of dml.frontends.genai."""

from __future__ import annotations

from pathlib import Path

import pytest

from example_module import example


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a small model folder, which tests must not change."""
    made = tmp_path_factory.mktemp("chat")
    example("chat").write_folder(made)
    return made
