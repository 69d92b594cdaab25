"""The README's Python is true: its snippets run, one after another, in one session."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

README = Path(__file__).parent.parent / "README.md"


def test_snippets_run(device, monkeypatch, capsys):
    monkeypatch.setenv("DML_VULKAN_DEVICE", str(device.vulkan.index))
    snippets = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.S)
    assert len(snippets) >= 3
    rng = np.random.default_rng(0)
    session: dict[str, object] = {
        "weights": rng.standard_normal((8, 3, 3, 3)).astype(np.float32),
        "bias": np.zeros(8, np.float32),
        "pixels": rng.standard_normal((1, 3, 224, 224)).astype(np.float32),
    }
    for snippet in snippets:
        if "RTX" in snippet:
            snippet = snippet.replace("dml.create_device() ", f"dml.create_device({device.vulkan.index}) ")
        exec(snippet, session)
    text = capsys.readouterr().out
    assert text.count("7.  6.  5.  4.") == 2, "the example, the short way and the long"


def test_every_file_named_exists():
    text = README.read_text(encoding="utf-8")
    for name in re.findall(r"`((?:examples|tools|dml|shaders|tests)/[\w./]*)`", text):
        assert (README.parent / name).exists(), name
