"""The cases: DirectML operators, each with the bytes it must move and the operations it must compute."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

import dml
from dml.api.operator import CompiledOperator
from dml.graph.builder import Builder
from dml.graph.operations import gemm
from dml.tuning.workloads import recurrent

Sizes = tuple[int, ...]
#: Data types by their names in the cases.
TYPES = {"float32": dml.DML_TENSOR_DATA_TYPE_FLOAT32, "float16": dml.DML_TENSOR_DATA_TYPE_FLOAT16}
_BYTES = {"float32": 4, "float16": 2}


@dataclass(frozen=True)
class Work:
    """One operator.

    bytes: size of its inputs and outputs, each counted once. operations: floating-point; a multiply-add counts as two.
    """

    desc: Any
    bytes: int
    operations: float = 0.0
    #: Constant inputs, which may be rearranged for the kernel before it is measured.
    weights: tuple[str, ...] = field(default=())
    #: Builds a graph to run in place of the operator.
    graph: Callable[[dml.Device], CompiledOperator] | None = None


def _tensor(kind: str, *sizes: int, strides: Sizes | None = None) -> Any:
    return dml.DML_BUFFER_TENSOR_DESC(TYPES[kind], sizes, strides)


def _add(kind: str) -> Work:
    t = _tensor(kind, 1 << 26)
    desc = dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(ATensor=t, BTensor=t, OutputTensor=t)
    return Work(desc, 3 * _BYTES[kind] << 26)


def _transpose(kind: str) -> Work:
    x, y = _tensor(kind, 8192, 8192, strides=(1, 8192)), _tensor(kind, 8192, 8192)
    return Work(dml.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(InputTensor=x, OutputTensor=y), 2 * _BYTES[kind] << 26)


def _softmax(kind: str) -> Work:
    t = _tensor(kind, 1, 1, 16384, 4096)
    return Work(dml.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC(InputTensor=t, OutputTensor=t), 2 * _BYTES[kind] << 26)


def _normalization(kind: str, sizes: Sizes, scale: Sizes, axes: Sizes) -> Work:
    x, s = _tensor(kind, *sizes), _tensor(kind, *scale)
    desc = dml.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC(
        InputTensor=x, ScaleTensor=s, BiasTensor=s, OutputTensor=x, Axes=axes, NormalizeVariance=True, Epsilon=1e-5
    )
    return Work(desc, 2 * _BYTES[kind] * math.prod(sizes))


def _sum(kind: str, axis: int) -> Work:
    sizes = [16384, 4096]
    x = _tensor(kind, *sizes)
    sizes[axis] = 1
    desc = dml.DML_REDUCE_OPERATOR_DESC(
        Function=dml.DML_REDUCE_FUNCTION_SUM, InputTensor=x, OutputTensor=_tensor(kind, *sizes), Axes=[axis]
    )
    return Work(desc, _BYTES[kind] << 26)


def _product(kind: str, m: int, k: int, n: int, *, transposed: bool = False) -> Work:
    b = (1, 1, n, k) if transposed else (1, 1, k, n)
    desc = dml.DML_GEMM_OPERATOR_DESC(
        ATensor=_tensor(kind, 1, 1, m, k), BTensor=_tensor(kind, *b), OutputTensor=_tensor(kind, 1, 1, m, n),
        TransA=dml.DML_MATRIX_TRANSFORM_NONE,
        TransB=dml.DML_MATRIX_TRANSFORM_TRANSPOSE if transposed else dml.DML_MATRIX_TRANSFORM_NONE,
        Alpha=1.0, Beta=0.0,
    )  # fmt: skip
    return Work(desc, _BYTES[kind] * (m * k + k * n + m * n), 2.0 * m * k * n)


#: Elements along k that share a scale, as in quantized language models.
_BLOCK = 32


def _by_blocks(kind: str, rows: int, k: int, n: int) -> Work:
    """Return the product of rows and block-quantized 4-bit weights, which the kernel dequantizes."""
    product = _product(kind, rows, k, n, transposed=True)
    moved = n * k // 2 + _BYTES[kind] * (n * k // _BLOCK + rows * (k + n))
    return replace(product, bytes=moved, graph=partial(_graph_of_blocks, kind, rows, k, n))


def _graph_of_blocks(kind: str, rows: int, k: int, n: int, device: dml.Device) -> CompiledOperator:
    random = np.random.default_rng(0)
    pool = random.integers(-8, 8, 999983).astype(ml_dtypes.int4)
    scales = (random.random((n, k // _BLOCK), np.float32) + 0.5).astype(kind)
    graph = Builder(device)
    weights = graph.one(
        dml.DML_DEQUANTIZE_OPERATOR_DESC,
        (n, k),
        TYPES[kind],
        InputTensor=graph.constant(np.resize(pool, (n, k))),
        QuantizationType=dml.DML_QUANTIZATION_TYPE_SCALE,
        QuantizationTensors=[graph.constant(scales)],
    )
    return graph.compile({"y": gemm(graph.input("a", (rows, k), TYPES[kind]), weights, transpose_b=True)})


def _convolution(kind: str, channels: int, outputs: int, side: int, window: int, groups: int = 1) -> Work:
    inputs, pad = channels // groups, window // 2
    x, y = _tensor(kind, 32, channels, side, side), _tensor(kind, 32, outputs, side, side)
    filters = _tensor(kind, outputs, inputs, window, window)
    desc = dml.DML_CONVOLUTION_OPERATOR_DESC(
        InputTensor=x, FilterTensor=filters, BiasTensor=_tensor(kind, 1, outputs, 1, 1), OutputTensor=y,
        Mode=dml.DML_CONVOLUTION_MODE_CROSS_CORRELATION, Direction=dml.DML_CONVOLUTION_DIRECTION_FORWARD,
        Strides=[1, 1], Dilations=[1, 1], StartPadding=[pad, pad], EndPadding=[pad, pad], OutputPadding=[0, 0],
        GroupCount=groups,
    )  # fmt: skip
    places = 32 * side * side
    moved = places * (channels + outputs) + outputs * inputs * window**2
    return Work(desc, _BYTES[kind] * moved, 2.0 * places * outputs * inputs * window**2, ("FilterTensor", "BiasTensor"))


def _attention(kind: str, queries: int, keys: int, size: int, batch: int = 4, heads: int = 32) -> Work:
    q, k = _tensor(kind, batch, queries, heads * size), _tensor(kind, batch, keys, heads * size)
    desc = dml.DML_MULTIHEAD_ATTENTION_OPERATOR_DESC(
        QueryTensor=q, KeyTensor=k, ValueTensor=k, OutputTensor=q, Scale=size**-0.5, MaskFilterValue=-1e4,
        HeadCount=heads, MaskType=dml.DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE,
    )  # fmt: skip
    moved = 2 * batch * heads * size * (queries + keys)
    return Work(desc, _BYTES[kind] * moved, 4.0 * batch * heads * queries * keys * size)


def _recurrent(gates: int, hidden: int) -> Work:
    steps, batch = 64, 32
    desc = recurrent(gates, steps, batch, hidden).desc
    moved = 4 * (2 * steps * batch * hidden + 2 * gates * hidden * hidden)
    operations = 4.0 * steps * batch * gates * hidden * hidden
    return Work(desc, moved, operations, ("WeightTensor", "RecurrenceTensor", "BiasTensor"))


def cases() -> dict[str, Callable[[], Work]]:
    """Return the cases by the names that torch_cuda.py also uses."""
    found: dict[str, Callable[[], Work]] = {}
    for kind in TYPES:
        found |= {
            f"add 64 Mi {kind}": partial(_add, kind),
            f"transpose 8192 x 8192 {kind}": partial(_transpose, kind),
            f"softmax 16384 x 4096 {kind}": partial(_softmax, kind),
            f"layer norm 16384 x 4096 {kind}": partial(_normalization, kind, (16384, 4096), (1, 4096), (1,)),
            f"group norm 32 x 320 x 64 x 64 {kind}": partial(
                _normalization, kind, (32, 32, 10, 64, 64), (1, 32, 10, 1, 1), (2, 3, 4)
            ),
            f"sum of rows 16384 x 4096 {kind}": partial(_sum, kind, 1),
            f"sum of columns 16384 x 4096 {kind}": partial(_sum, kind, 0),
            f"product 4096 {kind}": partial(_product, kind, 4096, 4096, 4096),
            f"product 1024 {kind}": partial(_product, kind, 1024, 1024, 1024),
            f"product 512 {kind}": partial(_product, kind, 512, 512, 512),
            f"vector by matrix 4096 x 11008 {kind}": partial(_product, kind, 1, 4096, 11008),
            f"vector by transposed 4096 x 11008 {kind}": partial(_product, kind, 1, 4096, 11008, transposed=True),
            f"8 rows by transposed 4096 x 11008 {kind}": partial(_product, kind, 8, 4096, 11008, transposed=True),
            f"vector by 4-bit blocks 8192 x 28672 {kind}": partial(_by_blocks, kind, 1, 8192, 28672),
            f"256 rows by 4-bit blocks 4096 x 14336 {kind}": partial(_by_blocks, kind, 256, 4096, 14336),
            f"convolution 3 x 3 64 at 56 {kind}": partial(_convolution, kind, 64, 64, 56, 3),
            f"convolution 3 x 3 256 at 14 {kind}": partial(_convolution, kind, 256, 256, 14, 3),
            f"convolution 1 x 1 256-1024 at 14 {kind}": partial(_convolution, kind, 256, 1024, 14, 1),
            f"depthwise 3 x 3 384 at 28 {kind}": partial(_convolution, kind, 384, 384, 28, 3, 384),
            f"attention 2048 of 64 {kind}": partial(_attention, kind, 2048, 2048, 64),
            f"attention 2048 of 128 {kind}": partial(_attention, kind, 2048, 2048, 128),
            f"attention 1 by 4096 of 128 {kind}": partial(_attention, kind, 1, 4096, 128, batch=8),
        }
    for hidden in (256, 512, 1024):
        found[f"GRU 64 x 32 x {hidden} float32"] = partial(_recurrent, 3, hidden)
        found[f"LSTM 64 x 32 x {hidden} float32"] = partial(_recurrent, 4, hidden)
    return found
