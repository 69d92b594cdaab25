"""What a graph applies as an operator stores its result: sums with tensors, scales, casts, batch normalization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dml
from dml.api.operator import CompiledOperator
from dml.graph import operations as op
from dml.graph.builder import Builder
from harness import can_bind, tensor


@dataclass
class Case:
    """An operator, what it reads, and what it makes of that in float64."""

    desc: dml.OperatorDesc
    inputs: list[np.ndarray]
    expected: np.ndarray


def rounded(dtype: str, *sizes: int, seed: int = 0) -> np.ndarray:
    values = np.random.default_rng((seed, *sizes)).uniform(-1, 1, sizes)
    return values.astype(np.float16 if dtype == "FLOAT16" else np.float32)


def f64(*arrays: np.ndarray) -> list[np.ndarray]:
    return [array.astype(np.float64) for array in arrays]


def gemm(dtype: str, n: int = 12) -> Case:
    a, b = rounded(dtype, 1, 2, 10, 20), rounded(dtype, 1, 2, 20, n)
    desc = dml.DML_GEMM_OPERATOR_DESC(
        ATensor=tensor(dtype, a.shape), BTensor=tensor(dtype, b.shape), CTensor=None,
        OutputTensor=tensor(dtype, (1, 2, 10, n)), TransA=0, TransB=0, Alpha=1.0, Beta=0.0, FusedActivation=None,
    )  # fmt: skip
    x, y = f64(a, b)
    return Case(desc, [a, b], x @ y)


def integer_product(dtype: str) -> Case:
    rng = np.random.default_rng(9)
    a, b = (rng.integers(-9, 9, sizes).astype(np.int8) for sizes in ((1, 2, 10, 20), (1, 2, 20, 12)))
    scales = [
        np.full((1, 1, 1, 1), scale, np.float16 if dtype == "FLOAT16" else np.float32) for scale in (0.0625, 0.125)
    ]
    desc = dml.DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC(
        ATensor=tensor("INT8", a.shape), AScaleTensor=tensor(dtype, (1, 1, 1, 1)),
        BTensor=tensor("INT8", b.shape), BScaleTensor=tensor(dtype, (1, 1, 1, 1)),
        OutputTensor=tensor(dtype, (1, 2, 10, 12)),
    )  # fmt: skip
    x, y = f64(a, b)
    return Case(desc, [a, scales[0], b, scales[1]], x @ y / 128)


def convolution(dtype: str, channels: int, outputs: int, window: int, size: int, *, output_padding: int = 0) -> Case:
    x, w = rounded(dtype, 2, channels, size, size), rounded(dtype, outputs, channels, window, window)
    bias = rounded(dtype, 1, outputs, 1, 1)
    pad = window // 2
    sizes = (2, outputs, size + output_padding, size + output_padding)
    desc = dml.DML_CONVOLUTION_OPERATOR_DESC(
        InputTensor=tensor(dtype, x.shape), FilterTensor=tensor(dtype, w.shape), BiasTensor=tensor(dtype, bias.shape),
        OutputTensor=tensor(dtype, sizes), Mode=dml.DML_CONVOLUTION_MODE_CROSS_CORRELATION,
        Direction=dml.DML_CONVOLUTION_DIRECTION_FORWARD, Strides=(1, 1), Dilations=(1, 1), StartPadding=(pad, pad),
        EndPadding=(pad, pad), OutputPadding=(output_padding,) * 2, GroupCount=1, FusedActivation=None,
    )  # fmt: skip
    a, b, c = f64(x, w, bias)
    a = np.pad(a, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(a, (window, window), (2, 3))
    y = np.einsum("nchwij,kcij->nkhw", windows, b, optimize=True)
    return Case(desc, [x, w, bias], np.pad(y, ((0, 0), (0, 0), (0, output_padding), (0, output_padding))) + c)


def transposed_convolution(dtype: str) -> Case:
    """Four dispatches, one for each place modulo the strides."""
    x, w = rounded(dtype, 2, 3, 4, 4), rounded(dtype, 3, 5, 2, 2)
    desc = dml.DML_CONVOLUTION_OPERATOR_DESC(
        InputTensor=tensor(dtype, x.shape), FilterTensor=tensor(dtype, w.shape), BiasTensor=None,
        OutputTensor=tensor(dtype, (2, 5, 8, 8)), Mode=dml.DML_CONVOLUTION_MODE_CROSS_CORRELATION,
        Direction=dml.DML_CONVOLUTION_DIRECTION_BACKWARD, Strides=(2, 2), Dilations=(1, 1), StartPadding=(0, 0),
        EndPadding=(0, 0), OutputPadding=(0, 0), GroupCount=1, FusedActivation=None,
    )  # fmt: skip
    a, b = f64(x, w)
    return Case(desc, [x, w], np.einsum("nchw,ckij->nkhiwj", a, b).reshape(2, 5, 8, 8))


def mean_variance(dtype: str, axes: tuple[int, ...], *sizes: int) -> Case:
    x, scale = rounded(dtype, *sizes), rounded(dtype, 1, sizes[1], 1, 1)
    bias = rounded(dtype, 1, sizes[1], 1, 1, seed=1)
    desc = dml.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC(
        InputTensor=tensor(dtype, sizes), ScaleTensor=tensor(dtype, scale.shape),
        BiasTensor=tensor(dtype, bias.shape), OutputTensor=tensor(dtype, sizes), Axes=axes,
        NormalizeVariance=True, Epsilon=1e-3, FusedActivation=None,
    )  # fmt: skip
    a, b, c = f64(x, scale, bias)
    mean, variance = a.mean(axes, keepdims=True), a.var(axes, keepdims=True)
    return Case(desc, [x, scale, bias], b * (a - mean) / np.sqrt(variance + 1e-3) + c)


def lp(dtype: str) -> Case:
    x = rounded(dtype, 2, 5, 6, 8)
    t = tensor(dtype, x.shape)
    desc = dml.DML_LP_NORMALIZATION_OPERATOR_DESC(InputTensor=t, OutputTensor=t, Axis=1, Epsilon=0.0, P=2)
    (a,) = f64(x)
    return Case(desc, [x], a / np.sqrt((a * a).sum(1, keepdims=True)))


def local_response(dtype: str) -> Case:
    x = rounded(dtype, 2, 5, 6, 8)
    t = tensor(dtype, x.shape)
    desc = dml.DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC(
        InputTensor=t, OutputTensor=t, CrossChannel=True, LocalSize=3, Alpha=0.5, Beta=0.75, Bias=1.0
    )
    (a,) = f64(x)
    squares = np.pad(a * a, ((0, 0), (1, 1), (0, 0), (0, 0)))
    around = squares[:, :-2] + squares[:, 1:-1] + squares[:, 2:]
    return Case(desc, [x], a / (1 + 0.5 / 3 * around) ** 0.75)


def reduction(dtype: str, axis: int) -> Case:
    x = rounded(dtype, *(40 if d == axis else size for d, size in enumerate((2, 5, 6, 8))))
    (a,) = f64(x)
    expected = a.sum(axis, keepdims=True)
    desc = dml.DML_REDUCE_OPERATOR_DESC(
        Function=dml.DML_REDUCE_FUNCTION_SUM, InputTensor=tensor(dtype, x.shape),
        OutputTensor=tensor(dtype, expected.shape), Axes=(axis,),
    )  # fmt: skip
    return Case(desc, [x], expected)


def pooling(dtype: str, kind: str) -> Case:
    x = rounded(dtype, 2, 5, 6, 9)
    cls, attributes, function = {
        "average": (dml.DML_AVERAGE_POOLING_OPERATOR_DESC, {"IncludePadding": False}, np.mean),
        "max": (dml.DML_MAX_POOLING2_OPERATOR_DESC, {"OutputIndicesTensor": None, "Dilations": (1, 1)}, np.max),
        "lp": (dml.DML_LP_POOLING_OPERATOR_DESC, {"P": 2}, lambda v, axis: np.sqrt((v * v).sum(axis))),
    }[kind]
    desc = cls(
        InputTensor=tensor(dtype, x.shape), OutputTensor=tensor(dtype, (2, 5, 5, 8)), Strides=(1, 1),
        WindowSize=(2, 2), StartPadding=(0, 0), EndPadding=(0, 0), **attributes,
    )  # fmt: skip
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (2, 2), (2, 3))
    return Case(desc, [x], function(windows, axis=(4, 5)))


#: With result rows of whole vectors and without; each kernel that stores a result.
PRODUCERS = {
    "gemm": gemm,
    "gemm odd": lambda dtype: gemm(dtype, 7),
    "integer product": integer_product,
    "convolution": lambda dtype: convolution(dtype, 3, 6, 3, 8),
    "convolution odd": lambda dtype: convolution(dtype, 3, 6, 3, 7),
    "convolution 1x1": lambda dtype: convolution(dtype, 6, 8, 1, 6),
    "convolution any": lambda dtype: convolution(dtype, 2, 3, 3, 5, output_padding=1),
    "winograd": lambda dtype: convolution(dtype, 8, 8, 3, 8),
    "rows": lambda dtype: mean_variance(dtype, (2, 3), 2, 5, 6, 8),
    "rows odd": lambda dtype: mean_variance(dtype, (3,), 2, 5, 6, 7),
    "statistics first": lambda dtype: mean_variance(dtype, (0, 1, 2, 3), 1, 2, 1024, 128),
    "lp": lp,
    "local response": local_response,
    "reduce": lambda dtype: reduction(dtype, 3),
    "reduce beside": lambda dtype: reduction(dtype, 1),
    "average": lambda dtype: pooling(dtype, "average"),
    "max": lambda dtype: pooling(dtype, "max"),
    "lp pooling": lambda dtype: pooling(dtype, "lp"),
}  # fmt: skip

#: Layout of the other operand and of the result, data type.
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


def behind(device: dml.Device, case: Case, last: dml.OperatorDesc, at: int = 0) -> dml.DML_GRAPH_DESC:
    """``last`` with the case's result as its input ``at``; graph inputs are named p0, p1, ... and a0, a1, ..."""
    nodes = [dml.DML_OPERATOR_GRAPH_NODE_DESC(device.create_operator(desc)) for desc in (case.desc, last)]
    inputs = []
    for node, (name, desc) in enumerate((("p", case.desc), ("a", last))):
        for place, (_, described) in enumerate(desc.inputs()):
            if described is not None and (node, place) != (1, at):
                inputs.append(dml.DML_INPUT_GRAPH_EDGE_DESC(len(inputs), node, place, f"{name}{place}"))
    return dml.DML_GRAPH_DESC(
        InputCount=len(inputs),
        OutputCount=1,
        Nodes=nodes,
        InputEdges=inputs,
        IntermediateEdges=[dml.DML_INTERMEDIATE_GRAPH_EDGE_DESC(0, 0, 1, at)],
        OutputEdges=[dml.DML_OUTPUT_GRAPH_EDGE_DESC(1, 0, 0, "y")],
    )


