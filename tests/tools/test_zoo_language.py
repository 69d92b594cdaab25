"""tools/zoo --language: a family is built and judged correct, wrong results are found, and the table shows both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import dml
from tools.zoo_of_models.families import FAMILIES
from tools.zoo_of_models.language_table import (
    NOT_BUILT,
    PAIRS,
    RIGHT,
    WRONG,
    LanguageRow,
    language_markdown,
    run_family,
)


@pytest.mark.slow
@pytest.mark.parametrize("family, precision, provider", [("llama", "int4", "dml"), ("gptoss", "fp32", "cpu")])
def test_families_are_right(device: dml.Device, tmp_path: Path, family: str, precision: str, provider: str) -> None:
    pytest.importorskip("onnxruntime_genai")
    pytest.importorskip("transformers")
    row = LanguageRow(family, precision, provider)
    run_family(row, tmp_path, str(device.vulkan.index))
    assert (row.verdict, row.why, row.on_host) == (RIGHT, "", [])
    assert row.same == 9


@pytest.mark.slow
def test_a_wrong_result_is_found(device: dml.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """dml runs a folder in which one weight differs from the folder that onnxruntime-genai ran."""
    pytest.importorskip("onnxruntime_genai")
    from example_module import example
    from tools.zoo_of_models import generating

    example("chat").write_folder(tmp_path / "folder")
    right = generating.compare(tmp_path / "folder", tmp_path, "fp32", str(device.vulkan.index))
    assert right["right"], right
    tokens, logits = generating.expected(tmp_path / "folder")
    proto = onnx.load(tmp_path / "folder" / "model.onnx")
    norm = next(one for one in proto.graph.initializer if one.name == "model.layers.1.input_layernorm.weight")
    norm.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(norm) * np.float32(1.01), norm.name))
    onnx.save(proto, tmp_path / "folder" / "model.onnx")
    monkeypatch.setattr(generating, "expected", lambda folder: (tokens, logits))
    assert not generating.compare(tmp_path / "folder", tmp_path, "fp32", str(device.vulkan.index))["right"]


def test_the_table_shows_each_folders_verdict() -> None:
    rows = [
        LanguageRow("llama", "int4", "dml", RIGHT, judge="onnxruntime-genai", error=1e-3, same=9),
        LanguageRow("llama", "fp32", "cpu", WRONG, judge="transformers", error=0.5, on_host=["Loop"]),
        LanguageRow("gemma3", "int4", "dml", NOT_BUILT, "KeyError: a|b"),
    ]
    text = language_markdown(rows)
    assert "| llama | 1e-03 | wrong, 5e-01 (transformers) | Loop |" in text
    assert "| gemma3 | not built |  |  |" in text
    assert "1 of 2 folders are right." in text
    assert "- gemma3-int4-dml: not built: KeyError: a|b" in text


def test_families_and_kinds_have_names_that_folders_can_have() -> None:
    assert all(name.isalnum() for name in FAMILIES)
    assert ("int4", "dml") in PAIRS
    assert ("fp16", "cpu") not in PAIRS
