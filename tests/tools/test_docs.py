"""tools/docs: a page for every operator, with what the code knows of it, and examples that run."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

import dml
from dml.compiler.lowering import lowering_of
from dml.tensors import DML_BUFFER_TENSOR_DESC
from sample_descriptors import NAMES, sample

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))  # tools is a folder of the checkout

from tools.documentation import kernels, operators  # noqa: E402
from tools.documentation.__main__ import DOCUMENTS, write_pages  # noqa: E402
from tools.documentation.examples import example  # noqa: E402


@pytest.mark.parametrize("name", NAMES)
def test_an_operators_page(name: str) -> None:
    cls = dml.operators()[dml.DML_OPERATOR_TYPE[f"DML_OPERATOR_{name}"]]
    text = operators.page(name)
    assert re.findall(r"^## (.*)$", text, re.M) == [
        "Fields",
        "Feature levels",
        "Rule",
        "Lowering",
        "Kernels",
        "Example",
    ]
    for info in cls.fields_info:
        assert f"| `{info.name}` | {info.kind} |" in text
    for path in re.findall(r"`((?:dml|shaders)/[\w/.]+)`", text):
        assert (ROOT / path).is_file(), path
    lowering = lowering_of(cls)
    assert lowering is not None
    assert f"`{lowering.__name__}`" in text
    for kernel in operators.kernels(name):
        assert (ROOT / "shaders" / kernel).is_file()


def test_what_fields_are_comes_from_the_docstring() -> None:
    said = operators.said_of(dml.DML_ADAM_OPTIMIZER_OPERATOR_DESC)
    assert said["TrainingStepTensor"] == "one element, t."
    said = operators.said_of(dml.DML_GEMM_OPERATOR_DESC)
    assert said["CTensor"] == said["OutputTensor"] != said["BTensor"]
    said = operators.said_of(dml.DML_GRU_OPERATOR_DESC)
    assert said["ActivationDescs"] == "f (gates) and g (hidden) for each direction."
    assert said["LinearBeforeReset"].startswith("LinearBeforeReset multiplies")


def test_levels_are_shown_where_they_change() -> None:
    text = operators.page("GEMM")
    assert re.findall(r"^### (.*)$", text, re.M) == [r"1\_0", r"4\_0"]
    assert "#### 1" in operators.page("REDUCE"), "a table per group of functions"


@pytest.mark.parametrize("name", NAMES)
def test_an_operators_example(name: str, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DML_VULKAN_DEVICE", str(device.vulkan.index))
    session: dict[str, Any] = {}
    exec(example(sample(name)), session)
    assert session["desc"] == sample(name)
    for field, tensors in session["desc"].outputs():
        found = session["outputs"].get(field)
        if isinstance(tensors, DML_BUFFER_TENSOR_DESC):
            assert found.shape == tensors.Sizes
        elif tensors is not None:
            assert [one.shape for one in found] == [tensor.Sizes for tensor in tensors]


def test_all_pages_are_written_and_reachable(tmp_path: Path) -> None:
    write_pages(tmp_path / "pages")
    pages = {str(path.relative_to(tmp_path / "pages")).removesuffix(".md") for path in tmp_path.rglob("*.md")}
    assert {f"operators/{name}" for name in NAMES} <= pages
    assert {f"kernels/{family}" for family in kernels.families()} <= pages
    reached = {"index"}
    for page in sorted(pages):
        text = (tmp_path / "pages" / f"{page}.md").read_text(encoding="utf-8")
        for listed in re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.M | re.S):
            entries = [line for line in listed.splitlines() if line and not line.startswith(":")]
            reached |= {str(Path(page).parent / entry) for entry in entries}
    assert reached == pages
    assert {Path(document).stem for document in DOCUMENTS} <= pages
    targets = set(re.findall(r"^\((.*)\)=$", "\n".join(p.read_text() for p in tmp_path.rglob("*.md")), re.M))
    links = re.findall(r"\]\(#(.*?)\)", "\n".join(p.read_text() for p in tmp_path.rglob("*.md")))
    assert {link for link in links if link.startswith(("operator-", "kernel-"))} <= targets
