"""Tensors larger than one binding: operators are split into parts, and those that cannot be are refused.

With bindings limited to a few hundred bytes, small tensors behave as large ones do on a real device.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dml
from dml.api.operator import CompiledOperator
from dml.compiler.lowering import compile_operator
from dml.compiler.program import Program
from dml.compiler.target import DeviceClass, Target
from dml.conformance.case import Case
from dml.conformance.execution import forget, run_case
from dml.graph import operations as op
from dml.graph.builder import Builder
from dml.graph.compile import compile_graph
from dml.graph.operations import one_hot
from dml.graph.reading import read_graph
from harness import Array, assert_exact, like, random, run, run_on, tensor
from sample_descriptors import NAMES, sample
from sample_runs import UNTOUCHED, elements, run_sample, tensors

RELU = dml.DML_ACTIVATION_RELU_OPERATOR_DESC()
SeenAs = Callable[..., dml.Device]


def binding(most: int) -> dict[str, int]:
    """Return the limit of a device whose bindings cover ``most`` bytes."""
    own = Target()
    return {"max_storage_buffer_range": most + own.max_storage_buffer_range - own.max_region}


def largest_binding(program: Program) -> int:
    dispatches = [*program.initialize, *program.dispatches]
    return max(binding.region.size for dispatch in dispatches for binding in dispatch.bindings)


def in_parts(seen_as: SeenAs, desc: dml.OperatorDesc, most: int, *axis: str) -> CompiledOperator:
    device = seen_as(*axis, **binding(most))
    compiled = device.compile_operator(device.create_operator(desc))
    assert largest_binding(compiled.program) <= most
    return compiled


def assert_same(seen_as: SeenAs, desc: dml.OperatorDesc, inputs: dict[str, Any], most: int, *axis: str) -> None:
    """Assert that an operator split into parts gives the results of the whole one: exactly, except for sums of floats,
    whose order differs."""
    device = seen_as()
    whole = device.compile_operator(device.create_operator(desc))
    parts = in_parts(seen_as, desc, most, *axis)
    assert len(parts.program.dispatches) > len(whole.program.dispatches)
    expected = whole.dispatch(inputs)
    for name, found in parts.dispatch(inputs).items():
        assert_close(found, expected[name])


def assert_close(found: Array, expected: Array, least: float = 2e-5) -> None:
    if found.dtype.kind == "f":
        # Sums of hundreds of terms of about 1, in another order.
        rtol = 2e-3 if found.dtype.itemsize == 2 else 1e-5
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-3 if found.dtype.itemsize == 2 else least)
    else:
        assert_exact(found, expected)


# --- every operator ---------------------------------------------------------------------------------------------------

#: Largest binding in bytes; most tensors of the samples have 192.
MOST = 160

#: Operators whose kernels need more than MOST bytes of one tensor, at sample size.
REFUSED = {
    "GRU",
    "LSTM",
    "MULTIHEAD_ATTENTION",
    "MULTIHEAD_ATTENTION1",
    "NONZERO_COORDINATES",
    "RESAMPLE_GRAD",
    "RESAMPLE_GRAD1",
    "RNN",
    "ROI_ALIGN",
    "ROI_ALIGN1",
    "ROI_ALIGN_GRAD",
    "VALUE_SCALE_2D",
}


@pytest.mark.parametrize("layout", ["packed", "padded"])
@pytest.mark.parametrize("name", sorted(set(NAMES) - REFUSED))
def test_every_operator_in_parts(seen_as: SeenAs, name: str, layout: str) -> None:
    desc = sample(name, layout)
    whole, wanted = run_sample(seen_as(), desc)
    parts, results = run_sample(seen_as(**binding(MOST)), desc)
    assert largest_binding(parts) <= MOST
    assert len(parts.dispatches) > len(whole.dispatches) or largest_binding(whole) <= MOST
    for t, expected, found in zip(tensors(desc.outputs()), wanted, results, strict=True):
        inside, kind = elements(t), dml.numpy_dtype(t.DataType)
        assert_close(found[inside].view(kind), expected[inside].view(kind))
        gaps = np.flatnonzero(~inside)
        assert (found[gaps[gaps < np.flatnonzero(inside)[-1]]] == UNTOUCHED).all()


@pytest.mark.parametrize(
    "name, layout",
    # A padded sequence of an RNN is computed for one half of the batch, then for the other.
    sorted({(name, layout) for name in REFUSED for layout in ("packed", "padded")} - {("RNN", "padded")}),
)
def test_operators_that_cannot_be_split_are_refused_by_name(name: str, layout: str) -> None:
    desc = sample(name, layout)
    dml.validate(desc)
    with pytest.raises(dml.DMLError) as error:
        compile_operator(desc, Target(DeviceClass.CPU, max_storage_buffers=16, **binding(MOST)))
    text = str(error.value)
    fields = {field for field, t in (*desc.inputs(), *desc.outputs()) if t is not None}
    operator, tensor_name, rest = text.replace(" has ", ": ", 1).split(": ", 2)
    assert operator == f"DML_{name}_OPERATOR_DESC"
    assert tensor_name in {*fields, "a temporary tensor"}
    size, limit = (int(word) for word in rest.split() if word.isdigit())
    assert size > limit == MOST
    assert error.value.hresult is dml.HRESULT.E_OUTOFMEMORY


def test_the_error_of_a_graph_names_its_node(device: dml.Device) -> None:
    b = Builder(device)
    indices = b.input("indices", (1, 1), dml.DML_TENSOR_DATA_TYPE_UINT32)
    graph = read_graph(b.build([one_hot(indices, 512)]), dml.DML_FEATURE_LEVEL_6_4)
    with pytest.raises(dml.DMLError, match="DML_ONE_HOT_OPERATOR_DESC: OutputTensor has 2048 bytes"):
        compile_graph(graph, replace(device.vulkan.target, **binding(512)))


# --- element by element -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16", "INT8", "UINT16", "INT64"])
@pytest.mark.parametrize("layouts", [("packed",) * 3, ("reversed", "packed", "padded"), ("padded", "nhwc", "packed")])
def test_addition(seen_as: SeenAs, dtype: str, layouts: tuple[str, str, str]) -> None:
    rng = np.random.default_rng(1)
    a, b = random(rng, dtype, (3, 5, 9, 13)), random(rng, dtype, (3, 5, 9, 13))
    desc = dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(*(tensor(dtype, a.shape, layout) for layout in layouts))
    assert_same(seen_as, desc, {"ATensor": a, "BTensor": b}, 256)


@pytest.mark.parametrize("dtype", ["UINT4", "INT4"])
def test_four_bit_elements_keep_their_words(seen_as: SeenAs, dtype: str) -> None:
    x = np.random.default_rng(2).uniform(-3, 3, (7, 1009)).astype(np.float32)
    scale = np.full((7, 1), 0.5, np.float32)
    desc = dml.DML_QUANTIZE_OPERATOR_DESC(
        InputTensor=like(x),
        QuantizationType=dml.DML_QUANTIZATION_TYPE_SCALE,
        QuantizationTensors=[like(scale)],
        OutputTensor=tensor(dtype, x.shape),
    )
    assert_same(seen_as, desc, {"InputTensor": x, "QuantizationTensors": [scale]}, 512)


@pytest.mark.parametrize("most", [100, 256, 1000])
def test_a_row_of_odd_bytes(seen_as: SeenAs, most: int) -> None:
    """Parts of 8-bit results own whole words, except for the last part."""
    x = random(np.random.default_rng(3), "UINT8", (1, 1, 1, 1021), 0, 255)
    desc = dml.DML_CAST_OPERATOR_DESC(like(x), tensor("INT8", x.shape))
    assert_same(seen_as, desc, {"InputTensor": x}, most)


def test_in_place_a_part_leaves_the_bytes_that_the_next_one_reads(seen_as: SeenAs) -> None:
    """A part's last word, the last one that its dispatch binds, also holds elements of the next part."""
    a, b = (np.random.default_rng(seed).integers(0, 256, (18, 52), np.uint8) for seed in (0, 1))
    packed, columns = (dml.DML_BUFFER_TENSOR_DESC("UINT8", a.shape, strides) for strides in (None, (1, 18)))
    device = seen_as(**binding(64))
    buffer = device.create_buffer(a)
    desc = dml.DML_ELEMENT_WISE_MAX_OPERATOR_DESC(ATensor=packed, BTensor=columns, OutputTensor=packed)
    run_on(device, desc, [buffer, device.create_buffer(b.T.copy())], [buffer])
    assert_exact(buffer.read(np.uint8, a.size).reshape(a.shape), np.maximum(a, b))


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16", "UINT8"])
def test_a_transposed_copy_is_cut_along_both_axes(seen_as: SeenAs, dtype: str) -> None:
    x = random(np.random.default_rng(4), dtype, (64, 48))
    desc = dml.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(like(x, "reversed"), like(x), None)
    assert_same(seen_as, desc, {"InputTensor": x}, 512)


