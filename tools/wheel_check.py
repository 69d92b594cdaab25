"""Checks that a wheel has Kompute, glslang, the shaders and their licenses: tools/wheel_check.py WHEEL; asserts it."""

import sys
import zipfile
from pathlib import Path

import dml

ROOT = Path(__file__).resolve().parents[1]
PROJECTS = ("fmt", "glslang", "kompute", "pybind11", "spirv-tools")


def check(wheel: Path) -> None:
    python = f"cp3{sys.version_info.minor}"
    assert wheel.name.startswith(f"directml_vulkan-{dml.__version__}-{python}-{python}-manylinux_2_"), wheel.name
    with zipfile.ZipFile(wheel) as archive:
        files = archive.namelist()
        extension = next(archive.read(name) for name in files if name.startswith("dml/_vendor/kp."))
    assert b"libvulkan.so.1\0" in extension  # the machine's loader, not a copy renamed by auditwheel
    assert "dml/_vendor/glslang.so" in files
    licenses = {name for name in files if name.startswith("dml/_vendor/licenses/LICENSE.")}
    assert licenses == {f"dml/_vendor/licenses/LICENSE.{project}" for project in PROJECTS}
    kernels = [path.relative_to(ROOT / "shaders").as_posix() for path in (ROOT / "shaders").rglob("*.comp")]
    assert {f"dml/_shaders/{kernel}" for kernel in kernels} <= set(files)
    assert sum(name.startswith("dml/_vendor/spirv/") for name in files) > 20


if __name__ == "__main__":
    check(Path(sys.argv[1]))