def steps(compiled: CompiledOperator) -> int:
    return sum(line.startswith("dispatch") for line in compiled.describe().splitlines())


def feeds(case: Case, **more: np.ndarray) -> dict[str, np.ndarray]:
    names = [place for place, (_, described) in enumerate(case.desc.inputs()) if described is not None]
    return {**{f"p{place}": array for place, array in zip(names, case.inputs, strict=True)}, **more}


def assert_near(result: np.ndarray, expected: np.ndarray, half: bool, stored: np.ndarray | None = None) -> None:
    """FLOAT16 results are float32 values rounded once; hundreds of products make the float32 ones.

    stored: values between that were rounded to FLOAT16 as well, since a step of its own reads them.
    """
    scale = max(1.0, float(np.abs(expected).max()))
    once_more = 0.0 if stored is None else 2**-11 * float(np.abs(stored).max())
    np.testing.assert_allclose(result, expected, rtol=2**-10.9 if half else 0, atol=2e-5 * scale + once_more)


def assert_sum(result: np.ndarray, expected: np.ndarray, other: np.ndarray, fused: bool) -> None:
    """Near what ``residual`` expects; unless fused, what ``other`` was added to was stored in the result's type."""
    half = result.dtype == np.float16
    assert_near(result, expected, half, expected - other if half and not fused else None)


