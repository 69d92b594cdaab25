"""Epilogues, which operators apply as they store results: additions of tensors, scales, casts, batch normalization."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from epilogue_cases import PRODUCERS, behind, f64, feeds, rounded, steps, transposed_convolution

import dml
from dml.graph import operations as op
from dml.graph.builder import Builder
from harness import can_bind, tensor

#: Name -> layout of the other operand, layout of the result, data type.
LAYOUTS = {
    "same": ("packed", "packed", "FLOAT32"),
    "channel": ("channel", "packed", "FLOAT32"),
    "nhwc": ("packed", "nhwc", "FLOAT32"),
    "both nhwc": ("nhwc", "nhwc", "FLOAT32"),
    "padded": ("channel", "padded", "FLOAT32"),
    "half": ("packed", "packed", "FLOAT16"),
    "half channel": ("channel", "packed", "FLOAT16"),
    "half nhwc": ("packed", "nhwc", "FLOAT16"),
}


def other_operand(layout: str, dtype: str, sizes: tuple[int, ...]) -> tuple[dml.DML_BUFFER_TENSOR_DESC, np.ndarray]:
    values = rounded(dtype, *sizes, seed=5)
    if layout != "channel":
        return tensor(dtype, sizes, layout), values
    values[:] = values[:1, :, :1, :1]
    return dml.DML_BUFFER_TENSOR_DESC(
        dml.DML_TENSOR_DATA_TYPE[f"DML_TENSOR_DATA_TYPE_{dtype}"], sizes, (0, 1, 0, 0)
    ), values


def assert_near(result: np.ndarray, expected: np.ndarray, half: bool, stored: np.ndarray | None = None) -> None:
    """Compare within the error of float32 sums of hundreds of products; FLOAT16 results are rounded once more.

    stored: intermediate values that were also rounded to FLOAT16, because a separate dispatch reads them.
    """
    scale = max(1.0, float(np.abs(expected).max()))
    once_more = 0.0 if stored is None else 2**-11 * float(np.abs(stored).max())
    np.testing.assert_allclose(result, expected, rtol=2**-10.9 if half else 0, atol=2e-5 * scale + once_more)


def assert_sum(result: np.ndarray, expected: np.ndarray, other: np.ndarray, fused: bool) -> None:
    """Compare with the expected result of ``residual``. Without fusion, the producer's result is rounded to the
    result's type before ``other`` is added."""
    half = result.dtype == np.float16
    assert_near(result, expected, half, expected - other if half and not fused else None)


def residual(
    device: dml.Device, producer: str, layout: str
) -> tuple[dml.DML_GRAPH_DESC, dict[str, np.ndarray], np.ndarray]:
    """Return a graph of the case's result plus another operand, its inputs, and the expected output."""
    other, written, dtype = LAYOUTS[layout]
    case = PRODUCERS[producer](dtype)
    sizes = case.expected.shape
    described, values = other_operand(other, dtype, sizes)
    add = dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(
        ATensor=described, BTensor=tensor(dtype, sizes), OutputTensor=tensor(dtype, sizes, written)
    )
    return behind(device, case, add, 1), feeds(case, a0=values), case.expected + values.astype(np.float64)


def keeps_its_layout(producer: str, layout: str) -> bool:
    """Return whether the addition stays separate: softmax writes rows and cannot write other layouts."""
    return producer.startswith("softmax") and LAYOUTS[layout][1] != "packed"


@pytest.fixture(autouse=True)
def small_sums_too(monkeypatch):
    """Fuse additions to small results, too, which selection keeps separate on CPU drivers."""
    monkeypatch.setattr("dml.graph.fusion.adds_separately", lambda target, image: False)


@pytest.fixture
def kernels(monkeypatch, request):
    """Force Winograd's kernel in the case of that name, which is too small for it otherwise."""
    if request.node.callspec.params["producer"] == "winograd":
        monkeypatch.setattr("dml.compiler.selection.convolution.winograd_cost", lambda target, sizes: 0.0)


