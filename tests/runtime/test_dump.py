"""DML_DUMP and DML_DEBUG_SHADERS: files of compiled kernels, and information for debuggers."""

from __future__ import annotations

import json
import shutil
import subprocess

import numpy as np
import pytest

import dml
import harness
from dml import glslang
from dml.compiler.lowering import compile_operator
from dml.compiler.program import Access, Dispatch, Region, Space, StorageBinding
from dml.glslang import Source, process
from dml.runtime.names import DUMP_VARIABLE
from dml.runtime.recording import spirv

HEAD = "#version 450\nlayout(local_size_x = 8, local_size_y = 4) in;\n"
TEXT = (
    HEAD
    + """layout(push_constant) uniform Push { uint x_OFFSET; uint y_OFFSET; uint rows; float SLOPE; } push_;
layout(set = 0, binding = 2, std140) uniform Parameters {
    int STEP;
    float LIMIT;
} parameters_;
layout(set = 0, binding = 0, std430) readonly buffer x_Buffer { uint x_data[]; };
layout(set = 0, binding = 1, std430) buffer y_Buffer { uint y_data[]; };
void main() { y_data[push_.y_OFFSET] = x_data[push_.x_OFFSET] + push_.rows; }
"""
)
X, Y = Region(Space.INPUT, 0, 0, 64), Region(Space.TEMPORARY, 0, 256, 32)


def dispatch(*, rows=5, node="a node", source=None):
    source = source or Source("shaders/toy/scale.comp", TEXT)
    bindings = (StorageBinding(X, Access.READ), StorageBinding(Y, Access.READ_WRITE))
    numbers = {"push": (rows, 0x3E800000), "parameters": (0xFFFFFFFF, 0x7F800000, 0, 0)}
    return Dispatch("toy/scale.comp", source, bindings, (3, 1, 1), **numbers, node=node)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder that DML_DUMP names, which does not exist yet."""
    monkeypatch.setenv(DUMP_VARIABLE, str(tmp_path / "dumps"))
    return tmp_path / "dumps"


@pytest.fixture
def debugging(monkeypatch):
    monkeypatch.setenv(glslang.DEBUG_VARIABLE, "1")


def described(folder):
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}


def compiled_again(path, tmp_path, *options):
    """Compile a dumped text on its own."""
    result = tmp_path / "again.spv"
    if shutil.which("glslangValidator") is None:
        pytest.skip("needs glslangValidator, the program: the library came without it")
    command = [process.executable(), "-V", *options, "--target-env", glslang.TARGET, "-o", str(result), path.name]
    subprocess.run(command, cwd=path.parent, check=True, capture_output=True)
    return result.read_bytes()


def test_nothing_is_dumped_without_the_variable(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(DUMP_VARIABLE, raising=False)
    spirv([dispatch()])
    monkeypatch.setenv(DUMP_VARIABLE, "")
    spirv([dispatch()])
    assert not list(tmp_path.iterdir())


def test_a_kernel_is_described(folder):
    spirv([dispatch()])
    ((name, kernel),) = described(folder).items()
    assert name.startswith("toy-scale-")
    assert kernel == {
        "kernel": "toy/scale.comp",
        "target": "vulkan1.1",
        "workgroup": [8, 4, 1],
        "buffers": ["x", "y"],
        "dispatches": [
            {
                "node": "a node",
                "groups": [3, 1, 1],
                "bindings": [
                    {"access": "r", "resource": "input", "index": 0, "offset": 0, "size": 64},
                    {"access": "rw", "resource": "temporary", "index": 0, "offset": 256, "size": 32},
                ],
                "numbers": {"rows": 5, "SLOPE": 0.25, "STEP": -1, "LIMIT": "inf"},
            }
        ],
    }


def test_a_buffer_without_a_name_is_described_by_its_number(folder):
    plain = Source("plain.comp", HEAD + "layout(binding = 1) buffer B { uint b[]; };\nvoid main() { b[0] = 1u; }\n")
    spirv([dispatch(source=plain)])
    (kernel,) = described(folder).values()
    assert kernel["buffers"] == ["0", "B"]
    assert kernel["dispatches"][0]["numbers"] == {}


def test_dispatches_of_one_kernel_share_its_files(folder):
    spirv([dispatch(), dispatch(node="another"), dispatch()])
    other = Source("shaders/toy/scale.comp", TEXT.replace("+", "*"))
    spirv([dispatch(node="later"), dispatch(rows=8), dispatch(source=other)])
    first, second = sorted(described(folder).values(), key=lambda kernel: -len(kernel["dispatches"]))
    assert [use["node"] for use in first["dispatches"]] == ["a node", "another", "later", "a node"]
    assert [use["numbers"]["rows"] for use in first["dispatches"]] == [5, 5, 5, 8]
    assert len(second["dispatches"]) == 1
    assert len(list(folder.iterdir())) == 2 * 3, "nothing half-written stays"


def test_a_folder_that_was_emptied_is_filled_again(folder):
    spirv([dispatch()])
    for path in folder.iterdir():
        path.unlink()
    spirv([dispatch()])
    assert sorted(path.suffix for path in folder.iterdir()) == [".comp", ".json", ".spv"]


def test_operators_are_dumped_as_they_are_compiled(device, folder, tmp_path):
    """Kernels from the cache are dumped too. The text alone compiles to the same SPIR-V, and the parameters are the
    dispatch's."""
    desc = dml.DML_ELEMENT_WISE_CLIP_OPERATOR_DESC(
        harness.tensor("FLOAT32", (3, 5), "padded"), harness.tensor("FLOAT32", (3, 5)), None, Min=-0.5, Max=2.0
    )
    dispatches = compile_operator(desc, device.vulkan.target).dispatches
    kernels = spirv(dispatches)  # the kernels are now in the cache
    for path in folder.iterdir():
        path.unlink()
    assert spirv(dispatches) == kernels
    ((name, described_kernel),) = described(folder).items()
    assert (folder / f"{name}.spv").read_bytes() == kernels[0]
    assert compiled_again(folder / f"{name}.comp", tmp_path) == kernels[0]
    (use,) = described_kernel["dispatches"]
    assert len(use["numbers"]) == len(dispatches[0].push)
    assert {name: use["numbers"][name] for name in ("COUNT", "SIZE_1", "x0_STRIDE_0")} == {
        "COUNT": 15,
        "SIZE_1": 5,
        "x0_STRIDE_0": 6,
    }
    assert {-0.5, 2.0} <= set(use["numbers"].values())


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv(DUMP_VARIABLE, str(tmp_path / "file" / "dumps"))
    with pytest.raises(dml.DMLError, match=r"DML_DUMP: .*dumps.*: cannot be written: Not a dir") as caught:
        spirv([dispatch()])
    assert caught.value.hresult == dml.HRESULT.E_ACCESSDENIED


