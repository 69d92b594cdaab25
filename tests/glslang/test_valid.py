"""The SPIR-V of kernels is valid. Drivers do not check it: NVIDIA's compiler ends the process on some
invalid modules."""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from desktop import DESKTOP, EVERY_FEATURE
from dml.compiler.target import Target
from dml.glslang import has_extension
from dml.runtime.features import COMPILED_SINCE
from tools.gpu_compilation.compiling import named_kernels
from tools.gpu_compilation.workloads import workloads

#: tools/setup's own, next to its newer glslang: Debian 12's does not know cooperative matrices.
OWN = Path(sys.prefix, "lib", "dml", "glslang", "bin", "spirv-val")


def with_every_feature() -> Target:
    """Return a desktop GPU with all features that the compiler of shaders knows."""
    lacking = [name for name, extension, _ in COMPILED_SINCE if not has_extension(extension)]
    return replace(DESKTOP, features=EVERY_FEATURE.without(*lacking))


@pytest.mark.slow
def test_kernels_are_valid(tmp_path: Path) -> None:
    """Compile all workloads of tools/gpu_compile for a device with matrix units where glslang knows them."""
    validator = str(OWN) if OWN.exists() else shutil.which("spirv-val")
    if validator is None:
        pytest.skip("there is no spirv-val")
    refused: dict[str, str] = {}
    kernels = named_kernels(workloads(), with_every_feature(), refused)
    assert not refused
    assert len(kernels) > 500

    def complaint(numbered: tuple[int, bytes]) -> str:
        path = tmp_path / f"{numbered[0]}.spv"
        path.write_bytes(numbered[1])
        ran = subprocess.run([validator, "--target-env", "vulkan1.3", path], capture_output=True, text=True)
        return ran.stdout + ran.stderr if ran.returncode else ""

    with ThreadPoolExecutor(2) as threads:
        complaints = threads.map(complaint, enumerate(kernel.spirv for kernel in kernels.values()))
        wrong = {name: text for name, text in zip(kernels, complaints, strict=True) if text}
    assert not wrong
