"""The compiler in this process and ``glslangValidator`` are interchangeable."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import dml
from dml import glslang
from dml.compiler.kernels import sources
from dml.compiler.lowering import compile_operator
from dml.compiler.target import DeviceClass, Target
from dml.errors import DMLError
from dml.glslang import library, process
from dml.glslang.messages import explain
from dml.glslang.source import Files, Source, flat
from harness import tensor
from sample_descriptors import NAMES, sample

TOOLS = Path(__file__).parents[2] / "tools"
HEAD = "#version 450\nlayout(local_size_x = 1) in;\nlayout(std430, binding = 0) buffer B { uint b[]; };\n"
FEW = ("GRU", "CONVOLUTION", "TOP_K", "ELEMENT_WISE_ERF")


@pytest.fixture(scope="module")
def in_process():
    found = library.load()
    if found is None:
        pytest.skip("tools/setup has built no library here")
    return found


def flattened(text, debug=False):
    return flat(Source("folder/a.comp", text), Files(()), debug=debug)


def kernels(names, data_types, devices):
    """Return the distinct kernels of these operators' samples, in the data types that they support, and of a large
    product."""
    large = tensor("FLOAT32", (1, 1, 512, 512))
    descriptions = [dml.DML_GEMM_OPERATOR_DESC(large, large, None, large, 0, 0, 1.0, 0.0, None)]
    for name, floats in itertools.product(names, data_types):
        desc = sample(name, floats=floats)
        with contextlib.suppress(DMLError):
            dml.validate(desc)
            descriptions.append(desc)
    programs = [compile_operator(desc, Target(kind)) for desc in descriptions for kind in devices]
    return list({dispatch.source: None for program in programs for dispatch in program.dispatches})


def assert_the_same(in_process, sources_, debug):
    files = Files((sources.directory(),))
    texts = [flat(source, files, debug=debug) for source in sources_]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        by_program = pool.map(lambda text: process.compile(text, glslang.TARGET)[0], texts)
        for text, expected in zip(texts, by_program, strict=True):
            assert in_process.compile(text, glslang.TARGET)[0] == expected, text.name
            assert expected is not None


def test_library_and_program_have_the_same_version(in_process):
    assert in_process.version == process.version()
    assert in_process.version.startswith("Glslang Version: ")


@pytest.mark.parametrize("debug", [False, True])
def test_the_same_spirv(in_process, debug):
    found = kernels(FEW, ["FLOAT32"], [DeviceClass.DISCRETE])
    assert len(found) >= 7
    assert_the_same(in_process, found, debug)


@pytest.mark.slow
def test_the_same_spirv_of_every_kernel(in_process):
    """Compare the longest text of each file; its other texts differ in data types and expressions."""
    names = [name for name in NAMES if f"DML_{name}_OPERATOR_DESC" in vars(dml)]
    found = kernels(names, ["FLOAT32"], [DeviceClass.DISCRETE])
    longest = {source.name: source for source in sorted(found, key=lambda source: len(str(source.headers)))}
    assert len(longest) > 45
    assert_the_same(in_process, list(longest.values()), debug=False)


@pytest.mark.parametrize("target", ["vulkan1.0", "vulkan1.2", "vulkan1.3"])
def test_the_same_for_other_targets(in_process, target):
    text = flattened(HEAD + "void main() { b[0] = 1u; }\n")
    assert in_process.compile(text, target)[0] == process.compile(text, target)[0]


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        HEAD + "void main() { b[0] = missing; }\n",
        HEAD + "void main() { b[0] = 1u }\n",
        HEAD + "void main() { b[0] = 1.5; b[1] = vec2(1); }\n\nuint f( { }\n",
        HEAD + "void other() { b[0] = 1u; }\n",
        HEAD + "uint f();\nvoid main() { b[0] = f(); }\n",
        HEAD + "#error no such thing\nvoid main() {}\n",
        HEAD + "#extension GL_NO_such : require\nvoid main() {}\n",
        HEAD + "layout(location = 0) in vec4 v;\nvoid main() {}\n",
        HEAD + "shared uint s[1 << 30];\nvoid main() { s[0] = \u00e4; }\n",
        HEAD + "void main() { b[0] = " + "(" * 20_000 + "1u" + ")" * 20_000 + "; }\n",
        "#version 450\n/* void main() {}\n",
        "#version 999\nvoid main() {}\n",
        "#version 450\n",
    ],
)
def test_the_same_messages(in_process, text, debug):
    text = flattened(text, debug=debug)
    results = [
        explain(text, each)
        for spirv, each in (in_process.compile(text, glslang.TARGET), process.compile(text, glslang.TARGET))
        if spirv is None
    ]
    assert len(results) == 2
    assert results[0] == results[1]


def test_a_chain_deeper_than_the_callers_stack(in_process):
    """glslangValidator silently ends here, since glslang recurses once for each operator."""
    text = flattened(HEAD + "void main() { b[0] = b[1]" + " + b[2]" * 30_000 + "; }\n")
    results = []
    before = threading.stack_size(256 << 10)
    try:
        thread = threading.Thread(target=lambda: results.append(in_process.compile(text, glslang.TARGET)))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    ((spirv, _),) = results
    assert len(spirv) > 30_000


def test_concurrent_threads(in_process):
    texts = [flattened(HEAD + f"void main() {{ b[0] = b[{i}] * {i}u; }}\n") for i in range(24)]
    alone = [in_process.compile(text, glslang.TARGET) for text in texts]
    results = {}
    threads = [
        threading.Thread(
            target=lambda k=k: results.update(
                {(k, i): in_process.compile(text, glslang.TARGET) for i, text in enumerate(texts)}
            )
        )
        for k in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {(k, i): alone[i] for k in range(4) for i in range(24)}


def test_errors_that_the_library_cannot_report_come_from_the_program(in_process, monkeypatch, tmp_path):
    text = flattened(HEAD + "void main() { b[0] = 1u; }\n")
    assert in_process.compile(text, "vulkan9.9") is None
    monkeypatch.setenv("DML_CACHE_DIR", str(tmp_path))
    with pytest.raises(DMLError, match="--target-env expected"):
        glslang.compile(Source("a.comp", text.text), target="vulkan9.9")


def test_the_compiler_in_words(in_process, monkeypatch):
    assert re.fullmatch(r"glslang [\d:.]+, in process", glslang.compiler())
    monkeypatch.setenv("DML_GLSLANG", "process")
    assert re.fullmatch(r"glslang [\d:.]+, a process for each shader", glslang.compiler())


def test_a_library_that_does_not_load_is_passed_over(in_process, tmp_path, monkeypatch):
    broken, other = tmp_path / "broken.so", tmp_path / "other.so"
    broken.write_bytes(b"\x7fELF")
    subprocess.run(["g++", "-shared", "-x", "c++", "-", "-o", other], input=b"int other;", check=True)
    missing = tmp_path / "missing.so"
    assert library.load.__wrapped__((broken, other, missing)) is None
    (good,) = [place for place in library._PLACES if place.exists()]
    assert library.load.__wrapped__((broken, other, missing, good)).version == in_process.version
    monkeypatch.setattr(library, "load", lambda: None)
    assert glslang.compiler().endswith("a process for each shader")


def test_shaders_need_no_program_where_there_is_a_library(in_process, tmp_path):
    """The PATH is empty."""
    code = f"from dml.glslang import *\nprint(len(compile(Source('a.comp', {HEAD + 'void main() {}'!r}))))"
    environment = {**os.environ, "PATH": str(tmp_path), "DML_CACHE_DIR": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) > 100


@pytest.mark.slow
def test_the_library_exports_no_symbols_of_glslang(in_process, tmp_path):
    """A driver or a layer in the process may have another glslang."""
    if not shutil.which("nm"):
        pytest.skip("nm is missing")
    path = tmp_path / "below" / "glslang.so"
    path.parent.mkdir()
    newer = Path(sys.prefix, "lib", "dml", "glslang")  # present if the system's glslang is too old
    (path.parent / "glslang").symlink_to(newer)
    folder = [path.parent / "glslang"] if newer.exists() else []
    subprocess.run([TOOLS / "glslang" / "build", path, *folder], check=True)
    assert library.Library(path).version == in_process.version
    shown = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1] for line in shown.splitlines()}
    assert names == {"dml_glslang_start", "dml_glslang_compile", "dml_glslang_free"}
    assert {entry.name for entry in path.parent.iterdir()} == {"glslang", "glslang.so"}
