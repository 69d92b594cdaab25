"""tools/docs: a page for every operator, generated from the code, with examples that run."""

from __future__ import annotations

import ast
import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special

import dml
from browser import PHONE, PROGRAM, WHY_NOT, browser
from dml.compiler.lowering import lowering_of
from dml.tensors import DML_BUFFER_TENSOR_DESC
from dml.validator.base import rule_of
from sample_descriptors import NAMES, sample

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))  # so that the folder tools can be imported

from tools.documentation import kernels, operators  # noqa: E402
from tools.documentation.__main__ import DOCUMENTS, write_pages  # noqa: E402
from tools.documentation.examples import example  # noqa: E402
from tools.documentation.formulas import FIELDS, FORMULAS  # noqa: E402
from tools.documentation.rules import in_words  # noqa: E402


def is_python(formula: str) -> bool:
    """Whether a formula is an assignment to a whole tensor, which Python can evaluate."""
    try:
        (statement,) = ast.parse(formula).body
    except SyntaxError:
        return False
    return isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)


@pytest.mark.parametrize("name", NAMES)
def test_an_operators_page(name: str) -> None:
    cls = dml.operators()[dml.DML_OPERATOR_TYPE[f"DML_OPERATOR_{name}"]]
    text = operators.page(name)
    headings = ["Example", "Fields", "Rule", "Feature levels", "How it is computed"]
    assert re.findall(r"^## (.*)$", text, re.M) == headings
    for info in cls.fields_info:
        assert f"\n`{info.name}`\n: {info.kind.capitalize()}, `" in text
    assert f"](https://learn.microsoft.com/windows/{'' if 'ai/directml' in text else 'win32/'}" in text
    assert "def " not in text, "rules are sentences, not code"
    for path in re.findall(r"`((?:dml|shaders)/[\w/.]+)`", text):
        assert (ROOT / path).is_file(), path
    lowering = lowering_of(cls)
    assert lowering is not None
    assert f"`{lowering.__name__}`" in text
    for kernel in operators.kernels(name):
        assert (ROOT / "shaders" / kernel).is_file()


@pytest.mark.parametrize("name", NAMES)
def test_names_in_sizes_are_explained(name: str) -> None:
    text = operators.page(name).replace("\\", "")
    sizes = re.findall(r"\{(.*?)\}", text.partition("## Fields")[2].partition("## Rule")[0])
    names = {each for one in sizes for each in re.findall(r"\b[A-Z]\b|\b\w+_\w+\b", one)}
    told = re.search(r"^In sizes, (.*)$", text, re.M)
    assert names == set(re.findall(r"\b(\w+): ", told[1] if told else ""))


@pytest.mark.parametrize("name", ["GRU", "LSTM", "RNN"])
def test_fields_and_rules_use_the_same_sizes(name: str) -> None:
    said = operators.meanings(name)
    sizes = {field: found[1] for field, words in said.items() if (found := re.search(r"\{(.*?)\}", words))}
    ruled = [re.fullmatch(r"`(\w+)` must have sizes \([\d, ]+\) \((.*)\)", one) for one in in_words(sample(name))]
    assert {one[1]: one[2] for one in ruled if one}.items() <= sizes.items()
    assert sum(map(bool, ruled)) >= 6


@pytest.mark.parametrize("name", NAMES)
def test_every_field_is_explained(name: str) -> None:
    cls = operators.desc_class(name)
    said = operators.meanings(name)
    assert [info.name for info in cls.fields_info if info.counts is None and not said[info.name]] == []


def test_fields_inherit_the_extended_operators_text() -> None:
    assert operators.extended("RESAMPLE3") == "RESAMPLE2"
    assert operators.extended("MULTIHEAD_ATTENTION1") == "MULTIHEAD_ATTENTION"
    assert operators.extended("RESAMPLE_GRAD1") == "RESAMPLE_GRAD"
    assert operators.extended("UPSAMPLE_2D") is None
    assert operators.meanings("MULTIHEAD_ATTENTION1")["KeyTensor"] == "{B, K, N * H}."
    assert operators.meanings("ELEMENT_WISE_CLIP_GRAD")["Min"] == "the lower limit."
    assert operators.meanings("SCATTER")["InputTensor"] == "the same sizes as OutputTensor."
    assert operators.meanings("SCATTER")["IndicesTensor"] == "the sizes of InputTensor, any along Axis."