#: Layouts to test for kernels that share "lib/for_each.glsl"; OWN_STORES are tested with all layouts.
FEW = ("channel", "half nhwc")
OWN_STORES = (
    "gemm",
    "convolution",
    "convolution 1x1",
    "winograd",
    "rows",
    "statistics first",
    "reduce",
    "softmax",
    "softmax ragged",
    "gather",
)
SUMS = [(producer, layout) for producer in PRODUCERS for layout in (LAYOUTS if producer in OWN_STORES else FEW)]


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("producer, layout", SUMS)
def test_a_sum_joins_its_producer(device, producer, layout):
    desc, inputs, expected = residual(device, producer, layout)
    compiled, plain = device.compile_graph(desc), device.compile_graph(desc, optimize=False)
    # Gaps prevent merging the spatial dimensions: a kernel with two preparatory dispatches replaces the matrix product.
    other_kernel = (producer, layout) == ("convolution 1x1", "padded")
    # Softmax across rows: its last kernel also reads the maxima and the sums
    bound = 5 if producer == "softmax across" else len(inputs) + 1
    fused = can_bind(device, bound) and not keeps_its_layout(producer, layout)
    assert steps(compiled) == (3 if fused and other_kernel else steps(plain) - fused)
    assert_sum(compiled.dispatch(inputs)["y"], expected, inputs["a0"], fused)


@pytest.mark.parametrize("layout", ["same", "channel", "nhwc", "half", "half channel"])
@pytest.mark.parametrize(
    "producer",
    ["gemm", "gemm odd", "convolution 1x1", "rows", "statistics first", "reduce", "max", "softmax", "gather"],
)
def test_a_sum_after_the_kernels_of_gpus(as_discrete, producer, layout):
    desc, inputs, expected = residual(as_discrete, producer, layout)
    compiled = as_discrete.compile_graph(desc)
    fused = can_bind(as_discrete, len(inputs) + 1) and not keeps_its_layout(producer, layout)
    assert steps(compiled) <= steps(as_discrete.compile_graph(desc, optimize=False)) - fused
    assert_sum(compiled.dispatch(inputs)["y"], expected, inputs["a0"], fused)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("producer", [*OWN_STORES, "average"])
def test_a_cast_joins_its_producer(device, producer, dtype):
    """FLOAT32 to FLOAT16 and back: a fused cast avoids rounding the intermediate value."""
    case = PRODUCERS[producer](dtype)
    sizes, written = case.expected.shape, {"FLOAT32": "FLOAT16", "FLOAT16": "FLOAT32"}[dtype]
    cast = dml.DML_CAST_OPERATOR_DESC(InputTensor=tensor(dtype, sizes), OutputTensor=tensor(written, sizes))
    desc = behind(device, case, cast)
    compiled, plain = device.compile_graph(desc), device.compile_graph(desc, optimize=False)
    assert steps(compiled) == steps(plain) - 1
    result = compiled.dispatch(feeds(case))["y"]
    assert result.dtype == (np.float16 if written == "FLOAT16" else np.float32)
    assert_near(result, case.expected, written == "FLOAT16")


@pytest.mark.parametrize("layout", ["same", "channel"])
def test_a_sum_after_a_result_written_in_parts(device, layout):
    """A transposed convolution with strides writes its result in several dispatches."""
    case = transposed_convolution("FLOAT32")
    described, values = other_operand(LAYOUTS[layout][0], "FLOAT32", case.expected.shape)
    t = tensor("FLOAT32", case.expected.shape)
    desc = behind(device, case, dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(ATensor=t, BTensor=described, OutputTensor=t))
    compiled, plain = device.compile_graph(desc), device.compile_graph(desc, optimize=False)
    assert steps(compiled) == steps(plain) - 1
    assert_near(compiled.dispatch(feeds(case, a1=values))["y"], case.expected + values, half=False)