def test_slices_that_run_backwards(seen_as: SeenAs) -> None:
    x = np.arange(40 * 30, dtype=np.float32).reshape(1, 1, 40, 30)
    desc = dml.DML_SLICE1_OPERATOR_DESC(
        InputTensor=like(x),
        OutputTensor=tensor("FLOAT32", (1, 1, 19, 28)),
        InputWindowOffsets=(0, 0, 1, 1),
        InputWindowSizes=(1, 1, 38, 28),
        InputWindowStrides=(1, 1, -2, -1),
    )
    assert_same(seen_as, desc, {"InputTensor": x}, 512)


def test_padding_and_joins(seen_as: SeenAs) -> None:
    x, y = (np.random.default_rng(k).uniform(-1, 1, (6, 5, 4, 3)).astype(np.float32) for k in range(2))
    padding = dml.DML_PADDING_OPERATOR_DESC(
        InputTensor=like(x),
        OutputTensor=tensor("FLOAT32", (6, 5, 6, 5)),
        PaddingMode=dml.DML_PADDING_MODE_REFLECTION,
        PaddingValue=0.0,
        StartPadding=(0, 0, 1, 1),
        EndPadding=(0, 0, 1, 1),
    )
    assert_same(seen_as, padding, {"InputTensor": x}, 512)
    join = dml.DML_JOIN_OPERATOR_DESC(
        InputTensors=[like(x), like(y, "reversed")], OutputTensor=tensor("FLOAT32", (6, 10, 4, 3)), Axis=1
    )
    assert_same(seen_as, join, {"InputTensors": [x, y]}, 512)


