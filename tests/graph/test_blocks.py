"""Products with weights of four bits: dequantized as they are multiplied, by few rows on GPUs."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import dml
from dml.enums import DML_QUANTIZATION_TYPE
from dml.graph import operations as op
from dml.graph.builder import Builder, Tensor
from harness import assert_sums

KERNEL = "gemm/blocks.comp"


def weights(rng: np.random.Generator, n: int, k: int, block: int, kind: Any) -> tuple[Any, Any, Any]:
    """Numbers {n, k}, their blocks' scales and zero points."""
    info = ml_dtypes.iinfo(kind)
    low, high = int(info.min), int(info.max) + 1
    numbers = rng.integers(low, high, (n, k)).astype(kind)
    zeros = rng.integers(low, high, (n, k // block)).astype(kind)
    return numbers, (rng.random((n, k // block), np.float32) + 0.5).astype(np.float32), zeros


def dequantized(graph: Builder, numbers: Any, scales: Any, zeros: Any | None) -> Tensor:
    tensors = [graph.constant(scales), *([] if zeros is None else [graph.constant(zeros)])]
    return graph.one(
        dml.DML_DEQUANTIZE_OPERATOR_DESC,
        numbers.shape,
        dml.data_type_of(scales.dtype),
        InputTensor=graph.constant(numbers),
        QuantizationType=DML_QUANTIZATION_TYPE(len(tensors)),
        QuantizationTensors=tensors,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("kind", [ml_dtypes.uint4, ml_dtypes.int4], ids=["uint4", "int4"])
@pytest.mark.parametrize(
    "m, n, k, block, points", [(1, 70, 1088, 32, True), (2, 9, 640, 128, False), (2, 33, 64, 64, True)]
)
def test_few_rows_stream_the_numbers(as_discrete, dtype, kind, m, n, k, block, points):
    rng = np.random.default_rng(7)
    numbers, scales, zeros = weights(rng, n, k, block, kind)
    a, scales = (rng.random((m, k)) - 0.5).astype(dtype), scales.astype(dtype)
    graph = Builder(as_discrete)
    made = dequantized(graph, numbers, scales, zeros if points else None)
    relu = dml.DML_ACTIVATION_RELU_OPERATOR_DESC() if n == 9 else None
    source = graph.input("a", a.shape, dml.data_type_of(a.dtype))
    compiled = graph.compile({"y": op.gemm(source, made, transpose_b=True, activation=relu)})
    assert [dispatch.label for dispatch in compiled.program.dispatches] == [KERNEL]
    assert not any(dispatch.label.startswith("elementwise") for dispatch in compiled.program.initialize)
    found = compiled.dispatch({"a": a})["y"]

    each = np.repeat(scales.astype(np.float64), block, 1)
    centre = np.repeat(zeros.astype(np.float64), block, 1) if points else 0.0
    b = (numbers.astype(np.float64) - centre) * each
    expected = a.astype(np.float64) @ b.T
    # (What the zero point takes off is added up by itself.)
    terms = abs(a).astype(np.float64) @ ((abs(numbers.astype(np.float64)) + abs(centre) + 8) * each).T
    assert_sums(found, np.maximum(expected, 0.0) if n == 9 else expected, terms, k)


@pytest.mark.parametrize("m, block, shown", [(3, 32, False), (1, 16, False), (1, 32, True)])
def test_others_are_dequantized_once(as_discrete, m, block, shown):
    """Many rows, blocks smaller than a vector, and weights that something else reads as well."""
    rng = np.random.default_rng(8)
    numbers, scales, zeros = weights(rng, 24, 64, block, ml_dtypes.uint4)
    a = (rng.random((m, 64)) - 0.5).astype(np.float32)
    graph = Builder(as_discrete)
    made = dequantized(graph, numbers, scales, zeros)
    y = op.gemm(graph.input("a", a.shape, dml.data_type_of(a.dtype)), made, transpose_b=True)
    compiled = graph.compile({"y": y, "w": made} if shown else {"y": y})
    assert KERNEL not in [dispatch.label for dispatch in compiled.program.dispatches]
    b = (numbers.astype(np.float64) - np.repeat(zeros.astype(np.float64), block, 1)) * np.repeat(scales, block, 1)
    found = compiled.dispatch({"a": a})["y"]
    # (Each weight is rounded as well.)
    assert_sums(found, a.astype(np.float64) @ b.T, abs(a).astype(np.float64) @ abs(b).T, 64 + 2)