def test_debuggers_find_the_text_and_its_lines(folder, debugging):
    """There is one file, the flattened text, without any path of this machine."""
    (kernel,) = spirv([dispatch()])
    (path,) = folder.glob("*.comp")
    text = path.read_text()
    assert text.encode() in kernel
    assert b"y_data" in kernel.replace(text.encode(), b"")
    assert b"scale.comp\0" in kernel
    assert b"/tmp" not in kernel
    assert "#line" not in text


def test_debug_information_is_optional_and_cached_separately(monkeypatch, tmp_path):
    monkeypatch.setenv("DML_CACHE_DIR", str(tmp_path))
    source = Source("a.comp", TEXT)
    plain = glslang.compile(source)
    monkeypatch.setenv(glslang.DEBUG_VARIABLE, "1")
    debug = glslang.compile(source)
    assert b"y_data" in debug
    assert glslang.compile(Source("b.comp", TEXT)) != debug, "the file's name is part of it"
    monkeypatch.setenv(glslang.DEBUG_VARIABLE, "0")
    assert glslang.compile(source) == plain != debug


def test_errors_of_shaders_with_debug_information_show_the_line(debugging):
    with pytest.raises(dml.DMLError, match=r"a\.comp:12: 'nowhere'.*\n.*x = nowhere;"):
        glslang.compile(Source("shaders/a.comp", f"{TEXT}\nuint x = nowhere;\n"))


def test_kernels_with_debug_information_compute_the_same(device, debugging):
    x = np.linspace(-4, 4, 99, dtype=np.float32)
    desc = dml.DML_ACTIVATION_RELU_OPERATOR_DESC(harness.like(x), harness.like(x))
    np.testing.assert_array_equal(harness.run(device, desc, {"InputTensor": x})["OutputTensor"], np.maximum(x, 0))