# --- gathers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16", "UINT8", "INT64"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_gather_from_a_table_in_parts(seen_as: SeenAs, dtype: str, axis: int) -> None:
    """Rows have odd length, so a word of a narrow type may hold elements of several parts."""
    rng = np.random.default_rng(5)
    x = random(rng, dtype, (23, 17, 9))
    indices = rng.integers(-x.shape[axis], x.shape[axis], (1, 1, 21)).astype(np.int32)
    sizes = (*x.shape[:axis], 21, *x.shape[axis + 1 :])
    desc = dml.DML_GATHER_OPERATOR_DESC(like(x), like(indices), tensor(dtype, sizes), Axis=axis, IndexDimensions=1)
    compiled = in_parts(seen_as, desc, 700)
    found = compiled.dispatch({"InputTensor": x, "IndicesTensor": indices})["OutputTensor"]
    assert_exact(found, np.take(x, indices.ravel(), axis))


def test_gather_by_tuples_and_elements(seen_as: SeenAs) -> None:
    rng = np.random.default_rng(6)
    x = random(rng, "FLOAT32", (1, 13, 11, 8))
    tuples = np.stack([rng.integers(0, size, (1, 1, 30)) for size in (13, 11)], -1).astype(np.uint32)
    desc = dml.DML_GATHER_ND_OPERATOR_DESC(
        tensor("FLOAT32", (13, 11, 8)),
        like(tuples.reshape(1, 30, 2)),
        tensor("FLOAT32", (1, 30, 8)),
        InputDimensionCount=3,
        IndicesDimensionCount=2,
    )
    assert_same(seen_as, desc, {"InputTensor": x[0], "IndicesTensor": tuples.reshape(1, 30, 2)}, 512)
    indices = rng.integers(0, 11, (1, 13, 20, 8)).astype(np.int64)
    desc = dml.DML_GATHER_ELEMENTS_OPERATOR_DESC(like(x), like(indices), tensor("FLOAT32", indices.shape), Axis=2)
    assert_same(seen_as, desc, {"InputTensor": x, "IndicesTensor": indices}, 512)


@pytest.mark.parametrize(
    "dtype, layout", [("FLOAT32", "packed"), ("FLOAT16", "reversed"), ("UINT8", "packed"), ("INT64", "padded")]
)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_scatter_in_parts(seen_as: SeenAs, dtype: str, axis: int, layout: str) -> None:
    """Result, indices and updates are each larger than a binding, and updates collide."""
    rng = np.random.default_rng(1)
    x = random(rng, dtype, (3, 37, 16))
    sizes = tuple(41 if other == axis else size for other, size in enumerate(x.shape))
    indices = rng.integers(-x.shape[axis] - 1, x.shape[axis] + 1, sizes).astype(np.int32)
    updates = random(rng, dtype, sizes)
    desc = dml.DML_SCATTER_OPERATOR_DESC(
        like(x, layout), like(indices), like(updates, layout), like(x, layout), Axis=axis
    )
    inputs = {"InputTensor": x, "IndicesTensor": indices, "UpdatesTensor": updates}
    assert_same(seen_as, desc, inputs, 1024)


@pytest.mark.parametrize("dtype", ["FLOAT32", "UINT8", "INT64"])
@pytest.mark.parametrize("coordinates", [1, 2, 3])
def test_scatter_by_tuples_in_parts(seen_as: SeenAs, dtype: str, coordinates: int) -> None:
    rng = np.random.default_rng(2)
    x = random(rng, dtype, (9, 12, 16))
    indices = rng.integers(-10, 10, (7, 13, coordinates)).astype(np.int64)
    updates = random(rng, dtype, (7, 13, *x.shape[coordinates:]))
    rank = max(x.ndim, updates.ndim)
    x, indices, updates = (each.reshape((1,) * (rank - each.ndim) + each.shape) for each in (x, indices, updates))
    desc = dml.DML_SCATTER_ND_OPERATOR_DESC(
        like(x), like(indices), like(updates), like(x), InputDimensionCount=3, IndicesDimensionCount=3
    )
    inputs = {"InputTensor": x, "IndicesTensor": indices, "UpdatesTensor": updates}
    assert_same(seen_as, desc, inputs, 1024)


@pytest.mark.parametrize("dtype", ["FLOAT32", "UINT8", "INT64"])
@pytest.mark.parametrize("k", [43, 5])
def test_selection_from_interleaved_lines(seen_as: SeenAs, dtype: str, k: int) -> None:
    """The elements of one line are farther apart than a binding is large."""
    x = random(np.random.default_rng(8), dtype, (43, 67))
    found = np.zeros((k, 67), np.uint32)
    up = dml.DML_AXIS_DIRECTION_INCREASING
    desc = dml.DML_TOP_K1_OPERATOR_DESC(like(x), like(x[:k]), like(found), Axis=0, K=k, AxisDirection=up)
    assert_same(seen_as, desc, {"InputTensor": x}, 1024)


# --- scans ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize("kind", ["FLOAT32", "INT64"])
@pytest.mark.parametrize("exclusive, backwards", [(False, False), (True, False), (False, True), (True, True)])
def test_running_sums(seen_as: SeenAs, kind: str, axis: int, exclusive: bool, backwards: bool) -> None:
    """A line is larger than a binding, or lines are interleaved, so that a part has some steps of all lines."""
    x = random(np.random.default_rng(3), kind, (3, 301, 2) if axis == 1 else (2, 1, 613))
    direction = dml.DML_AXIS_DIRECTION_DECREASING if backwards else dml.DML_AXIS_DIRECTION_INCREASING
    desc = dml.DML_CUMULATIVE_SUMMATION_OPERATOR_DESC(like(x), like(x), axis, direction, exclusive)
    assert_same(seen_as, desc, {"InputTensor": x}, 1024)


