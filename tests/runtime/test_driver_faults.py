"""Driver bugs, reduced to small kernels: in the form that our shaders use, every driver gives correct results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dml.api.operator import CompiledOperator
from dml.compiler.program import Access, Dispatch, Program, Region, Space, StorageBinding
from dml.glslang import Source
from harness import tensor

HEAD = """#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint x_OFFSET; uint y_OFFSET; } push_;
layout(set = 0, binding = 0) readonly buffer X { float x_data[]; };
layout(set = 0, binding = 1) buffer Y { float y_data[]; };
float x_load(uint i) { return x_data[push_.x_OFFSET + i]; }
void y_store(uint i, float v) { y_data[push_.y_OFFSET + i] = v; }
"""


def run(device: Any, kernel: str, x: np.ndarray) -> np.ndarray:
    """Run one workgroup of 64 invocations; return y, 64 floats like x."""
    regions = Region(Space.INPUT, 0, 0, 256), Region(Space.OUTPUT, 0, 0, 256)
    bindings = StorageBinding(regions[0], Access.READ), StorageBinding(regions[1], Access.WRITE)
    dispatch = Dispatch("fault", Source("tests/fault.comp", HEAD + kernel), bindings, (1, 1, 1))
    program = Program(inputs=[256], outputs=[256], dispatches=[dispatch])
    t = tensor("FLOAT32", (64,))
    return CompiledOperator(device, program, "fault", [("x", t)], [("y", t)]).dispatch({"x": x})["y"]


@pytest.mark.parametrize("guarded", ["x", "y"])
def test_a_sign_restored_after_a_branch(device: Any, guarded: str) -> None:
    """lavapipe 26.1.6 on AVX-512 (LLVM 19) miscompiles a bit selection, (a & m) | (b & ~m), where one operand is the
    result of the branch's other side, ``guarded``. with_sign needs no bit selection."""
    kernel = f"""#include "lib/math.glsl"
    void main() {{
        uint i = gl_LocalInvocationIndex;
        float x = x_load(i), y = 1.0 + x * x, result = {guarded};
        if (abs(x) > 0.5) result = with_sign(y, x);
        y_store(i, result);
    }}
    """
    x = np.linspace(-2, 2, 64, dtype=np.float32)
    y = 1 + x * x
    expected = np.where(abs(x) > 0.5, np.copysign(y, x), {"x": x, "y": y}[guarded])
    np.testing.assert_allclose(run(device, kernel, x), expected, rtol=1e-6)


def test_a_loop_that_neighbours_skip(device: Any) -> None:
    """lavapipe 26.1.6 crashes if the loop's condition, row < (i < 3u ? n : 0u), replaces the branch around the loop.
    Subgroups without an invocation below 3 run the loop once, with no active invocation: the inner loop then leaves an
    invalid address of x_data."""
    kernel = """
    void main() {
        uint i = gl_LocalInvocationIndex;
        if (i < 3u) {
            float sum = 0.0;
            for (uint row = 0u; row < 1u + uint(x_load(63u)); ++row) {
                uint k = 0u;
                while (x_load(i + k) < 8.0) ++k;
                sum += x_load(i + k + 1u);
            }
            y_store(i, sum);
        }
    }
    """
    x = np.arange(64, dtype=np.float32)
    x[63] = 1
    np.testing.assert_array_equal(run(device, kernel, x)[:3], [18, 18, 18])