def test_a_scale_and_bias_of_channels_and_an_activation(device):
    """The epilogue has three operators and tensors, one of another data type."""
    case = PRODUCERS["convolution"]("FLOAT32")
    b = Builder(device)
    x, w, bias = (b.input(f"p{i}", array.shape) for i, array in enumerate(case.inputs))
    scale, shift, rest = rounded("FLOAT32", 6, 1, 1), rounded("FLOAT16", 1, 6, 1, 1), rounded("FLOAT32", 2, 6, 8, 8)
    y = op.convolution(x, w, bias, start_padding=(1, 1), end_padding=(1, 1)) * b.input("scale", scale.shape)
    y = op.relu(
        y
        + op.cast(b.input("shift", shift.shape, dml.DML_TENSOR_DATA_TYPE_FLOAT16), y.data_type)
        + b.input("rest", rest.shape)
    )
    compiled, plain = b.compile({"y": y}), b.compile({"y": y}, optimize=False)
    # With four storage buffers, two more kernels compute the five operators after the convolution.
    assert steps(plain) - steps(compiled) >= (4 if can_bind(device, 7) else 2)
    expected = np.maximum(case.expected * scale + shift.astype(np.float64) + rest, 0)
    assert_near(compiled.dispatch(feeds(case, scale=scale, shift=shift, rest=rest))["y"], expected, half=False)


@pytest.mark.parametrize("owned", [True, False])
@pytest.mark.parametrize("producer", ["gemm", "convolution", "convolution 1x1", "average"])
def test_batch_normalization_after_its_producer(device, producer, owned):
    """A residual addition and an activation follow. Scale factors of owned parameters are computed once."""
    case = PRODUCERS[producer]("FLOAT32")
    sizes = case.expected.shape
    rest = rounded("FLOAT32", *sizes)
    parameters = [rounded("FLOAT32", 1, sizes[1], 1, 1, seed=k) + k for k in range(4)]
    b = Builder(device)
    inputs = [b.input(f"p{i}", array.shape) for i, array in enumerate(case.inputs)]
    t = tensor("FLOAT32", sizes)
    named = [info.name for info in case.desc.fields_info if info.kind == "input"]
    fields = {
        info.name: getattr(case.desc, info.name)
        for info in case.desc.fields_info
        if info.kind not in ("input", "output")
    }
    fields |= dict(zip(named, inputs, strict=False))
    (y,) = b.node(type(case.desc), {"OutputTensor": t}, **fields).values()
    y = op.batch_normalization(y, *(b.input(f"n{k}", v.shape, owned_by_dml=owned) for k, v in enumerate(parameters)))
    y = op.relu(y + b.input("rest", sizes))
    compiled, plain = b.compile({"y": y}), b.compile({"y": y}, optimize=False)
    # Dispatches without optimization: the scale factor (at initialization if owned), the normalization, the addition
    # and the activation. With four storage buffers only addition and activation are fused.
    assert steps(plain) - steps(compiled) == (3 if can_bind(device, len(inputs) + 5) else 1)
    mean, variance, scale, bias = f64(*parameters)
    expected = np.maximum((case.expected - mean) * scale / np.sqrt(variance + 1e-5) + bias + rest, 0)
    given = {f"p{i}": array for i, array in enumerate(case.inputs)} | {f"n{k}": v for k, v in enumerate(parameters)}
    assert_near(compiled.dispatch({**given, "rest": rest})["y"], expected, half=False)


