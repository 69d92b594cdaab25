"""The self-contained wheel: dml finds the included files and needs nothing else."""

from __future__ import annotations

import importlib
import sys
import types

import pytest

import dml
from dml.glslang import process
from dml.runtime import native


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
