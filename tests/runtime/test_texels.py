"""Texel buffers: the same results, few kernel variants, and storage buffers for everything written."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dml
from dml.api.operator import CompiledOperator
from dml.compiler.lowering import compile_operator
from dml.compiler.program import Access, Dispatch, Program, Region, Space, StorageBinding
from dml.compiler.selection import reads_texels
from dml.compiler.target import DeviceClass, Target
from dml.glslang import Source
from dml.graph import operations as op
from dml.graph.builder import Builder
from dml.runtime.memory import PIECE_ALIGNMENT
from dml.runtime.texels import buffer_size, view_size
from harness import tensor

LLVMPIPE = Target(DeviceClass.CPU, subgroup_size=8, max_storage_buffers=16, max_texels=1 << 27, llvmpipe=(22, 3))


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        ({}, True),
        ({"llvmpipe": (26, 1)}, False),  # this version of Mesa calls a function per texel
        ({"llvmpipe": (0, 0)}, False),  # SwiftShader
        ({"max_texels": 65536}, False),
        ({"device_class": DeviceClass.DISCRETE}, False),
    ],
)
def test_which_devices_read_texels(changed, wanted):
    assert reads_texels(replace(LLVMPIPE, **changed)) == wanted


def texels(desc, target=LLVMPIPE) -> list[tuple[Access, int]]:
    return [(b.access, b.texel) for d in compile_operator(desc, target).dispatches for b in d.bindings]


def test_buffers_that_are_only_read_become_texels():
    t = tensor("FLOAT32", (8, 8))
    none = dml.DML_MATRIX_TRANSFORM_NONE
    found = texels(dml.DML_GEMM_OPERATOR_DESC(t, t, None, t, none, none, Alpha=1.0, Beta=0.0))
    assert {texel for access, texel in found if access is Access.READ} == {4}
    assert {texel for access, texel in found if access is not Access.READ} == {0}


def test_inputs_that_may_be_overwritten_stay_storage_buffers():
    """RELU works in place: its input may share its output's memory."""
    t = tensor("FLOAT32", (8, 8))
    assert {texel for _, texel in texels(dml.DML_ACTIVATION_RELU_OPERATOR_DESC(t, t))} == {0}


def test_no_more_than_the_device_binds():
    t = tensor("FLOAT32", (8, 8))
    desc = dml.DML_JOIN_OPERATOR_DESC([t] * 4, tensor("FLOAT32", (32, 8)), Axis=0)
    few = replace(LLVMPIPE, max_texel_buffers=0)
    assert any(texel for _, texel in texels(desc))
    assert not any(texel for _, texel in texels(desc, few))


SIZES = [*range(4, 2000, 36), 4096, 65280, 65536, 65792, (1 << 20) - 256, 1 << 20, (1 << 24) - 512]


@pytest.mark.parametrize("size", SIZES)
def test_buffer_sizes_that_llvmpipe_treats_equally(size):
    allocated = buffer_size(-(-size // PIECE_ALIGNMENT) * PIECE_ALIGNMENT)
    assert allocated & (allocated - 1) != 0
    assert view_size(size) >> 8 & 0xFF != 0
    assert size <= view_size(size) <= allocated


HEAD = """#version 450
layout(local_size_x = 4) in;
layout(push_constant) uniform Push { uint x, y; } push_;
layout(set = 0, binding = 0) uniform usamplerBuffer x;
layout(set = 0, binding = 1) writeonly buffer Y { uint y[]; };
"""
#: GLSL that reads word i of x; its region starts at word push_.x.
READS = {1: "texelFetch(x, int(push_.x + i)).x", 4: "texelFetch(x, int((push_.x + i) >> 2))[(push_.x + i) & 3u]"}


@pytest.mark.parametrize("texel", READS)
@pytest.mark.parametrize("start", [0, 16, 272, 1040])
def test_kernels_see_a_region_by_texels(device: dml.Device, texel: int, start: int):
    """Every device accepts buffers of R32_UINT and R32G32B32A32_UINT, also with the validation layer."""
    body = f"void main() {{ uint i = gl_GlobalInvocationID.x; y[push_.y + i] = {READS[texel]}; }}"
    regions = Region(Space.INPUT, 0, start, 64), Region(Space.OUTPUT, 0, 0, 64)
    bindings = StorageBinding(regions[0], Access.READ, texel), StorageBinding(regions[1], Access.WRITE)
    dispatch = Dispatch("texels", Source("tests/texels.comp", HEAD + body), bindings, (4, 1, 1))
    x = np.arange((start + 64) // 4, dtype=np.uint32) * np.uint32(2654435761)
    program = Program(inputs=[x.nbytes], outputs=[64], dispatches=[dispatch])
    named = [("x", tensor("UINT32", x.shape))], [("y", tensor("UINT32", (16,)))]
    found = CompiledOperator(device, program, "texels", *named).dispatch({"x": x})["y"]
    assert found.tolist() == x[start // 4 :].tolist()


def test_results_are_the_bits_that_storage_buffers_give(seen_as):
    """A product, a convolution and a normalization give the same bits with texel buffers and storage buffers."""
    random = np.random.default_rng(0)
    x = random.standard_normal((1, 8, 12, 12)).astype(np.float32)
    weights = random.standard_normal((8, 8, 3, 3)).astype(np.float32)

    def results(on):
        graph = Builder(on)
        tensors = graph.input("x", x.shape)
        made = op.convolution(tensors, weights, None, start_padding=(1, 1), end_padding=(1, 1))
        normal = op.mean_variance_normalization(made, [2, 3])
        return graph.compile({"y": op.relu(made), "n": normal}).dispatch({"x": x})

    one, other = results(seen_as()), results(seen_as(llvmpipe=(0, 0)))
    for name in ("y", "n"):
        assert one[name].tobytes() == other[name].tobytes()