def residual(
    device: dml.Device, producer: str, layout: str
) -> tuple[dml.DML_GRAPH_DESC, dict[str, np.ndarray], np.ndarray]:
    """The case's result plus another operand: the graph, what it is given, and what it makes."""
    other, written, dtype = LAYOUTS[layout]
    case = PRODUCERS[producer](dtype)
    sizes = case.expected.shape
    described, values = other_operand(other, dtype, sizes)
    add = dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(
        ATensor=described, BTensor=tensor(dtype, sizes), OutputTensor=tensor(dtype, sizes, written)
    )
    return behind(device, case, add, 1), feeds(case, a0=values), case.expected + values.astype(np.float64)


@pytest.fixture
def kernels(monkeypatch, request):
    """Winograd's for the case of that name, though it is small."""
    if request.node.callspec.params["producer"] == "winograd":
        monkeypatch.setattr("dml.compiler.selection.convolution.winograd_cost", lambda target, sizes: 0.0)


#: All layouts where a kernel stores in a way of its own; these where several share "lib/for_each.glsl".
FEW = ("channel", "half nhwc")
OWN_STORES = ("gemm", "convolution", "convolution 1x1", "winograd", "rows", "statistics first", "reduce")
SUMS = [(producer, layout) for producer in PRODUCERS for layout in (LAYOUTS if producer in OWN_STORES else FEW)]


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("producer, layout", SUMS)
def test_a_sum_goes_behind_its_producer(device, producer, layout):
    desc, inputs, expected = residual(device, producer, layout)
    compiled, plain = device.compile_graph(desc), device.compile_graph(desc, optimize=False)
    # Gaps keep the spatial dimensions apart: no matrix product any more, but a kernel with two steps before it.
    other_kernel = (producer, layout) == ("convolution 1x1", "padded")
    fused = can_bind(device, len(inputs) + 1)
    assert steps(compiled) == (3 if fused and other_kernel else steps(plain) - fused)
    assert_sum(compiled.dispatch(inputs)["y"], expected, inputs["a0"], fused)