@pytest.mark.parametrize("layout", ["packed", "padded"])
@pytest.mark.parametrize("kind, sizes", [("UINT8", (5, 37, 9)), ("FLOAT32", (1, 2, 3, 200))])
def test_coordinates_of_nonzero_elements(seen_as: SeenAs, kind: str, sizes: tuple[int, ...], layout: str) -> None:
    """The input is larger than a binding, and so are the coordinates, which have a row for each of its elements."""
    x = random(np.random.default_rng(4), kind, sizes, -1, 1).round()
    desc = dml.DML_NONZERO_COORDINATES_OPERATOR_DESC(
        like(x, layout),
        tensor("UINT32", (1,) * x.ndim),
        tensor("UINT32", (*(1,) * (x.ndim - 2), x.size, x.ndim), layout),
    )
    assert_same(seen_as, desc, {"InputTensor": x}, 2048)


@pytest.mark.parametrize("layout", ["packed", "nhwc"])
@pytest.mark.parametrize("dtype, indices_type", [("FLOAT32", "UINT32"), ("UINT8", "UINT64")])
def test_unpooling(seen_as: SeenAs, dtype: str, indices_type: str, layout: str) -> None:
    """Input, indices and result are larger than a binding. Indices collide, and some are beyond the result."""
    rng = np.random.default_rng(5)
    x = random(rng, dtype, (2, 5, 15, 16), 1, 9)
    sizes = (2, 5, 30, 31)
    indices = rng.integers(0, int(np.prod(sizes)) + 50, x.shape).astype(indices_type.lower())
    indices.flat[7:9] = np.iinfo(indices.dtype).max
    desc = dml.DML_MAX_UNPOOLING_OPERATOR_DESC(like(x, layout), like(indices, layout), tensor(dtype, sizes, layout))
    assert_same(seen_as, desc, {"InputTensor": x, "IndicesTensor": indices}, 4096)


@pytest.mark.parametrize("layout", ["packed", "nhwc"])
@pytest.mark.parametrize("mode", ["LINEAR", "NEAREST_NEIGHBOR"])
@pytest.mark.parametrize("scales", [(2.5, 1.5), (0.3, 0.7), (3.0, 0.25)])
@pytest.mark.parametrize("antialiased", [False, True])
def test_resampling(seen_as: SeenAs, antialiased: bool, scales: tuple[float, float], mode: str, layout: str) -> None:
    """An image is larger than a binding: parts of the result read the rows and columns around theirs."""
    x = random(np.random.default_rng(6), "FLOAT32", (1, 3, 60, 70))
    sizes = (1, 3, int(60 * scales[0]), int(70 * scales[1]))
    desc = dml.DML_RESAMPLE3_OPERATOR_DESC(
        like(x, layout),
        tensor("FLOAT32", sizes, layout),
        InterpolationMode=f"DML_INTERPOLATION_MODE_{mode}",
        RoundingDirection=dml.DML_AXIS_DIRECTION_DECREASING,
        Scales=(1.0, 1.0, *scales),
        InputPixelOffsets=(0.5,) * 4,
        OutputPixelOffsets=(-0.5,) * 4,
        Antialiased=antialiased,
    )
    assert_same(seen_as, desc, {"InputTensor": x}, 8192 if layout == "packed" else 24_576)


@pytest.mark.parametrize("mode", ["LINEAR", "NEAREST_NEIGHBOR"])
@pytest.mark.parametrize("scales", [(2.5, 1.5), (0.3, 0.7)])
def test_gradients_of_resampling(seen_as: SeenAs, scales: tuple[float, float], mode: str) -> None:
    outputs = (1, 1, int(60 * scales[0]), int(70 * scales[1]))
    x = random(np.random.default_rng(7), "FLOAT32", outputs)
    desc = dml.DML_RESAMPLE_GRAD_OPERATOR_DESC(
        like(x),
        tensor("FLOAT32", (1, 1, 60, 70)),
        InterpolationMode=f"DML_INTERPOLATION_MODE_{mode}",
        Scales=(1.0, 1.0, *scales),
        InputPixelOffsets=(0.5,) * 4,
        OutputPixelOffsets=(-0.5,) * 4,
    )
    assert_same(seen_as, desc, {"InputGradientTensor": x}, 16_384)


