"""Kernels with a fault put in."""

from __future__ import annotations

import shutil

import pytest

from dml.compiler.kernels import sources


def _forget_texts():
    sources._text.cache_clear()
    sources.identifiers.cache_clear()


@pytest.fixture
def broken(tmp_path):
    """``broken(file, before, after)``: until the test ends, kernels have this fault."""
    patch = pytest.MonkeyPatch()

    def use(file, before, after):
        root = tmp_path / "broken" / "shaders"
        shutil.copytree(sources.directory(), root)
        text = (root / file).read_text()
        assert before in text
        (root / file).write_text(text.replace(before, after))
        patch.setattr(sources, "directory", lambda: root)
        _forget_texts()

    yield use
    patch.undo()
    _forget_texts()
