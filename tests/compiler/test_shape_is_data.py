"""Structure is code, shape is data: descriptions that differ only in sizes, strides or attributes run the same
kernels."""

from __future__ import annotations

import pytest

import dml
from dml.compiler.kernels.prelude import PUSH_WORDS, divisor_words
from dml.compiler.lowering import compile_operator
from dml.compiler.program import Dispatch
from dml.compiler.target import DeviceClass, Target
from dml.glslang import flatten
from harness import tensor
from sample_descriptors import NAMES, sample

CPU = Target(
    DeviceClass.CPU, max_workgroup_invocations=1024, max_workgroup_size=(1024, 1024, 64), max_storage_buffers=16,
    subgroup_size=8,
)  # fmt: skip
GPU = Target(DeviceClass.DISCRETE, max_storage_buffers=16)


def dispatches(desc: dml.OperatorDesc, target: Target) -> list[Dispatch]:
    program = compile_operator(desc, target)
    return [*program.adopt, *program.initialize, *program.dispatches]


def add(batch: int, size: int) -> dml.OperatorDesc:
    x = tensor("FLOAT32", (batch, 6, size, 32))
    return dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(x, x, x)


def add_broadcast(batch: int, size: int) -> dml.OperatorDesc:
    x, b = tensor("FLOAT32", (batch, 6, size, 32)), tensor("FLOAT32", (1, 6, 1, 1))
    strided = dml.DML_BUFFER_TENSOR_DESC(b.DataType, x.Sizes, (0, 1, 0, 0))
    return dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(x, strided, x)


def clip(batch: int, size: int) -> dml.OperatorDesc:
    x = tensor("FLOAT16", (batch, size, 32))
    return dml.DML_ELEMENT_WISE_CLIP_OPERATOR_DESC(x, x, None, -float(size), float(size))


def gemm(batch: int, size: int) -> dml.OperatorDesc:
    a, b = tensor("FLOAT32", (batch, 1, 16, 4 * size)), tensor("FLOAT32", (batch, 1, 4 * size, 32))
    plain, y = dml.DML_MATRIX_TRANSFORM_NONE, tensor("FLOAT32", (batch, 1, 16, 32))
    return dml.DML_GEMM_OPERATOR_DESC(a, b, None, y, plain, plain, Alpha=1.0 / size, Beta=0.0)


def softmax(batch: int, size: int) -> dml.OperatorDesc:
    x = tensor("FLOAT32", (batch, 40, 4 * size))
    return dml.DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC(x, x, Axes=(2,))


def reduce(batch: int, size: int) -> dml.OperatorDesc:
    x, y = tensor("FLOAT32", (batch, 40, 4 * size)), tensor("FLOAT32", (batch, 40, 1))
    return dml.DML_REDUCE_OPERATOR_DESC(dml.DML_REDUCE_FUNCTION_SUM, x, y, Axes=(2,))


def slice_(batch: int, size: int) -> dml.OperatorDesc:
    x, y = tensor("FLOAT32", (batch, size, size + 2)), tensor("FLOAT32", (batch, size, size))
    return dml.DML_SLICE1_OPERATOR_DESC(x, y, None, (0, 0, 1), y.Sizes, (1, 1, 1))


def gather(batch: int, size: int) -> dml.OperatorDesc:
    x, i = tensor("FLOAT32", (1, 1, 100, 32)), tensor("UINT32", (1, 1, batch, size))
    return dml.DML_GATHER_OPERATOR_DESC(x, i, tensor("FLOAT32", (1, batch, size, 32)), 2, 2)


def pooling(batch: int, size: int) -> dml.OperatorDesc:
    x, y = tensor("FLOAT32", (batch, 3, size, size)), tensor("FLOAT32", (batch, 3, size // 2, size // 2))
    return dml.DML_MAX_POOLING2_OPERATOR_DESC(x, y, None, (2, 2), (2, 2), (0, 0), (0, 0), (1, 1))


def convolution(batch: int, size: int) -> dml.OperatorDesc:
    """Describe a convolution of any sizes that select the same tile."""
    x, f = tensor("FLOAT32", (batch, size, 8, 16)), tensor("FLOAT32", (8, size, 5, 5))
    y = tensor("FLOAT32", (batch, 8, 4, 12))
    mode, direction = dml.DML_CONVOLUTION_MODE_CROSS_CORRELATION, dml.DML_CONVOLUTION_DIRECTION_FORWARD
    zeros, ones = (0, 0), (1, 1)
    return dml.DML_CONVOLUTION_OPERATOR_DESC(x, f, None, y, mode, direction, ones, ones, zeros, zeros, zeros, 1)


def normalization(batch: int, size: int) -> dml.OperatorDesc:
    x = tensor("FLOAT32", (batch, 6, size, 32))
    return dml.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC(x, None, None, x, (2, 3), True, 1e-5 * size)


#: Operators whose GPU kernels hold rows of limited length in registers: a few kernels serve all lengths (see
#: ``test_held_rows_ask_for_few_kernels``).
HELD = (softmax, normalization)
SHAPES = [add, add_broadcast, clip, gemm, softmax, reduce, slice_, gather, pooling, convolution, normalization]


@pytest.mark.parametrize("target", [CPU, GPU], ids=["cpu", "gpu"])
@pytest.mark.parametrize("describe", SHAPES, ids=[describe.__name__ for describe in SHAPES])
def test_other_batches_and_sizes_run_the_same_kernels(describe, target):
    sizes = (8, 8, 8, 8) if describe in HELD and not target.is_cpu else (8, 8, 10, 12)
    given = zip((1, 2, 1, 3), sizes, strict=True)
    first, *others = [dispatches(describe(batch, size), target) for batch, size in given]
    for other in others:
        assert [dispatch.source for dispatch in other] == [dispatch.source for dispatch in first]
    numbers = {(dispatch.push, dispatch.parameters, dispatch.groups) for each in (first, *others) for dispatch in each}
    assert len(numbers) > 1


@pytest.mark.parametrize("describe", HELD)
def test_held_rows_ask_for_few_kernels(describe):
    """Registers limit the elements that an invocation holds: one kernel serves a range of lengths, and any batch
    size."""
    kernels = {dispatch.source for size in range(1, 600) for dispatch in dispatches(describe(2, size), GPU)}
    assert len(kernels) <= 30


@pytest.mark.parametrize("name", NAMES)
def test_kernels_declare_no_specialization_constants_and_read_what_dispatches_bring(name):
    from dml.compiler.kernels import sources

    for dispatch in dispatches(sample(name), Target()):
        text = flatten(dispatch.source, include_dirs=(sources.directory(),))
        assert "constant_id" not in text
        assert len(dispatch.bindings) + len(dispatch.push) <= PUSH_WORDS
        assert bool(dispatch.parameters) == ("uniform Parameters" in text)
        assert len(dispatch.parameters) % 4 == 0


@pytest.mark.parametrize("divisor", [1, 2, 3, 7, 641, 2**16 + 1, 2**31, 2**32 - 1])
@pytest.mark.parametrize("number", [0, 1, 6, 2**16, 2**31 - 1, 2**31, 2**32 - 1])
def test_a_divisors_words_divide_exactly(divisor, number):
    """Divide as lib/divide.glsl does."""
    factor, shifts = divisor_words(divisor)
    high = number * factor >> 32
    assert ((((number - high) & 0xFFFFFFFF) >> (shifts & 1)) + high & 0xFFFFFFFF) >> (shifts >> 1) == number // divisor
