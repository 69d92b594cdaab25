"""The self-contained wheel: dml finds the included files and needs nothing else."""

from __future__ import annotations

import importlib
import subprocess
import sys
import types
import zipfile
from pathlib import Path

import pytest

import dml
from dml.glslang import process
from dml.runtime import native

ROOT = Path(__file__).parents[2]


@pytest.fixture
def places(monkeypatch):
    """Provide modules at the places where dml looks for Kompute, for a Python without it."""

    def put(**modules):
        for name in ("dml._vendor.kp", "kp"):
            monkeypatch.setitem(sys.modules, name, modules.get(name.replace(".", "_")))
        return native.kompute.__wrapped__()

    return put


def patched():
    """Return a module with the names that the last patch adds."""
    owner, added = native._NEWEST
    return types.SimpleNamespace(**{owner: types.SimpleNamespace(**{added: None})})


def test_the_wheels_kompute_comes_before_somebody_elses(places):
    ours = patched()
    assert places(dml__vendor_kp=ours, kp=types.SimpleNamespace()) is ours


def test_a_checkouts_kompute_is_separate(places):
    ours = patched()
    assert places(kp=ours) is ours


def test_without_kompute_the_wheel_that_brings_it_is_named(places):
    with pytest.raises(dml.DMLError, match=rf"cp3{sys.version_info.minor}-manylinux_.*\.whl .*tools/wheel") as error:
        places()
    assert error.value.hresult == dml.HRESULT.DXGI_ERROR_UNSUPPORTED


def test_a_kompute_without_the_patches_is_refused_by_its_place(places):
    with pytest.raises(dml.DMLError, match=r"/elsewhere/kp\.so lacks the patches.*\.whl"):
        places(kp=types.SimpleNamespace(__file__="/elsewhere/kp.so"))
    with pytest.raises(dml.DMLError, match=r"/older/kp\.so lacks the patches.*tools/setup"):
        places(kp=types.SimpleNamespace(__file__="/older/kp.so", Manager=object, Submission=object))


def test_a_kompute_that_does_not_load_names_the_loader(places, monkeypatch):
    def refuse(name):
        raise ImportError("libvulkan.so.1: cannot open shared object file", name=name)

    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(dml.DMLError, match=r"cannot open shared object file.*libvulkan1"):
        places()


def test_the_wheels_glslang_comes_before_the_paths(tmp_path, monkeypatch):
    for folder in ("wheel", "path"):
        program = tmp_path / folder / "glslangValidator"
        program.parent.mkdir()
        program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(process, "_PLACES", [tmp_path / "wheel" / "glslangValidator"])
    assert process.executable.__wrapped__() == str(tmp_path / "wheel" / "glslangValidator")
    (tmp_path / "wheel" / "glslangValidator").unlink()
    assert process.executable.__wrapped__() == str(tmp_path / "path" / "glslangValidator")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel for .venv/'s Python with tools/wheel."""
    folder = tmp_path_factory.mktemp("dist")
    run = subprocess.run([ROOT / "tools" / "wheel", folder], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert Path(run.stdout.strip()).parent == folder
    return Path(run.stdout.strip())


@pytest.mark.slow
def test_it_brings_kompute_glslang_shaders_and_licenses(wheel):
    python = f"cp3{sys.version_info.minor}"
    assert wheel.name.startswith(f"directml_vulkan-{dml.__version__}-{python}-{python}-manylinux_2_")
    with zipfile.ZipFile(wheel) as archive:
        files = {info.filename: info for info in archive.infolist()}
        extension = next(archive.read(name) for name in files if name.startswith("dml/_vendor/kp."))
    assert b"libvulkan.so.1\0" in extension  # the machine's loader, not a copy renamed by auditwheel
    assert "dml/_vendor/glslang.so" in files
    assert {name for name in files if name.startswith("dml/_vendor/licenses/LICENSE.")} == {
        f"dml/_vendor/licenses/LICENSE.{project}"
        for project in ("fmt", "glslang", "kompute", "pybind11", "spirv-tools")
    }
    kernels = [path.relative_to(ROOT / "shaders").as_posix() for path in (ROOT / "shaders").rglob("*.comp")]
    assert {f"dml/_shaders/{kernel}" for kernel in kernels} <= files.keys()
    assert sum(name.startswith("dml/_vendor/spirv/") for name in files) > 20
