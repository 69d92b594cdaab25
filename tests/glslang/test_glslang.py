from __future__ import annotations

import contextlib
import os
import subprocess
import sys

import pytest

from dml import glslang
from dml.errors import DMLError
from dml.glslang import Source

HEAD = "#version 450\nlayout(local_size_x = 1) in;\nlayout(std430, binding = 0) buffer B { uint b[]; };\n"
#: For a process that must not find the libraries of tools/setup next to Python.
NO_SET_UP = "import sys\nsys.prefix = ''\n"


@pytest.fixture(autouse=True)
def fresh_cache(tmp_path, monkeypatch):
    """Each test has its own disk cache and an empty memory."""
    monkeypatch.setenv("DML_CACHE_DIR", str(tmp_path / "cache"))
    glslang._memory.clear()
    yield tmp_path / "cache"
    glslang._memory.clear()


@pytest.fixture
def runs(monkeypatch):
    """The names of the sources that were actually compiled."""
    names = []
    compiled = glslang._compiled

    def counted(flat, target):
        names.append(flat.name)
        return compiled(flat, target)

    monkeypatch.setattr(glslang, "_compiled", counted)
    return names


def entries(cache):
    return sorted(cache.rglob("*.spv"))


def test_spirv_of_the_target():
    spirv = glslang.compile(Source("a.comp", HEAD + "void main() { b[0] = 1u; }\n"))
    assert spirv[:4] == bytes([0x03, 0x02, 0x23, 0x07])
    assert int.from_bytes(spirv[4:8], "little") == 0x00010300  # Vulkan 1.1 accepts SPIR-V 1.3
    newer = glslang.compile(Source("a.comp", HEAD + "void main() { b[0] = 1u; }\n"), target="vulkan1.2")
    assert int.from_bytes(newer[4:8], "little") == 0x00010500


def test_defines_and_headers_reach_the_text():
    text = HEAD + '#include "prelude.glsl"\nvoid main() { b[0] = VALUE + OTHER; }\n'
    same = HEAD + "void main() { b[0] = 7u + 2u; }\n"
    made = glslang.compile(Source("a.comp", text, (("VALUE", "7u"),), (("prelude.glsl", "#define OTHER 2u\n"),)))
    assert made == glslang.compile(Source("b.comp", same))


def test_a_header_wins_over_a_file(tmp_path):
    (tmp_path / "x.glsl").write_text("this is not GLSL\n")
    source = Source(
        "a.comp", HEAD + '#include "x.glsl"\nvoid main() { b[0] = X; }\n', (), (("x.glsl", "#define X 1u\n"),)
    )
    assert glslang.compile(source, include_dirs=[tmp_path])


def test_files_are_included_once_and_nested(tmp_path):
    lib = tmp_path / "lib"
    lib.mkdir()
    (lib / "a.glsl").write_text("uint twice(uint x) { return 2u * x; }\n")
    (lib / "b.glsl").write_text('#include "lib/a.glsl"\nuint four(uint x) { return twice(twice(x)); }\n')
    text = (
        HEAD + '#include "lib/a.glsl"\n#include "lib/b.glsl"\n#include "lib/a.glsl"\nvoid main() { b[0] = four(1u); }\n'
    )
    assert glslang.compile(Source("a.comp", text), include_dirs=[tmp_path])


def test_an_include_next_to_the_includer(tmp_path):
    shaders = tmp_path / "shaders"
    (shaders / "gru").mkdir(parents=True)
    (shaders / "gru" / "gates.glsl").write_text("#define GATES 3u\n")
    source = Source("shaders/gru/step.comp", HEAD + '#include "gates.glsl"\nvoid main() { b[0] = GATES; }\n')
    assert glslang.compile(source, include_dirs=[shaders])


def test_extensions_of_an_included_file_move_to_the_top(tmp_path):
    (tmp_path / "x.glsl").write_text("#extension GL_KHR_shader_subgroup_basic : require\n")
    text = HEAD + '#include "x.glsl"\nvoid main() { b[0] = gl_SubgroupInvocationID; }\n'
    assert glslang.compile(Source("a.comp", text), include_dirs=[tmp_path])


def test_a_missing_include_names_file_and_line(tmp_path):
    (tmp_path / "a.glsl").write_text('\n\n#include "none.glsl"\n')
    with pytest.raises(DMLError) as caught:
        glslang.compile(Source("x.comp", HEAD + '#include "a.glsl"\nvoid main() {}\n'), include_dirs=[tmp_path])
    assert f'{tmp_path.name}/a.glsl:3: no such include "none.glsl"' in caught.value.message


def test_errors_name_our_file_line_and_text(tmp_path):
    (tmp_path / "a.glsl").write_text("uint fine() { return 1u; }\n\nuint bad() { return nowhere; }\n")
    text = HEAD + '#include "a.glsl"\n\nvoid main() {\n    b[0] = missing;\n}\n'
    with pytest.raises(DMLError) as caught:
        glslang.compile(Source("kernel/x.comp", text, (("D", "1"),)), include_dirs=[tmp_path])
    message = caught.value.message
    assert f"{tmp_path.name}/a.glsl:3: 'nowhere'" in message
    assert "uint bad() { return nowhere; }" in message