@pytest.mark.parametrize("steps", [None, 128])
@pytest.mark.parametrize("layout, most", [("packed", 4096), ("packed", 2048), ("nhwc", 2048)])
@pytest.mark.parametrize("function", ["AVERAGE", "MAX", "ROI_POOLING"])
def test_regions(seen_as: SeenAs, function: str, layout: str, most: int, steps: int | None) -> None:
    """Images, lists of samples and results are larger than a binding. steps: limit on an invocation's steps, so low
    that several dispatches share the samples of an output."""
    rng = np.random.default_rng(8)
    x = random(rng, "FLOAT32", (5, 2, 12, 14))
    corners = np.sort(rng.uniform(-2, 14, (9, 2, 2)), 1).reshape(9, 4).astype(np.float32)
    images = rng.integers(0, 5, 9).astype(np.uint32)
    output = tensor("FLOAT32", (9, 2, 5, 4))
    if function == "ROI_POOLING":
        regions = np.concatenate([images[:, None].astype(np.float32), corners.round()], 1)[None, None]
        size = dml.DML_SIZE_2D(4, 5)
        desc: dml.OperatorDesc = dml.DML_ROI_POOLING_OPERATOR_DESC(like(x, layout), like(regions), output, 1.0, size)
        inputs = {"InputTensor": x, "ROITensor": regions}
    else:
        desc = dml.DML_ROI_ALIGN_OPERATOR_DESC(
            InputTensor=like(x, layout),
            ROITensor=like(corners),
            BatchIndicesTensor=like(images),
            OutputTensor=output,
            ReductionFunction=f"DML_REDUCE_FUNCTION_{function}",
            InterpolationMode=dml.DML_INTERPOLATION_MODE_LINEAR,
            SpatialScaleX=1.0,
            SpatialScaleY=1.0,
            OutOfBoundsInputValue=0.5,
            MinimumSamplesPerOutput=1,
            MaximumSamplesPerOutput=12,
        )
        inputs = {"InputTensor": x, "ROITensor": corners, "BatchIndicesTensor": images}
    few = {} if steps is None else {"fewer_steps": steps}
    device = seen_as(**binding(most), **few)
    compiled = device.compile_operator(device.create_operator(desc))
    assert largest_binding(compiled.program) <= most
    assert_close(compiled.dispatch(inputs)["OutputTensor"], run(seen_as(), desc, inputs)["OutputTensor"])


#: Conformance cases, whose references are NumPy's in float64, and largest bindings in bytes. A window, a region or a
#: line fits one, but no plane of an image does, or planes are interleaved (permuted: the first dimension is innermost).
CASES = {
    "CONVOLUTION:type=FLOAT32,sizes=1x7x19x23,padding=1,layout=permuted": 6144,
    "CONVOLUTION:type=FLOAT16,sizes=1x1x60x70,padding=2,dilations=2,strides=1.3,bias=yes": 4096,
    "CONVOLUTION:type=FLOAT32,sizes=1x2x60x70,window=5.1,padding=0.2_1,direction=BACKWARD": 8192,
    "CONVOLUTION:type=FLOAT32,sizes=1x2x31x40,strides=2,dilations=2,direction=BACKWARD,layout=permuted": 8192,
    "CONVOLUTION:type=FLOAT32,sizes=1x64x5x6,outputs=32,window=3,layout=permuted": 16384,
    "CONVOLUTION_INTEGER:type=UINT8,sizes=1x3x60x70,padding=1,layout=permuted": 8192,
    "AVERAGE_POOLING:type=FLOAT32,sizes=1x1x60x70,window=5.1,padding=0.2_1,strides=2": 4096,
    "AVERAGE_POOLING1:type=FLOAT16,sizes=1x3x41x30,window=27,padding=1,layout=permuted": 6144,
    "MAX_POOLING2:type=FLOAT16,sizes=1x3x41x30,window=5.1,padding=1,strides=1.3,layout=permuted": 4096,
    "MAX_POOLING1:type=UINT8,sizes=1x2x60x70,window=3,padding=1,indices=UINT64": 2048,
    "MAX_POOLING:type=FLOAT32,sizes=1x1x20x19x19,window=3,padding=1": 8192,
    "LP_POOLING:type=FLOAT32,sizes=1x1x60x70,window=3,p=3": 4096,
    "QUANTIZED_LINEAR_AVERAGE_POOLING:type=INT8,sizes=1x3x41x30,window=5.1,layout=permuted": 1024,
    "AVERAGE_POOLING_GRAD:type=FLOAT32,sizes=1x8x21x20,window=3,padding=1,layout=permuted": 8192,
    "MAX_POOLING_GRAD:type=FLOAT32,sizes=1x8x21x20,window=3,padding=1,layout=permuted": 8192,
    "LOCAL_RESPONSE_NORMALIZATION:type=FLOAT32,sizes=1x9x17x23,across=yes,region=8": 8192,
    "LOCAL_RESPONSE_NORMALIZATION:type=FLOAT16,sizes=1x1x60x70,across=no,region=3": 4096,
    "LOCAL_RESPONSE_NORMALIZATION:type=FLOAT32,sizes=1x9x17x23,across=no,region=8,layout=permuted": 8192,
    "LOCAL_RESPONSE_NORMALIZATION_GRAD:type=FLOAT32,sizes=1x9x17x23,across=yes,region=8": 8192,
    "LOCAL_RESPONSE_NORMALIZATION_GRAD:type=FLOAT16,sizes=1x2x31x30,across=no,region=3,layout=permuted": 2048,
    "REVERSE_SUBSEQUENCES:type=FLOAT16,sizes=5x37x41,axis=first": 8192,
    "ACTIVATION_HARDMAX1:type=FLOAT32,sizes=5x37x41,axes=first": 8192,
    "ONE_HOT:type=FLOAT32,sizes=5x37x41,axis=first,layout=padded": 8192,
    "FOLD:type=FLOAT32,sizes=1x1x23x29,window=3_2,padding=both,stride=1_3": 2048,
    "UNFOLD:type=FLOAT16,sizes=1x2x33x29,window=3_2,padding=both,layout=permuted": 1024,
    "PADDING:type=FLOAT16,sizes=1x2x33x29": 1024,
    "PADDING:type=UINT8,sizes=1x2x33x29,mode=REFLECTION,layout=permuted": 512,
    "PADDING:type=FLOAT32,sizes=1x2x33x29,mode=SYMMETRIC,padding=wide": 4096,
    "PADDING1:type=FLOAT32,sizes=1x2x33x29,mode=EDGE": 4096,
    "PADDING1:type=FLOAT32,sizes=1x2x33x29,mode=WRAP": 4096,
    "ROI_ALIGN_GRAD:type=FLOAT32,sizes=3x30x9x7": 6144,
    "ROI_ALIGN_GRAD:type=FLOAT16,reduce=MAX,sizes=3x31x9x7,layout=permuted": 6144,
    "ROI_ALIGN_GRAD:type=FLOAT32,sizes=3x31x9x7,wanted=image": 6144,
}