def test_rules_in_words() -> None:
    said = in_words(sample("GEMM"))
    assert "`BTensor` must have 7 rows after TransB (as ATensor has columns after TransA)" in said
    assert "`OutputTensor` must have sizes (1, 2, 5, 6) (batch, M, N)" in said
    assert "`InputWindowStrides` must not be 0" in in_words(sample("SLICE1"))
    assert "at least 1 of `OutputSequenceTensor`, `OutputSingleTensor` must be given" in in_words(sample("GRU"))
    assert in_words(sample("ELEMENT_WISE_ABS")) == []
    assert all(in_words(sample(name)) for name in NAMES if rule_of(type(sample(name))) is not None)


def test_microsofts_pages() -> None:
    """Operators since 4_1 are in Windows AI's documentation."""
    assert operators.microsofts_page("GRU").endswith("/windows/win32/api/directml/ns-directml-dml_gru_operator_desc")
    newer = operators.microsofts_page("ROI_ALIGN_GRAD")
    assert newer.endswith("/windows/ai/directml/api/ns-directml-dml_roi_align_grad_operator_desc")


#: Functions that formulas may call.
FUNCTIONS = {name: getattr(np, name) for name in dir(np) if not name.startswith("_")} | {
    "erf": special.erf,
    "bit_count": np.vectorize(lambda number: int(number).bit_count()),
}
#: Python formulas that the test does not evaluate, because of the functions they call.
CALLING = {"ELEMENT_WISE_ADD1", "GEMM", "CAST"}
IN_PYTHON = [name for name in NAMES if re.match(r"\w+ = ", FORMULAS[name]) and "\n" not in FORMULAS[name]]
EVALUATED = [name for name in IN_PYTHON if name not in CALLING and is_python(FORMULAS[name])]


def test_formulas() -> None:
    assert FORMULAS.keys() == set(NAMES)
    assert len(EVALUATED) > 75
    for name in NAMES:
        if name.startswith(("ELEMENT_WISE", "ACTIVATION")) and name not in EVALUATED:
            assert "[" in FORMULAS[name] or name in CALLING, name


def widened(array: Any) -> Any:
    """Widen floats to float64, and bytes, whose differences may be negative, to long integers."""
    if array.dtype.kind == "f":
        return array.astype(np.float64)
    return array.astype(np.int64) if array.dtype.itemsize == 1 else array


@pytest.mark.parametrize("name", EVALUATED)
def test_a_formula_matches_the_operator(name: str, device: Any) -> None:
    """Inputs are from .55 to .95, where every function is defined (from 1.05 for arccosh)."""
    desc = sample(name)
    if getattr(desc, "ScaleBias", None) is not None:
        desc = desc.replace(ScaleBias=None)
    rng = np.random.default_rng(7)
    low = 1.05 if name == "ELEMENT_WISE_ACOSH" else 0.55
    inputs: dict[str, Any] = {}
    for field, tensor in desc.inputs():
        for one in tensor if isinstance(tensor, tuple) else [tensor]:
            dtype = dml.numpy_dtype(one.DataType)
            made = rng.uniform(low, low + 0.4, one.Sizes) if dtype.kind == "f" else rng.integers(1, 5, one.Sizes)
            inputs.setdefault(field, []).append(made.astype(dtype))
        if not isinstance(tensor, tuple):
            inputs[field] = inputs[field][0]
    found = device.compile_operator(device.create_operator(desc)).dispatch(inputs)
    result, _, expression = FORMULAS[name].partition(" = ")
    output = found[FIELDS[result]]
    limits = np.iinfo(output.dtype) if output.dtype.kind in "iu" else np.finfo(output.dtype)
    attributes = {info.name: getattr(desc, info.name) for info in desc.fields_info if info.kind == "attribute"}
    exact = {field: array if isinstance(array, list) else widened(array) for field, array in inputs.items()}
    names = {letter: exact[field] for letter, field in FIELDS.items() if field in exact}
    expected = eval(
        expression, {**FUNCTIONS, **exact, **names, **attributes, "lowest": limits.min, "highest": limits.max}
    )
    np.testing.assert_allclose(output.astype(np.float64), np.asarray(expected, np.float64), rtol=1e-5, atol=1e-6)