def test_errors_after_an_include_keep_their_line(tmp_path):
    (tmp_path / "a.glsl").write_text("uint fine() { return 1u; }\n\n\n\n\n")
    text = HEAD + '#include "a.glsl"\n\nvoid main() {\n    b[0] = missing;\n}\n'
    with pytest.raises(DMLError) as caught:
        glslang.compile(Source("kernel/x.comp", text, (("D", "1"),)), include_dirs=[tmp_path])
    message = caught.value.message
    assert "kernel/x.comp:7: 'missing'" in message
    assert "b[0] = missing;" in message


def test_an_error_in_a_define_shows_the_define():
    with pytest.raises(DMLError) as caught:
        glslang.compile(Source("x.comp", "#version 450\nvoid main() {}\n", (("A(", "1"),)))
    assert "<defines>:1:" in caught.value.message
    assert "#define A( 1" in caught.value.message


def test_lines_after_the_version_keep_their_numbers():
    extension = "#extension GL_KHR_shader_subgroup_basic : require\n"
    text = "// a comment first\n#version 450\n" + extension + "\nvoid main() { wrong; }\n"
    with pytest.raises(DMLError, match=r"x\.comp:5: 'wrong'"):
        glslang.compile(Source("x.comp", text))


def test_a_source_without_version_is_refused():
    with pytest.raises(DMLError, match="lacks #version"):
        glslang.compile(Source("x.comp", "void main() {}\n"))


def test_cached_in_memory_and_on_disk(fresh_cache, runs):
    source = Source("a.comp", HEAD + "void main() { b[0] = 1u; }\n")
    first = glslang.compile(source)
    assert glslang.compile(source) == first
    glslang._memory.clear()
    assert glslang.compile(source) == first
    assert runs == ["a.comp"]
    assert len(entries(fresh_cache)) == 1
    assert not list(fresh_cache.rglob("*.tmp"))


def test_everything_that_matters_is_in_the_key(fresh_cache, runs, tmp_path, monkeypatch):
    (tmp_path / "v.glsl").write_text("#define V 1u\n")
    text = HEAD + '#include "v.glsl"\nvoid main() { b[0] = V + D; }\n'
    glslang.compile(Source("a.comp", text, (("D", "1u"),)), include_dirs=[tmp_path])
    glslang.compile(Source("a.comp", text, (("D", "2u"),)), include_dirs=[tmp_path])
    glslang.compile(Source("a.comp", text, (("D", "1u"),)), include_dirs=[tmp_path], target="vulkan1.2")
    (tmp_path / "v.glsl").write_text("#define V 10u\n")
    glslang.compile(Source("a.comp", text, (("D", "1u"),)), include_dirs=[tmp_path])
    monkeypatch.setattr(glslang, "_version", lambda: "another compiler")
    glslang.compile(Source("a.comp", text, (("D", "1u"),)), include_dirs=[tmp_path])
    assert len(runs) == len(entries(fresh_cache)) == 5


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-4],
        lambda data: data[:60] + bytes([data[60] ^ 1]) + data[61:],
        lambda data: b"something else entirely",
    ],
)
def test_a_damaged_entry_is_compiled_again(fresh_cache, runs, damage):
    source = Source("a.comp", HEAD + "void main() { b[0] = 1u; }\n")
    first = glslang.compile(source)
    (entry,) = entries(fresh_cache)
    intact = entry.read_bytes()
    entry.write_bytes(damage(intact))
    glslang._memory.clear()
    assert glslang.compile(source) == first
    assert len(runs) == 2
    assert entry.read_bytes() == intact


def test_an_unwritable_cache_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DML_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert glslang.compile(Source("a.comp", HEAD + "void main() { b[0] = 1u; }\n"))


def test_many_in_order_and_equal_ones_once(runs):
    sources = [Source(f"{i % 5}.comp", HEAD + f"void main() {{ b[0] = {i % 5}u; }}\n") for i in range(12)]
    compiled = glslang.compile_many(sources)
    assert sorted(runs) == [f"{i}.comp" for i in range(5)]
    assert compiled == [glslang.compile(source) for source in sources]
    assert len(set(compiled)) == 5


def test_an_error_is_reported_each_time(runs):
    """A missing file is reported too, even if it was compiled before it vanished."""
    source = Source("a.comp", HEAD + "void main() { b[0] = nothing; }\n")
    for _ in range(2):
        with pytest.raises(DMLError, match=r"a\.comp:4: 'nothing'"):
            glslang.compile(source)
    assert runs == ["a.comp"] * 2