# Cases bind the bytes after each region, too, which the validation layer takes for a missing barrier.
@pytest.mark.no_validation
@pytest.mark.parametrize("text", CASES)
def test_cases_of_the_conformance_suite(seen_as: SeenAs, text: str) -> None:
    case, most = Case.parse(text), CASES[text]
    device = seen_as(**binding(most))
    compiled = device.compile_operator(device.create_operator(case.desc))
    assert max(size or 0 for size in (*compiled.program.inputs, *compiled.program.outputs)) > most
    assert largest_binding(compiled.program) <= most
    outcome = run_case(device, case)
    forget(device)
    assert outcome["status"] == "passed", outcome["reason"]


# --- products ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("trans_a", [False, True])
@pytest.mark.parametrize("trans_b", [False, True])
def test_products(seen_as: SeenAs, dtype: str, trans_a: bool, trans_b: bool) -> None:
    """Weights with rows along k are cut along n, others along k."""
    rng = np.random.default_rng(7)
    m, n, k = 9, 44, 37
    a = random(rng, dtype, (1, 2, *((k, m) if trans_a else (m, k))), -1, 1)
    b = random(rng, dtype, (1, 2, *((n, k) if trans_b else (k, n))), -1, 1)
    c = random(rng, dtype, (1, 2, m, n), -1, 1)
    desc = dml.DML_GEMM_OPERATOR_DESC(
        ATensor=like(a),
        BTensor=like(b),
        CTensor=like(c),
        OutputTensor=tensor(dtype, (1, 2, m, n)),
        TransA=int(trans_a),
        TransB=int(trans_b),
        Alpha=0.5,
        Beta=2.0,
        FusedActivation=RELU,
    )
    assert_same(seen_as, desc, {"ATensor": a, "BTensor": b, "CTensor": c}, 1024)


@pytest.mark.parametrize("axis", ["plain", "discrete"])
@pytest.mark.parametrize("m", [1, 40])
def test_products_of_one_large_weight(seen_as: SeenAs, axis: str, m: int) -> None:
    rng = np.random.default_rng(8)
    a, b = (rng.uniform(-1, 1, sizes).astype(np.float32) for sizes in ((1, 1, m, 96), (1, 1, 96, 64)))
    desc = dml.DML_GEMM_OPERATOR_DESC(
        ATensor=like(a),
        BTensor=like(b, Flags=dml.DML_TENSOR_FLAG_OWNED_BY_DML),
        CTensor=None,
        OutputTensor=tensor("FLOAT32", (1, 1, m, 64)),
        TransA=0,
        TransB=0,
        Alpha=1.0,
        Beta=0.0,
        FusedActivation=dml.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC(),
    )
    assert_same(seen_as, desc, {"ATensor": a, "BTensor": b}, 2048, axis)


def test_products_of_integers(seen_as: SeenAs) -> None:
    rng = np.random.default_rng(9)
    a, b = random(rng, "UINT8", (1, 1, 30, 50), 0, 255), random(rng, "INT8", (1, 1, 50, 20), -128, 127)
    desc = dml.DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC(
        ATensor=like(a),
        AZeroPointTensor=tensor("UINT8", (1, 1, 1, 1)),
        BTensor=like(b),
        BZeroPointTensor=None,
        OutputTensor=tensor("INT32", (1, 1, 30, 20)),
    )
    inputs = {"ATensor": a, "AZeroPointTensor": np.full((1, 1, 1, 1), 3, np.uint8), "BTensor": b}
    assert_same(seen_as, desc, inputs, 1024)


# --- rows -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function, dtype, axes",
    [
        *(("SUM", "FLOAT32", axes) for axes in ((0,), (1, 2), (2,), (0, 2), (0, 1, 2))),
        *(("ARGMAX", "FLOAT32", axes) for axes in ((0,), (0, 2), (0, 1, 2))),
        ("MAX", "FLOAT16", (0,)),
        ("MIN", "INT8", (0, 1)),
        ("SUM", "INT64", (0, 1, 2)),
        ("L2", "FLOAT32", (0,)),
        ("LOG_SUM_EXP", "FLOAT32", (0, 1)),
        ("ARGMIN", "INT64", (1,)),
    ],
)
def test_reductions(seen_as: SeenAs, function: str, dtype: str, axes: tuple[int, ...]) -> None:
    """Reduced axes may be split too: partial results are combined, and indices count through all parts."""
    x = random(np.random.default_rng(10), dtype, (11, 12, 16), -1, 1)
    x[:, 5, :] += x.dtype.type(1)
    x[7] += x.dtype.type(1)
    sizes = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
    kind = "UINT32" if function.startswith("ARG") else dtype
    desc = dml.DML_REDUCE_OPERATOR_DESC(
        Function=dml.DML_REDUCE_FUNCTION[f"DML_REDUCE_FUNCTION_{function}"],
        InputTensor=like(x),
        OutputTensor=tensor(kind, sizes),
        Axes=axes,
    )
    assert_same(seen_as, desc, {"InputTensor": x}, 600)