def test_the_parameters_of_a_batch_normalization_run_once(device):
    """Element-wise neighbours share the normalization's kernel if no producer fuses them."""
    b = Builder(device)
    x = b.input("x", (2, 3, 4, 5))
    parameters = [rounded("FLOAT32", 3, seed=k) + k for k in range(4)]
    tiled = op.tile(x, (1, 1, 1, 2))
    y = op.relu(op.batch_normalization(op.tanh(tiled), *parameters)) * 2.0
    compiled = b.compile({"y": y})
    # With four storage buffers, two parameters are copied into one buffer at initialization, and the neighbours stay
    # separate.
    assert [len(compiled.program.initialize), steps(compiled)] == ([1, 2] if can_bind(device, 5) else [3, 4])
    values = rounded("FLOAT32", 2, 3, 4, 5)
    mean, variance, scale, bias = (v.reshape(3, 1, 1) for v in f64(*parameters))
    normal = (np.tanh(np.tile(values.astype(np.float64), (1, 1, 1, 2))) - mean) * scale / np.sqrt(
        variance + 1e-5
    ) + bias
    assert_near(compiled.dispatch({"x": values})["y"], 2 * np.maximum(normal, 0), half=False)


SIZES = (2, 6, 8, 8)


def branches(device: dml.Device) -> tuple[Builder, Any, Any, np.ndarray, np.ndarray]:
    """Return a builder, its inputs x and y, and their values."""
    b = Builder(device)
    values = rounded("FLOAT32", *SIZES), rounded("FLOAT32", *SIZES, seed=1)
    return b, b.input("x", SIZES), b.input("y", SIZES), *values


def convolved(x: Any, seed: int = 0) -> Any:
    return op.convolution(x, rounded("FLOAT32", 6, 6, 3, 3, seed=seed), start_padding=(1, 1), end_padding=(1, 1))


def np_convolved(x: np.ndarray, seed: int = 0) -> np.ndarray:
    (w,) = f64(rounded("FLOAT32", 6, 6, 3, 3, seed=seed))
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    return np.einsum("nchwij,kcij->nkhw", np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3)), w, optimize=True)


def test_an_operand_made_after_the_producer(device):
    """The convolution comes first in the graph; fused with the sum, it runs after the softmax that the sum reads."""
    b, x, y, xs, ys = branches(device)
    made = convolved(x)
    total = op.softmax(y, axes=(3,)) + made
    compiled = b.compile({"total": total})
    assert steps(compiled) == 3
    assert "softmax" in compiled.describe().splitlines()[-3]
    e = np.exp(ys.astype(np.float64))
    expected = e / e.sum(3, keepdims=True) + np_convolved(xs)
    assert_near(compiled.dispatch({"x": xs, "y": ys})["total"], expected, half=False)


def test_both_operands_have_producers(device):
    b, x, y, xs, ys = branches(device)
    total = op.relu(convolved(x) + convolved(y, 1))
    compiled, plain = b.compile({"total": total}), b.compile({"total": total}, optimize=False)
    assert steps(plain) - steps(compiled) == 2
    assert_near(
        compiled.dispatch({"x": xs, "y": ys})["total"],
        np.maximum(np_convolved(xs) + np_convolved(ys, 1), 0),
        half=False,
    )


def test_an_operand_that_depends_on_the_producer(device):
    """In softmax(c) + c, the convolution cannot wait for its own reader, so softmax fuses the sum."""
    b, x, _, xs, _ = branches(device)
    made = convolved(x)
    total = op.softmax(made, axes=(3,)) + made
    compiled = b.compile({"total": total})
    assert steps(compiled) == 3
    c = np_convolved(xs)
    e = np.exp(c - c.max(3, keepdims=True))
    assert_near(compiled.dispatch({"x": xs})["total"], e / e.sum(3, keepdims=True) + c, half=False)


def test_a_chain_of_producers(device):
    """Each fused addition reads the previous one's result: c1(c0(x) + x) + c0(x) + x."""
    b, x, _, xs, _ = branches(device)
    first = convolved(x) + x
    total = convolved(first, 1) + first
    compiled = b.compile({"total": total})
    assert steps(compiled) == 4
    made = np_convolved(xs) + xs
    assert_near(compiled.dispatch({"x": xs})["total"], np_convolved(made, 1) + made, half=False)