@pytest.mark.parametrize("layout", ["same", "channel", "nhwc", "half", "half channel"])
@pytest.mark.parametrize(
    "producer", ["gemm", "gemm odd", "convolution 1x1", "rows", "statistics first", "reduce", "max"]
)
def test_a_sum_behind_the_kernels_of_gpus(as_discrete, producer, layout):
    desc, inputs, expected = residual(as_discrete, producer, layout)
    compiled = as_discrete.compile_graph(desc)
    fused = can_bind(as_discrete, len(inputs) + 1)
    assert steps(compiled) <= steps(as_discrete.compile_graph(desc, optimize=False)) - fused
    assert_sum(compiled.dispatch(inputs)["y"], expected, inputs["a0"], fused)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("producer", [*OWN_STORES, "average"])
def test_a_cast_goes_behind_its_producer(device, producer, dtype):
    """FLOAT32 to FLOAT16 and back. The value between, were it stored, would be FLOAT16: it is not rounded."""
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
def test_a_sum_behind_a_result_written_in_parts(device, layout):
    """A transposed convolution with strides makes the places of equal remainders by a dispatch each."""
    case = transposed_convolution("FLOAT32")
    described, values = other_operand(LAYOUTS[layout][0], "FLOAT32", case.expected.shape)
    t = tensor("FLOAT32", case.expected.shape)
    desc = behind(device, case, dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(ATensor=t, BTensor=described, OutputTensor=t))
    compiled, plain = device.compile_graph(desc), device.compile_graph(desc, optimize=False)
    assert steps(compiled) == steps(plain) - 1
    assert_near(compiled.dispatch(feeds(case, a1=values))["y"], case.expected + values, half=False)


def test_a_scale_and_bias_of_channels_and_an_activation(device):
    """Three operators and five tensors more, one of them of another data type."""
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
    # With four storage buffers the five operators behind the convolution are two kernels rather than a part of it.
    assert steps(plain) - steps(compiled) >= (4 if can_bind(device, 7) else 2)
    expected = np.maximum(case.expected * scale + shift.astype(np.float64) + rest, 0)
    assert_near(compiled.dispatch(feeds(case, scale=scale, shift=shift, rest=rest))["y"], expected, half=False)


@pytest.mark.parametrize("owned", [True, False])
@pytest.mark.parametrize("producer", ["gemm", "convolution", "convolution 1x1", "average"])
def test_batch_normalization_behind_its_producer(device, producer, owned):
    """With a residual sum and an activation: what the parameters make runs once where they are owned."""
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
    # Without the passes: the factor (once, where owned), the normalization, the sum and the activation. With four
    # storage buffers only the sum and the activation are one.
    assert steps(plain) - steps(compiled) == (3 if can_bind(device, len(inputs) + 5) else 1)
    mean, variance, scale, bias = f64(*parameters)
    expected = np.maximum((case.expected - mean) * scale / np.sqrt(variance + 1e-5) + bias + rest, 0)
    given = {f"p{i}": array for i, array in enumerate(case.inputs)} | {f"n{k}": v for k, v in enumerate(parameters)}
    assert_near(compiled.dispatch({**given, "rest": rest})["y"], expected, half=False)


