"""A wheel's compiled kernels: an installed package finds them until their source changes."""

from __future__ import annotations

import importlib
import shutil
from pathlib import Path

import pytest

from dml import glslang, stages
from dml.compiler.kernels import sources
from dml.frontends.onnx.load.loading import load
from dml.frontends.onnx.run.backend import PreparedModel
from dml.planning.planner import planner

ROOT = Path(__file__).parents[2]


@pytest.fixture
def made(device, tmp_path, monkeypatch):
    """Compile a model's kernels into the folder of a package; return the folder."""
    for folder in ("tools", "tools/benchmarks"):
        monkeypatch.syspath_prepend(str(ROOT / folder))
    from networks import MODELS

    model = MODELS["lstm"]()
    glslang._memory.clear()
    monkeypatch.setenv("DML_CACHE_DIR", str(tmp_path / "kernels"))
    count = importlib.import_module("wheel_kernels").compile_for(device.vulkan.target, [model])
    monkeypatch.setattr(glslang, "_SHIPPED", tmp_path / "kernels" / "spirv")
    monkeypatch.setenv("DML_CACHE_DIR", str(tmp_path / "cache"))
    glslang._memory.clear()
    shutil.copytree(sources.directory(), tmp_path / "_shaders")
    plans, _ = planner(device.vulkan.index)
    plans.target = device.vulkan.target
    program = PreparedModel(load(model.proto), plans).compiled_for(model.steps()["first"])[0].compiled.program
    found = {dispatch.source for dispatch in (*program.initialize, *program.dispatches)}
    assert len(found) == count
    yield sorted(found, key=repr), tmp_path / "_shaders"
    glslang._memory.clear()


def compiled(found, folder):
    with stages.collect() as collected:
        glslang.compile_many(found, include_dirs=(folder,))
    return len(collected.distinct.get("compilations", ()))


def test_an_installed_package_compiles_nothing(made):
    assert compiled(*made) == 0


def test_changed_kernels_are_compiled(made):
    found, folder = made
    for path in folder.rglob("*.glsl"):
        path.write_text(path.read_text() + "// changed\n")
    assert 0 < compiled(found, folder) <= len(found)