@pytest.mark.parametrize("name", ["SOFTMAX1", "LOG_SOFTMAX1", "HARDMAX1"])
@pytest.mark.parametrize("axes, most", [((3,), 512), ((0, 1, 2, 3), 1024), ((1,), 700), ((2, 3), 2048)])
def test_softmax(seen_as: SeenAs, name: str, axes: tuple[int, ...], most: int) -> None:
    if name == "HARDMAX1" and axes in ((0, 1, 2, 3), (1,)):
        pytest.skip("its second pass knows where it is along the axes, which therefore stay whole")
    x = np.random.default_rng(11).uniform(-4, 4, (3, 4, 10, 12)).astype(np.float32)
    desc = getattr(dml, f"DML_ACTIVATION_{name}_OPERATOR_DESC")(
        InputTensor=like(x), OutputTensor=tensor("FLOAT32", x.shape), Axes=axes
    )
    assert_same(seen_as, desc, {"InputTensor": x}, most)


@pytest.mark.parametrize("axes", [(1, 2, 3), (2, 3), (0, 2, 3), (3,)])
@pytest.mark.parametrize("dtype, most", [("FLOAT16", 640), ("FLOAT32", 4096)])
def test_normalizations(seen_as: SeenAs, axes: tuple[int, ...], dtype: str, most: int) -> None:
    rng = np.random.default_rng(12)
    x = random(rng, dtype, (4, 5, 10, 12), -1, 1)
    scale = random(rng, dtype, tuple(size if axis in axes else 1 for axis, size in enumerate(x.shape)), 1, 2)
    desc = dml.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC(
        InputTensor=like(x),
        ScaleTensor=like(scale),
        BiasTensor=like(scale),
        OutputTensor=tensor(dtype, x.shape),
        Axes=axes,
        NormalizeVariance=True,
        Epsilon=1e-3,
        FusedActivation=RELU,
    )
    assert_same(seen_as, desc, {"InputTensor": x, "ScaleTensor": scale, "BiasTensor": scale}, most)


