"""Products with matrices that indices on the device choose from a stack: no kernel copies the chosen ones."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_blocks import KINDS, MIB, exact, memory, weights

import dml
from dml.api.arrays import packed_bytes
from dml.compiler.program import Program, Space
from dml.compiler.target import DeviceClass, Target
from dml.enums import DML_QUANTIZATION_TYPE
from dml.graph import operations as op
from dml.graph.builder import Builder, Tensor
from dml.planning.planner import Planner
from dml.tensors import UINT2
from harness import assert_sums

INDICES = (np.uint32, np.int32, np.int64)


def described(numbers: Any) -> dml.DML_BUFFER_TENSOR_DESC:
    kind = UINT2 if numbers.dtype == ml_dtypes.uint2 else dml.data_type_of(numbers.dtype)
    return dml.DML_BUFFER_TENSOR_DESC(kind, numbers.shape)


def chosen(graph: Builder, stack: Any, indices: Tensor) -> Tensor:
    """Gather whole matrices of a constant stack; those of few bits as bytes, which are then seen as numbers."""
    own, bits = described(stack), ml_dtypes.iinfo(stack.dtype).bits if stack.dtype.kind not in "f" else 0
    if stack.dtype.itemsize > 1 or own.DataType in (dml.DML_TENSOR_DATA_TYPE_UINT8, dml.DML_TENSOR_DATA_TYPE_INT8):
        return op.gather(graph.constant(stack), indices, 0)
    held = np.frombuffer(packed_bytes(stack, own), np.uint8)[: stack.size * bits // 8].reshape(*stack.shape[:2], -1)
    gathered = op.gather(graph.constant(held), indices, 0)
    return Tensor(graph, gathered.source, dml.DML_BUFFER_TENSOR_DESC(own.DataType, (*indices.sizes, *stack.shape[1:])))


def dequantized(graph: Builder, stacks: list[Any], indices: Tensor) -> Tensor:
    """Dequantize the chosen matrices of a stack of numbers, with stacks of scales and, if given, of zero points."""
    numbers, *per_block = (chosen(graph, stack, indices) for stack in stacks)
    return graph.one(
        dml.DML_DEQUANTIZE_OPERATOR_DESC,
        numbers.sizes,
        dml.data_type_of(stacks[1].dtype),
        InputTensor=numbers,
        QuantizationType=DML_QUANTIZATION_TYPE(len(per_block)),
        QuantizationTensors=per_block,
    )


def gathers(program: Program) -> int:
    return sum(dispatch.label == "movement/gather.comp" for dispatch in program.dispatches)


def quantized_case(
    rng: np.random.Generator, device: Any, matrices: int, picked: int, m: int, n: int, k: int, block: int,
    kind: str, dtype: Any, index: Any, *, points: bool,
) -> Any:  # fmt: skip
    """Multiply by chosen quantized matrices, compare with float64, and return the compiled graph."""
    stacks = list(map(np.stack, zip(*(weights(rng, n, k, block, KINDS[kind]) for _ in range(matrices)), strict=True)))
    stacks[1] = stacks[1].astype(dtype)
    a = (rng.random((picked, m, k)) - 0.5).astype(dtype)
    bias = rng.random((picked, 1, n), np.float32).astype(dtype)
    own = rng.integers(0 if index == np.uint32 else -matrices, matrices, picked).astype(index)
    graph = Builder(device)
    indices = graph.input("i", own.shape, dml.data_type_of(own.dtype))
    source = graph.input("a", a.shape, dml.data_type_of(a.dtype))
    product = op.gemm(source, dequantized(graph, stacks if points else stacks[:2], indices), transpose_b=True)
    compiled = graph.compile({"y": op.relu(product + graph.constant(bias).broadcast(product.sizes))})
    found = compiled.dispatch({"i": own, "a": a})["y"]
    rounded = k + (3 if dtype == np.float32 else 1 << 13)
    for position, at in enumerate(own):
        b, terms = exact(stacks[0][at], stacks[1][at], stacks[2][at] if points else None, block)
        expected = a[position].astype(np.float64) @ b.T + bias[position]
        bound = abs(a[position]).astype(np.float64) @ terms.T + abs(bias[position])
        assert_sums(found[position], np.maximum(expected, 0), bound, rounded)
    return compiled


@pytest.mark.parametrize("axis", ["plain", "discrete"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("kind, block, points, picked, m, index", [
    ("uint4", 32, True, 3, 1, np.uint32), ("int4", 64, False, 1, 1, np.int64), ("uint2", 16, True, 7, 2, np.int32),
    ("uint8", 16, False, 3, 1, np.int32), ("int8", 32, True, 7, 2, np.uint32),
])  # fmt: skip
def test_kernels_read_the_chosen_numbers(seen_as, axis, dtype, kind, block, points, picked, m, index):
    rng = np.random.default_rng(1)
    compiled = quantized_case(
        rng, seen_as(axis), 5, picked, m, 70, 192, block, kind, dtype, index, points=points
    )  # fmt: skip
    assert gathers(compiled.program) == 0
    assert compiled.program.temporary_size <= 4 * picked * m * 192


@pytest.mark.parametrize("axis", ["plain", "discrete"])
@pytest.mark.parametrize("m, n, k, block", [(13, 70, 192, 32), (3, 70, 192, 32), (1, 33, 96, 8), (1, 9, 72, 12)])
def test_other_sizes_copy_the_chosen_numbers(seen_as, axis, m, n, k, block):
    """Kernels read quantized numbers directly only for few rows and for some block sizes."""
    rng = np.random.default_rng(2)
    quantized_case(rng, seen_as(axis), 4, 3, m, n, k, block, "uint4", np.float32, np.uint32, points=True)


def float_case(
    rng: np.random.Generator, device: Any, matrices: int, picked: int, m: int, n: int, k: int, dtype: Any,
    index: Any, *, transpose: bool, shared: bool = False,
) -> Any:  # fmt: skip
    """Multiply by chosen matrices of floats, compare with float64, and return the compiled graph. shared: all matrices
    multiply the same rows."""
    shape = (n, k) if transpose else (k, n)
    stack = (rng.random((matrices, *shape)) - 0.5).astype(dtype)
    a = (rng.random((1 if shared else picked, m, k)) - 0.5).astype(dtype)
    own = rng.integers(0 if index == np.uint32 else -matrices, matrices, picked).astype(index)
    graph = Builder(device)
    indices = graph.input("i", own.shape, dml.data_type_of(own.dtype))
    source = graph.input("a", a.shape, dml.data_type_of(a.dtype)).broadcast((picked, m, k))
    product = op.gemm(source, chosen(graph, stack, indices), transpose_b=transpose, alpha=0.5)
    compiled = graph.compile({"y": op.relu(product)})
    found = compiled.dispatch({"i": own, "a": a})["y"]
    a = np.broadcast_to(a, (picked, m, k)).astype(np.float64)
    for position, at in enumerate(own):
        b = stack[at].T.astype(np.float64) if transpose else stack[at].astype(np.float64)
        assert_sums(found[position], np.maximum(a[position] @ b / 2, 0), abs(a[position]) @ abs(b), k + 2)
    return compiled


@pytest.mark.parametrize("axis", ["plain", "discrete"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("picked, m, n, k, index, transpose", [
    (3, 1, 72, 96, np.uint32, True), (3, 1, 72, 96, np.int32, False), (1, 1, 40, 64, np.int64, True),
    (7, 5, 72, 96, np.int64, True), (2, 40, 72, 96, np.uint32, True), (2, 40, 72, 96, np.uint32, False),
])  # fmt: skip
def test_kernels_read_the_chosen_floats(seen_as, axis, dtype, picked, m, n, k, index, transpose):
    rng = np.random.default_rng(3)
    compiled = float_case(
        rng, seen_as(axis), 5, picked, m, n, k, dtype, index, transpose=transpose, shared=m == 1
    )  # fmt: skip
    assert gathers(compiled.program) == 0


@settings(max_examples=15)
@given(
    axis=st.sampled_from(["plain", "discrete"]), matrices=st.integers(1, 6), picked=st.integers(1, 7),
    m=st.sampled_from([1, 2, 3, 9, 17, 33]), n=st.integers(1, 70), k=st.integers(1, 70), half=st.booleans(),
    index=st.sampled_from(INDICES), transpose=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_any_size(seen_as, axis, matrices, picked, m, n, k, half, index, transpose, seed):
    dtype = np.float16 if half else np.float32
    float_case(np.random.default_rng(seed), seen_as(axis), matrices, picked, m, n, k, dtype, index, transpose=transpose)


#: Largest bindings in bytes, with which a part of the stack has several matrices, one, or a few rows of one.
LIMITS = [40_000, 16_000, 8_000]


@pytest.mark.parametrize("axis", ["plain", "discrete"])
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("kind", ["uint4", "float32", "float16"])
def test_a_stack_larger_than_a_binding(seen_as, axis, limit, kind):
    """The dispatch for each part of the stack computes the elements whose matrices are in that part."""
    rng, device = np.random.default_rng(4), seen_as(axis, max_storage_buffer_range=limit)
    if kind == "uint4":
        compiled = quantized_case(rng, device, 6, 5, 1, 96, 256, 32, kind, np.float32, np.int32, points=True)
        assert gathers(compiled.program) == 0
    else:
        compiled = float_case(rng, device, 6, 5, 1, 64, 64, np.dtype(kind).type, np.int32, transpose=True)
        assert axis == "discrete" or gathers(compiled.program) == 0
    regions = [binding.region.size for dispatch in compiled.program.dispatches for binding in dispatch.bindings]
    assert max(regions) <= limit


def test_an_index_out_of_range_takes_the_nearest_matrix(device):
    stack, a = np.arange(3 * 4 * 4, dtype=np.float32).reshape(3, 4, 4), np.eye(4, dtype=np.float32)[None]
    for values, nearest in ((np.array([7], np.uint32), 2), (np.array([-9], np.int32), 0)):
        graph = Builder(device)
        indices = graph.input("i", (1,), dml.data_type_of(values.dtype))
        product = op.gemm(graph.input("a", a.shape), chosen(graph, stack, indices))
        compiled = graph.compile({"y": product})
        assert gathers(compiled.program) == 0
        np.testing.assert_array_equal(compiled.dispatch({"i": values, "a": a})["y"][0], stack[nearest])


def test_other_readers_need_the_copy(device):
    """The chosen matrices are copied if they or their scales have another reader, or if they are not weights."""
    rng = np.random.default_rng(5)
    numbers, scales, _ = map(np.stack, zip(*(weights(rng, 8, 64, 32, np.uint8) for _ in range(3)), strict=True))
    stack = rng.random((3, 8, 64), np.float32)
    a, own = rng.random((2, 1, 64), np.float32), np.array([2, 0], np.uint32)
    graph = Builder(device)
    indices, source = graph.input("i", (2,), dml.DML_TENSOR_DATA_TYPE_UINT32), graph.input("a", a.shape)
    floats, given = chosen(graph, stack, indices), graph.input("w", stack.shape)
    per_block = chosen(graph, scales, indices)
    made = graph.one(
        dml.DML_DEQUANTIZE_OPERATOR_DESC, (2, 8, 64), dml.DML_TENSOR_DATA_TYPE_FLOAT32,
        InputTensor=chosen(graph, numbers, indices), QuantizationType=dml.DML_QUANTIZATION_TYPE_SCALE,
        QuantizationTensors=[per_block],
    )  # fmt: skip
    compiled = graph.compile({
        "floats": op.gemm(source, floats, transpose_b=True), "shown": floats,
        "given": op.gemm(source, op.gather(given, indices, 0), transpose_b=True),
        "made": op.gemm(source, made, transpose_b=True), "scales": op.relu(per_block),
    })  # fmt: skip
    assert gathers(compiled.program) == 4
    found = compiled.dispatch({"i": own, "a": a, "w": stack})
    expected = a.astype(np.float64) @ stack[own].transpose(0, 2, 1)
    np.testing.assert_allclose(found["floats"], expected, rtol=1e-5)
    np.testing.assert_allclose(found["given"], expected, rtol=1e-5)
    np.testing.assert_array_equal(found["shown"], stack[own])
    np.testing.assert_array_equal(found["scales"], scales[own])
    for position, at in enumerate(own):
        b, terms = exact(numbers[at], scales[at], None, 32)
        assert_sums(found["made"][position], a[position].astype(np.float64) @ b.T, a[position] @ terms.T, 64 + 3)


TARGETS = {
    "CPU": Target(DeviceClass.CPU, subgroup_size=8, max_storage_buffer_range=128 * MIB, max_storage_buffers=16),
    "GPU": Target(DeviceClass.DISCRETE, subgroup_size=32, max_storage_buffer_range=4096 * MIB, max_storage_buffers=16),
}


@pytest.mark.parametrize("kind", list(TARGETS))
@pytest.mark.parametrize("bits", [4, 32])
def test_a_token_of_a_real_mixture_needs_no_working_memory(kind, bits):
    """Four of 32 experts of 5,760 by 2,880 numbers: their copies take 63 MiB of four bits, and 253 as FLOAT32."""
    matrices, picked, n, k, block = 32, 4, 5760, 2880, 32
    graph = Builder(Planner(TARGETS[kind]))
    indices = graph.input("i", (picked,), dml.DML_TENSOR_DATA_TYPE_UINT32)
    held = np.broadcast_to(np.uint8(0), matrices * n * k * bits // 8)
    own = graph.constant(np.frombuffer(bytes(len(held)), np.uint8).reshape(matrices, n, -1) if bits == 4
                         else np.frombuffer(bytes(len(held)), np.float32).reshape(matrices, n, k))  # fmt: skip
    made = op.gather(own, indices, 0)
    if bits == 4:
        numbers = Tensor(graph, made.source, dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_UINT4, (picked, n, k)))
        scales = op.gather(graph.constant(np.zeros((matrices, n, k // block), np.float32)), indices, 0)
        made = graph.one(
            dml.DML_DEQUANTIZE_OPERATOR_DESC, (picked, n, k), dml.DML_TENSOR_DATA_TYPE_FLOAT32, InputTensor=numbers,
            QuantizationType=dml.DML_QUANTIZATION_TYPE_SCALE, QuantizationTensors=[scales],
        )  # fmt: skip
    program = graph.compile({"y": op.gemm(graph.input("a", (picked, 1, k)), made, transpose_b=True)}).program
    assert memory(program)[Space.TEMPORARY] + memory(program)[Space.PERSISTENT] < MIB