def test_a_file_that_vanished_is_missed(tmp_path):
    (tmp_path / "v.glsl").write_text("#define V 1u\n")
    source = Source("a.comp", HEAD + '#include "v.glsl"\nvoid main() { b[0] = V; }\n')
    assert glslang.compile(source, include_dirs=[tmp_path])
    (tmp_path / "v.glsl").unlink()
    with pytest.raises(DMLError, match=r'a\.comp:4: no such include "v\.glsl"'):
        glslang.compile(source, include_dirs=[tmp_path])


def test_files_that_files_and_headers_include_are_in_the_key(runs, tmp_path):
    """Headers are searched before files, and the files that a header includes count as well."""
    (tmp_path / "outer.glsl").write_text('#include "inner.glsl"\n')
    (tmp_path / "inner.glsl").write_text("#define V 1u\n")
    text = HEAD + '#include "prelude.glsl"\nvoid main() { b[0] = V; }\n'
    source = Source("a.comp", text, (), (("prelude.glsl", "  #  include <outer.glsl>\n"),))
    first = glslang.compile(source, include_dirs=[tmp_path])
    (tmp_path / "inner.glsl").write_text("#define V 20u\n")
    second = glslang.compile(source, include_dirs=[tmp_path])
    header = Source("a.comp", text, (), (*source.headers, ("inner.glsl", "#define V 1u\n")))
    assert glslang.compile(header, include_dirs=[tmp_path]) == first != second
    assert len(runs) == 3


def test_texts_do_not_run_into_each_other(runs):
    """Sources with the same concatenated texts, divided differently, are different."""
    text = HEAD + "void main() { b[0] = 1u; }\n"
    for defines, headers in (((("P", "1"), ("Q", "2")), ()), ((("P", "1"),), (("Q", "2"),)), ((("P", "1Q"),), ())):
        glslang.compile(Source("a.comp", text, defines, headers))
    assert len(runs) == 3


def test_cached_sources_are_not_flattened(monkeypatch):
    source = Source("a.comp", HEAD + "void main() { b[0] = 1u; }\n")
    spirv = glslang.compile(source)
    glslang._memory.clear()
    monkeypatch.setattr(glslang, "flat", None)
    assert glslang.compile_many([source, source]) == [spirv] * 2


def test_a_package_may_bring_spirv(fresh_cache, runs, monkeypatch, tmp_path):
    source = Source("a.comp", HEAD + "void main() { b[0] = 1u; }\n")
    spirv = glslang.compile(source)
    (fresh_cache / "spirv").rename(tmp_path / "shipped")
    glslang._memory.clear()
    monkeypatch.setattr(glslang, "_SHIPPED", tmp_path / "shipped")
    assert glslang.compile(source) == spirv
    assert runs == ["a.comp"]
    assert not entries(fresh_cache)


def test_many_reports_an_error():
    with pytest.raises(DMLError, match=r"bad\.comp:4"):
        glslang.compile_many([Source("good.comp", HEAD + "void main() {}\n"), Source("bad.comp", HEAD + "void x\n")])


def test_without_a_compiler_the_error_names_packages(tmp_path):
    code = NO_SET_UP + "from dml.glslang import *\ncompile(Source('a.comp', '#version 450\\nvoid main() {}'))"
    environment = {**os.environ, "PATH": str(tmp_path), "DML_CACHE_DIR": str(tmp_path), "DML_GLSLANG": "process"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert run.returncode != 0
    assert "DMLError" in run.stderr
    assert "install glslang-tools" in run.stderr


def test_extensions_that_the_compiler_knows(monkeypatch):
    """Kernels may request the extensions of the current compiler and no others."""
    for choice in ("", "process"):
        monkeypatch.setenv(glslang.COMPILER_VARIABLE, choice)
        assert glslang.has_extension("GL_EXT_spirv_intrinsics")
        assert not glslang.has_extension("GL_EXT_there_is_none")
        matrices = "#version 450\n#extension GL_KHR_cooperative_matrix : require\nvoid main() {}\n"
        known = glslang.has_extension("GL_KHR_cooperative_matrix")
        with contextlib.nullcontext() if known else pytest.raises(DMLError, match="GL_KHR_cooperative_matrix"):
            glslang.compile(Source("matrices.comp", matrices))


def test_without_a_compiler_no_extension_is_known(monkeypatch, tmp_path):
    code = NO_SET_UP + "from dml.glslang import has_extension\nprint(has_extension('GL_EXT_spirv_intrinsics'))"
    environment = {**os.environ, "PATH": str(tmp_path), "DML_GLSLANG": "process"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert run.stdout == "False\n", run.stderr


def test_a_choice_of_compiler_that_there_is_not(monkeypatch):
    monkeypatch.setenv(glslang.COMPILER_VARIABLE, "proces")
    with pytest.raises(DMLError, match="DML_GLSLANG: takes 'process' or nothing, found 'proces'"):
        glslang.compile(Source("a.comp", "#version 450\nvoid main() {}\n"))
    with pytest.raises(DMLError, match="found 'proces'"):
        glslang.compiler()
