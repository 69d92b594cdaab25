"""The SPIR-V of kernels is valid. Drivers trust it: NVIDIA's compiler ends the process on some that is not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from desktop import DESKTOP
from dml.compiler.features import Features, FloatMode, MatrixShape
from dml.compiler.target import Target
from dml.glslang import has_extension
from tools.gpu_compilation.compiling import named_kernels
from tools.gpu_compilation.workloads import workloads

#: tools/setup's own, beside its newer glslang: Debian 12's knows no cooperative matrices.
OWN = Path(sys.prefix, "lib", "dml", "glslang", "bin", "spirv-val")
MATRICES = (
    MatrixShape(16, 16, 16, "FLOAT16", "FLOAT16", "FLOAT32", "FLOAT32"),
    MatrixShape(16, 16, 32, "INT8", "INT8", "INT32", "INT32"),
)
MODES = tuple(FloatMode(name, 16) for name in ("SignedZeroInfNanPreserve", "DenormPreserve", "RoundingModeRTE"))


def with_every_feature() -> Target:
    """Return a desktop GPU with all features that the compiler of shaders knows."""
    features = Features(
        storage_16bit=True,
        storage_8bit=True,
        float16=True,
        int8=True,
        integer_dot_product=True,
        subgroup_operations=frozenset({"arithmetic", "ballot", "shuffle", "shuffle_relative", "vote"}),
        float16_exact=MODES,
        memory_model=True,
        cooperative_matrices=MATRICES if has_extension("GL_KHR_cooperative_matrix") else (),
        matrix_reductions=has_extension("GL_NV_cooperative_matrix2"),
    )
    return replace(DESKTOP, features=features)


@pytest.mark.slow
def test_kernels_are_valid(tmp_path: Path) -> None:
    """Of all workloads of tools/gpu_compile, on a device with matrix units where glslang knows them."""
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
