"""If an optional package is missing, its front end names the extra to install, and everything else works."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import dml

#: Packages that only extras require.
OPTIONAL = ("defusedxml", "flatbuffers", "jinja2", "onnx", "PIL", "rich", "tokenizers", "typer")


def without(modules: tuple[str, ...], code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python code in a process that cannot import these modules."""
    blocked = f"import sys; sys.modules.update(dict.fromkeys({modules!r}))\n"
    return subprocess.run([sys.executable, "-c", blocked + code, *arguments], capture_output=True, text=True)


FRONT_ENDS = {
    "onnx": ("onnx", "import dml.frontends.onnx"),
    "genai": ("tokenizers", "import dml.frontends.genai"),
    "openvino": ("defusedxml", "import dml.frontends.openvino"),
    "cli": ("jinja2", "from dml.pages import render; render('dml.pages', 'base.html', {})"),
    "serialized": ("flatbuffers", "from dml.frontends.dxdispatch.flatbuffer import Table; Table(b'', 0)"),
    "images": ("PIL", "from dml.frontends.dxdispatch import images; import numpy as np\n"
                      "images.read(b'', (1, 3, 2, 2), np.dtype(np.float32))"),
}  # fmt: skip


@pytest.mark.parametrize("extra", FRONT_ENDS)
def test_a_front_end_names_its_extra(extra: str) -> None:
    module, code = FRONT_ENDS[extra]
    lines = [
        "from dml import DMLError",
        "try:",
        textwrap.indent(code, "    "),
        "except DMLError as error: print(error)",
    ]
    result = without((module,), "\n".join(lines))
    assert module in result.stdout, result.stderr
    assert f'which is not installed: pip install "directml-vulkan[{extra}]"' in result.stdout


@pytest.mark.parametrize("module", ["typer", "rich"])
def test_the_command_names_its_extra_in_one_line(module: str) -> None:
    result = without((module,), "import runpy; runpy.run_module('dml', run_name='__main__')")
    assert result.returncode == 1
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("the dml command needs ")
    assert line.endswith('which is not installed: pip install "directml-vulkan[cli]"')


def test_the_command_says_which_extra_a_model_needs(device: dml.Device, tmp_path: Path) -> None:
    code = "import runpy; runpy.run_module('dml', run_name='__main__')"
    model = tmp_path / "model.onnx"
    model.write_bytes(b"")
    for command in ("run", "explain"):
        result = without(("onnx",), code, command, str(model), "--device", str(device.vulkan.index))
        assert result.returncode == 1
        assert 'pip install "directml-vulkan[onnx]"' in " ".join(result.stderr.split())


@pytest.mark.parametrize("name, module", [("decoding", "onnxruntime"), ("batch_scoring", "ray")])
def test_an_example_says_what_it_needs(name: str, module: str) -> None:
    path = Path(__file__).parents[2] / "examples" / f"{name}.py"
    result = without((module,), f"import runpy; runpy.run_path({str(path)!r}, run_name='__main__')")
    assert result.returncode == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith("this example ")
    assert "pip install" in line


def test_everything_else_works_without_any_extra(device: dml.Device) -> None:
    code = """
import sys, json
import numpy as np
import dml
x = dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, (2, 3))
desc = dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(ATensor=x, BTensor=x, OutputTensor=x)
dml.validate(desc)
a = np.ones((2, 3), np.float32)
device = dml.create_device(int(sys.argv[1]))
import dml.frontends.dxdispatch, dml.frontends.pydirectml, dml.graph.operations
print(json.dumps(dml.dispatch(desc, {"ATensor": a, "BTensor": a}, device)["OutputTensor"].tolist()))
"""
    result = without(OPTIONAL, code, str(device.vulkan.index))
    found: Any = json.loads(result.stdout or "null")
    assert found == [[2.0] * 3] * 2, result.stderr