@pytest.mark.parametrize("use", ["twice in the sum", "elsewhere", "graph output"])
def test_a_value_with_other_readers_is_stored(device, use):
    b, x, y, xs, ys = branches(device)
    made = convolved(x)
    c = np_convolved(xs)
    outputs, expected = {
        "twice in the sum": ({"a": made + made}, {"a": 2 * c}),
        "elsewhere": ({"a": made + y, "b": made * y}, {"a": c + ys, "b": c * ys}),
        "graph output": ({"a": made + y, "b": made}, {"a": c + ys, "b": c}),
    }[use]
    compiled = b.compile(outputs)
    results = compiled.dispatch({"x": xs} if use == "twice in the sum" else {"x": xs, "y": ys})
    assert steps(compiled) == 3 + (use == "elsewhere")
    for name, values in expected.items():
        assert_near(results[name], values, half=False)


@pytest.mark.parametrize("joined", [False, True])
def test_a_sum_of_a_reshaped_result(device, joined):
    """Rows of a matrix product are reshaped to batches. Inside a joined tensor strides cannot express that, so the
    addition is separate."""
    b = Builder(device)
    a, w, r = rounded("FLOAT32", 1, 1, 12, 16), rounded("FLOAT32", 1, 1, 16, 8), rounded("FLOAT32", 2, 6, 8)
    x, y = b.input("x", a.shape), b.input("y", r.shape)
    total = op.gemm(x, w).reshape(2, 6, 8) + y
    total = op.join([y, total], 1) if joined else total
    compiled = b.compile({"total": total})
    assert steps(compiled) == (3 if joined else 1)
    expected = (a.astype(np.float64) @ w).reshape(2, 6, 8) + r
    expected = np.concatenate([r, expected], 1) if joined else expected
    assert_near(compiled.dispatch({"x": a, "y": r})["total"], expected, half=False)


def test_a_sum_in_its_place_in_a_joined_tensor(device):
    """The result is written at an offset in each item of the joined tensor."""
    b, x, y, xs, ys = branches(device)
    bias = rounded("FLOAT32", 6, 1, 1)
    joined = op.join([op.relu(y), convolved(x) + b.constant(bias) + y], 1)
    compiled = b.compile({"joined": joined})
    assert steps(compiled) == (3 if can_bind(device, 5) else 4)
    expected = np.concatenate([np.maximum(ys, 0), np_convolved(xs) + bias + ys], 1)
    assert_near(compiled.dispatch({"x": xs, "y": ys})["joined"], expected, half=False)


def test_an_operand_that_is_a_part_of_another_tensor(device):
    b, x, y, xs, ys = branches(device)
    part = op.slice_(op.softmax(y, axes=(3,)), (0, 1, 0, 0), (2, 3, 8, 8))
    total = op.average_pooling(x, (1, 1))
    total = op.convolution(total, np.eye(3, 6, dtype=np.float32)[:, :, None, None]) + part
    compiled = b.compile({"total": total})
    e = np.exp(ys.astype(np.float64))
    expected = xs[:, :3] + (e / e.sum(3, keepdims=True))[:, 1:4]
    assert steps(compiled) == 3
    assert_near(compiled.dispatch({"x": xs, "y": ys})["total"], expected, half=False)


def test_constant_work_stays_at_initialization(device):
    """A product of constants runs once at initialization; only the sum with the input runs with every dispatch."""
    b = Builder(device)
    a, w, xs = rounded("FLOAT32", 1, 1, 8, 16), rounded("FLOAT32", 1, 1, 16, 8), rounded("FLOAT32", 1, 1, 8, 8)
    compiled = b.compile({"y": op.gemm(b.constant(a), w) + b.input("x", xs.shape)})
    assert steps(compiled) == 1
    assert_near(compiled.dispatch({"x": xs})["y"], a.astype(np.float64) @ w + xs, half=False)