def test_the_parameters_of_a_batch_normalization_run_once(device):
    """Element-wise neighbours share its kernel, where no producer takes them."""
    b = Builder(device)
    x = b.input("x", (2, 3, 4, 5))
    parameters = [rounded("FLOAT32", 3, seed=k) + k for k in range(4)]
    softmax = op.softmax(x, axes=(3,))
    y = op.relu(op.batch_normalization(op.sqrt(softmax), *parameters)) * 2.0
    compiled = b.compile({"y": y})
    # With four storage buffers two parameters are copied into one, once, and the neighbours stay apart.
    assert [len(compiled.program.initialize), steps(compiled)] == ([1, 2] if can_bind(device, 5) else [3, 4])
    values = rounded("FLOAT32", 2, 3, 4, 5)
    e = np.exp(values.astype(np.float64))
    mean, variance, scale, bias = (v.reshape(3, 1, 1) for v in f64(*parameters))
    normal = (np.sqrt(e / e.sum(3, keepdims=True)) - mean) * scale / np.sqrt(variance + 1e-5) + bias
    assert_near(compiled.dispatch({"x": values})["y"], 2 * np.maximum(normal, 0), half=False)


SIZES = (2, 6, 8, 8)


def branches(device: dml.Device) -> tuple[Builder, Any, Any, np.ndarray, np.ndarray]:
    """Inputs x and y, their values, and a convolution's weights 3 x 3 that keep the sizes."""
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
    """The convolution stands first in the graph; fused with the sum it runs after the softmax that the sum adds."""
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
    """softmax(c) + c: the convolution cannot wait for what waits for it."""
    b, x, _, xs, _ = branches(device)
    made = convolved(x)
    total = op.softmax(made, axes=(3,)) + made
    compiled = b.compile({"total": total})
    assert steps(compiled) == 4
    c = np_convolved(xs)
    e = np.exp(c - c.max(3, keepdims=True))
    assert_near(compiled.dispatch({"x": xs})["total"], e / e.sum(3, keepdims=True) + c, half=False)


def test_a_chain_of_producers(device):
    """Each takes the one before it as the other operand: c1(c0(x) + x) + c0(x) + x."""
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
    """Rows of a product seen as batches; in a part of a joined tensor they have no such order, and stay apart."""
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
    """The result begins in the middle of each item of the tensor that it is a part of."""
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
    """A product of constants plus an input is a product made once and a sum, not a product with every dispatch."""
    b = Builder(device)
    a, w, xs = rounded("FLOAT32", 1, 1, 8, 16), rounded("FLOAT32", 1, 1, 16, 8), rounded("FLOAT32", 1, 1, 8, 8)
    compiled = b.compile({"y": op.gemm(b.constant(a), w) + b.input("x", xs.shape)})
    assert steps(compiled) == 1
    assert_near(compiled.dispatch({"x": xs})["y"], a.astype(np.float64) @ w + xs, half=False)


@pytest.mark.parametrize("producer, buffers, fused", [("gemm", 4, True), ("gemm", 3, False), ("convolution", 4, False)])
def test_the_devices_storage_buffers(seen_as, producer, buffers, fused):
    """An epilogue takes a storage buffer for each operand; without room for it the sum stays a step of its own."""
    device = seen_as(max_storage_buffers=buffers)
    desc, inputs, expected = residual(device, producer, "channel")
    compiled = device.compile_graph(desc)
    assert all(len(dispatch.bindings) <= buffers for dispatch in compiled.program.dispatches)
    assert ("elementwise" not in compiled.describe().splitlines()[-1]) == fused
    assert_near(compiled.dispatch(inputs)["y"], expected, half=False)


def test_a_kernel_that_binds_more_than_its_operator(seen_as):
    """Statistics before the result: the kernel that stores binds two tensors more than the operator has."""
    device = seen_as(max_storage_buffers=5)
    desc, inputs, expected = residual(device, "statistics first", "same")
    compiled, plain = device.compile_graph(desc), device.compile_graph(desc, optimize=False)
    assert steps(compiled) == steps(plain)
    assert all(len(dispatch.bindings) <= 5 for dispatch in compiled.program.dispatches)
    assert_near(compiled.dispatch(inputs)["y"], expected, half=False)
