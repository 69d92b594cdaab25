"""The cost of importing this package: nothing is imported before it is needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dml
from dml.compiler import lowering


def imported_by(code: str) -> set[str]:
    """Return the modules that a fresh process has imported after running the code."""
    run = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(run.stdout.split())


@pytest.fixture(scope="module")
def by_import() -> set[str]:
    return imported_by("import dml")


@pytest.mark.parametrize(
    "name", ["onnx", "kp", "vulkan", "rich", "typer", "platformdirs", "subprocess", "difflib", "concurrent.futures"]
)
def test_importing_dml_brings_nothing_that_a_description_does_not_need(by_import, name):
    assert "numpy" in by_import
    assert name not in by_import


def test_importing_dml_brings_neither_compiler_nor_runtime(by_import):
    layers = {name.split(".")[1] for name in by_import if name.startswith("dml.")}
    assert layers == {"arguments", "descriptors", "enums", "errors", "stored", "structures", "tensors", "traced"}


def test_dispatching_needs_no_front_end():
    names = imported_by("import dml; dml.dispatch, dml.create_device")
    assert not {"onnx", "rich", "typer", "dml.cli"} & names
    assert not any(name.startswith("dml.frontends") for name in names)


def test_a_lowering_imports_only_its_family():
    names = imported_by(
        "import dml\nfrom dml.compiler.lowering import lowering_of\nassert lowering_of(dml.DML_CAST_OPERATOR_DESC)"
    )
    families = {name.split(".")[3] for name in names if name.startswith("dml.compiler.operators.")}
    assert "movement" in families
    assert not {"attention", "convolution", "pooling", "random", "recurrent", "resample", "training"} & families


@pytest.mark.parametrize("desc", dml.operators().values(), ids=lambda desc: desc.__name__)
def test_lowerings_are_in_their_descriptors_family(desc):
    function = lowering.lowering_of(desc)
    assert function is not None
    assert function.__module__.split(".")[3] == desc.__module__.split(".")[2]