@pytest.mark.parametrize("producer, buffers, fused", [("gemm", 4, True), ("gemm", 3, False), ("convolution", 4, False)])
def test_the_devices_storage_buffers(seen_as, producer, buffers, fused):
    """An epilogue needs a storage buffer per operand; without room the sum stays a separate dispatch."""
    device = seen_as(max_storage_buffers=buffers)
    desc, inputs, expected = residual(device, producer, "channel")
    compiled = device.compile_graph(desc)
    assert all(len(dispatch.bindings) <= buffers for dispatch in compiled.program.dispatches)
    assert ("elementwise" not in compiled.describe().splitlines()[-1]) == fused
    assert_near(compiled.dispatch(inputs)["y"], expected, half=False)


def test_a_kernel_that_binds_more_than_its_operator(seen_as):
    """With separate statistics, the storing kernel binds two more tensors than the operator has."""
    device = seen_as(max_storage_buffers=5)
    desc, inputs, expected = residual(device, "statistics first", "same")
    compiled, plain = device.compile_graph(desc), device.compile_graph(desc, optimize=False)
    assert steps(compiled) == steps(plain)
    assert all(len(dispatch.bindings) <= 5 for dispatch in compiled.program.dispatches)
    assert_near(compiled.dispatch(inputs)["y"], expected, half=False)


def test_small_sums_are_not_fused_on_cpus(device, monkeypatch):
    """On CPU drivers, a small convolution does not fuse the addition of a tensor of the same size."""
    monkeypatch.undo()
    b, x, y, xs, ys = branches(device)
    compiled = b.compile({"sum": op.relu(convolved(x) + y)})
    kernels = [dispatch.label for dispatch in compiled.program.dispatches]
    apart = device.vulkan.target.is_cpu or not can_bind(device, 4)
    assert kernels[-1].startswith("elementwise/") == apart
    expected = np.maximum(np_convolved(xs) + ys, 0)
    assert_near(compiled.dispatch({"x": xs, "y": ys})["sum"], expected, half=False)


@pytest.mark.parametrize("behind", ["nothing", "relu", "clip", "both", "relu of a half"])
def test_what_keeps_results_within_bounds_is_data_on_cpus(device, behind):
    """On CPU drivers, bounds of activations are data, not code, so that all layers of a network share a kernel."""
    kind = "FLOAT16" if behind == "relu of a half" else "FLOAT32"

    def program(finish):
        b = Builder(device)
        x = b.input("x", (1, 3, 8, 8), getattr(dml, f"DML_TENSOR_DATA_TYPE_{kind}"))
        w = rounded(kind, 4, 3, 3, 3)
        return b.compile({"y": finish(op.convolution(x, w, start_padding=(1, 1), end_padding=(1, 1)))})

    finish, expected = {
        "nothing": (lambda y: y, lambda y: y),
        "relu": (op.relu, lambda y: np.maximum(y, 0)),
        "relu of a half": (op.relu, lambda y: np.maximum(y, 0)),
        "clip": (lambda y: op.clip(y, -0.5, 0.25), lambda y: np.clip(y, -0.5, 0.25)),
        "both": (lambda y: op.clip(op.relu(y), -1.0, 0.25), lambda y: np.clip(y, 0, 0.25)),
    }[behind]
    compiled, plain = program(finish), program(lambda y: y)
    if device.vulkan.target.is_cpu:
        assert [d.source for d in compiled.program.dispatches] == [d.source for d in plain.program.dispatches]
    xs = rounded(kind, 1, 3, 8, 8)
    xs[0, 0, 0, 0] = np.nan
    result = compiled.dispatch({"x": xs})["y"]
    made = plain.dispatch({"x": xs})["y"]
    assert np.isnan(result[0, :, :2, :2]).all()
    np.testing.assert_array_equal(result, expected(made))  # not rounded: both types hold the bounds
