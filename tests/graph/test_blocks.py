"""Matrix products with weights of 2, 4, 8 and 16 bits: kernels read quantized weights, or weights are dequantized in
chunks."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dml
from dml.api.arrays import packed_bytes
from dml.compiler.program import Program, Space
from dml.compiler.selection import stored_weights
from dml.compiler.selection.few_rows import FEW_ROWS, MOST_PARTS
from dml.compiler.selection.gemm import multiplies_on_matrices
from dml.compiler.selection.stored_weights import columns_in_part, loads_blocks, streams_blocks
from dml.compiler.target import DeviceClass, Target
from dml.enums import DML_QUANTIZATION_TYPE
from dml.graph import operations as op
from dml.graph.builder import Builder, Tensor
from dml.planning.planner import Planner
from dml.runtime.arena import Islands, bound_regions
from dml.tensors import UINT2
from harness import assert_sums, can_bind

#: The kernels that read quantized weights directly, on GPUs and on CPU drivers.
STREAMING = {"gemm/blocks.comp", "gemm/blocks_columns.comp"}
KINDS = {
    "uint2": ml_dtypes.uint2, "uint4": ml_dtypes.uint4, "int4": ml_dtypes.int4, "uint8": np.uint8, "int8": np.int8,
}  # fmt: skip
MIB = 1 << 20


def weights(rng: np.random.Generator, n: int, k: int, block: int, kind: Any) -> tuple[Any, Any, Any]:
    """Return quantized numbers {n, k}, and the scales and zero points of their blocks."""
    info = ml_dtypes.iinfo(kind)
    low, high = int(info.min), int(info.max) + 1
    numbers = rng.integers(low, high, (n, k)).astype(kind)
    zeros = rng.integers(low, high, (n, k // block)).astype(kind)
    return numbers, (rng.random((n, k // block), np.float32) + 0.5).astype(np.float32), zeros


def held(graph: Builder, numbers: Any) -> Tensor:
    """Add a constant; 2-bit numbers are added as bytes and reinterpreted."""
    if numbers.dtype != ml_dtypes.uint2:
        return graph.constant(numbers)
    desc = dml.DML_BUFFER_TENSOR_DESC(UINT2, numbers.shape)
    return Tensor(graph, graph.constant(packed_bytes(numbers, desc)).source, desc)


def dequantized(graph: Builder, numbers: Any, scales: Any, zeros: Any | None) -> Tensor:
    tensors = [graph.constant(scales), *([] if zeros is None else [held(graph, zeros)])]
    return graph.one(
        dml.DML_DEQUANTIZE_OPERATOR_DESC,
        numbers.shape,
        dml.data_type_of(scales.dtype),
        InputTensor=held(graph, numbers),
        QuantizationType=DML_QUANTIZATION_TYPE(len(tensors)),
        QuantizationTensors=tensors,
    )


def exact(numbers: Any, scales: Any, zeros: Any | None, block: int) -> tuple[Any, Any]:
    """Return the weights in float64, and bounds for rounding errors: kernels multiply numbers and zero points
    separately."""
    each = np.repeat(scales.astype(np.float64), block, 1)
    centre = np.zeros_like(each) if zeros is None else np.repeat(zeros.astype(np.float64), block, 1)
    most = 2 ** (ml_dtypes.iinfo(numbers.dtype).bits - 1)
    return (numbers.astype(np.float64) - centre) * each, (abs(numbers.astype(np.float64)) + abs(centre) + most) * each


def labels(program: Program) -> set[str]:
    return {dispatch.label for dispatch in program.dispatches}


def check(device: dml.Device, m: int, n: int, k: int, block: int, kind: str, dtype: Any, *, points: bool) -> Any:
    """Multiply, compare with float64, and return the compiled graph."""
    rng = np.random.default_rng(7)
    numbers, scales, zeros = weights(rng, n, k, block, KINDS[kind])
    a, scales, used = (rng.random((m, k)) - 0.5).astype(dtype), scales.astype(dtype), zeros if points else None
    graph = Builder(device)
    made = dequantized(graph, numbers, scales, used)
    relu = dml.DML_ACTIVATION_RELU_OPERATOR_DESC() if n % 2 else None
    c = (rng.random(n) - 0.5).astype(dtype) if n % 3 == 0 else np.zeros(n, dtype)
    added = graph.constant(c).broadcast((m, n)) if c.any() else None
    source = graph.input("a", a.shape, dml.data_type_of(a.dtype))
    compiled = graph.compile({"y": op.gemm(source, made, added, transpose_b=True, activation=relu)})
    found = compiled.dispatch({"a": a})["y"]
    b, terms = exact(numbers, scales, used, block)
    expected = a.astype(np.float64) @ b.T + c
    # Each weight dequantized to FLOAT16 has an error of 2^-11, as much as 2^13 float32 roundings
    rounded = k + (2 if dtype == np.float32 else 1 << 13)
    bound = abs(a).astype(np.float64) @ terms.T + abs(c)
    assert_sums(found, np.maximum(expected, 0.0) if relu else expected, bound, rounded)
    return compiled


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize(
    "m, n, k, block, points",
    [
        (1, 70, 1088, 32, True), (2, 9, 640, 128, False), (2, 33, 64, 64, True), (1, 70, 192, 16, True),
        (2, 9, 128, 16, False), (1, 33, 2112, 64, False),
    ],
)  # fmt: skip
def test_gpus_stream_the_numbers_for_few_rows(as_discrete, dtype, kind, m, n, k, block, points):
    compiled = check(as_discrete, m, n, k, block, kind, dtype, points=points)
    assert [dispatch.label for dispatch in compiled.program.dispatches] == ["gemm/blocks.comp"]
    assert not compiled.program.initialize


#: All data types of quantized numbers; sizes next to tile edges and sizes for split-k; blocks of a whole row, or of a
#: size that is not a power of two.
MANY_ROWS = [
    *((kind, 33, 70, 64, 16, True) for kind in KINDS), ("uint4", 130, 200, 512, 512, False),
    ("int4", 64, 64, 1024, 128, True), ("uint2", 64, 33, 96, 24, True), ("int8", 40, 96, 256, 32, False),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("kind, m, n, k, block, points", [*MANY_ROWS, ("uint4", 9, 300, 128, 16, True)])
def test_gpus_dequantize_on_the_way_to_shared_memory(as_discrete, monkeypatch, dtype, kind, m, n, k, block, points):
    monkeypatch.setattr("dml.graph.kept.SMALL", 0)
    program = check(as_discrete, m, n, k, block, kind, dtype, points=points).program
    on_matrices = dtype == np.float16 and multiplies_on_matrices(as_discrete.vulkan.target, m, n, k)
    shader = "gemm/cooperative.comp" if on_matrices else "gemm/shared.comp"
    assert labels(program) - {"gemm/parts.comp"} == {shader}
    assert not program.initialize


@pytest.mark.parametrize("kind, m, n, k, block, points", MANY_ROWS)
def test_matrix_units_get_dequantized_halves(on_matrices, monkeypatch, kind, m, n, k, block, points):
    monkeypatch.setattr("dml.graph.kept.SMALL", 0)
    program = check(on_matrices, m, n, k, block, kind, np.float16, points=points).program
    assert labels(program) - {"gemm/parts.comp"} == {"gemm/cooperative.comp"}
    assert not program.initialize


def test_allowed_half_arithmetic_takes_dequantized_halves(seen_as, monkeypatch):
    """Sums of eight products in FLOAT16 differ by up to 2^-7 of their terms."""
    monkeypatch.setattr("dml.graph.kept.SMALL", 0)
    device = seen_as("discrete")
    if not device.vulkan.target.features.float16:
        pytest.skip("the device computes no FLOAT16")
    rng = np.random.default_rng(8)
    numbers, scales, zeros = weights(rng, 70, 96, 32, np.uint8)
    a, scales = (rng.random((40, 96)) - 0.5).astype(np.float16), (scales / 128).astype(np.float16)
    graph = Builder(device)
    product = op.gemm(graph.input("a", a.shape, dml.data_type_of(a.dtype)), dequantized(graph, numbers, scales, zeros),
                      transpose_b=True)  # fmt: skip
    allowed = dml.DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION
    compiled = graph.compile({"y": product}, allowed)
    b, terms = exact(numbers, scales, zeros, 32)
    found, bound = compiled.dispatch({"a": a})["y"], abs(a).astype(np.float64) @ terms.T
    assert np.all(abs(found - a.astype(np.float64) @ b.T) <= 2**-7 * bound + 96 * 2**-14)


@pytest.mark.parametrize("halves, most", [(False, stored_weights._FEW_ROWS), (True, FEW_ROWS)])
def test_products_that_load_blocks(halves, most):
    assert loads_blocks(TARGETS["GPU"], most + 1, 8, halves=halves)
    assert not loads_blocks(TARGETS["GPU"], most, 8, halves=halves)
    assert not loads_blocks(TARGETS["GPU"], most + 1, 12, halves=halves), "a scale for eight numbers"
    assert not loads_blocks(TARGETS["CPU"], 256, 32, halves=halves)


@pytest.mark.parametrize("rows, columns, k", [(256, 14336, 4096), (2048, 4096, 14336)])
def test_a_prompt_takes_no_working_memory_for_weights(rows, columns, k):
    graph = Builder(Planner(TARGETS["GPU"]))
    a = graph.input("a", (rows, k), dml.DML_TENSOR_DATA_TYPE_FLOAT16)
    program = graph.compile({"y": op.gemm(a, packed_weights(graph, columns, k, 32), transpose_b=True)}).program
    assert labels(program) <= {"gemm/shared.comp", "gemm/parts.comp"}
    partial_sums = 4 * rows * columns * MOST_PARTS if "gemm/parts.comp" in labels(program) else 0
    assert memory(program)[Space.TEMPORARY] <= partial_sums


@pytest.mark.parametrize("sizes", [stored_weights._FEW_REGISTERS, *stored_weights._FEWER_COLUMNS])
@pytest.mark.parametrize(
    "m, n, k, block, kind, dtype",
    [
        (1, 70, 1088, 32, "uint4", np.float32),
        (2, 9, 128, 16, "int4", np.float16),
        (2, 33, 64, 64, "uint2", np.float32),
        (2, 33, 64, 8, "int8", np.float32),
    ],
)
def test_the_sizes_of_gpus_with_few_registers(as_discrete, monkeypatch, sizes, m, n, k, block, kind, dtype):
    monkeypatch.setattr(stored_weights, "_MANY_REGISTERS", sizes)
    compiled = check(as_discrete, m, n, k, block, kind, dtype, points=True)
    (dispatch,) = compiled.program.dispatches
    assert dispatch.label == "gemm/blocks.comp"
    assert dict(dispatch.source.defines)["COLUMNS"] == f"{sizes[0]}u"


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize(
    "m, n, k, block, points",
    [
        (1, 70, 1088, 32, True),
        (4, 9, 640, 128, False),
        (7, 34, 64, 64, True),
        (2, 3, 64, 32, True),
        (1, 70, 192, 16, True),
        (6, 9, 128, 16, False),
    ],
)
def test_cpus_stream_the_numbers_for_few_rows(device, dtype, kind, m, n, k, block, points):
    compiled = check(device, m, n, k, block, kind, dtype, points=points)
    if device.vulkan.target.is_cpu:
        assert [dispatch.label for dispatch in compiled.program.dispatches] == ["gemm/blocks_columns.comp"]
        # With four storage buffers, scales and zero points are copied into one buffer at initialization
        assert not compiled.program.initialize or not can_bind(device, 5)


@settings(deadline=None, max_examples=25, derandomize=True)
@given(data=st.data())
def test_any_size_on_both_sides_of_the_thresholds(device, data):
    """Row counts around the limit for reading quantized weights, column counts around a chunk, blocks smaller and
    larger than a vector and a word."""
    kind = data.draw(st.sampled_from(list(KINDS)))
    block = data.draw(st.sampled_from([8, 16, 32, 64, 48]))
    check(
        device,
        data.draw(st.sampled_from([1, 2, 3, 5, 12, 13, 17, 33])),
        data.draw(st.sampled_from([1, 3, 4, 31, 33, 257])),
        block * data.draw(st.integers(1, 4)),
        block,
        kind,
        data.draw(st.sampled_from([np.float32, np.float16])),
        points=data.draw(st.booleans()),
    )


def test_weights_in_parts(device, monkeypatch):
    """Chunks have 256 columns, the last one fewer; bias and epilogue are applied per chunk."""
    monkeypatch.setattr(stored_weights, "_PART_BYTES", 1)
    monkeypatch.setattr("dml.graph.kept.SMALL", 0)
    rng = np.random.default_rng(3)
    m, n, k, block = 20, 600, 48, 4  # with blocks of eight, GPUs need no chunks
    numbers, scales, zeros = weights(rng, n, k, block, ml_dtypes.uint4)
    a, bias = rng.random((m, k), np.float32) - 0.5, rng.random(n, np.float32)
    graph = Builder(device)
    product = op.gemm(graph.input("a", a.shape), dequantized(graph, numbers, scales, zeros), transpose_b=True)
    compiled = graph.compile({"y": op.relu(product + graph.constant(bias).broadcast((m, n)))})
    assert sum(dispatch.label.startswith("gemm/") for dispatch in compiled.program.dispatches) >= 3
    b, terms = exact(numbers, scales, zeros, block)
    expected = a.astype(np.float64) @ b.T + bias
    found = compiled.dispatch({"a": a})["y"]
    assert_sums(found, np.maximum(expected, 0), abs(a).astype(np.float64) @ terms.T + abs(bias), k + 3)


@pytest.mark.parametrize("axis", ["plain", "discrete"])
@pytest.mark.parametrize("together", [0, 2, 5])
@pytest.mark.parametrize("kind, points", [("uint4", True), ("int8", False), ("uint2", True)])
@pytest.mark.parametrize("m", [1, 2, 13, 40])
def test_each_element_of_a_batch_has_its_own_weights(seen_as, monkeypatch, axis, m, kind, points, together):
    """The weights of ``together`` batch elements are dequantized at a time (0: part of one element's); for few rows,
    none are."""
    elements, n, k, block = 5, 300, 64, 16
    monkeypatch.setattr(stored_weights, "_PART_BYTES", max(1, together * 4 * n * k))
    monkeypatch.setattr("dml.graph.kept.SMALL", 0)
    rng = np.random.default_rng(5)
    numbers, scales, zeros = map(
        np.stack, zip(*(weights(rng, n, k, block, KINDS[kind]) for _ in range(elements)), strict=True)
    )
    a, bias = rng.random((elements, m, k), np.float32) - 0.5, rng.random((elements, 1, n), np.float32)
    graph = Builder(seen_as(axis))
    made = dequantized(graph, numbers, scales, zeros if points else None)
    product = op.gemm(graph.input("a", a.shape), made, transpose_b=True)
    compiled = graph.compile({"y": op.relu(product + graph.constant(bias).broadcast((elements, m, n)))})
    wide = 4 * n * k * max(1, together)
    assert compiled.program.temporary_size <= wide + 4 * elements * m * (n + k + 512)
    assert not compiled.program.initialize
    found = compiled.dispatch({"a": a})["y"]
    for index in range(elements):
        b, terms = exact(numbers[index], scales[index], zeros[index] if points else None, block)
        expected = a[index].astype(np.float64) @ b.T + bias[index]
        bound = abs(a[index]).astype(np.float64) @ terms.T + abs(bias[index])
        assert_sums(found[index], np.maximum(expected, 0), bound, k + 3)


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("along", ["n", "k", "neither"])
def test_scales_along_either_axis(device, monkeypatch, transpose, along):
    """ELEMENT_WISE_DEQUANTIZE_LINEAR with a scale per column, per step of k, or one scale."""
    monkeypatch.setattr("dml.graph.kept.SMALL", 0)
    rng = np.random.default_rng(4)
    m, n, k = 20, 70, 96
    shape = (n, k) if transpose else (k, n)
    axis = {"n": 0, "k": 1, "neither": None}[along]
    if axis is not None and not transpose:
        axis = 1 - axis
    sizes = tuple(size if index == axis else 1 for index, size in enumerate(shape))
    numbers = rng.integers(-128, 128, shape).astype(np.int8)
    scales, zeros = rng.random(sizes, np.float32) + 0.5, rng.integers(-128, 128, sizes).astype(np.int8)
    a = rng.random((m, k), np.float32) - 0.5
    graph = Builder(device)
    made = op.dequantize_linear(graph.constant(numbers), graph.constant(scales), graph.constant(zeros))
    compiled = graph.compile({"y": op.gemm(graph.input("a", a.shape), made, transpose_b=transpose)})
    assert not compiled.program.initialize
    b = (numbers.astype(np.float64) - zeros) * scales
    b, terms = (b.T, abs(b).T) if transpose else (b, abs(b))
    assert_sums(compiled.dispatch({"a": a})["y"], a.astype(np.float64) @ b, abs(a).astype(np.float64) @ terms, k + 2)


@pytest.mark.parametrize("m", [1, 40])
def test_half_weights_of_single_products_stay_halves(device, monkeypatch, m):
    monkeypatch.setitem(stored_weights.KEPT_WIDER, "product", 0)
    monkeypatch.setattr("dml.graph.kept.SMALL", 0)
    rng = np.random.default_rng(5)
    numbers, a = (rng.random((64, 48)) - 0.5).astype(np.float16), rng.random((m, 64), np.float32)
    graph = Builder(device)
    made = op.cast(graph.constant(numbers), dml.DML_TENSOR_DATA_TYPE_FLOAT32)
    compiled = graph.compile({"y": op.gemm(graph.input("a", a.shape), made)})
    assert compiled.program.persistent_size <= numbers.nbytes
    b = numbers.astype(np.float64)
    assert_sums(compiled.dispatch({"a": a})["y"], a @ b, a @ abs(b), 64)


@pytest.mark.parametrize("m, block, shown", [(3, 32, False), (1, 4, False), (1, 32, True)])
def test_small_weights_that_gpus_do_not_stream_are_dequantized_once(as_discrete, m, block, shown):
    """GPUs dequantize once for many rows, for blocks smaller than a word, and for weights with other readers."""
    rng = np.random.default_rng(8)
    numbers, scales, zeros = weights(rng, 24, 64, block, ml_dtypes.uint4)
    a = (rng.random((m, 64)) - 0.5).astype(np.float32)
    graph = Builder(as_discrete)
    made = dequantized(graph, numbers, scales, zeros)
    y = op.gemm(graph.input("a", a.shape, dml.data_type_of(a.dtype)), made, transpose_b=True)
    compiled = graph.compile({"y": y, "w": made} if shown else {"y": y})
    assert not STREAMING & labels(compiled.program)
    assert shown or compiled.program.initialize
    b, _ = exact(numbers, scales, zeros, block)
    found = compiled.dispatch({"a": a})["y"]
    # The dequantized weights are rounded, too
    assert_sums(found, a.astype(np.float64) @ b.T, abs(a).astype(np.float64) @ abs(b).T, 64 + 2)


# --- Memory of plans at the size of real models -----------------------------------------------------------------------

TARGETS = {
    "CPU": Target(DeviceClass.CPU, subgroup_size=8, max_storage_buffer_range=128 * MIB),
    "GPU": Target(DeviceClass.DISCRETE, subgroup_size=32),
}


def memory(program: Program) -> dict[Space, int]:
    """Return the bytes of constants, weights and temporaries that a run of the program binds."""
    found = {}
    for space in (Space.CONSTANT, Space.PERSISTENT, Space.TEMPORARY):
        by_index: dict[int, list[Any]] = {}
        for region in bound_regions(space, program.dispatches):
            by_index.setdefault(region.index, []).append(region)
        found[space] = sum(end - start for own in by_index.values() for start, end in Islands(own).spans)
    return found


def packed_weights(graph: Builder, n: int, k: int, block: int) -> Tensor:
    """Return UINT4 weights {n, k}, dequantized to FLOAT16 in blocks with a scale each."""
    numbers = graph.constant(np.frombuffer(bytes(n * k // 2), np.uint8))
    desc = dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_UINT4, (n, k))
    return graph.one(
        dml.DML_DEQUANTIZE_OPERATOR_DESC,
        (n, k),
        dml.DML_TENSOR_DATA_TYPE_FLOAT16,
        InputTensor=Tensor(graph, numbers.source, desc),
        QuantizationType=dml.DML_QUANTIZATION_TYPE_SCALE,
        QuantizationTensors=[graph.constant(np.zeros((n, k // block), np.float16))],
    )


@pytest.mark.parametrize("kind", list(TARGETS))
@pytest.mark.parametrize("m", [1, 128])
def test_256_mib_of_four_bits_take_no_more_than_300(kind, m):
    n, k, block = 32768, 16384, 128
    graph = Builder(Planner(TARGETS[kind]))
    made = packed_weights(graph, n, k, block)
    a = graph.input("a", (m, k), dml.DML_TENSOR_DATA_TYPE_FLOAT16)
    program = graph.compile({"y": op.gemm(a, made, transpose_b=True)}).program
    found = memory(program)
    assert found[Space.CONSTANT] + found[Space.PERSISTENT] <= 265 * MIB
    assert sum(found.values()) <= 300 * MIB
    limit = TARGETS[kind].max_storage_buffer_range
    assert all(binding.region.size <= limit for dispatch in program.dispatches for binding in dispatch.bindings)


@pytest.mark.parametrize("m", [1, 40])
def test_half_precision_scales_are_read_as_stored(device, m):
    """A product and a gather read them without the cast to FLOAT32, unless it has other readers."""
    rng = np.random.default_rng(7)
    n, k, block = 2048, 4096, 16  # as FLOAT32, more bytes than initialization may add
    numbers, scales, zeros = weights(rng, n, k, block, np.dtype(ml_dtypes.uint4))
    scales, indices = scales.astype(np.float16), np.array([5, n - 1], np.uint32)
    a = rng.standard_normal((m, k), np.float32)

    def compiled(*more: str) -> Any:
        graph = Builder(device)
        wide = op.cast(graph.constant(scales), dml.DML_TENSOR_DATA_TYPE_FLOAT32)
        kind = DML_QUANTIZATION_TYPE.DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT
        w = op.dequantize(graph.constant(numbers), [wide, graph.constant(zeros)], kind)
        x, index = graph.input("a", a.shape, dml.DML_TENSOR_DATA_TYPE_FLOAT32), graph.constant(indices)
        outputs = {"product": op.gemm(x, w, transpose_b=True), "rows": op.gather(w, index, 0), "wide": wide}
        return graph.compile({name: outputs[name] for name in ("product", "rows", *more)})

    plain, more = compiled(), compiled("wide")
    assert not any("CAST" in dispatch.node for dispatch in plain.program.dispatches)
    assert any("CAST" in dispatch.node for dispatch in more.program.dispatches)
    b = numbers.astype(np.float64) - zeros.astype(np.float64).repeat(block, 1)
    b *= scales.astype(np.float64).repeat(block, 1)
    for found in (plain.dispatch({"a": a}), more.dispatch({"a": a})):
        assert_sums(found["product"], a.astype(np.float64) @ b.T, abs(a).astype(np.float64) @ abs(b).T, k)
        np.testing.assert_array_equal(found["rows"], b[indices].astype(np.float32))


@pytest.mark.parametrize("kind", list(TARGETS))
def test_parts_consist_of_whole_tiles_within_a_bound(kind):
    target = TARGETS[kind]
    for column in (4 * 64, 4 * 16384, 4 << 20):
        columns = columns_in_part(target, column)
        assert columns % 256 == 0
        assert columns == 256 or columns * column <= 16 * MIB


@pytest.mark.parametrize("kind, most", [("CPU", 12), ("GPU", 2)])
def test_rows_that_are_streamed(kind, most):
    target = TARGETS[kind]
    assert streams_blocks(target, most, 4096, 14336, 32, 4)
    assert not streams_blocks(target, most + 1, 4096, 14336, 32, 4)
    assert not streams_blocks(target, 1, 4096, 14336, 4, 4), "a word has two blocks"
    assert not streams_blocks(target, 1, 4096, 14336 + 16, 16, 4), "a row ends within a vector"


@pytest.mark.parametrize("kind", list(TARGETS))
@pytest.mark.parametrize("bits, block", [(2, 16), (2, 32), (2, 64), (2, 256), (4, 8), (4, 16), (4, 32)])
def test_blocks_of_whole_words_are_streamed(kind, bits, block):
    assert streams_blocks(TARGETS[kind], 1, 4096, 2048, block, bits)
    assert not streams_blocks(TARGETS[kind], 1, 4096, 2048, 16 // bits, bits)


def test_gpus_stream_whole_eights():
    assert streams_blocks(TARGETS["GPU"], 1, 4096, 2048, 8, 8)
    assert not streams_blocks(TARGETS["GPU"], 1, 4096, 2048, 4, 8)
    assert streams_blocks(TARGETS["CPU"], 1, 4096, 2048, 4, 8)


@pytest.mark.parametrize("kind", [*KINDS, "float16"])
@pytest.mark.parametrize("points", [False, True])
def test_gathers_dequantize_only_the_selected_rows(device, monkeypatch, kind, points):
    """A product may read the same table, as in language models with tied embeddings."""
    monkeypatch.setitem(stored_weights.KEPT_WIDER, "product", 0)
    monkeypatch.setattr("dml.graph.kept.SMALL", 0)
    rng = np.random.default_rng(9)
    rows, k, block = 50, 96, 32
    graph = Builder(device)
    if kind == "float16":
        numbers = rng.standard_normal((rows, k)).astype(np.float16)
        made, table = op.cast(graph.constant(numbers), dml.DML_TENSOR_DATA_TYPE_FLOAT32), numbers.astype(np.float64)
    else:
        numbers, scales, zeros = weights(rng, rows, k, block, KINDS[kind])
        used = zeros if points else None
        made, (table, _) = dequantized(graph, numbers, scales, used), exact(numbers, scales, used, block)
    indices = graph.input("i", (1, 1, 2, 3), dml.DML_TENSOR_DATA_TYPE_UINT32)
    a = rng.random((20, k), np.float32) - 0.5
    compiled = graph.compile({
        "y": op.gather(made, indices, axis=0),
        "z": op.gemm(graph.input("a", a.shape), made, transpose_b=True),
    })  # fmt: skip
    assert not compiled.program.initialize
    at = rng.integers(0, rows, (1, 1, 2, 3)).astype(np.uint32)
    found = compiled.dispatch({"i": at, "a": a})
    np.testing.assert_allclose(found["y"].reshape(2, 3, k), table[at[0, 0]], rtol=1e-6)
    assert_sums(found["z"], a.astype(np.float64) @ table.T, abs(a).astype(np.float64) @ abs(table).T, k + 4)


def test_a_gather_of_a_large_table_copies_no_table():
    """The table has 128,256 tokens of 4,096 numbers of 4 bits."""
    rows, k, block = 128256, 4096, 32
    for target in TARGETS.values():
        graph = Builder(Planner(target))
        made = packed_weights(graph, rows, k, block)
        indices = graph.input("i", (1, 16), dml.DML_TENSOR_DATA_TYPE_UINT32)
        program = graph.compile({"y": op.gather(made, indices, axis=0)}).program
        found = memory(program)
        assert found[Space.PERSISTENT] + found[Space.TEMPORARY] < MIB