# --- convolutions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", ["plain", "discrete"])
@pytest.mark.parametrize(
    "channels, outputs, groups, window, backward, most",
    [
        (8, 8, 1, 3, False, 2048),  # split by batch and output channels, and sums split over input channels
        (8, 12, 4, 3, False, 2048),
        (16, 16, 1, 1, False, 3000),
        (8, 8, 2, 3, True, 2048),
        (16, 20, 1, 3, False, 40000),  # split by batch alone
    ],
)
def test_convolutions(
    seen_as: SeenAs,
    axis: str,
    channels: int,
    outputs: int,
    groups: int,
    window: int,
    backward: bool,
    most: int,
) -> None:
    rng = np.random.default_rng(13)
    x = rng.uniform(-1, 1, (6, channels, 14, 16)).astype(np.float32)
    sizes = (channels, outputs // groups) if backward else (outputs, channels // groups)
    w = rng.uniform(-1, 1, (*sizes, window, window)).astype(np.float32)
    bias = rng.uniform(-1, 1, (1, outputs, 1, 1)).astype(np.float32)
    pad = (window // 2,) * 2
    desc = dml.DML_CONVOLUTION_OPERATOR_DESC(
        InputTensor=like(x),
        FilterTensor=like(w),
        BiasTensor=like(bias),
        OutputTensor=tensor("FLOAT32", (6, outputs, 14, 16)),
        Mode=dml.DML_CONVOLUTION_MODE_CROSS_CORRELATION,
        Direction=dml.DML_CONVOLUTION_DIRECTION_BACKWARD if backward else dml.DML_CONVOLUTION_DIRECTION_FORWARD,
        Strides=(1, 1),
        Dilations=(1, 1),
        StartPadding=pad,
        EndPadding=pad,
        OutputPadding=(0, 0),
        GroupCount=groups,
        FusedActivation=RELU,
    )
    inputs = {"InputTensor": x, "FilterTensor": w, "BiasTensor": bias}
    found = in_parts(seen_as, desc, most, axis).dispatch(inputs)["OutputTensor"]
    # Without parts, the convolution may use Winograd's algorithm, whose transforms magnify float32's rounding errors.
    assert_close(found, run(seen_as(), desc, inputs)["OutputTensor"], least=4e-4)


@pytest.mark.parametrize("batch", [1, 3])
def test_convolutions_whose_padded_copy_alone_exceeds_a_binding(seen_as: SeenAs, batch: int) -> None:
    """FLOAT16 tensors fit, but not the copy in FLOAT32: parts are direct convolutions, too."""
    rng = np.random.default_rng(15)
    x = rng.uniform(-1, 1, (batch, 8, 48, 48)).astype(np.float16)
    w = rng.uniform(-1, 1, (8, 8, 5, 5)).astype(np.float16)
    desc = dml.DML_CONVOLUTION_OPERATOR_DESC(
        InputTensor=like(x),
        FilterTensor=like(w),
        BiasTensor=None,
        OutputTensor=like(x),
        Mode=dml.DML_CONVOLUTION_MODE_CROSS_CORRELATION,
        Direction=dml.DML_CONVOLUTION_DIRECTION_FORWARD,
        Strides=(1, 1),
        Dilations=(1, 1),
        StartPadding=(2, 2),
        EndPadding=(2, 2),
        OutputPadding=(0, 0),
        GroupCount=1,
        FusedActivation=RELU,
    )
    compiled = in_parts(seen_as, desc, batch * 70_000)
    kernels = {dispatch.source.name for dispatch in compiled.program.dispatches}
    assert "shaders/convolution/direct.comp" in kernels
    assert "shaders/convolution/general.comp" not in kernels
    inputs = {"InputTensor": x, "FilterTensor": w}
    assert_close(compiled.dispatch(inputs)["OutputTensor"], run(seen_as(), desc, inputs)["OutputTensor"])


# --- graphs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("most", [1024, 4096])
def test_epilogues_of_a_product_in_parts(seen_as: SeenAs, dtype: str, most: int) -> None:
    """An epilogue finds its operands by the stored position, in a part as in the whole product."""
    rng = np.random.default_rng(14)
    arrays = {
        name: random(rng, dtype, sizes, -1, 1)
        for name, sizes in (("x", (3, 40, 24)), ("w", (3, 24, 36)), ("rest", (3, 40, 36)), ("scale", (1, 1, 36)))
    }
    found = {}
    for limit in (None, most):
        b = Builder(seen_as(**({} if limit is None else binding(limit))))
        x, w, rest, scale = (
            b.input(name, array.shape, dml.data_type_of(array.dtype), owned_by_dml=name in ("w", "scale"))
            for name, array in arrays.items()
        )
        compiled = b.compile({"y": op.relu(op.gemm(x, w) * scale + rest), "z": op.softmax(x)})
        assert largest_binding(compiled.program) <= (limit or 1 << 27)
        found[limit] = len(compiled.program.dispatches), compiled.dispatch(arrays)
    assert found[most][0] > found[None][0]
    for name, values in found[most][1].items():
        assert_close(values, found[None][1][name])


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("most", [6144, 20_000])
def test_epilogues_of_a_convolution_of_one_image(seen_as: SeenAs, dtype: str, most: int) -> None:
    """Channels are innermost in the image and in the weights, which both exceed a binding."""
    rng = np.random.default_rng(15)
    arrays = {
        name: random(rng, dtype, sizes, -1, 1)
        for name, sizes in (("x", (1, 10, 41, 43)), ("w", (12, 10, 7, 7)), ("rest", (1, 12, 41, 43)))
    }
    strides = {"x": (17630, 1, 430, 10), "w": (1, 12, 840, 120), "rest": None}
    found = {}
    for limit in (None, most):
        b = Builder(seen_as(**({} if limit is None else binding(limit))))
        x, w, rest = (
            b.input(name, array.shape, dml.data_type_of(array.dtype), strides[name], owned_by_dml=name == "w")
            for name, array in arrays.items()
        )
        y = op.relu(op.convolution(x, w, start_padding=(3, 3), end_padding=(3, 3)) * rest + 0.5)
        compiled = b.compile({"y": y})
        assert largest_binding(compiled.program) <= (limit or 1 << 27)
        found[limit] = compiled.dispatch(arrays)["y"]
    assert_close(found[most], found[None], least=1e-4)


# --- tensors of real sizes --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_addition_of_144_megabytes(device: dml.Device) -> None:
    x = np.arange(6000 * 6000, dtype=np.float32).reshape(6000, 6000)
    t = like(x)
    y = run(device, dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(t, t, t), {"ATensor": x, "BTensor": x})["OutputTensor"]
    np.testing.assert_array_equal(y, x + x)


@pytest.mark.slow
def test_an_embedding_table_of_154_megabytes(device: dml.Device) -> None:
    table = np.arange(50257 * 768, dtype=np.float32).reshape(50257, 768)
    indices = np.array([[0, 50256, 43690, 43689, 1, 25000]], np.int64)
    desc = dml.DML_GATHER_OPERATOR_DESC(
        like(table), like(indices), tensor("FLOAT32", (6, 768)), Axis=0, IndexDimensions=1
    )
    found = run(device, desc, {"InputTensor": table, "IndicesTensor": indices})["OutputTensor"]
    np.testing.assert_array_equal(found, table[indices[0]])


@pytest.mark.slow
@pytest.mark.parametrize("transposed", [False, True])
def test_a_weight_of_160_megabytes(device: dml.Device, transposed: bool) -> None:
    rng = np.random.default_rng(15)
    a = rng.integers(-2, 3, (1, 1, 2, 4000)).astype(np.float32)
    b = rng.integers(-2, 3, (1, 1, *((10000, 4000) if transposed else (4000, 10000)))).astype(np.float32)
    desc = dml.DML_GEMM_OPERATOR_DESC(
        ATensor=like(a),
        BTensor=like(b, Flags=dml.DML_TENSOR_FLAG_OWNED_BY_DML),
        CTensor=None,
        OutputTensor=tensor("FLOAT32", (1, 1, 2, 10000)),
        TransA=0,
        TransB=int(transposed),
        Alpha=1.0,
        Beta=0.0,
        FusedActivation=None,
    )
    found = run(device, desc, {"ATensor": a, "BTensor": b})["OutputTensor"]
    np.testing.assert_array_equal(found[0, 0], a[0, 0] @ (b[0, 0].T if transposed else b[0, 0]))
