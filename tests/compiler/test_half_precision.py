"""Kernels compute in half precision only with DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

import dml
from dml.compiler.features import Features, FloatMode, MatrixShape
from dml.compiler.kernels import sources
from dml.compiler.lowering import compile_operator
from dml.compiler.target import DeviceClass, Target
from dml.glslang import Source, compile, compile_many, has_extension
from harness import tensor
from sample_descriptors import samples_in

#: Instructions that round: sums, products, quotients, remainders, dot products, functions of GLSL.std.450, matrix
#: products.
_ARITHMETIC = {127, 129, 131, 133, 136, 140, 141, 142, 143, 144, 145, 146, 147, 148, 12, 4459}
_FLOAT, _VECTOR, _COOPERATIVE_MATRIX = 22, 23, 4456


def half_arithmetic(module: bytes) -> list[int]:
    """Return the opcodes of a SPIR-V module's instructions that compute in 16-bit floats."""
    words = np.frombuffer(module, np.uint32).tolist()
    halves: set[int] = set()
    found, at = [], 5
    while at < len(words):
        count, number = words[at] >> 16, words[at] & 0xFFFF
        is_half = number == _FLOAT and words[at + 2] == 16
        if is_half or (number in (_VECTOR, _COOPERATIVE_MATRIX) and words[at + 2] in halves):
            halves.add(words[at + 1])
        if number in _ARITHMETIC and words[at + 1] in halves:
            found.append(number)
        at += count
    return found


@pytest.mark.parametrize("expression", ["x * x", "fma(x, x, x)", "x - x"])
def test_it_is_found(expression: str) -> None:
    text = f"""#version 450
    #extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
    layout(set = 0, binding = 0) buffer B {{ uint b[]; }};
    void main() {{ f16vec2 x = unpackFloat2x16(b[0]); b[1] = packFloat2x16({expression}); }}
    """
    assert half_arithmetic(compile(Source("half.comp", text)))
    assert not half_arithmetic(compile(Source("float.comp", text.replace(expression, "x"))))


@pytest.mark.parametrize("kind", [DeviceClass.CPU, DeviceClass.DISCRETE])
def test_no_kernel_computes_in_halves(kind: DeviceClass) -> None:
    """Without the flag no kernel computes in halves, regardless of the features of the device."""
    sums = ("FLOAT16", "FLOAT32") if has_extension("GL_KHR_cooperative_matrix") else ()
    booleans = {field.name: True for field in fields(Features) if field.type == "bool"}
    booleans["matrix_reductions"] = has_extension("GL_NV_cooperative_matrix2")
    every = Features(
        **booleans,
        subgroup_operations=frozenset({"vote", "arithmetic", "ballot", "shuffle", "shuffle_relative", "clustered"}),
        float16_exact=(FloatMode("DenormPreserve", 16), FloatMode("RoundingModeRTE", 16)),
        cooperative_matrices=tuple(MatrixShape(16, 16, 16, "FLOAT16", "FLOAT16", sum, sum) for sum in sums),
    )
    target = Target(kind, 1024, (1024, 1024, 64), shared_memory=49152, subgroup_size=32, features=every)
    used = []
    for desc in samples_in("FLOAT16").values():
        program = compile_operator(desc, target)
        used += [dispatch.source for dispatch in (*program.adopt, *program.initialize, *program.dispatches)]
    assert len(used) > 100
    for source, module in zip(used, compile_many(used, include_dirs=(sources.directory(),)), strict=True):
        assert not half_arithmetic(module), source.name


@pytest.mark.parametrize("operator", ["GEMM", "CONVOLUTION"])
def test_kernels_compute_in_halves_where_it_is_allowed(operator: str) -> None:
    """With the flag, FLOAT16 products, and convolutions computed as products, use halves on a GPU that supports
    them."""
    features = Features(float16=True)
    sizes = {"GEMM": ((1, 1, 64, 64),) * 3, "CONVOLUTION": ((1, 64, 8, 8), (64, 64, 3, 3), (1, 64, 6, 6))}

    def found(kind: DeviceClass, data_type: str, flags: dml.DML_EXECUTION_FLAGS) -> bool:
        x, y, z = (tensor(data_type, given) for given in sizes[operator])
        if operator == "GEMM":
            none = dml.DML_MATRIX_TRANSFORM_NONE
            desc: dml.OperatorDesc = dml.DML_GEMM_OPERATOR_DESC(x, y, None, z, none, none, 1, 0, None)
        else:
            twos = (1, 1), (1, 1), (0, 0), (0, 0), (0, 0)
            mode, forward = dml.DML_CONVOLUTION_MODE_CROSS_CORRELATION, dml.DML_CONVOLUTION_DIRECTION_FORWARD
            desc = dml.DML_CONVOLUTION_OPERATOR_DESC(x, y, None, z, mode, forward, *twos, 1, None)
        target = Target(kind, features=features)
        used = [dispatch.source for dispatch in compile_operator(desc, target.under(flags)).dispatches]
        return any(map(half_arithmetic, compile_many(used, include_dirs=(sources.directory(),))))

    allow = dml.DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION
    assert found(DeviceClass.DISCRETE, "FLOAT16", allow)
    assert found(DeviceClass.DISCRETE, "FLOAT16", allow | dml.DML_EXECUTION_FLAG_DISABLE_META_COMMANDS)
    assert not found(DeviceClass.DISCRETE, "FLOAT16", dml.DML_EXECUTION_FLAG_DISABLE_META_COMMANDS)
    assert not found(DeviceClass.DISCRETE, "FLOAT32", allow)
    assert not found(DeviceClass.CPU, "FLOAT16", allow)


@pytest.mark.parametrize(
    "flags",
    [dml.DML_EXECUTION_FLAG_NONE, dml.DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION],
    ids=["", "allowed"],
)
@pytest.mark.parametrize("operator", ["product", "sum"])
def test_long_sums(each_kind: dml.Device, operator: str, flags: dml.DML_EXECUTION_FLAGS) -> None:
    """Half-precision sums, in which 4096 ones add up to 2048, are allowed only with the flag."""
    ones = np.ones((1, 1, 32, 4096), np.float16)
    x = tensor("FLOAT16", ones.shape)
    if operator == "product":
        y = tensor("FLOAT16", (1, 1, 32, 32))
        desc = dml.DML_GEMM_OPERATOR_DESC(
            x, x, None, y, dml.DML_MATRIX_TRANSFORM_NONE, dml.DML_MATRIX_TRANSFORM_TRANSPOSE, 1, 0, None
        )
        inputs = {"ATensor": ones, "BTensor": ones}
    else:
        y = tensor("FLOAT16", (1, 1, 32, 1))
        desc = dml.DML_REDUCE_OPERATOR_DESC(dml.DML_REDUCE_FUNCTION_SUM, x, y, Axes=(3,))
        inputs = {"InputTensor": ones}
    result = each_kind.compile_operator(each_kind.create_operator(desc), flags).dispatch(inputs)["OutputTensor"]
    least = 4096 if flags == dml.DML_EXECUTION_FLAG_NONE else 2048
    assert result.min() >= least
    assert result.max() <= 4096
