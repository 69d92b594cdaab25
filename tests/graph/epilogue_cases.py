"""Operators that apply epilogues (fused element-wise operators) as they store results, and graphs with epilogues."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import dml
from dml.api.operator import CompiledOperator
from harness import tensor


@dataclass
class Case:
    """An operator, its inputs, and its expected result in float64."""

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
    """Return a case with four dispatches, one per residue of the output coordinates modulo the strides."""
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


def pooling(dtype: str, kind: str, side: int = 2) -> Case:
    x = rounded(dtype, 2, 5, 6, 9)
    cls, attributes, function = {
        "average": (dml.DML_AVERAGE_POOLING_OPERATOR_DESC, {"IncludePadding": False}, np.mean),
        "max": (dml.DML_MAX_POOLING2_OPERATOR_DESC, {"OutputIndicesTensor": None, "Dilations": (1, 1)}, np.max),
        "lp": (dml.DML_LP_POOLING_OPERATOR_DESC, {"P": 2}, lambda v, axis: np.sqrt((v * v).sum(axis))),
    }[kind]
    desc = cls(
        InputTensor=tensor(dtype, x.shape), OutputTensor=tensor(dtype, (2, 5, 7 - side, 10 - side)), Strides=(1, 1),
        WindowSize=(side, side), StartPadding=(0, 0), EndPadding=(0, 0), **attributes,
    )  # fmt: skip
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (side, side), (2, 3))
    return Case(desc, [x], function(windows, axis=(4, 5)))


def softmax(dtype: str, size: int, axis: int) -> Case:
    x = rounded(dtype, *(size if d == axis else other for d, other in enumerate((2, 5, 6, 8))))
    t = tensor(dtype, x.shape)
    (a,) = f64(x)
    powers = np.exp(a - a.max(axis, keepdims=True))
    desc = dml.DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC(InputTensor=t, OutputTensor=t, Axes=(axis,))
    return Case(desc, [x], powers / powers.sum(axis, keepdims=True))


def upsampled(dtype: str) -> Case:
    x = rounded(dtype, 2, 5, 3, 4)
    desc = dml.DML_RESAMPLE_OPERATOR_DESC(
        InputTensor=tensor(dtype, x.shape), OutputTensor=tensor(dtype, (2, 5, 6, 8)), Scales=(1.0, 1.0, 2.0, 2.0),
        InterpolationMode=dml.DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR,
    )  # fmt: skip
    return Case(desc, [x], x.astype(np.float64).repeat(2, 2).repeat(2, 3))


def gathered(dtype: str, size: int) -> Case:
    x, places = rounded(dtype, 1, 1, 9, size), np.random.default_rng(8).integers(0, 9, (1, 1, 5, 6)).astype(np.uint32)
    desc = dml.DML_GATHER_OPERATOR_DESC(
        InputTensor=tensor(dtype, x.shape), IndicesTensor=tensor("UINT32", places.shape),
        OutputTensor=tensor(dtype, (1, 5, 6, size)), Axis=2, IndexDimensions=2,
    )  # fmt: skip
    return Case(desc, [x, places], x.astype(np.float64)[0, :, places[0, 0]].reshape(1, 5, 6, size))


#: Cases for each kernel that stores results, with rows that are multiples of a vector and others.
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
    "average along axes": lambda dtype: pooling(dtype, "average", 3),
    "max along axes": lambda dtype: pooling(dtype, "max", 4),
    "lp pooling": lambda dtype: pooling(dtype, "lp"),
    "softmax": lambda dtype: softmax(dtype, 16, 3),
    "softmax odd": lambda dtype: softmax(dtype, 7, 3),
    "softmax ragged": lambda dtype: softmax(dtype, 601, 3),
    "softmax across": lambda dtype: softmax(dtype, 9, 1),
    "resample": upsampled,
    "gather": lambda dtype: gathered(dtype, 8),
    "gather odd": lambda dtype: gathered(dtype, 7),
}  # fmt: skip


def behind(device: dml.Device, case: Case, last: dml.OperatorDesc, at: int = 0) -> dml.DML_GRAPH_DESC:
    """Return a graph of the case and ``last``, which reads the case's result as input ``at``. Graph inputs are named
    p0, p1, ... for the case and a0, a1, ... for ``last``."""
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