def test_meanings_of_fields_come_from_docstrings() -> None:
    said = operators.said_of(dml.DML_ADAM_OPTIMIZER_OPERATOR_DESC)
    assert said["TrainingStepTensor"] == "one element, t."
    said = operators.said_of(dml.DML_GEMM_OPERATOR_DESC)
    assert said["CTensor"] == "{batch, channel, M, N}; 0 if None."
    said = operators.said_of(dml.DML_GRU_OPERATOR_DESC)
    assert said["ActivationDescs"] == "f (gates) and g (hidden) for each direction."
    assert said["LinearBeforeReset"].startswith("LinearBeforeReset multiplies")


def test_prose_about_all_is_in_no_fields_row() -> None:
    resample, gemm = dml.DML_RESAMPLE2_OPERATOR_DESC, dml.DML_GEMM_OPERATOR_DESC
    assert operators.said_of(resample)["OutputTensor"] == "any sizes of the same dimension count."
    assert operators.notes_of(resample) == ["The arrays have one item per dimension."]
    assert operators.notes_of(gemm) == ["From 4_0 batch and channel are optional."]
    assert operators.said_of(gemm)["OutputTensor"] == "{batch, channel, M, N}."


@pytest.mark.parametrize("name", NAMES)
def test_a_page_has_all_of_the_docstring(name: str) -> None:
    cls = operators.desc_class(name)
    text = " ".join((inspect.getdoc(cls) or "").partition("\n\n")[2].split()).partition("Reference: ")[0]
    told = " ".join([*operators.said_of(cls).values(), *operators.notes_of(cls)])
    fields = {info.name for info in cls.fields_info}
    assert set(re.findall(r"\w+", text)) <= {*re.findall(r"\w+", told), *fields}, name


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


@pytest.mark.slow
@pytest.mark.skipif(PROGRAM is None, reason=WHY_NOT)
def test_pages_fit_a_phone_and_a_desk(tmp_path: Path) -> None:
    """No element is wider than the window, on the first page, an operator's page and others."""
    for module in ("sphinx", "furo", "myst_parser"):
        pytest.importorskip(module, reason="tools/setup --docs")
    write_pages(tmp_path / "all")
    pages = tmp_path / "pages"
    for name in ("index.md", "picture.png", "operators/GRU.md", "operators/GEMM.md", "command_line.md", "models.md",
                 "from_openvino.md"):  # fmt: skip
        (pages / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(tmp_path / "all" / name, pages / name)
    command = [sys.executable, "-m", "sphinx", "-Q", "-b", "html", "-c", str(ROOT / "tools" / "documentation")]
    subprocess.run([*command, str(pages), str(tmp_path / "html")], check=True)
    with browser() as page:
        for path in sorted((tmp_path / "html").rglob("*.html")):
            for width in (PHONE, 1280):
                page.open(path, width=width)
                assert page.too_wide() == [], (path.name, width)
                assert page.complaints == [], (path.name, width)
                scrolling = page.ask("""[...document.querySelectorAll(".table-wrapper")]
                    .filter((one) => !one.querySelector("th:nth-child(4)") && one.scrollWidth > one.clientWidth + 1)
                    .map((one) => one.innerText.slice(0, 60))""")
                assert scrolling == [], (path.name, width, "tables of few columns fit")
